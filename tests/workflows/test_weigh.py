"""Other weights over the results of a measurement, which has no draws."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import StorageError
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.report.document import weighed_document
from sharpbayes.report.items import choose_items
from sharpbayes.report.summary import answer, verdict
from sharpbayes.report.tables.catalogue import NOT_CONVERGED, report_tables
from sharpbayes.report.tables.decision import CRITERIA
from sharpbayes.report.tables.format import number, places_of
from sharpbayes.report.weighing_answer import UNCONVERGED
from sharpbayes.spec.load import load_study, load_weights, reload_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.weigh import named_weights, weigh
from tests.shared_results import MEASURED

UNUSABLE = "NOT CONVERGED: do not use the results of the fit."
CROWD = (*MEASURED, "crowd.permutations=0")
LEFT_OUT = (
    "these results have no replicated ratings: probabilities, expected losses and posterior "
    "intervals are left out; `sharpbayes fit` gives them"
)


@pytest.fixture(scope="module")
def panel(shared_results):
    """A measured panel, on disk."""
    return shared_results("measured_panel")


@pytest.fixture(scope="module")
def crowd(shared_results):
    """A measured crowd, on disk."""
    return shared_results("measured_crowd")


def test_weights_have_names_or_those_of_their_files(panel, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(load_weights("equal").text, encoding="utf-8")
    results = open_results(panel)
    expected = weigh(results, {"equal": load_weights("equal")})["equal/profile"].to_dataset()
    for weights, name in (
        ("equal", "equal"),
        (["equal"], "equal"),
        (load_weights(Path("equal")), "equal"),
        (path, "mine"),
        ({"a": str(path)}, "a"),
    ):
        weighed = weigh(results, weights)
        assert list(weighed.children) == [name]
        assert weighed[name]["profile"].to_dataset().identical(expected)


def test_every_weights_file_that_is_not_there_is_named(run, panel):
    done = run("weigh", panel, "--weights", "a", "--weights", "b")
    lines = [line.partition(",")[0] for line in done.stderr.splitlines()]
    assert lines == [f"{name}: no shipped weights file '{name}'" for name in "ab"]
    assert done.exit_code == 2


def test_a_weighed_panel_equals_a_fresh_measurement_bit_for_bit(panel):
    weighed = weigh(open_results(panel, whole=False), named_weights(["precautionary", "equal"]))
    assert weighed.attrs["left_out"] == LEFT_OUT
    assert verdict(weighed) == f"T{LEFT_OUT[1:]}."
    for name, node in weighed.children.items():
        tolerated = {"tolerance"} if name == "precautionary" else set()
        groups = {"profile", "profile_interval", "evidence", "joint", *tolerated}
        assert set(node.children) == groups
        fresh = measure(load_study("quickstart", overrides=(*MEASURED, f'weights="{name}"')))
        for group, data in node.children.items():
            xr.testing.assert_identical(data.to_dataset(), fresh[group].to_dataset())


def test_a_weighed_crowd_equals_a_fresh_measurement_bit_for_bit(crowd):
    weighed = weigh(open_results(crowd), named_weights(["population_us"]))["population_us"]
    assert list(weighed.children) == ["responsiveness_population"]
    fresh = measure(load_study("quickstart_crowd", overrides=(*CROWD, 'weights="population_us"')))
    group = "responsiveness_population"
    xr.testing.assert_equal(weighed[group].to_dataset(), fresh[group].to_dataset())
    assert group not in open_results(crowd)


def test_several_weights_are_compared_in_tables(panel, crowd):
    weights = named_weights(["sharp", "precautionary"])
    limits, order, profiles, verdicts = report_tables(weigh(open_results(panel), weights))
    assert limits.title == "What the evidence does not carry"
    names = ["sharp", "sharp, precautionary", "sharp", "precautionary", "precautionary"]
    assert [row[0] for row in limits.rows] == names
    assert limits.rows[1][1].startswith("aster has the lowest mean log-risk, but shows no answer")
    assert limits.rows[3][1].startswith(
        "With 30 prompts the 1% tail holds 0.3 prompts: this study "
    )
    known = ("models, lowest first", "shown to be within limits")
    assert order.header == ("weights", "lowest", "by", *known)
    assert verdicts.header == ("model", "sharp", "precautionary")
    assert verdicts.rows[0] == ("aster", "no tolerance", "not admissible")
    first, second = order.rows
    ordered = ("aster < briar < cedar < dahlia",)
    assert first == ("sharp", "aster", CRITERIA["cvar"], *ordered, "no tolerance")
    assert second == ("precautionary", "aster", CRITERIA["cvar"], *ordered, "none")
    assert order.note == f"T{LEFT_OUT[1:]}."
    assert profiles.header == ("model", "sharp", "precautionary", "the same")
    assert profiles.rows[0][1].startswith("4.8 (")
    assert profiles.rows[0][1].endswith(") T1")
    alone = report_tables(weigh(open_results(panel), named_weights(["sharp"])))[2]
    assert (alone.title, alone.header) == (
        "Each model under each weighting, as observed",
        ("model", "sharp"),
    )
    files = named_weights(["sharp", "population_us"])
    [populations] = report_tables(weigh(open_results(crowd), files))
    labels = ["sharp: sample", "population_us: sample", "population_us: target"]
    assert [row[0] for row in populations.rows] == labels
    assert populations.note == (
        f"All raters. Target: raters weighted to the shares of the weights. T{LEFT_OUT[1:]}."
    )


def test_results_under_weights_hold_their_text_and_an_absolute_path(panel, tmp_path, monkeypatch):
    """A path that is written as seen from one folder would name another file elsewhere."""
    text = f'approved_by = "The board"\n{open_results(panel).attrs["weights"]}'
    (tmp_path / "ours.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    attrs = weigh(open_results(panel), "./ours.toml")["ours"].attrs
    file = load_weights("./ours.toml")
    assert attrs == file.spec.description | {
        "weights": text,
        "weights_sha256": file.sha256,
        "weights_path": str(tmp_path.resolve() / "ours.toml"),
    }
    assert (attrs["approved_by"], attrs["valid_until"]) == ("The board", "")


def test_several_jurisdictions_give_one_table(panel, tmp_path):
    opened = open_results(panel)
    names = {"eu": ("EU", "2020-03-31", 9.0), "us": ("US", "9020-03-31", 1.0)}
    for name, (place, until, cvar) in names.items():
        head = f'approved_by = "The board"\njurisdiction = "{place}"\nvalid_until = {until}\n'
        text = f"{head}{opened.attrs['weights']}\n[tolerance]\ncvar = {cvar}\n"
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    weighed = weigh(opened, named_weights([str(tmp_path / f"{name}.toml") for name in names]))
    assert weighed["eu"].attrs["jurisdiction"] == "EU"
    document = weighed_document(weighed)["weights"]["eu"]
    assert [document[name] for name in ("jurisdiction", "valid_until")] == ["EU", "2020-03-31"]
    assert document["tolerance"]["verdict"]["dahlia"] == "cannot tell"
    json.dumps(document, allow_nan=False)
    models, verdicts, approvals = report_tables(weighed)[2:]
    # The tier is the same under both; the verdict is not.
    assert [row[-1] for row in models.rows] == ["no: verdict"] * 4
    assert " The same: tier and verdict. " in models.note
    assert verdicts.header == ("model", "eu (EU)", "us (US)")
    assert verdicts.rows[-1] == ("dahlia", "cannot tell", "not admissible")
    assert approvals.rows == (
        ("eu", "EU", "The board", "-", "2020-03-31 (past)"),
        ("us", "US", "The board", "-", "9020-03-31"),
    )


def interrupted_fit(path, *, converged):
    """A fit of the shipped panel that was interrupted, with what its draws miss."""
    results = open_results(path)
    diagnostics = results["diagnostics"].to_dataset().assign(converged=int(converged))
    results["diagnostics"] = xr.DataTree(
        diagnostics.assign_attrs(convergence_issues="" if converged else "R-hat of sd is 1.2")
    )
    results.attrs["status"] = "interrupted"
    return results


def test_an_interrupted_fit_that_has_not_converged_chooses_no_model(shared_results, tmp_path):
    weighed = weigh(interrupted_fit(shared_results("fitted_panel"), converged=False), "sharp")
    save_results(weighed, tmp_path / "weighed.nc")
    for results in (weighed, open_results(tmp_path / "weighed.nc")):
        assert answer(results)[0] == UNCONVERGED
        assert answer(results)[1].startswith("Under sharp aster is lowest as observed by CVaR")
        assert {table.mark for table in report_tables(results)} == {NOT_CONVERGED}
        document = weighed_document(results)
        assert document["answer"][0] == UNCONVERGED
        assert document["convergence_issues"] == "R-hat of sd is 1.2"
        assert verdict(results).endswith("must not be used: R-hat of sd is 1.2.")


def test_an_interrupted_fit_that_has_converged_chooses_a_model(shared_results):
    weighed = weigh(interrupted_fit(shared_results("fitted_panel"), converged=True), "sharp")
    assert answer(weighed)[0].startswith("Under sharp aster is chosen by CVaR")
    assert {table.mark for table in report_tables(weighed)} == {""}


@pytest.mark.parametrize("by", ["policy_score", "worst_dimension"])
def test_models_are_ordered_by_the_criterion_of_the_weights(panel, tmp_path, by):
    opened, path = open_results(panel), tmp_path / "mine.toml"
    path.write_text(f'{opened.attrs["weights"]}\n[decision]\nby = "{by}"\n', "utf-8")
    weighed = weigh(opened, named_weights([str(path)]))
    profile = weighed["mine/profile"].to_dataset()
    value = profile["policy_score"]
    if by == "worst_dimension":
        value = profile["dimension_cvar"].max("dimension")
    order = " < ".join(map(str, value.sortby(value)["model"].to_numpy()))
    assert report_tables(weighed)[1].rows[0][2:4] == (CRITERIA[by], order)


def test_equal_models_have_no_order(panel):
    weighed = weigh(open_results(panel), named_weights(["sharp"]))
    profile = weighed["sharp/profile"].to_dataset()
    cvar = xr.DataArray([3.0, 2.0, np.nan, 2.0], dims="model")
    weighed["sharp/profile"] = xr.DataTree(profile.assign(cvar=cvar))
    row = report_tables(weighed)[1].rows[0]
    assert row[:4] == ("sharp", "briar, dahlia", CRITERIA["cvar"], "briar = dahlia < aster")


def test_the_command_prints_tables_or_one_document(panel, tmp_path):
    out = tmp_path / "weighed.nc"
    asked = ["weigh", str(panel), "--weights", "equal"]
    printed = CliRunner().invoke(app, [*asked, "--out", str(out)])
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert "The observed order under each weighting" in printed.stdout
    assert max(map(len, printed.stdout.splitlines())) <= 80
    assert set(open_results(out).children) == {"equal"}
    done = CliRunner().invoke(app, [*asked, "--json"])
    document = json.loads(done.stdout)
    assert document["left_out"] == LEFT_OUT
    assert set(document["weights"]["equal"]) == {
        *("title", "sha256", "limits", "profile", "profile_interval", "evidence", "joint")
    }
    assert document["weights"]["equal"]["limits"][0].startswith("With 30 prompts the 5% tail ")


def test_results_without_ratings_are_refused(panel):
    results = open_results(panel)
    del results["ratings"]
    with pytest.raises(StorageError) as error:
        weigh(results, named_weights(["sharp"]))
    assert str(error.value) == (
        "these results hold no ratings; run `sharpbayes measure` or `sharpbayes fit` of the study "
        "again"
    )


def test_every_item_of_a_measured_crowd_can_be_shown(crowd):
    results = open_results(crowd)
    contested = set(map(str, results["contested_items"]["item"].to_numpy()))
    other = next(str(x) for x in results["items"]["item"].to_numpy() if str(x) not in contested)
    chosen = choose_items(results, [other])["contested_items"].to_dataset()
    assert int((chosen["score"] >= 0).sum()) == 40


@pytest.fixture(scope="module")
def gappy(tmp_path_factory):
    """A measured panel of which some scores are missing that were asked for."""
    folder = tmp_path_factory.mktemp("gappy")
    source = load_study("quickstart").study.path
    table = pd.read_csv(source.with_suffix(".csv"))
    scores = [name for name in table if table[name].dtype.kind in "if"]
    table.loc[::17, scores] = np.nan
    table.to_csv(folder / "quickstart.csv", index=False)
    shutil.copy(source, folder / "quickstart.toml")
    save_results(
        measure(load_study(folder / "quickstart.toml", overrides=MEASURED)), folder / "r.nc"
    )
    return folder


def test_missing_scores_are_weighed_as_by_a_fresh_measurement(gappy):
    results = open_results(gappy / "r.nc")
    weighed = weigh(results, named_weights(["equal"]))
    [node] = weighed.children.values()
    fresh = measure(load_study(gappy / "quickstart.toml", overrides=(*MEASURED, 'weights="equal"')))
    assert int(fresh["missing"]["missing"].sum()) > 0
    xr.testing.assert_identical(node["missing"].to_dataset(), fresh["missing"].to_dataset())
    titles = [table.title for table in report_tables(weighed)]
    assert "Missing scores: what they could change: equal" in titles


def test_weigh_says_where_it_cannot_tell_what_missing_scores_could_change(gappy):
    results = open_results(gappy / "r.nc")
    results["missing"]["asked"][0, 0, 0] -= 1
    weighed = weigh(results, named_weights(["equal"]))
    assert "missing" not in weighed["equal"].children
    assert weighed.attrs["left_out"] == (
        f"{LEFT_OUT}; what missing scores could change is left out: these results do not keep "
        "which scores were asked for; `sharpbayes measure` with these weights gives it"
    )


def test_priors_are_weighed_too(shared_results):
    results = open_results(shared_results("fitted_panel"))
    weighed = weigh(results, named_weights(["sharp", "precautionary"]))
    sharp, other = (weighed[name]["prior_sensitivity"].to_dataset() for name in weighed.children)
    xr.testing.assert_allclose(sharp, results["prior_sensitivity"].to_dataset())
    assert not sharp["expected_loss"].equals(other["expected_loss"])
    tables = {table.title: table for table in report_tables(weighed)}
    assert "Sensitivity to each prior, without refits: precautionary" in tables
    decided = tables["What each weighting decides"]
    assert (
        dict(zip(decided.header, decided.rows[0], strict=True))["carried by the evidence"] == "no"
    )
    assert decided.header[-3:] == ("admissible", "models by expected loss", "pairs not resolved")
    assert decided.note.removeprefix(f"{UNUSABLE} ").startswith(
        "Choice: the lowest expected loss; under a tolerance, among the models that are within it "
        "with the probability that the decision asks. A choice that the evidence does not carry is "
        "no recommendation; on condition: it holds only if answers at the end of the scale, of "
        "which the lowest model shows none, are no more frequent for it. Admissible: at the "
        "confidence of the tolerance, which may ask for "
        "more. 95% posterior intervals; they contain "
    )
    models = tables["Each model under each weighting"]
    decision = weighed["sharp/decision"].to_dataset().sel(model="dahlia")
    loss, error = (float(decision[f"expected_loss{end}"]) for end in ("", "_mcse"))
    assert models.rows[3][1] == f"14.1 T1 ({number(loss, places_of(error, 2))})"
    assert models.header[-1] == "the same"
    assert models.note.endswith(
        "CVaR of the observed ratings in nats, tier, and in brackets the expected loss, in the "
        "unit of what its weights compare models by. The same: tier, choice and verdict."
    )


def test_what_to_buy_is_weighed_too(shared_results):
    results = open_results(shared_results("fitted_panel")).load()
    results.attrs["study"] += "\n[costs]\nprompt = 4.0\ngeneration = 0.02\njudge = 0.05\n"
    weighed = weigh(results, named_weights(["precautionary"]))
    share = weighed["precautionary/sample_size/purchase_share"]
    assert share.dims == ("purchase", "model", "other")
    assert "generations" in share["purchase"].to_numpy()
    tables = {table.title.split(" for ")[0]: table for table in report_tables(weighed)}
    bought = tables["What to buy next"]
    assert "twice the answers to each prompt" in [row[0] for row in bought.rows]
    assert " for each 10 units of the cost, with its Monte Carlo error." in bought.note
    now = weighed["precautionary/sample_size/prob_distinguishable"].sel(design="prompts x 1")
    unresolved = weighed["precautionary/decision/unresolved"].to_numpy()
    np.testing.assert_array_equal(now.to_numpy()[unresolved], 0.0)
    sizes = tables["Sample size"]
    assert all("(<1%)" in row[1] for row in sizes.rows)
    assert (
        "interval of the difference; in brackets, how probably the interval of a study of that "
        in (sizes.note)
    )
    assert "judges" not in sizes.note


def test_quietly_what_is_decided_is_still_said(shared_results):
    asked = ["weigh", str(shared_results("fitted_panel")), "--weights", "equal"]
    quiet, full = (CliRunner().invoke(app, [*asked, *more]) for more in (["--quiet"], []))
    assert quiet.exit_code == full.exit_code == 0
    assert "What each weighting decides" in quiet.stdout
    assert len(quiet.stdout) < len(full.stdout) / 2


def test_a_fit_with_effects_that_are_left_out_now_is_to_be_made_again(shared_results):
    results = open_results(shared_results("fitted_panel"))
    context = RunContext(reload_study(results.attrs))
    design, study = context.design, context.study
    groups = {name: results[name].to_dataset() for name in ("posterior", "posterior_predictive")}
    assert replicate_draws(groups, design, study).design is design
    narrower = replace(design, inseparable_terms=(("model_prompt_dimension", "no reason"),))
    with pytest.raises(StorageError, match="has location_model_prompt_dimension, which this"):
        replicate_draws(groups, narrower, study)
