"""Tables of bootstrap and posterior alongside each other."""

import pytest
import xarray as xr

from sharpbayes.report.summary import plain_verdict
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.report.tables.joint import TABLES
from sharpbayes.report.wording import resampled_units
from sharpbayes.storage.results import open_results
from tests.panels import frame, measured
from tests.report.hand_made import add, fitted_panel, panel

CLUSTERED = ("clusters of prompts", "generations")
SHARES = [spec for spec in TABLES if spec.rows.__name__ == "_shares_of_models"]


def with_shares(tree, *dimensions):
    """Results with equal tail shares of some dimensions."""
    joint = tree["joint"].to_dataset()
    share = joint.sel(metric=["mean"]) * 0 + 1 / len(dimensions)
    shares = [share.assign_coords(metric=[f"tail_share[{name}]"]) for name in dimensions]
    return add(tree, joint=xr.concat([joint, *shares], "metric").assign_attrs(joint.attrs))


def test_a_single_dimension_has_no_table_of_shares():
    assert build_tables(SHARES, with_shares(panel(), "bias")) == []
    [table] = build_tables(SHARES, with_shares(panel(), "bias", "ethics"))
    assert table.title == "Tail shares of dimensions: bootstrap"
    assert {row[2] for row in table.rows} == {"0.50 (0.50 to 0.50)"}


def test_titles_name_the_estimates_that_there_are():
    [cvar, *_] = build_tables(TABLES[:1], panel())
    assert cvar.title == "CVaR 95: bootstrap"
    [cvar, *_] = build_tables(TABLES[:1], fitted_panel())
    assert cvar.title == "CVaR 95: bootstrap and posterior"


def test_how_several_judges_become_one_harm_is_said_of_the_policy_score():
    sentence = (
        " Harm lies between the mean of the judges and the highest of them (log-sum-exp): where "
        "they differ it is above their mean."
    )
    for judges, note in ((2, sentence), (1, "")):
        tree = panel()
        tree["panel"] = xr.DataTree(tree["panel"].to_dataset().isel(judge=slice(judges)))
        tables = {table.title: table.note for table in build_tables(TABLES, tree)}
        assert tables["Policy score: bootstrap"].endswith(f"over prompts.{note}")
        assert sentence not in tables["CVaR 95: bootstrap"]


def test_models_of_a_table_come_by_its_metric():
    tree = panel()
    observed = tree["joint"]["observed"]
    by_score = observed.sel(metric="policy_score").sortby(observed.sel(metric="cvar"))[::-1]
    joint = tree["joint"].to_dataset()
    joint["observed"].loc[{"metric": "policy_score"}] = -observed.sel(metric="cvar")
    tables = {x.title: x.rows for x in build_tables(TABLES, add(tree, joint=joint))}
    assert [row[0] for row in tables["Policy score: bootstrap"]] == [*by_score["model"].values]
    assert [row[0] for row in tables["CVaR 95: bootstrap"]] == [*by_score["model"].values][::-1]


def test_it_is_named_what_was_resampled(tmp_path):
    repeated = measured(tmp_path, frame(samples=3), roles=', sample = "sample"')
    [cvar, *_] = build_tables(TABLES[:1], repeated)
    assert "95% interval over prompts and generations." in cvar.note
    assert plain_verdict(repeated).endswith("contain the sampling of prompts and generations only.")
    [cvar, *_] = build_tables(TABLES[:1], panel())
    assert "95% interval over prompts." in cvar.note


def test_each_metric_of_a_crowd_has_its_own_range(shared_results):
    tables = build_tables(TABLES, open_results(shared_results("measured_crowd")))
    ranges = {table.title.partition(":")[0]: table.note.partition(";")[0] for table in tables}
    assert ranges["MPA"] == ranges["WRA"] == ranges["AUC-ROC"] == "From 0 to 1"
    assert ranges["Kendall's τ"] == ranges["Spearman"] == "From −1 to 1"


@pytest.mark.parametrize(
    ("group", "note", "units"),
    [
        ("profile_interval", "over prompts, not", ("prompts",)),
        ("profile_interval", "over clusters of prompts and of generations, not", CLUSTERED),
        ("responsiveness", "which items and which raters", ("items", "raters")),
        ("responsiveness", "which clusters of items and raters", ("clusters of items", "raters")),
    ],
)
def test_what_was_resampled_is_an_attribute_and_in_earlier_results_a_note(group, note, units):
    tree = xr.DataTree.from_dict({group: xr.Dataset(attrs={"interval_note": note})})
    assert resampled_units(tree) == units
    tree[group].attrs["resampled_units"] = '["batches", "raters"]'
    assert resampled_units(tree) == ("batches", "raters")


def test_differences_of_what_can_be_compared_where_tails_cannot_are_a_table():
    results = panel()
    intervals = results["profile_interval"].to_dataset()
    labels = {"model": ["a", "b", "c"], "other": ["a", "b", "c"], "bound": ["lower", "upper"]}
    for metric in ("mean", "policy_score"):
        values = results["profile"][metric]
        gap = values - values.rename(model="other")
        ends = xr.concat([gap - 0.25, gap + 0.25], "bound").assign_coords(labels)
        intervals = intervals.assign(
            {f"{metric}_difference_observed": gap, f"{metric}_difference_joint": ends}
        )
    specs = [spec for spec in TABLES if spec.title == "Differences of models: bootstrap"]
    assert build_tables(specs, panel()) == []
    [table] = build_tables(specs, add(results, profile_interval=intervals))
    assert table.header == ("pair", "Mean log-risk", "Policy score")
    assert table.rows[0] == ("b − c", "−0.50 (−0.75 to −0.25)", "−0.05 (−0.30 to 0.20)")
    assert [row[0] for row in table.rows] == ["b − c", "b − a", "c − a"]
    assert table.note.endswith("where it contains 0, the pair is not distinguishable.")
