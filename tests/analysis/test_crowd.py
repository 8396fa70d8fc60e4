"""A crowd study from its files to its groups of results."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.metrics.crowd.responsiveness import harmonic_mean
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure

STUDY = """
schema = "sharpbayes/study/2"
title = "T"
seed = 1
[crowd]
data = "r.csv"
roles = {{ item = "item", rater = "rater", score = "score"{order} }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["gender"], ["gender", "age"]]
by = ["kind"]
labels = {{ from = "crowd", cut = 2 }}
{more}
[bootstrap]
replicates = 80
"""


def written(folder, *, order="", more="permutations = 49", column=None):
    rng = np.random.default_rng(3)
    item, rater = np.divmod(np.arange(60 * 12), 12)
    perceived = (
        rng.normal(size=60)[item] + rng.normal(size=12)[rater] / 2 + rng.normal(size=720) / 2
    )
    table = pd.DataFrame(
        {
            "item": item,
            "rater": rater,
            "score": np.digitize(perceived, [-1, 0, 1, 1.5]),
            "gender": np.where(rater < 10, np.where(rater % 2, "W", "M"), "N"),
            "age": np.where(rater % 3 == 0, "old", "young"),
            "kind": np.where(item < 5, "rare", "common"),
            "when": rng.permutation(720) if column is None else column,
        }
    )
    table.to_csv(folder / "r.csv", index=False)
    (folder / "s.toml").write_text(STUDY.format(order=order, more=more))
    return table, measure(load_study(folder / "s.toml"))


@pytest.fixture(scope="module")
def measured_study(tmp_path_factory):
    return written(tmp_path_factory.mktemp("crowd"), order=', time = "when"')


def test_groups_and_names(measured_study):
    _, results = measured_study
    assert list(results.children) == [
        "responsiveness",
        "responsiveness_difference",
        "evidence",
        "harshness_difference",
        "scale_use",
        "cohesion",
        "raters",
        "items",
        "contested_items",
        "sample_size",
        "ratings",
        "joint",
    ]
    names = {"irr", "xrr", "gai"}
    assert names | {f"{n}_p" for n in names} | {f"{n}_p_adjusted" for n in names} <= set(
        results["cohesion"].data_vars
    )
    assert results["items"]["plurality"].dims == ("item", "group")
    assert {"drift", "drift_p", "mpa", "wra", "extreme_response"} <= set(
        results["raters"].data_vars
    )


def test_small_groups_are_never_shown_as_certain(measured_study):
    _, results = measured_study
    groups = results["responsiveness"].to_dataset()
    small = groups.sel(group="gender=N", by="all")
    assert small["reason"].item() == "2 raters, fewer than min_raters = 3"
    rare = groups.sel(group="gender=W", by="kind=rare")
    assert rare["reason"].item().startswith("5 items with a score and a label, fewer than")
    for cell in (small, rare):
        names = [n for n in cell if n not in ("count", "items", "raters", "reason")]
        assert all(np.isnan(cell[n]).all() for n in names)
    difference = results["responsiveness_difference"].to_dataset()
    assert np.isnan(difference["hm"].sel(group="gender=N")).all()
    assert np.isnan(difference["hm_p_holm"].sel(by="kind=rare")).all()
    assert np.isnan(results["cohesion"]["irr"].sel(group="gender=N"))
    assert np.isnan(results["sample_size"]["additional_ratings"].sel(group="gender=N")).all()


def test_resamples_that_are_all_the_same_give_no_interval(tmp_path):
    table, _ = written(tmp_path)
    table.loc[table["gender"] == "W", "score"] = 3
    table.to_csv(tmp_path / "r.csv", index=False)
    cell = measure(load_study(tmp_path / "s.toml"))["responsiveness"].to_dataset()
    cell = cell.sel(group="gender=W", by="all")
    assert (float(cell["mpa"]), float(cell["wra"])) == (0, 0)
    assert np.isnan(cell["mpa_interval"]).all()
    assert np.isnan(cell["wra_interval"]).all()


def test_differences_agree_with_the_metrics(measured_study):
    _, results = measured_study
    metrics = results["responsiveness"].to_dataset().sel(by="all")
    apart = results["responsiveness_difference"].to_dataset().sel(by="all")
    cell = apart.sel(group="gender=W", other="gender=M")
    expected = metrics["hm"].sel(group="gender=W") - metrics["hm"].sel(group="gender=M")
    assert float(cell["hm"]) == pytest.approx(float(expected))
    low, high = cell["hm_interval"].values
    assert low < float(cell["hm"]) < high


def test_priority_uses_the_finest_grouping(measured_study):
    _, results = measured_study
    items = results["items"].to_dataset()
    assert items.attrs["grouping"] == "gender,age"
    metrics = results["responsiveness"].to_dataset().sel(by="all")
    finest = items["grouping"].values == "gender,age"
    weight = metrics["hm"].values[finest]
    plural = items["plurality"].values[:, finest]
    raters = metrics["raters"].values
    here_names = items["group"].values[finest & (raters >= 3)].tolist()
    assert len(here_names) < finest.sum()
    apart = items["plurality"].sel(group=here_names)
    assert (
        items["disagreement"].values.tolist()
        == (apart.max("group") - apart.min("group")).values.tolist()
    )
    known = np.isfinite(weight)
    assert items["in_priority_grouping"].values.tolist() == [
        g in here_names for g in items["group"].values.tolist()
    ]
    assert items["weight"].values[finest] == pytest.approx(weight, nan_ok=True)
    expected = plural[:, known] @ weight[known] / weight[known].sum() / 4
    assert items["priority"].values == pytest.approx(expected)


def test_items_contested_items_hold_the_scores_of_the_file(measured_study):
    table, results = measured_study
    apart = results["contested_items"].to_dataset()
    for item in apart["item"].values:
        rows = table[table["item"] == int(item)].sort_values("rater")
        assert apart["score"].sel(item=item).values.tolist() == rows["score"].tolist()
    assert apart["group:gender"].values.tolist()[-1] == "N"


def test_scale_use_counts_single_ratings(measured_study):
    table, results = measured_study
    counts = results["scale_use"]["score_count"].sel(group="gender=M", by="kind=rare")
    rows = table[(table["gender"] == "M") & (table["kind"] == "rare")]
    assert counts.values.tolist() == np.bincount(rows["score"], minlength=5).tolist()
    small = results["scale_use"].to_dataset().sel(group="gender=N", by="all")
    assert np.isnan(small["extreme_response"])
    assert small["reason"].item() == "2 raters, fewer than min_raters = 3"
    assert small["score_count"].sum() == 120


def test_crowd_labels_of_a_rater_leave_the_rater_out(measured_study):
    table, results = measured_study
    cell = results["raters"].to_dataset().sel(rater="4")
    scored = table[table["rater"] == 4].set_index("item")["score"]
    pairs = [
        (scored[item], int(score >= 2))
        for item, score in table[table["rater"] != 4][["item", "score"]].to_numpy()
    ]
    low = np.array([s for s, u in pairs if not u])
    high = np.array([s for s, u in pairs if u])
    assert float(cell["wra"]) == pytest.approx((high[:, None] > low[None, :]).mean())
    assert float(cell["hm"]) == pytest.approx(float(harmonic_mean(cell["mpa"], cell["wra"])))


def test_one_run_is_like_another(tmp_path):
    _, first = written(tmp_path)
    _, again = written(tmp_path)
    for name, node in first.children.items():
        assert node.to_dataset().identical(again[name].to_dataset()), name
    assert "drift" not in first["raters"]


def test_no_permutations_leave_p_values_missing(tmp_path):
    _, results = written(tmp_path, more="permutations = 0")
    assert np.isfinite(results["cohesion"]["irr"]).any()
    assert np.isnan(results["cohesion"]["irr_p"]).all()


def test_order_may_be_a_time_and_must_be_one(tmp_path):
    times = pd.date_range("2026-01-01", periods=720, freq="h").astype(str)
    _, results = written(tmp_path, order=', time = "when"', column=times)
    assert np.isfinite(results["raters"]["drift"]).all()
    with pytest.raises(DataError, match=r"720 of 720 cells neither a number nor a time: rows 2"):
        written(tmp_path, order=', time = "when"', column="soon")
