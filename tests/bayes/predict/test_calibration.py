"""Calibration: right fits pass, fits that are wrong in a known way fail."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kstest

from sharpbayes.analysis.panel import measure_panel
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import (
    _pit,
    calibrate,
    replace_categories,
    sampling_fit,
    summarise_calibration,
)
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.posterior.study_metrics import calibrated_metrics, study_metrics
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.context import join_groups
from tests.bayes.conftest import crowd_ratings, model_of

QUICK = Sampler(chains=2, tune=500, draws=500)
# For what is wrong in most simulations.
SHORT = Sampler(chains=2, tune=300, draws=300)
# For what does not look at the draws.
BRIEF = Sampler(chains=2, tune=100, draws=100)
MODEL = model_of(("item",), (["rater"], 1.0), thresholds={"prior": {"mean": 0.0, "sd": 1.5}})


# Fits of simulated ratings, by the ratings and the seed; tests change copies of them.
SAMPLED = {}


def sample_once(fit, model):
    """A fit that samples the same simulated ratings once for all tests."""

    def sample(design, seed):
        ratings = b"".join(scale.category.tobytes() for scale in design.scales)
        key = (model.model_dump_json(), ratings, seed)
        if key not in SAMPLED:
            SAMPLED[key] = fit(design, seed)
        return SAMPLED[key].copy()

    return sample


def of(
    rng,
    *,
    simulations=40,
    items=8,
    likelihood="cumulative",
    sampler=QUICK,
    wrap=None,
    afresh=False,
    **more,
):
    ratings = crowd_ratings(rng, items=items, raters=6)
    model = MODEL.model_copy(update={"likelihood": likelihood})
    fit = sampling_fit(ratings, model, sampler, execution=IN_PROCESS)
    fit = fit if afresh else sample_once(fit, model)
    return calibrate(
        build_design(ratings, model),
        ratings,
        model,
        sampler,
        simulations=simulations,
        seed=11,
        fit=wrap(fit) if wrap else fit,
        **more,
    )


def changed(change):
    """A fit whose draws are changed before anybody looks at them."""

    def wrap(sample):
        def fit(design, seed):
            trace = sample(design, seed)
            posterior = trace["posterior"].to_dataset()
            trace["posterior"] = posterior.assign(change(posterior))
            return trace

        return fit

    return wrap


def failed(table):
    return set(table["quantity"].to_numpy()[table["rejected"].to_numpy()])


# ``test_posterior_calibration.py`` has a right fit for every run.
@pytest.mark.slow
def test_a_right_fit_passes(rng):
    table = of(rng, simulations=25)
    assert bool(table["calibrated"])
    assert not failed(table)
    assert {"sd_item", "threshold_score[2|3]", "location_rater[r5]", "log-likelihood"} <= set(
        table["quantity"].to_numpy()
    )
    within = (table["coverage_lower"] <= table["level"]) & (
        table["level"] <= table["coverage_upper"]
    )
    assert float(within.mean()) > 0.85


def test_fits_are_told_by_what_places_need(rng):
    """Chains that agree and a hundred effective draws, whatever the study's limits are."""
    fits = [(1.05, 100.0, 1), (1.06, 900.0, 0), (1.0, 99.0, 0), (1.004, 700.0, 0)]
    ranked_fits = [
        {
            "quantity": np.array(["sd"]),
            "pit": rng.random(1),
            "converged": np.array(rhat < 1.01 and ess > 400),
            "rhat": np.array(rhat),
            "ess": np.array(ess),
            "divergences": np.array(divergences),
        }
        for rhat, ess, divergences in fits
    ]
    table = summarise_calibration(ranked_fits, seed=1)
    assert table["fit_ranked"].to_numpy().tolist() == [True, False, False, True]
    assert table["fit_converged"].to_numpy().tolist() == [False, False, False, True]
    assert table["fit_divergences"].to_numpy().tolist() == [1, 0, 0, 0]
    note = report_tables(join_groups({"calibration": table}, {"title": "t"}))[0].note
    assert "1 fits met the study's limits of convergence and 2 have what ranks" in note


def test_ranks_that_are_not_uniform_are_rejected():
    """The corrected p value decides, and one rejected quantity is not calibrated."""
    uniform = np.arange(0.5, 100) / 100
    quality = {"converged": np.array(1), "rhat": np.array(1.0), "ess": np.array(900.0)}
    for low, names in ((uniform, []), (uniform**3, ["low"])):
        ranked_fits = [
            {"quantity": np.array(["even", "low"]), "pit": np.array(pits)}
            | quality
            | {"divergences": np.array(0)}
            for pits in zip(uniform, low, strict=True)
        ]
        table = summarise_calibration(ranked_fits, seed=1)
        assert table["quantity"].to_numpy()[table["rejected"].to_numpy()].tolist() == names
        assert bool(table["calibrated"]) == (not names)
        np.testing.assert_array_equal(table["rejected"], table["p_holm"] < 0.05)


