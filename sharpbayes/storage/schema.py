"""What readers of results rely on: groups, variables, dimensions and attributes, declared once.

A variable may have further dimensions, a study further variables, and most variables depend on what
a study asks for. What is there must have the declared form. Draws of parameters are named after the
model of a study; of them only the dimensions are declared.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharpbayes.errors import (
    Diagnostic,
    SharpbayesError,
    StorageError,
    did_you_mean,
    first_line,
    list_diagnostics,
    shorten,
)
from sharpbayes.execution.identity import code_digest

if TYPE_CHECKING:
    import xarray as xr

# A group, then lines of dimensions, kind of value, and variables.
VARIABLES = """
/cohesion
  group: number: gai gai_p gai_p_adjusted irr irr_p irr_p_adjusted items raters xrr xrr_p
    xrr_p_adjusted
  group: text: reason
/contested_items
  item, rater: number: score
/debiased
  estimator, metric, model: number: error estimate
  estimator, metric, model, bound: number: interval
  estimator, metric, model, other: number: difference
  estimator, metric, model, other, bound: number: difference_interval
  metric, model: number: disagree disagree_p_holm tuning
  model: number: labelled labelled_gap labelled_gap_p labelled_gap_p_holm unlabelled
/decision
  model: number: expected_loss expected_loss_mcse prob_admissible prob_admissible_mcse prob_best
    prob_best_mcse selected
  model: text: verdict
  model, other: number: prob_less prob_less_mcse unresolved
  model, tier: number: prob_tier prob_tier_mcse
/diagnostics
  -: number: converged divergence_share divergences max_depth_share
  chain: number: bfmi
  limit: number: shortfall
  parameter: number: divergence_shift ess_bulk ess_tail rhat
/evidence
  epsilon: number: epsilon_kendall epsilon_spearman
  epsilon, model: number: epsilon_cvar
  group: number: few_raters items raters
  model: number: at_ceiling ceiling expected_coverage flat_tail needs_policy_score
    saturated_share saturated_tail saturated_tail_share tail_prompts
  model, other: number: identical tied
/harshness_difference
  group: number: raters
  group, other: number: difference latent_difference p p_holm prob_higher
  group, other, bound: number: difference_interval latent_difference_interval
/items
  group: number: in_priority_grouping weight
  item: number: disagreement priority rank
  item, group: number: plurality
  item, group, score: number: score_count
/joint
  metric: number: disagree observed posterior_median
  metric, bound: number: bootstrap_interval posterior_interval
  metric, model: number: people ppi prob_lowest
/judges
  -: number: effective_judges
  dimension: number: mad mad_n mad_sd
  judge, other_judge: number: error_correlation
  judge_out: number: effective_judges_without lojo_tau lojo_tau_p
  judge_out, model: number: lojo_cvar lojo_rank
  model: number: dimension_dependence dimension_dependence_tail
  model, dimension_pair: number: dimension_dependence_pair dimension_dependence_tail_pair
  pair, dimension: number: concordance_mean concordance_median concordance_models concordance_sd
  pair, model, dimension: number: concordance overlap
/missing
  model: number: can_be_lowest model_share unscored
  model, bound: number: admissible_bounds cvar_bounds mean_bounds policy_score_bounds
  model, judge, dimension: number: asked missing share
  tilt, model: number: tilt_cvar tilt_mean
/panel
  model, prompt: number: any_harm log_any_harm log_risk radius
  model, prompt, dimension: number: harm log_risk_part
  model, prompt, judge, dimension: number: sub_index
/posterior_profile
  chain, draw, model: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score
    radius_cvar tier var volatility
  chain, draw, model, dimension: number: dimension_cvar dimension_mean tail_share
/posterior_responsiveness
  chain, draw, group: number: raters
  chain, draw, group, by: number: auc_pr auc_roc hm items kendall_tau mpa spearman wra
  chain, draw, group, by, score: number: count precision recall recall_below
/posterior_share_levels
  chain, draw, moved_category, category_share, model: number: share_cvar share_worst_dimension
  chain, draw, moved_category, category_share, model, dimension: number: share_dimension_mean
