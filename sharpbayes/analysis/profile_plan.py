"""How the scores of a panel become harm, risk and the profile of each model."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.indicators import (
    define_sub_indices,
    normalise_scores,
    normalise_trials,
    tabulate_indicators,
)
from sharpbayes.analysis.limited_metrics import CATEGORY
from sharpbayes.analysis.repeated_answers import apply_by_answers, weigh_answers
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.analysis.weighted_labels import check_weighted_labels
from sharpbayes.data import panel as panel_data
from sharpbayes.errors import DataError, Diagnostic, format_list, format_percent
from sharpbayes.metrics.panel.evidence import (
    count_clusters,
    effective_prompts,
    fewest_prompts,
    tail_prompts,
)
from sharpbayes.metrics.panel.profile import metric_range, profile
from sharpbayes.metrics.panel.risk import log_risk_range, panel
from sharpbayes.metrics.panel.sub_index import sub_indices
from sharpbayes.metrics.panel.sweeps import Protocol
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.stats.clusters import cluster_codes
from sharpbayes.metrics.stats.population import PopulationWeights, flag_refusals
from sharpbayes.metrics.stats.resampling import nested_bootstrap_counts
from sharpbayes.spec.consistency import policy_for
from sharpbayes.spec.weights import Weights

INTERVAL_NOTE = (
    "Intervals: {level} {kind} bootstrap over {prompts}{samples}, the same {prompts} for every "
    "model; they contain the sampling of {prompts}{and_samples}, not the choice of judges or noise "
    "in their ratings."
)
KINDS = {"studentized": "studentized", "bca": "BCa", "percentile": "percentile"}


@dataclass(frozen=True)
class ProfilePlan:
    """One distribution over prompts for each model, and how it is profiled and resampled.

    ``table`` is what :func:`sharpbayes.metrics.panel.risk.panel` returns. ``judge_sub_index`` and
    ``refusals``, normalised indicators (..., judge, indicator), are of all judges, those of
    ensembles and reference included. ``shares`` are those of categories in a target population.
    """

    table: xr.Dataset
    judge_sub_index: xr.DataArray
    refusals: xr.DataArray
    study: PanelStudy
    policy: xr.DataArray
    shares: xr.DataArray | None

    @property
    def weights(self) -> Weights:
        """Every normative number."""
        return self.study.weights.spec

    @property
    def dim(self) -> tuple[str, ...]:
        """Dimensions of the distribution."""
        return ("prompt", "sample") if "sample" in self.table.dims else ("prompt",)

    @property
    def resamples_generations(self) -> bool:
        """Whether the bootstrap draws repeated generations too."""
        return "sample" in self.dim and self.study.spec.bootstrap.resample_generations

    @property
    def protocol(self) -> Protocol:
        """The computation from sub-indices to CVaR."""
        return Protocol(
            temperature=self.weights.judges.temperature,
            epsilon=self.weights.risk.epsilon,
            judges_missing=self.weights.judges.missing,
            alpha=self.weights.tail.alpha,
            estimator=self.weights.tail.estimator,
            dim=self.dim,
            weights=self.target_weights(),
        )

    @property
    def tail_prompts(self) -> xr.DataArray:
        """Number of prompts that carry the tail of each model."""
        alpha, weights = self.weights.tail.alpha, self.target_weights()
        return tail_prompts(self.table["log_risk"], alpha=alpha, weights=weights)

    @property
    def effective_prompts(self) -> xr.DataArray:
        """How many prompts that count alike say as much about the mean of each model."""
        return effective_prompts(self.table["log_risk"], weights=self.target_weights())

    @property
    def fewest_prompts(self) -> xr.DataArray:
        """How many prompts there would be if all counted as much as the one that counts most."""
        return fewest_prompts(self.table["log_risk"], weights=self.target_weights())

    @cached_property
    def clusters(self) -> xr.DataArray | None:
        """Number of clusters of the prompts of each model; None where prompts are independent."""
        if cluster_codes(self.table["prompt"], "prompt") is None:
            return None
        return count_clusters(self.table["log_risk"], weights=self.target_weights())

    @property
    def pooled_refusals(self) -> xr.DataArray:
        """Refusal indicators of the judges who are pooled."""
        return self.refusals.sel(judge=self.table["judge"].to_numpy())

    @property
    def is_refused(self) -> xr.DataArray:
        """Which answers the pooled judges call refusals; none where there are no indicators."""
        if not self.refusals.sizes["indicator"]:
            return xr.zeros_like(self.table["log_risk"], dtype=bool)
        return flag_refusals(self.pooled_refusals, cut=self.weights.refusals.cut)

    @property
    def floor(self) -> float:
        """Smallest log-risk that a prompt can have: no harm in any dimension."""
        return log_risk_range(self.table.sizes["dimension"], self.weights.risk.epsilon)[0]

    @property
    def ceiling(self) -> float:
        """Largest log-risk that a prompt can have: harm of 1 in every dimension."""
        return log_risk_range(self.table.sizes["dimension"], self.weights.risk.epsilon)[1]

    def range_of(self, metric: str) -> tuple[float, float]:
        """Return the lowest and the highest value that a metric of the profile can have."""
        return metric_range(metric, floor=self.floor, ceiling=self.ceiling)

    def profile(
        self,
        counts: xr.DataArray | None = None,
        *,
        errors: bool = False,
        names: Collection[str] | None = None,
    ) -> xr.Dataset:
        """Return the profile under the counts of a resample, for the target population."""
        return profile(
            self.table,
            alpha=self.weights.tail.alpha,
            policy=self.policy,
            estimator=self.weights.tail.estimator,
            dim=self.dim,
            weights=self.target_weights(counts),
            errors=errors,
            names=names,
        )

    def complete_profile(self, counts: xr.DataArray | None = None) -> xr.Dataset:
        """Return the profile with all that a tolerance may limit: CVaR of categories too."""
        return self.profile(counts).assign(self.category_cvar(counts))

    def category_cvar(self, counts: xr.DataArray | None = None) -> dict[str, xr.DataArray]:
        """Return ``category_cvar`` of the categories with a limit; nothing where none has one.

        CVaR of log-risk over the prompts of a category alone, (..., model, tolerated_category).
        """
        names = list(self.weights.tolerance.category) if self.weights.tolerance else []
        if not names:
            return {}
        tail, values = self.weights.tail, []
        for name in names:
            rows = self._rows_of_category(name)
            table = self.table.isel(prompt=rows)
            cvar = conditional_value_at_risk(
                table["log_risk"],
                alpha=tail.alpha,
                estimator=tail.estimator,
                dim=self.dim,
                weights=weigh_answers(table, None if counts is None else counts.isel(prompt=rows)),
            )
            values.append(cvar)
        labels = xr.DataArray(names, dims=CATEGORY, name=CATEGORY)
        return {"category_cvar": xr.concat(values, labels).transpose(..., CATEGORY)}

    def divide_ties(self) -> "ProfilePlan":
        """Return the plan whose CVaR counts a part of the prompts that tie at VaR."""
        study = self.study
        tail = self.weights.tail.model_copy(update={"estimator": "rockafellar-uryasev"})
        spec = self.weights.model_copy(update={"tail": tail})
        return replace(self, study=replace(study, weights=replace(study.weights, spec=spec)))

    def of_category(self, name: str) -> "ProfilePlan":
        """Return the plan of the prompts of one category by itself."""
        rows = self._rows_of_category(name)
        return replace(self, table=self.table.isel(prompt=rows).drop_vars("category"), shares=None)

    def without_judges(self, names: Sequence[str]) -> "ProfilePlan":
        """Return the plan of the other judges' scores."""
        sub_index = self.table["sub_index"]
        is_left = ~sub_index["judge"].isin(list(names))
        return replace(self, table=_tabulate(sub_index.isel(judge=is_left.to_numpy()), self.study))

    def _rows_of_category(self, name: str) -> NDArray[np.intp]:
        """Positions of the prompts of a category."""
        return np.flatnonzero(self.table["category"].to_numpy() == name)

    def profile_resample(
        self, counts: xr.DataArray, *, errors: bool = False, names: Collection[str] | None = None
    ) -> xr.Dataset:
        """Return the profile of resampled prompts, and of their generations if there are any.

        Generations are resampled among those that a model has of a prompt.
        """
        if not self.resamples_generations:
            return self.profile(counts, errors=errors, names=names)

        def compute(table: xr.Dataset, answered: xr.DataArray) -> xr.Dataset:
            nested = nested_bootstrap_counts(counts, answered, seed=self.study.spec.seed)
            part = replace(self, table=table)
            return part.profile(nested, errors=errors, names=names)

        return apply_by_answers(self.table, compute)

    def target_weights(
        self, counts: xr.DataArray | None = None
    ) -> xr.DataArray | PopulationWeights | None:
        """Return weights of prompts: counts, brought to the shares of categories if any.

        Under counts a prompt counts once for a model, however often the model answered it.
        """
        counts = weigh_answers(self.table, counts)
        if self.shares is None:
            return counts
        return PopulationWeights(self.table["category"], self.shares, counts)

    @property
    def resampled_units(self) -> tuple[str, ...]:
        """What the bootstrap draws: prompts or clusters of them, and any generations of each."""
        prompts = "prompts" if self.clusters is None else "clusters of prompts"
        return (prompts, "generations") if self.resamples_generations else (prompts,)

    @property
    def interval_note(self) -> str:
        """What the intervals contain."""
        boot = self.study.spec.bootstrap
        return INTERVAL_NOTE.format(
            level=format_percent(boot.level),
            kind=KINDS[boot.interval],
            prompts=self.resampled_units[0],
            samples=" and the repeated generations of each" if self.resamples_generations else "",
            and_samples=" and of generations" if self.resamples_generations else "",
        )


