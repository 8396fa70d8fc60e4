"""Checks of what models leave out: from ratings to statistics, and what a user is told."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import observed_data
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.metrics.crowd.rater_agreement import rater_agreement
from sharpbayes.posterior.dependence_checks import REMEDIES, dependence_checks, list_remedies
from sharpbayes.posterior.predictive_checks import predictive_checks
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.report.summary import failed
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from tests.flat import flat

CHAINS, DRAWS = 2, 3


def repeated(name, change=lambda ratings: ratings):
    """Ratings of a shipped study, and draws that repeat them."""
    files = load_study(name)
    ratings = change(read_study(files).ratings)
    design = build_design(ratings, files.model.spec)
    axes = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    same = observed_data(design).expand_dims(axes).copy(deep=True)
    posterior = flat(design, (CHAINS, DRAWS))
    one = xr.ones_like(posterior["chain"] * posterior["draw"], dtype=float)
    for term in (term for term in design.terms if term.n_sds):
        levels = [posterior[term.dims[-1]]] if term.correlation else []
        posterior[f"sd_{term.stem}"] = sum((xr.zeros_like(x, dtype=float) for x in levels), one)
    return ratings, ReplicateDraws(posterior, same, design, 1)


@pytest.mark.parametrize(
    ("study", "names"),
    [
        ("quickstart", {"judge_correlation": (3,), "halo": (3,)}),
        (
            "quickstart_crowd",
            dict.fromkeys(
                (
                    *("rater_agreement", "rater_agreement_spread", "rater_entropy_spread"),
                    *("rater_correlation", "rater_copies"),
                ),
                (),
            ),
        ),
    ],
)
def test_ratings_that_are_replicated_exactly_have_the_observed_statistics(study, names):
    ratings, draws = repeated(study)
    replicated, observed = dependence_checks(draws, ratings)
    unit = "item" if "crowd" in study else "prompt"
    shapes = {f"{unit}_skewness", f"{unit}_kurtosis"}
    shapes |= {"prompt_dimension_correlation"} if unit == "prompt" else set()
    assert set(replicated) == set(observed) == {*names, *shapes}
    for name, shape in names.items():
        assert observed[name].shape == shape
        assert np.isfinite(observed[name]).all()
        assert bool((abs(replicated[name] - observed[name]) < 1e-9).all())
    assert replicated[f"{unit}_skewness"].shape == (CHAINS, DRAWS)


def test_statistics_of_a_crowd_are_those_of_its_scores_alone():
    ratings, draws = repeated("quickstart_crowd")
    _, observed = dependence_checks(draws, ratings)
    by_crowd = ratings.factors["scale"].codes == 0
    item, rater = (ratings.factors[name].codes[by_crowd] for name in ("item", "rater"))
    scores = xr.DataArray(ratings.score[by_crowd], dims="rating")
    wanted = rater_agreement(scores, item=item, rater=rater, n_scores=5)
    for name, value in wanted.data_vars.items():
        assert float(observed[str(name)]) == pytest.approx(float(value))


def only_judge(count):
    """Ratings of some of the judges."""

    def change(ratings):
        judge = ratings.factors["judge"]
        kept = ratings.of(judge.codes < count)
        codes = kept.factors["judge"].codes
        return replace(kept, factors=kept.factors | {"judge": Factor(judge.labels[:count], codes)})

    return change


def test_one_judge_and_two_have_no_pairs():
    for count in (1, 2):
        ratings, draws = repeated("quickstart", only_judge(count))
        replicated, observed = dependence_checks(draws, ratings)
        assert "judge_correlation" not in observed
        assert bool(observed["halo"].isnull().all()) == (count == 1)
        checks = predictive_checks(replicated, observed)
        assert not checks["halo_fails"].any()


def test_a_check_over_nothing_is_no_error():
    empty = xr.DataArray(np.empty((2, 3, 0)), dims=("chain", "draw", "pair"))
    other = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("chain", "draw"))
    checks = predictive_checks(
        {"pairs": empty, "t": other}, {"pairs": empty[0, 0], "t": xr.DataArray(2.0)}
    )
    assert checks["pairs_fails"].shape == (0,)
    assert checks.attrs["failed_checks"] == []


def test_remedies_are_said_once_and_follow_the_failed_checks():
    assert REMEDIES["prompt_dimension_correlation"] == (
        "Prompts that are severe in one dimension of harm are severe in others too: give the term "
        'by `["prompt", "dimension"]` the key `correlated_over = "dimension"` in a model file, as '
        "the shipped models have it. Where it has the key, prompts are of several kinds: add a "
        "term by a column that names the kind; until then read the tail from the bootstrap."
    )
    assert REMEDIES["item_skewness"] == (
        "A few items are far from all others on one side, as where they are of several kinds: add "
        "a term by a column that names the kind in a model file; until then read the tail from the "
        "bootstrap."
    )
    names = ["halo", "rater_copies", "cvar", "halo"]
    assert list_remedies(names) == [REMEDIES["halo"], REMEDIES["rater_copies"]]
    item, rater = (codes.ravel() for codes in np.indices((30, 4)))
    score = np.random.default_rng(1).integers(0, 4, (30, 4))
    score[:, 3] = score[:, 1]
    factors = {
        "item": Factor(tuple(map(str, range(30))), item.astype(np.int32)),
        "rater": Factor((*"abcd",), rater.astype(np.int32)),
        "scale": Factor(("score",), np.zeros(120, np.int32)),
    }
    ratings = Ratings(score.ravel(), factors, {"score": (*"0123",)})
    [remedy] = list_remedies(["rater_copies"], ratings)
    assert remedy.startswith(
        "Two raters, likeliest b and d (equal on 30 of 30 items that both rated), give the same"
    )
    assert REMEDIES["halo"] == (
        "A judge has one impression of an answer, which moves all of its indicators: add to the "
        'model file `[[location]]` with `by = ["judge", "model", "prompt"]`, and give the term by '
        '`["model", "prompt", "dimension"]` the key `correlated_over = "dimension"`: without it, '
        "answers that are severe in several dimensions pass for halo."
    )
    assert REMEDIES["item_kurtosis"] == (
        "Items have heavier tails than normal effects, or are of several kinds: give the term by "
        'item the prior `{ kind = "student_t", df = 4, sd = { kind = "half_normal", scale = 1.5 } '
        "}` in a model file, without `correlated_over`, which needs normal effects, or add a term "
        "by a column that names the kind; until then read the tail from the bootstrap."
    )
    draws = xr.DataArray(np.arange(1000.0).reshape(4, 250), dims=("chain", "draw"))
    checks = predictive_checks({"halo": draws}, {"halo": xr.DataArray(2000.0)})
    checks = checks.assign_attrs(remedies=list_remedies(["halo"]))
    results = xr.DataTree.from_dict({"/predictive_checks": checks})
    results.attrs["status"] = "fitted"
    [table] = report_tables(results)
    lead = "A failed check does not prove its cause. The likeliest, and what helps:"
    assert table.note.endswith(f"{lead} {REMEDIES['halo']}")
    [sentence] = failed(results)
    assert sentence == (
        "The fitted model does not reproduce one statistic of the ratings, such as halo: observed "
        "2000.000, replicated 499.500 (24.975 to 974.025). Probabilities and posterior intervals "
        f"depend on it; bootstrap intervals do not. {lead} {REMEDIES['halo']}"
    )