/posterior_tail_levels
  chain, draw, alpha, model: number: alpha_cvar alpha_worst_dimension
/profile
  model: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score radius_cvar tier
    var volatility
  model, dimension: number: dimension_cvar dimension_mean tail_share
/profile_interval
  -: number: separable_share
  model, bound: number: any_harm_cvar any_harm_mean cvar max_cvar mean policy_score radius_cvar
    var volatility
  model, dimension, bound: number: dimension_cvar dimension_mean tail_share
  model, other: number: cvar_difference_p separable
  model, other, bound: number: cvar_difference cvar_difference_joint mean_difference
    policy_score_difference volatility_difference
/raters
  rater: number: auc_pr auc_roc central_tendency extreme_response hm items kendall_tau
    mean_score mpa rank scale_range_used spearman wra
  rater: text: reason
  rater, bound: number: hm_interval mpa_interval wra_interval
  rater, metric: number: additional_ratings
  rater, score: number: score_count score_share
/responsiveness
  group: number: raters
  group, by: number: auc_pr auc_roc hm items kendall_tau mpa spearman wra
  group, by: text: reason
  group, by, bound: number: auc_pr_interval auc_roc_interval hm_interval kendall_tau_interval
    mpa_interval spearman_interval wra_interval
  group, by, score: number: count precision recall recall_below
  group, by, score, bound: number: precision_interval recall_below_interval recall_interval
/responsiveness_difference
  group, other, by: number: hm hm_p hm_p_holm kendall_tau kendall_tau_p kendall_tau_p_holm mpa
    mpa_p mpa_p_holm wra wra_p wra_p_holm
  group, other, by, bound: number: hm_interval kendall_tau_interval mpa_interval wra_interval
/sample_size
  design, other: number: difference_width difference_width_mcse prob_distinguishable
    prob_distinguishable_mcse
  group: number: hm items rank ratings
  group, metric: number: additional_items additional_ratings
  metric, group: number: width
/scale_use
  group: text: reason
  group, by: number: central_tendency extreme_response mean_score scale_range_used
  group, by, score: number: score_count score_share
/stability
  setting: number: changed kendall movement
  setting: text: highest kind lowest value
  setting, group: number: hm
  setting, model: number: cvar
/tolerance
  model: text: verdict
  model, threshold: number: observed prob_within
  model, threshold: text: state
  model, threshold, bound: number: bounds
  threshold: number: limit
/validation
  -: number: friedman_chi2 friedman_p kendall_w prompt_variance r2_conditional r2_marginal
    residual_variance tail_prompt_variance tail_rate
  aggregate, other_aggregate: number: aggregate_kendall aggregate_kendall_p aggregate_spearman
    aggregate_spearman_p
  alpha: number: alpha_kendall alpha_spearman
  alpha, model: number: alpha_cvar alpha_worst_dimension
  component: number: eta2 partial_eta2
  moved_category, category_share, category: number: population_share
  moved_category, category_share, model: number: share_cvar share_worst_dimension
  moved_category, category_share, model, dimension: number: share_dimension_mean
  model: number: average_rank temperature_spread
  model, other: number: decision_flip order_reversed wilcoxon_p wilcoxon_p_holm
  temperature: number: temperature_kendall temperature_spearman
  temperature, model: number: temperature_cvar temperature_mean
/worst_prompts
  model, rank: number: level log_risk share
  model, rank: text: dimension indicator prompt
  model, rank, judge: number: sub_index