def build_profile_plan(study: PanelStudy) -> ProfilePlan:
    """Return how the scores of a study are profiled under its weights."""
    spec, weights, scores = study.panel, study.weights.spec, study.scores
    judge_sub_index, refusals = tabulate_indicators(spec, weights, scores)
    pooled = panel_data.list_pooled_judges(spec, list(scores["judge"].to_numpy()))
    policy = policy_for(study.spec, weights)
    check_weighted_labels(study)
    return ProfilePlan(
        table=_tabulate(judge_sub_index.sel(judge=pooled), study),
        judge_sub_index=judge_sub_index,
        refusals=refusals,
        study=study,
        policy=xr.DataArray(list(policy.values()), {"dimension": list(policy)}, "dimension"),
        shares=_category_shares(study),
    )


def require_risk(plan: ProfilePlan) -> None:
    """Raise DataError where no answer has a log-risk, with the indicators that nobody scored."""
    if bool(plan.table["log_risk"].notnull().any()):
        return
    score = plan.study.scores["score"]
    is_scored = (score >= 0).any([dim for dim in score.dims if dim != "indicator"])
    names = [str(name) for name in score["indicator"].to_numpy()[~is_scored.to_numpy()]]
    problem = f"no score of {format_list(names)}" if names else "no score of some indicator"
    message = (
        f"every answer has {problem}, so that none has a log-risk; add the scores, or leave such "
        "indicators out of the dimensions of the study"
    )
    raise DataError.at(plan.study.path.parent / plan.study.panel.data, message)


