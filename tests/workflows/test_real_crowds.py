"""Crowds of real ratings against pandas and the krippendorff package; the files stand beside."""

from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest

from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.shared_data import SHARED_DATA, needs_shared_data

STUDIES = Path(__file__).parents[1] / "studies"
FEW = ("bootstrap.replicates=100", "crowd.permutations=50")

pytestmark = needs_shared_data


def measured(name, *more):
    return measure(load_study(STUDIES / f"{name}.toml", overrides=(*FEW, *more)))


def alpha(table, levels):
    """Krippendorff's ordinal alpha of a table with columns item, rater, score."""
    wide = table.pivot_table(index="rater", columns="item", values="score").to_numpy()
    return krippendorff.alpha(
        wide, level_of_measurement="ordinal", value_domain=list(range(levels))
    )


def test_dices_cohesion_and_raters():
    results, table = measured("dices350"), pd.read_csv(SHARED_DATA / "dices350.csv")
    assert float(results["cohesion"]["irr"].sel(group="all")) == pytest.approx(alpha(table, 3))
    raters = results["raters"].to_dataset()
    shares = table.groupby("rater")["score"].agg(lambda s: s.isin([0, 2]).mean())
    rates = raters["extreme_response"].to_series()
    assert rates.sort_index().to_numpy() == pytest.approx(
        shares.set_axis(shares.index.astype(str)).sort_index().to_numpy()
    )
    unsafe = table["gold_unsafe"] == 1
    for rater in ("0", "61", "108"):
        by_rater = table["rater"] == int(rater)
        low, high = (table.loc[by_rater & kind, "score"].to_numpy() for kind in (~unsafe, unsafe))
        cell = raters.sel(rater=rater)
        assert float(cell["wra"]) == pytest.approx((high[:, None] > low[None, :]).mean())
    # Rater 61 says safe of everything: nothing is known of how sure that is.
    assert np.isnan(raters["wra_interval"].sel(rater="61")).all()


def test_pluriharms_cohesion_by_gender():
    results = measured("pluriharms")
    table = pd.read_csv(SHARED_DATA / "pluriharms_ratings.csv").dropna()
    table["score"] = np.digitize(table["rating"], [20, 40, 60, 80])
    gender = pd.read_csv(SHARED_DATA / "pluriharms_raters.csv").set_index("rater")["gender"]
    cohesion = results["cohesion"].to_dataset()
    for name in ("Man", "Woman"):
        of_gender = table[table["rater"].map(gender) == name]
        cell = cohesion.sel(group=f"gender={name}")
        assert float(cell["irr"]) == pytest.approx(alpha(of_gender, 5))
    assert cohesion["xrr"].sel(group="gender=Man").item() == pytest.approx(
        cohesion["xrr"].sel(group="gender=Woman").item()
    )


def test_convabuse_raters_against_everyone_else():
    results = measured("convabuse")
    table = pd.read_csv(SHARED_DATA / "convabuse.csv").drop_duplicates(["item", "rater"])
    assert results.attrs["data_repeated"] == 12_768 - len(table)
    raters = results["raters"].to_dataset()
    for rater in ("Annotator1", "Annotator5"):
        scored = table[table["rater"] == rater].set_index("item")["score"]
        others = table[(table["rater"] != rater) & table["item"].isin(scored.index)]
        scores, unsafe = scored.loc[others["item"]].to_numpy(), (others["score"] >= 1).to_numpy()
        low, high = (np.bincount(scores[kind], minlength=5) for kind in (~unsafe, unsafe))
        expected = (high * (np.cumsum(low) - low)).sum() / low.sum() / high.sum()
        assert float(raters["wra"].sel(rater=rater)) == pytest.approx(expected)


def test_nibbler_scores_by_round():
    results = measured("nibbler")
    table = (
        pd.read_csv(SHARED_DATA / "nibbler.csv")
        .drop_duplicates(["item", "rater"])
        .dropna(subset="score")
    )
    expected = table.groupby("round")["score"].value_counts(normalize=True)
    share = results["scale_use"]["score_share"].sel(group="all")
    for (name, score), value in expected.items():
        assert float(share.sel(by=f"round={name}", score=f"{score:g}")) == pytest.approx(value)
    reason = results["responsiveness"]["reason"].sel(group="all", by="all").item()
    assert reason == "only the raters themselves label items"
