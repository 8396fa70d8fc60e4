"""Coverage of the bootstrap at a study's own design: the prior draws known truths."""

import pytest
import xarray as xr

from sharpbayes.bayes.predict.calibration import draw_truths
from sharpbayes.posterior.bootstrap_coverage import bootstrap_coverage
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.context import open_context

STUDIES = 15


def coverage_of(interval, *, replicates=100):
    """Coverage of a kind of interval at the design of the shipped panel."""
    overrides = (f"bootstrap.replicates={replicates}", f'bootstrap.interval="{interval}"')
    context = open_context(load_study("quickstart", overrides=overrides))
    truths = draw_truths(context.design, simulations=STUDIES, seed=3)
    return bootstrap_coverage(context.metrics, context.design, truths, seed=3)


@pytest.fixture(scope="module")
def coverage():
    return coverage_of("studentized", replicates=20)


@pytest.mark.slow
def test_studentized_intervals_hold_the_truth_where_percentile_ones_do_not():
    studentized, percentile = (
        coverage_of(name)["bootstrap_coverage"].mean("model").to_series()
        for name in ("studentized", "percentile")
    )
    assert (studentized[["mean", "cvar", "policy_score"]] > 0.85).all()
    # Thirty prompts have a prompt and a half in the tail, and no resample exceeds the largest.
    assert percentile["cvar"] < 0.75
    assert percentile["mean"] > 0.8


def test_coverage_is_a_share_of_the_simulated_studies(coverage):
    shares = coverage["bootstrap_coverage"]
    assert shares["metric"].values.tolist() == ["mean", "volatility", "cvar", "policy_score"]
    assert shares["model"].values.tolist() == ["aster", "briar", "cedar", "dahlia"]
    assert ((shares * STUDIES) % 1).round(6).isin([0, 1]).all()


def test_the_table_says_of_what_the_shares_are(coverage):
    tree = xr.DataTree.from_dict({"/calibration": coverage})
    [table] = build_tables(
        [
            spec
            for spec in TABLES
            if isinstance(spec.title, str) and "bootstrap intervals at" in spec.title
        ],
        tree,
    )
    assert table.header == ("metric", "models", "aster", "briar", "cedar", "dahlia")
    assert table.note == (
        f"Share of 95% studentized intervals, of {STUDIES} studies simulated with parameters from "
        "the prior, that hold the metric of new prompts under the same parameters."
    )
