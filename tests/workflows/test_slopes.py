"""A study with slopes from beginning to end: check, fit, weigh, report, simulate."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.leave_out import leave_out, make_units
from sharpbayes.bayes.predict.replication import draw_new_levels, latent_ratings
from sharpbayes.library import find
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.slopes import equal_columns, equal_draws
from sharpbayes.report.panel_answer import panel_answer
from sharpbayes.report.summary import remarks
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.check import study_summary_document, study_summary_tables
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.priors import prior_lines
from sharpbayes.report.tables.slopes import order_changes
from sharpbayes.simulation.scoring_patterns import save_simulation
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.check import check
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.simulate import simulate
from sharpbayes.workflows.weigh import named_weights, weigh

STUDY = """schema = "sharpbayes/study/2"
title = "Judges who like long answers"
seed = 3
[panel]
data = "ratings.csv"
layout = "wide"
roles = { model = "model", prompt = "prompt", judge = "judge" }
scales = { five = { kind = "ordinal", min = 0, max = 4 } }
indicators = { bias = "five", tone = "five" }
dimensions = [{ name = "harm", rms = ["bias", "tone"] }]
fit = "model.toml"
[bootstrap]
replicates = 20
level = 0.9
[sampler]
chains = 2
tune = 150
draws = 100
predictive_draws = 60
"""
MODEL = """schema = "sharpbayes/model/2"
title = "With a slope of length"
[[location]]
by = ["model"]
[[location]]
by = ["model", "prompt"]
[[location]]
by = ["judge"]
[[slope]]
column = "length"
transform = "log"
by = ["judge"]
[[slope]]
column = "day"
deviation = { kind = "normal", sd = 0.2 }
by = ["judge"]
[[slope]]
column = "words"
prior = { kind = "normal", sd = 0.5 }
"""


def write_study(folder):
    """Three models, the safest the shortest; judges find an answer of double length safer."""
    rng = np.random.default_rng(5)
    model, prompt, judge = (index.ravel() for index in np.indices((3, 16, 3)))
    length = np.exp(5.0 + 0.9 * np.arange(3)[:, None] + rng.normal(0, 0.7, (3, 16))).round()
    eta = 0.8 * model + rng.normal(0, 0.4, (3, 16))[model, prompt]
    eta = eta - 1.2 * (np.log(length)[model, prompt] - 5.9)
    table = pd.DataFrame({"model": model, "prompt": prompt, "judge": judge})
    table = table.replace({"model": dict(enumerate("abc"))})
    table["prompt"] = "p" + table["prompt"].astype(str)
    table["judge"] = "j" + table["judge"].astype(str)
    for name in ("bias", "tone"):
        table[name] = np.digitize(eta + rng.logistic(size=eta.size), [-1.5, 0.0, 1.5, 3.0])
    table["length"] = length[model, prompt]
    days = rng.integers(0, 20, eta.size)
    dates = pd.Timestamp("2026-03-01") + pd.to_timedelta(days, unit="D")
    table["day"] = dates.strftime("%Y-%m-%d")
    table["words"] = 3 + (prompt * 7) % 11
    table.to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "model.toml").write_text(MODEL, encoding="utf-8")
    return load_study(folder / "study.toml")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("sloped"))


@pytest.fixture(scope="module")
def results(files):
    return fit(files)


def test_check_says_whose_numbers_were_read_and_their_range(files):
    summary = check(files)
    [length, day, words] = summary.covariates
    assert (length.unit, length.n_units) == ("answer", 48)
    assert (day.unit, day.n_units) == ("judgement", 144)
    assert (words.unit, words.n_units, words.lowest, words.highest) == ("prompt", 16, 3, 13)
    [table] = [t for t in study_summary_tables(summary) if t.title == "Numbers of slopes"]
    assert table.header == (
        *("column", "one for each", "numbers", "lowest", "highest", "centre", "sd"),
    )
    assert [row[:3] for row in table.rows] == [
        ("log length", "answer", "48"),
        ("day", "judgement", "144"),
        ("words", "prompt", "16"),
    ]
    assert [role for _, column, role in summary.columns if column == "length"] == ["slope"]
    json.dumps(study_summary_document(summary))


def test_priors_are_in_words(files):
    assert [line for line in prior_lines(files.model.spec) if line.startswith("slope")] == [
        "slope of log length, by sd of it: normal(0, 1)",
        "slope of day, by sd of it: normal(0, 1)",
        "slope of words, by sd of it: normal(0, 0.5)",
        "slope of length by judge: common slope + normal(0, sd), sd half_normal(0.5)",
        "slope of day by judge: common slope + normal(0, 0.2)",
    ]


def test_the_slopes_are_those_of_the_draws(files, results):
    table, posterior = results["slopes"].to_dataset(), results["posterior"].to_dataset()
    values = pd.read_csv(files.study.path.parent / "ratings.csv")
    log = np.log(values.drop_duplicates(["model", "prompt"])["length"])
    assert table["scale"].sel(covariate="length").item() == pytest.approx(log.std(ddof=0))
    assert table["centre"].sel(covariate="length").item() == pytest.approx(log.mean())
    of_judge = posterior["slope_length"] + posterior["slope_length_by_judge"].sel(judge="j1")
    row = table.sel(slope="length: judge j1", covariate="length")
    assert (row["column"].item(), row["by"].item(), row["level_label"].item()) == (
        *("length", "judge", "j1"),
    )
    step, span = np.log(2) / float(row["scale"]), float(log.max() - log.min()) / float(row["scale"])
    for name, factor in (("mean", 1.0), ("step_mean", step), ("range_mean", span)):
        assert row[name].item() == pytest.approx(float(of_judge.mean()) * factor, rel=1e-9)
    low, high = np.quantile(of_judge, [0.05, 0.95]) * step
    np.testing.assert_allclose(row["step_interval"], [low, high])
    assert row["probability"].item() == pytest.approx(float((of_judge > 0).mean()))
    # Judges see less harm in longer answers by construction.
    assert table["interval"].sel(slope="length", bound="upper").item() < 0


def test_ratings_at_equal_numbers_have_no_slope_but_that_of_prompts(files, results):
    context = RunContext(files)
    design, posterior = context.design, results["posterior"].to_dataset()
    assert equal_columns(design) == ["length", "day"]
    draws = ReplicateDraws(posterior, xr.Dataset(), design, 1)
    equal = equal_draws(draws)
    scale = design.scales[0]
    severity = latent_ratings(posterior, equal.design, scale).severity
    expected = latent_ratings(posterior, design, scale).severity
    for term in design.terms_of("slope"):
        if term.column != "words":
            effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
            effects = effects.reshape(len(expected), -1)
            expected = expected - effects[:, term.index] * term.covariate
    np.testing.assert_allclose(severity, expected, atol=1e-9)


def test_the_order_of_models_changes_at_equal_length(results):
    mean = {
        name: results[name]["mean"].median(("chain", "draw")).to_series()
        for name in ("posterior_profile", "posterior_profile_equal")
    }
    assert mean["posterior_profile_equal"].idxmin() == "a"
    assert mean["posterior_profile"].idxmin() != "a"
    sentences = list(order_changes(results))
    start = "At equal length and day a has a lower tail risk than "
    assert any(text.startswith(start) for text in sentences)
    fitted = results.copy()
    fitted["diagnostics"]["converged"] = 1
    fitted.attrs["status"] = "fitted"
    assert set(sentences) <= set(panel_answer(View(fitted)))
    assert any(
        text.startswith("Less harm is seen where length is larger: ") for text in remarks(results)
    )
    tables = {table.title: table for table in report_tables(results)}
    assert tables["Risk profile at equal numbers"].rows[0][0] == "a"
    slopes = tables["Slopes of numbers"]
    assert [row[:3] for row in slopes.rows[:2]] == [
        ("length", "common", "a doubling"),
        ("length", "judge j0", "a doubling"),
    ]
    assert len(slopes.rows) == 4 + 4 + 1


def test_what_a_fit_stores_gives_the_same_under_weights(results, tmp_path):
    save_results(results, tmp_path / "r.nc")
    opened = open_results(tmp_path / "r.nc")
    text = find("weights", "sharp").read_text(encoding="utf-8")
    (tmp_path / "same.toml").write_text(text.split("[policy]")[0], encoding="utf-8")
    [again] = weigh(opened, named_weights([str(tmp_path / "same.toml")])).children.values()
    for name in ("posterior_profile", "posterior_profile_equal", "decision_equal"):
        xr.testing.assert_equal(again[name].to_dataset(), results[name].to_dataset())


def test_a_simulated_study_has_the_numbers_and_slopes(files, tmp_path):
    simulated = simulate(files, pattern="model")
    assert {"slope_length", "slope_length_by_judge[j0]", "slope_words"} <= set(
        simulated.truth["parameters"]
    )
    written = save_simulation(simulated, tmp_path)
    (tmp_path / "model.toml").write_text(MODEL, encoding="utf-8")
    written = load_study(written)
    before, after = (RunContext(x).study.ratings.covariates for x in (files, written))
    for name in ("length", "day", "words"):
        assert after[name].unit == before[name].unit
        np.testing.assert_allclose(
            after[name].values[after[name].codes], before[name].values[before[name].codes]
        )


def test_new_judges_have_slopes_of_their_own(files, results):
    design, posterior = RunContext(files).design, results["posterior"].to_dataset()
    new = draw_new_levels(posterior, design, "judge", rng=np.random.default_rng(1))
    assert not np.allclose(new["slope_length_by_judge"], posterior["slope_length_by_judge"])
    xr.testing.assert_equal(new["slope_length"], posterior["slope_length"])


@pytest.mark.slow
def test_leaving_out_judges_is_estimated(files, results):
    context = RunContext(files)
    units = make_units(context.study.ratings, "judge")
    table = leave_out(results["posterior"].to_dataset(), context.design, units)
    assert np.isfinite(table["elpd"]).all()
    assert not table.attrs["integrated"]


def test_a_refit_without_a_judge_keeps_the_centre(files):
    context = RunContext(files)
    study = context.study
    fewer = replace(study, data=study.data.select("judge", ["j0", "j2"]))
    design = build_design(fewer.ratings, files.model.spec)
    assert design.covariates[0] == context.design.covariates[0]