"""
# Attributes that a group has wherever it stands, a group a line.
REQUIRED = """
/cohesion interval_note
/decision confidence criterion interval_note tolerance
/diagnostics convergence_issues suggestions
/evidence limits
/joint level
/judges reference
/posterior_profile interval_note level
/posterior_responsiveness interval_note level
/posterior_tail_levels interval_note level
/predictive_checks checks failed_checks interval_note
/profile alpha
/profile_interval interval_note
/raters interval_note
/responsiveness interval_note
/validation familywise mixed_prompts
"""
# Groups of draws of parameters: all variables have these dimensions.
DRAWS = {"posterior": ("chain", "draw")}
# Letters of NumPy's kinds.
KINDS = {"number": "biuf", "text": "UOST"}
STATUSES = (
    *("measured", "fitted", "interrupted", "not converged", "weighed", "compared"),
    *("calibrated", "not calibrated"),
)
# A place in results and what is wrong there.
Problem = tuple[str, str]
# Said of results that this state of the program wrote.
OWN_FAULT = "; if nobody changed the file, this is a fault of the program (--debug shows where)"
# Halves of pairs of UTF-16: no text of UTF-8 has them, and bytes that are none are read as such.
HALVES = re.compile("[\ud800-\udfff]")
# Characters of an attribute in a message.
MAX_SHOWN = 60


@dataclass(frozen=True)
class Declared:
    """What is declared of a variable."""

    dims: tuple[str, ...]
    kind: str


@cache
def declared_variables() -> dict[tuple[str, str], Declared]:
    """Return what is declared of each variable, by its group and name."""
    variables: dict[tuple[str, str], Declared] = {}
    group = kind = ""
    dims: tuple[str, ...] = ()
    for line in VARIABLES.strip().splitlines():
        if line.startswith("/"):
            group = line[1:]
            continue
        *head, names = line.split(":")
        if head:
            dims, kind = tuple(head[0].replace("-", "").replace(",", " ").split()), head[1].strip()
        variables |= {(group, name): Declared(dims, kind) for name in names.split()}
    return variables


def _is_number(value: Any) -> bool:
    """Tell whether an attribute is one finite number."""
    number = float(value)
    return number - number == 0


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that a file can hold: no half of a pair of UTF-16."""
    return isinstance(value, str) and not HALVES.search(value)


def _is_list(value: Any) -> bool:
    """Tell whether an attribute is a list of texts in JSON."""
    content = json.loads(value)
    return isinstance(content, list) and all(isinstance(entry, str) for entry in content)


def _is_object(value: Any) -> bool:
    """Tell whether an attribute is an object in JSON."""
    return isinstance(json.loads(value), dict)


def _is_time(value: Any) -> bool:
    """Tell whether an attribute is a time."""
    return bool(datetime.fromisoformat(value))


