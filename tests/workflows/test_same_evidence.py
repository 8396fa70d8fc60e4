"""The same evidence in another form gives the same numbers and the same answer."""

import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.library import find
from sharpbayes.report.summary import answer
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.panels import frame, measured

SCORES = ["bias_a", "bias_b", "truth"]
GROUPS = ("profile_interval", "evidence", "stability", "judges", "missing")
# Variables that count scores, and four that their number alone moves: p values of tau-b a little.
COUNTS = {"asked", "missing", "overlap", "mad_n", "mad_sd", "cvar_bounds", "judge_trials"}
COUNTS |= {"concordance_p", "concordance_p_holm"}


@pytest.fixture(scope="module")
def table():
    """Scores of sixty prompts, of which some are missing."""
    rng, scores = np.random.default_rng(1), frame(models=3, prompts=60, seed=4)
    for name in SCORES:
        scores[name] = scores[name].astype(float).mask(rng.random(len(scores)) < 0.06)
    return scores


@pytest.fixture(scope="module")
def once(table, tmp_path_factory):
    return measured(tmp_path_factory.mktemp("once"), table)


def assert_same(first, second, *, without=()):
    """Compare the numbers of two results, but for some variables."""
    for name in GROUPS:
        groups = [x[name].to_dataset().drop_vars(without, errors="ignore") for x in (first, second)]
        xr.testing.assert_allclose(*(x.reset_coords(drop=True) for x in groups), rtol=1e-9)


def test_the_order_of_rows_does_not_matter(table, once, tmp_path):
    shuffled = measured(tmp_path, table.sample(frac=1, random_state=3))
    assert_same(once, shuffled)
    assert answer(shuffled) == answer(once)


@pytest.mark.parametrize("role", ["trial", "sample"])
def test_a_copy_of_every_score_says_nothing_more(table, once, tmp_path, role):
    """Each judgement twice, or each answer with its judgements."""
    copies = pd.concat([table.assign(number=number) for number in (1, 2)])
    repeated = measured(tmp_path, copies, roles=f', {role} = "number"')
    assert_same(once, repeated, without=COUNTS)
    p = (results["judges"]["concordance_p"] for results in (once, repeated))
    xr.testing.assert_allclose(*p, rtol=0.05)
    numbers = ("scores are missing", "repeated", "generations")
    texts = [
        [text for text in answer(results) if not any(part in text for part in numbers)]
        for results in (once, repeated)
    ]
    assert texts[0] == texts[1]


def test_the_order_of_ratings_of_a_crowd_does_not_matter(tmp_path):
    results = []
    for name in ("before", "after"):
        folder = tmp_path / name
        shutil.copytree(find("studies", "quickstart_crowd").parent, folder)
        if name == "after":
            path = folder / "quickstart_crowd.csv"
            ratings = pd.read_csv(path, dtype=str, keep_default_na=False)
            ratings.sample(frac=1, random_state=1).to_csv(path, index=False)
        few = ("bootstrap.replicates=40", "crowd.permutations=9")
        results.append(measure(load_study(folder / "quickstart_crowd.toml", overrides=few)))
    for name in ("responsiveness", "responsiveness_difference", "cohesion", "harshness_difference"):
        xr.testing.assert_allclose(*(x[name].to_dataset() for x in results), rtol=1e-9)
    assert answer(results[0]) == answer(results[1])