@pytest.fixture(scope="module")
def flipped():
    """A kernel that subtracts the rater's effect has this posterior: the prior is symmetric."""
    flip = changed(lambda draws: {"location_rater": -draws["location_rater"]})
    return of(np.random.default_rng(20260121), simulations=20, sampler=SHORT, wrap=flip)


def test_a_flipped_sign_fails(flipped):
    assert not bool(flipped["calibrated"])
    assert {f"location_rater[r{rater}]" for rater in range(6)} <= failed(flipped)
    assert "log-likelihood" in failed(flipped)
    assert not failed(flipped) & {"sd_item", "threshold_score[1|2]"}


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["adjacent", "continuation"])
def test_a_right_fit_of_other_likelihoods_passes(likelihood, rng):
    table = of(rng, likelihood=likelihood)
    assert not failed(table)
    assert bool(table["calibrated"])


# The effects that are constant in a run (here those of raters) added to thresholds where they are
# subtracted, and their slopes: a density and its own gradient, of another model.
FLIPPED = {
    "(cutpoints[start + above] - group[g])": "(cutpoints[start + above] + group[g])",
    "(cutpoints[start + below] - group[g])": "(cutpoints[start + below] + group[g])",
    "d_group[g] -= ": "d_group[g] += ",
}


@pytest.mark.slow
def test_a_sign_flipped_inside_the_kernel_fails(tmp_path):
    """The package with one term of its kernel turned round, compiled in a process of its own."""
    root = Path(__file__).parents[3]
    shutil.copytree(
        root / "sharpbayes", tmp_path / "sharpbayes", ignore=shutil.ignore_patterns("__pycache__")
    )
    kernel = tmp_path / "sharpbayes" / "bayes" / "kernel" / "interval.py"
    text = kernel.read_text(encoding="utf-8")
    for plain, turned in FLIPPED.items():
        assert plain in text
        text = text.replace(plain, turned)
    kernel.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from tests.bayes.predict.test_calibration import print_verdict; print_verdict()",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["package"] == str(
        tmp_path / "sharpbayes" / "bayes" / "predict" / "calibration.py"
    )
    assert not report["calibrated"]
    assert {f"location_rater[r{rater}]" for rater in range(6)} <= set(report["failed"])
    assert "log-likelihood" in report["failed"]
    assert not set(report["failed"]) & {"sd_item", "threshold_score[1|2]"}


def print_verdict():
    """What calibration says of the package that is imported, as a line of JSON."""
    table = of(np.random.default_rng(20260121))
    verdict = {"calibrated": bool(table["calibrated"]), "failed": sorted(failed(table))}
    package = sys.modules[calibrate.__module__].__file__
    sys.stdout.write(json.dumps(verdict | {"package": package}) + "\n")


@pytest.mark.slow
def test_intervals_that_are_too_narrow_fail(rng):
    def narrow(draws):
        thresholds = draws["threshold_score"]
        mean = thresholds.mean(("chain", "draw"))
        return {"threshold_score": mean + 0.3 * (thresholds - mean)}

    table = of(rng, wrap=changed(narrow))
    assert "threshold_score[2|3]" in failed(table)
    coverage = table.sel(quantity="threshold_score[2|3]", level=0.9)
    assert float(coverage["coverage_upper"]) < 0.8
    assert bool(coverage["outside"])


