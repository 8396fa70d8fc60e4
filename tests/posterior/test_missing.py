"""Missing scores against fitted severity: known, uncertain, and where there is none."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.asked_scores import asked_scores
from sharpbayes.analysis.panel import measure_panel
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.panel.missingness import missing_slope
from sharpbayes.posterior.missing import IMPUTATIONS, answer_severity, fitted_missingness
from sharpbayes.report.tables.catalogue import _of_run
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.report.tables.format import estimate, p_value
from sharpbayes.report.tables.missing import TABLES, missing_sentences
from tests.analysis.test_missing import PROMPTS, planted

TERMS = tuple(
    SimpleNamespace(name=f"location_{'_'.join(dims)}", dims=dims)
    for dims in (("model",), ("model", "prompt"), ("judge",))
)
DESIGN = SimpleNamespace(severity_terms=TERMS)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    study, _ = planted(tmp_path_factory.mktemp("planted"))
    return build_profile_plan(read_study(study))


def draws(plan, *, noise):
    """A posterior of the severities that were planted, less the mean of a model, with noise."""
    rng = np.random.default_rng(3)
    sub_index = plan.table["sub_index"]
    severity = np.stack([np.where(np.arange(PROMPTS) < 24, 9.0, 2.0), np.full(PROMPTS, 5.0)])
    effects = severity - severity.mean(axis=1, keepdims=True)
    effects = effects + noise * rng.normal(size=(2, 50, *effects.shape))
    coords = {"model": ["calm", "steady"], "prompt": np.arange(PROMPTS).astype(str)}
    assert set(map(str, sub_index["prompt"].values)) == set(coords["prompt"])
    means = np.broadcast_to(severity.mean(axis=1), (2, 50, 2))
    sample = ("chain", "draw")
    return xr.Dataset(
        {
            "location_model": ((*sample, "model"), means),
            "location_model_prompt": ((*sample, "model", "prompt"), effects),
            "location_judge": ((*sample, "judge"), np.full((2, 50, 3), 100.0)),
        },
        coords,
    )


def test_severity_is_that_of_answers_and_not_of_judges(plan):
    severity = answer_severity(draws(plan, noise=0.0), DESIGN)
    assert set(severity.dims) == {"sample", "model", "prompt"}
    assert severity.sel(model="calm", prompt="0").values == pytest.approx(9.0)
    assert severity.sel(model="steady").values == pytest.approx(5.0)


def test_certain_severities_give_the_slope_of_one_regression(plan):
    fitted = fitted_missingness(plan, draws(plan, noise=0.0), DESIGN, level=0.95)
    severity = answer_severity(draws(plan, noise=0.0), DESIGN).isel(sample=0, drop=True)
    asked = asked_scores(plan)
    unscored = (asked & plan.table["sub_index"].isnull()).where(asked).fillna(0) > 0
    one = missing_slope(unscored, (severity / severity.std()).where(asked), level=0.95)
    for name in ("slope", "slope_error", "slope_interval"):
        np.testing.assert_allclose(fitted[f"fitted_{name}"], one[name])
    assert float(fitted["fitted_slope"]) > 1.0
    assert float(fitted["fitted_slope_p"]) < 1e-6


def test_uncertain_severities_widen_the_interval(plan):
    certain, uncertain = (
        fitted_missingness(plan, draws(plan, noise=noise), DESIGN, level=0.95)
        for noise in (0.0, 1.5)
    )
    assert IMPUTATIONS == 20
    share = float(uncertain["fitted_slope_error"]) / float(uncertain["fitted_slope"])
    assert share > float(certain["fitted_slope_error"]) / float(certain["fitted_slope"])


def test_a_model_without_effects_of_answers_has_no_such_slope(plan):
    design = SimpleNamespace(severity_terms=(TERMS[0], TERMS[2]))
    assert fitted_missingness(plan, draws(plan, noise=0.0), design, level=0.95) == {}


SLOPES = (
    "More scores are missing where severity is high: the log odds of a missing score change by "
    "{fitted} per sd of the severity that the fit gives the answer (p = {fitted_p}), and by "
    "{observed} per sd of the severity in the scores of the other judges (p = {observed_p})."
)


def described(table):
    """Both slopes as the report writes them."""
    slopes = {}
    for key, name in (("fitted", "fitted_slope"), ("observed", "slope")):
        slopes[key] = estimate(table[name], table[f"{name}_interval"])
        slopes[f"{key}_p"] = p_value(table[f"{name}_p"])
    return SLOPES.format(**slopes)


@pytest.fixture(scope="module")
def groups(plan):
    """What is measured of the planted study, and what draws say of its missing scores."""
    groups = measure_panel(plan.study)
    fitted = fitted_missingness(plan, draws(plan, noise=0.0), DESIGN, level=0.95)
    groups["missing"] = groups["missing"].assign(fitted)
    groups["joint"] = xr.Dataset({"posterior_median": 0.0})
    return groups


@pytest.fixture
def fitted_tree(groups):
    tree = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    tree.attrs["status"] = "fitted"
    return tree


def test_table_and_answer_of_a_fit_name_both_severities(fitted_tree):
    table = fitted_tree["missing"].to_dataset()
    wanted = described(table)
    # Judges refuse what the fit knows to be bad: the two numbers are not the same.
    assert float(table["fitted_slope"]) > float(table["slope"])
    [first, *_] = build_tables([TABLES[0]], fitted_tree)
    assert wanted in first.note
    [sentence] = missing_sentences(View(fitted_tree))
    assert wanted in sentence


@pytest.mark.parametrize(("status", "is_told"), [("fitted", True), ("not converged", False)])
def test_tables_of_weighed_results_know_whether_the_fit_converged(fitted_tree, status, is_told):
    groups = {f"/other/{name}": node.to_dataset() for name, node in fitted_tree.children.items()}
    weighed = xr.DataTree.from_dict({"/": xr.Dataset(), **groups})
    weighed.attrs |= {"title": "Releases", "status": status}
    weighed["other"].attrs |= {"title": "Other", "weights_sha256": "0"}
    tables = build_tables([TABLES[0]], _of_run(weighed, weighed["other"]))
    assert ("per sd of the severity that the fit gives" in tables[0].note) == is_told
    assert list(weighed["other"].attrs) == ["title", "weights_sha256"]


def test_without_a_converged_fit_only_the_other_judges_are_named(fitted_tree):
    fitted_tree.attrs["status"] = "not converged"
    [first, *_] = build_tables([TABLES[0]], fitted_tree)
    [sentence] = missing_sentences(View(fitted_tree))
    for text in (first.note, sentence):
        assert "the fit gives" not in text
        assert "per sd of the severity in the scores of the other judges (p = " in text


@pytest.mark.parametrize(
    ("interval", "lead"),
    [
        ([0.1, 0.9], "More scores are missing where severity is high: the log odds of a"),
        ([-0.9, -0.1], "Fewer scores are missing where severity is high: the log odds of a"),
        (
            [-0.1, 0.9],
            "It is not clear whether more scores are missing where severity is high: the",
        ),
    ],
)
def test_the_direction_of_missing_scores_is_said_first(fitted_tree, interval, lead):
    missing = fitted_tree["missing"].to_dataset()
    missing["fitted_slope_interval"] = missing["fitted_slope_interval"].copy(data=interval)
    fitted_tree["missing"] = xr.DataTree(missing)
    [first, *_] = build_tables([TABLES[0]], fitted_tree)
    assert lead in first.note


def test_what_the_other_judges_do_not_tell_the_fit_may(fitted_tree):
    missing = fitted_tree["missing"].to_dataset()
    fitted_tree["missing"] = xr.DataTree(missing.assign(slope=np.nan))
    [sentence] = missing_sentences(View(fitted_tree))
    assert "The scores of the other judges alone do not tell." in sentence
    assert "per sd of the severity that the fit gives the answer" in sentence