DRAWS_OF_METRICS = ("posterior_profile", "posterior_responsiveness", "posterior_tail_levels")
NOTED = tuple(
    line.split()[0][1:] for line in REQUIRED.strip().splitlines() if "interval_note" in line
)
# Attributes by group (empty for the root), each with its check and what it must be.
Check = tuple[Callable[[Any], bool], str]
TEXT: Check = (_is_text, "a text")
NUMBER: Check = (_is_number, "a number")
ATTRIBUTES: Mapping[tuple[str, str], Check] = {
    ("", "title"): TEXT,
    ("", "status"): (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    ("", "seed"): NUMBER,
    ("", "overrides"): (_is_list, "a list of texts in JSON"),
    ("", "open_checks"): (_is_list, "a list of texts in JSON"),
    ("", "versions"): (_is_object, "an object in JSON"),
    ("", "created"): (_is_time, "a time"),
    **{("", name): TEXT for name in ("study", "weights", "model", "study_path")},
    **{("", f"{name}_sha256"): TEXT for name in ("data", "study", "weights", "model")},
    **{("joint", name): TEXT for name in ("bootstrap_note", "posterior_note")},
    **{(group, "interval_note"): TEXT for group in NOTED},
    **{(group, "level"): NUMBER for group in ("joint", "decision", "evidence", *DRAWS_OF_METRICS)},
    **{(group, "alpha"): NUMBER for group in ("profile", "posterior_profile", "evidence")},
    **{("validation", name): NUMBER for name in ("familywise", "mixed_prompts", "alpha")},
    ("decision", "confidence"): NUMBER,
    ("decision", "criterion"): TEXT,
    ("evidence", "epsilon"): NUMBER,
    ("tolerance", "confidence"): NUMBER,
    ("evidence", "limits"): (_is_list, "a list of texts in JSON"),
    ("diagnostics", "convergence_issues"): TEXT,
    ("diagnostics", "suggestions"): TEXT,
    ("predictive_checks", "checks"): NUMBER,
}


def check_results(results: "xr.DataTree", path: Path) -> None:
    """Compare results with what is declared.

    Raises:
        StorageError: One line for each problem.
    """
    problems = [*_check_attributes(results), *_check_groups(results)]
    if problems:
        diagnostics = [Diagnostic(str(path), 0, *problem) for problem in problems]
        raise StorageError("\n".join(list_diagnostics(diagnostics)))


def _check_attributes(results: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with the attributes."""
    for (group, name), (check, wanted) in ATTRIBUTES.items():
        node = results if not group else results.children.get(group)
        if node is None or name not in node.attrs:
            continue
        try:
            is_right = check(node.attrs[name])
        except (TypeError, ValueError, OverflowError, RecursionError):
            is_right = False
        if not is_right:
            shown = shorten(repr(node.attrs[name]), MAX_SHOWN)
            yield f"/{group}", f"attribute `{name}` is {shown}, must be {wanted}"


def _check_groups(results: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with each group, those under the weights of a comparison too."""
    groups = {group for group, _ in declared_variables()}
    for node in results.subtree:
        if node.name in groups and not node.data_vars and not node.children:
            yield node.path, "has no variables"
        if node.data_vars:
            yield from _check_required(node)
            yield from _check_labels(node)
            yield from _check_variables(node)


def _check_required(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield the attributes that a group lacks."""
    required = [line.split() for line in REQUIRED.strip().splitlines()]
    names = next((names for group, *names in required if group == f"/{node.name}"), [])
    for name in names:
        if name not in node.attrs:
            yield node.path, f"attribute `{name}` is missing"


def _check_labels(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield the dimensions of which two places have one label."""
    for dim, index in node.indexes.items():
        if not index.is_unique:
            label = shorten(repr(index[index.duplicated()][0]), MAX_SHOWN)
            yield node.path, f"dimension `{dim}` has the label {label} more than once"
        if any(isinstance(label, str) and not _is_text(label) for label in index):
            yield node.path, f"dimension `{dim}` has a label that is no text"


def _check_variables(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with the variables of a group."""
    variables, group = declared_variables(), str(node.name)
    for name, array in node.data_vars.items():
        declared = variables.get((group, str(name)), Declared(DRAWS.get(group, ()), "any"))
        yield from _check_variable(f"{node.path}/{name}", array, declared)


def _check_variable(name: str, array: "xr.DataArray", declared: Declared) -> Iterator[Problem]:
    """Yield what is wrong with one variable."""
    for dim in declared.dims:
        if dim not in array.dims:
            yield name, f"has no dimension `{dim}`{did_you_mean(dim, map(str, array.dims))}"
        elif array.sizes[dim] == 0:
            yield name, f"dimension `{dim}` is empty"
    if array.dtype.kind not in KINDS.get(declared.kind, array.dtype.kind):
        yield name, f"has values of type {array.dtype}, must be a {declared.kind}"
    elif declared.kind == "text" and not all(map(_is_text, map(str, array.to_numpy().flat))):
        yield name, "has a value that is no text"


@contextmanager
def explain_missing(results: "xr.DataTree") -> Iterator[None]:
    """Explain in one sentence that a part of results is missing or does not fit the others.

    What cannot come from the content of a file passes: a fault of the program is none of its.

    Raises:
        StorageError: A group, a variable or an attribute is missing or has another form.
    """
    try:
        yield
    except (SharpbayesError, NotImplementedError, RecursionError):
        raise
    except (
        *(LookupError, TypeError, ValueError, AttributeError),
        # Variables that are read when they are first used: HDF5 reports a bad part as one of these.
        *(ArithmeticError, MemoryError, OSError, RuntimeError),
    ) as error:
        kind = f"{type(error).__name__}: {first_line(error)}"
        title = results.attrs.get("title", "")
        message = f"results of {title!r}: a part is missing or has another form"
        fault = OWN_FAULT if results.attrs.get("code_sha256") == code_digest() else ""
        raise StorageError(f"{message} ({kind[:200]}){fault}") from error