@pytest.mark.slow
def test_a_posterior_that_ignores_the_ratings_fails(rng):
    """Each simulation is given the posterior of another one's ratings."""
    traces = []

    def wrap(sample):
        def fit(design, seed):
            traces.append(sample(design, seed))
            return traces[len(traces) // 2]

        return fit

    table = of(rng, wrap=wrap)
    assert "log-likelihood" in failed(table)


def places(rng, draw):
    """Places of one draw among 99 others of its kind."""
    samples = [draw() for _ in range(2000)]
    return [_pit(sample[0], sample[1:], rng) for sample in samples]


def test_places_are_uniform_where_truths_are_draws(rng):
    assert kstest(places(rng, lambda: rng.normal(size=100)), "uniform").pvalue > 0.01
    assert kstest(places(rng, lambda: rng.integers(0, 3, 100)), "uniform").pvalue > 0.01
    assert 0.0 < _pit(-9.0, rng.normal(size=100), rng) < 1 / 101
    assert 100 / 101 < _pit(9.0, rng.normal(size=100), rng) < 1.0


def test_other_levels_leave_the_cells_as_they_are(rng):
    ratings = crowd_ratings(rng, items=4, raters=3)
    design = build_design(ratings, MODEL)
    other = replace_categories(design, {"score": np.full((1, 12), 3)})
    assert other.scales[0].category.tolist() == [3] * 12
    assert other.terms == design.terms
    assert set(design.scales[0].category.tolist()) != {3}


def test_equal_seeds_give_equal_places(rng):
    pits = [
        of(np.random.default_rng(1), simulations=3, sampler=BRIEF, afresh=True)["pit"].to_numpy()
        for _ in range(2)
    ]
    assert np.array_equal(*pits)


def test_the_table_says_what_failed(flipped):
    (table,) = report_tables(join_groups({"calibration": flipped}, {}))
    assert table.note.startswith("NOT CALIBRATED: 20 simulations")
    row = next(row for row in table.rows if row[0] == "location_rater[r0]")
    assert row[-2] == "OUTSIDE"
    assert float(row[-1]) < 0.05


def test_simulations_that_are_kept_are_not_fitted_again(rng):
    ratings, calls, kept = crowd_ratings(rng, items=8, raters=6), [], {}
    sample = sampling_fit(ratings, MODEL, BRIEF, execution=IN_PROCESS)

    def fit(design, seed):
        calls.append(seed)
        return sample(design, seed)

    class Kept:
        get = staticmethod(kept.get)
        put = staticmethod(kept.__setitem__)

    how = {"simulations": 3, "seed": 3, "fit": fit}
    design = build_design(ratings, MODEL)
    complete = calibrate(design, ratings, MODEL, BRIEF, **how)
    for lost in ("simulation-0", "simulation-2"):
        xr.testing.assert_identical(
            calibrate(design, ratings, MODEL, BRIEF, execution=Execution(store=Kept()), **how),
            complete,
        )
        del kept[lost]
    calls.clear()
    xr.testing.assert_identical(
        calibrate(design, ratings, MODEL, BRIEF, execution=Execution(store=Kept()), **how), complete
    )
    assert len(calls) == 1


def test_metrics_are_of_ratings_that_the_fit_has_not_seen(rng):
    """The truth comes first; a metric that tells it from the draws, or misses it alone, fails."""

    def metrics(levels):
        score = levels["score"]
        share = (score == 2).mean(axis=1)
        known = np.where(np.arange(len(score)) > 0, share, np.nan)
        return {"share": share, "never known": known, "told apart": np.arange(len(score)) == 0}

    table = of(rng, simulations=15, sampler=SHORT, metrics=metrics)
    pit = table["pit"].to_pandas()
    assert (pit.loc["never known"] < 1 / 101).all()
    assert (pit.loc["told apart"] > 100 / 101).all()
    assert 0.2 < pit.loc["share"].mean() < 0.8
    assert {"never known", "told apart"} <= failed(table)
    assert "share" not in failed(table)


def observed_levels(loaded):
    """Observed levels of each scale as one draw, in the order of the model's ratings."""
    scale = loaded.ratings.factors["scale"]
    scores = {
        name: loaded.ratings.score[scale.codes == code] for code, name in enumerate(scale.labels)
    }
    return {name: level[None] for name, level in scores.items() if level.size}


def test_metrics_of_a_panel_are_those_that_measure_gives():
    files = load_study("quickstart", overrides=["bootstrap.replicates=20"])
    loaded = read_study(files)
    design = build_design(loaded.ratings, files.model.spec)
    profile = measure_panel(loaded)["profile"]
    metrics = calibrated_metrics(study_metrics(loaded), design)(observed_levels(loaded))
    assert list(metrics) == [f"CVaR[{name}]" for name in profile["model"].to_numpy()]
    assert np.concatenate(list(metrics.values())) == pytest.approx(profile["cvar"].to_numpy())


def test_metrics_of_a_crowd_are_those_that_measure_gives():
    files = load_study("quickstart_crowd", overrides=["bootstrap.replicates=20"])
    loaded = read_study(files)
    design = build_design(loaded.ratings, files.model.spec)
    table = loaded.responsiveness.sel(by="all")
    metrics = calibrated_metrics(study_metrics(loaded), design)(observed_levels(loaded))
    groups = table["group"].to_numpy()[(table["reason"] == "").to_numpy()]
    assert {"all", "gender=Woman"} <= set(groups)
    for metric in ("mpa", "wra"):
        for group in groups:
            value = metrics[f"{metric.upper()}[{group}]"].item()
            assert value == pytest.approx(float(table[metric].sel(group=group)))
    assert len(metrics) == 2 * len(groups)