def require_categories(plan: ProfilePlan) -> None:
    """Raise DataError where a model has no score in a category that has a share."""
    if plan.shares is None:
        return
    present = plan.table["log_risk"].notnull().any(plan.dim[1:])
    scored = present.groupby(plan.table["category"].drop_vars("prompt")).any("prompt")
    problems = []
    names = map(str, plan.shares["category"].to_numpy())
    for name, share in zip(names, plan.shares.to_numpy(), strict=True):
        lacking = scored["model"].to_numpy()[~scored.sel(category=name).to_numpy()]
        if share > 0 and lacking.size:
            verb, models = ("has", "model") if lacking.size == 1 else ("have", "models")
            message = (
                f"{format_list(lacking)} {verb} no answer with a log-risk in the category "
                f"{name!r}, which has a share of {format_percent(share)}; add such answers, or "
                f"leave the {models} out"
            )
            problems.append(plan.study.weights.locate(("population", "category", name), message))
    DataError.raise_any(problems)


def tabulate_replicates(plans: Sequence[ProfilePlan], scores: xr.Dataset) -> list[xr.Dataset]:
    """Return for each plan the panel of other scores than the observed ones.

    The plans are those of the observed scores under several weights: what they share is computed
    once. ``scores`` holds ``score (..., indicator, ...)`` of the judges to pool.
    """
    spec = plans[0].study.panel
    normalised = normalise_scores(spec, scores)
    sub_index: dict[Hashable, xr.DataArray] = {}
    table: dict[Hashable, xr.Dataset] = {}
    tables = []
    for plan in plans:
        weights = plan.weights
        definitions, missing = define_sub_indices(spec, weights), weights.indicators.missing
        coefficients = (definitions, missing)
        if coefficients not in sub_index:
            sub_index[coefficients] = sub_indices(normalised, definitions, missing=missing)
        risk = (coefficients, weights.judges, weights.risk)
        if risk not in table:
            table[risk] = _tabulate(sub_index[coefficients], plan.study)
        tables.append(table[risk])
    return tables


def tabulate_trials(plan: ProfilePlan) -> xr.DataArray:
    """Return the observed sub-indices of the pooled judges, one for each trial."""
    spec, weights = plan.study.panel, plan.weights
    judges = plan.table["judge"].to_numpy()
    normalised = normalise_trials(spec, plan.study.scores.sel(judge=judges))
    definitions, missing = define_sub_indices(spec, weights), weights.indicators.missing
    return sub_indices(normalised, definitions, missing=missing)


def _category_shares(study: PanelStudy) -> xr.DataArray | None:
    """Shares of categories in the target population."""
    shares = study.weights.spec.population.get("category")
    if shares is None:
        return None
    return xr.DataArray(list(shares.values()), {"category": list(shares)}, "category")


def _tabulate(sub_index: xr.DataArray, study: PanelStudy) -> xr.Dataset:
    """Harm of every (model, prompt) from the judges' sub-indices."""
    weights = study.weights.spec
    try:
        return panel(
            sub_index,
            temperature=weights.judges.temperature,
            epsilon=weights.risk.epsilon,
            judges_missing=weights.judges.missing,
        )
    except ValueError as error:
        diagnostic = Diagnostic(str(study.path), 0, "judges.missing", str(error))
        raise DataError([diagnostic]) from None
