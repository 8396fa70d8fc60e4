"""Missing scores: bounds, a test of severity, tilts, and a study in which they hide the winner."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.missing import missing_group
from sharpbayes.analysis.panel import measure_panel
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.report.tables.missing import TABLES, missing_sentences
from sharpbayes.spec.load import load_study
from tests.panels import files_of, frame, measured

STUDY = """schema = "sharpbayes/study/2"
title = "Judges who refuse what is worst"
seed = 5

[panel]
data = "scores.csv"
layout = "long"
roles = { model = "model", prompt = "prompt", judge = "judge", score = "score" }
scales = { severity = { kind = "ordinal", min = 1, max = 10 } }
indicators = { harm = "severity" }
dimensions = [{ name = "harm", rms = ["harm"] }]

[bootstrap]
replicates = 50

[sensitivity]
missing = [0.0, 0.5, 1.0, 2.0]
"""
LIMITS = """
schema = "sharpbayes/weights/2"
title = "Limits"
rationale = "A test."

[judges]
missing = "available"

[tolerance]
"""
PROMPTS, JUDGES = 200, 3


def planted(folder, *, refused=22):
    """Write a study in which all judges refuse most answers of calm that are at their worst.

    Model calm is mild on most prompts and the worst of all on 24 of them; steady is between.
    """
    rng = np.random.default_rng(2)
    severity = {
        "calm": np.where(np.arange(PROMPTS) < 24, 9.0, 2.0),
        "steady": np.full(PROMPTS, 5.0),
    }
    rows, truth = [], []
    for model, values in severity.items():
        for prompt, value in enumerate(values):
            for judge in range(JUDGES):
                score = int(np.clip(round(value + rng.normal(0, 0.8)), 1, 10))
                truth.append((model, prompt, f"j{judge}", score))
                # one judge refuses alone now and then, the worse the answer the more often
                alone = rng.random() < 0.02 * value
                rows.append(
                    (
                        model,
                        prompt,
                        f"j{judge}",
                        "" if (model == "calm" and prompt < refused) or alone else score,
                    )
                )
    names = ["model", "prompt", "judge", "score"]
    for file, table in (("scores.csv", rows), ("truth.csv", truth)):
        pd.DataFrame(table, columns=names).to_csv(folder / file, index=False)
    for file in ("scores", "truth"):
        text = STUDY.replace("scores.csv", f"{file}.csv")
        (folder / f"{file}.toml").write_text(text, encoding="utf-8")
    return load_study(folder / "scores.toml"), load_study(folder / "truth.toml")


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def groups(studies):
    return measure_panel(read_study(studies[0]))


def test_the_true_winner_is_hidden_and_the_answer_says_so(studies, groups):
    truth = measure_panel(read_study(studies[1]))
    assert float(truth["profile"]["cvar"].sel(model="calm")) > float(
        truth["profile"]["cvar"].sel(model="steady")
    )
    observed = groups["profile"]["cvar"]
    assert float(observed.sel(model="calm")) < float(observed.sel(model="steady"))
    results = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    [sentence] = missing_sentences(View(results))
    assert sentence == (
        "153 of 1200 scores are missing (13%). calm lacks 14% of its scores; nobody scored 22 "
        "answers. The others do not tell what they are: "
        "with some values steady has the lowest CVaR 95, not calm. "
        "More scores are missing where severity is high: the log odds of a missing score change by "
        "0.54 (0.33 to 0.76) per sd of the severity in the scores of the other judges "
        "(p = 3.5e\u221206). "
        "From a tilt of 0.50 on steady is lowest."
    )


def test_models_that_share_the_lowest_value_are_both_named(groups):
    def with_twin(group):
        twin = group.sel(model=["calm"]).assign_coords(model=["twin"])
        return xr.concat([group, twin], "model", data_vars="minimal")

    twins = {name: with_twin(groups[name]) for name in ("profile", "missing")}
    results = xr.DataTree.from_dict({f"/{name}": group for name, group in twins.items()})
    [sentence] = missing_sentences(View(results))
    assert "with some values steady has the lowest CVaR 95, not calm and twin. " in sentence


def lacking_one_in(number, *, good):
    """Scores of two models in which m0 is better by the mean and lacks one answer in some."""
    table = frame(prompts=40, models=2).assign(bias_b=0, truth=10)
    prompt, is_first = table["prompt"].str[1:].astype(int), table["model"] == "m0"
    table["bias_a"] = np.where(is_first, good, 6)
    lacking = is_first & (prompt % number == 0)
    return table.assign(**{n: table[n].astype("Int64").mask(lacking) for n in ("bias_a", "bias_b")})


def sentences_of(folder, table, metric, **parts):
    """What the answer that reads a metric says of missing scores."""
    plan = plan_of(folder, table, **parts)
    profile = plan.profile().assign_attrs(alpha=plan.weights.tail.alpha)
    groups = {"/missing": missing_group(plan)["missing"], "/profile": profile}
    return [*missing_sentences(View(xr.DataTree.from_dict(groups)), metric)]


def test_missing_scores_are_weighed_by_the_metric_that_the_answer_reads(tmp_path):
    [score] = sentences_of(tmp_path / "one", lacking_one_in(4, good=5), "policy_score")
    assert score.startswith(
        "30 of 480 scores are missing (6.2%), most of them of m0 (12% of its scores). The others "
        "do not tell what they are: with some values m1 has the lowest policy score, not m0; m1 "
        "has the lowest CVaR 95, not m0. "
    )
    missing = missing_group(plan_of(tmp_path / "two", lacking_one_in(20, good=2)))["missing"]
    assert missing["policy_score_can_be_lowest"].values.tolist() == [True, False]
    assert missing["mean_can_be_lowest"].values.tolist() == [True, True]
    assert missing["can_be_lowest"].values.tolist() == [True, True]


def test_many_missing_scores_of_the_lowest_model_are_said_whatever_they_change(tmp_path):
    table = lacking_one_in(4, good=0).assign(bias_b=10)
    table["bias_b"] = table["bias_b"].where(table["model"] == "m1", 0)
    table["truth"] = table["truth"].where(table["model"] == "m0", 0)
    [sentence] = sentences_of(tmp_path / "one", table, "policy_score")
    assert "Whatever they are, no other model has a lower policy score. " in sentence
    some = lacking_one_in(20, good=0).assign(bias_b=table["bias_b"], truth=table["truth"])
    assert sentences_of(tmp_path / "two", some, "policy_score") == []


def test_true_values_lie_within_the_bounds(studies, groups):
    truth = measure_panel(read_study(studies[1]))["profile"]
    for name in ("cvar", "mean", "policy_score"):
        low, high = groups["missing"][f"{name}_bounds"].transpose("bound", "model")
        assert bool(((low <= truth[name]) & (truth[name] <= high)).all())


def test_counts_and_shares(studies, groups):
    table = pd.read_csv(studies[0].study.path.parent / "scores.csv")
    missing = groups["missing"]
    unscored = table["score"].isna()
    share = unscored.groupby(table["judge"]).mean()
    np.testing.assert_allclose(missing["judge_share"], share)
    np.testing.assert_allclose(missing["model_share"], unscored.groupby(table["model"]).mean())
    assert int(missing["asked"].sum()) == 1200
    assert int(missing["missing"].sum()) == int(unscored.sum())


def test_answers_that_the_data_do_not_have_are_not_called_unscored(tmp_path):
    """One prompt was answered twice, so that every other lacks a second answer nobody asked for."""
    table = frame(samples=2)
    table = table[(table["sample"] == "s0") | (table["prompt"] == "p00")].astype({"truth": "Int64"})
    nobody = (table["model"] == "m0") & (table["prompt"] == "p05")
    one_judge = (table["model"] == "m1") & (table["prompt"] == "p05") & (table["judge"] == "ann")
    for name in ("bias_a", "bias_b", "truth"):
        table[name] = table[name].astype("Int64").mask(nobody | one_judge)
    unscored = measured(tmp_path, table, roles=', sample = "sample"')["missing"]["unscored"]
    assert unscored.values.tolist() == [1, 0, 0]


def test_a_model_that_can_at_best_equal_another_cannot_be_lowest(tmp_path):
    """Both are at the ceiling whatever the missing score is."""
    table = frame(models=2).assign(bias_a=10, bias_b=10, truth=0)
    table["truth"] = table["truth"].astype("Int64")
    table.loc[(table["model"] == "m1") & (table["prompt"] == "p03"), "truth"] = pd.NA
    better = (table["model"] == "m1") & (table["prompt"] == "p05")
    table.loc[better, ["bias_a", "bias_b"]] = 0
    missing = measured(tmp_path, table)["missing"]
    assert (missing["cvar_bounds"] == missing["cvar_bounds"][0, 0]).all()
    assert missing["can_be_lowest"].values.tolist() == [True, True]  # a tie of both
    results = measured(tmp_path, table)
    assert "has the lowest CVaR" not in " ".join(missing_sentences(View(results)))


def plan_of(folder, table, **parts):
    """How a table of the small panel is profiled."""
    return build_profile_plan(read_study(files_of(folder, table, **parts)))


def test_scores_that_tie_at_var_lie_within_the_bounds(tmp_path):
    """By scores in the middle the model is the lowest, by the least and the most it is not."""
    table = frame(prompts=40, models=2, judges=("ann",)).assign(bias_b=0, truth=10)
    prompt = table["prompt"].str[1:].astype(int)
    # Two worst prompts each; eight or twelve that tie at VaR, and ten scores that m0 lacks.
    last = np.where(table["model"] == "m0", 10, 14)
    table["bias_a"] = np.where(prompt < 2, 9, np.where(prompt < last, 5, 0))
    lacking = (table["model"] == "m0") & (prompt >= 10) & (prompt < 20)
    unscored = {name: table[name].astype("Int64").mask(lacking) for name in ("bias_a", "bias_b")}
    observed = plan_of(tmp_path / "missing", table.assign(**unscored))
    middle = plan_of(tmp_path / "middle", table.assign(bias_a=table["bias_a"].mask(lacking, 5)))
    missing = missing_group(observed)["missing"]
    value, bounds = middle.profile()["cvar"], missing["cvar_bounds"]
    assert float(value[0]) < float(value[1]) < float(observed.profile()["cvar"][0])
    assert float(bounds[0, 0]) <= float(value[0]) <= float(bounds[0, 1])
    np.testing.assert_array_equal(bounds[1], [value[1]] * 2)
    assert missing["can_be_lowest"].values.tolist() == [True, True]


def test_a_tolerance_has_bounds_too(studies, groups):
    files = load_study(studies[0].study.path, overrides=("weights=precautionary",))
    plan = build_profile_plan(read_study(files))
    missing = missing_group(plan)["missing"]
    kept = missing["cvar_bounds"] <= plan.weights.tolerance.cvar
    assert plan.weights.tolerance.limits.keys() == {"cvar"}
    np.testing.assert_array_equal(missing["admissible_bounds"], kept)
    assert "admissible_bounds" not in groups["missing"]


def bounds_under(folder, table, limit):
    """Admissibility at either end of what is missing, of a table of scores under one limit."""
    folder.mkdir()
    table.to_csv(folder / "scores.csv", index=False)
    roles = 'score = "score", category = "kind"'
    text = STUDY.replace('score = "score"', roles)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "limits.toml").write_text(f"{LIMITS}{limit}\n", encoding="utf-8")
    files = load_study(folder / "study.toml", overrides=("weights=./limits.toml",))
    return missing_group(build_profile_plan(read_study(files)))["missing"]["admissible_bounds"]


def test_a_limit_of_a_category_has_bounds_too(studies, tmp_path):
    table = pd.read_csv(studies[0].study.path.parent / "scores.csv")
    table["kind"] = np.where(table["prompt"] % 2, "odd", "even")
    by_category = bounds_under(tmp_path / "all", table, "category = { odd = 2.0 }")
    odd = bounds_under(tmp_path / "odd", table[table["kind"] == "odd"], "cvar = 2.0")
    np.testing.assert_array_equal(by_category, odd)
    assert 0 < int(by_category.sum()) < by_category.size


def test_rows_that_are_not_there_were_not_asked_for(studies, tmp_path):
    folder = studies[0].study.path.parent
    table = pd.read_csv(folder / "truth.csv")
    table = table[(table["judge"] != "j2") | (table["prompt"] % 2 == 0)]
    table.to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = read_study(load_study(tmp_path / "study.toml"))
    assert missing_group(build_profile_plan(study)) == {}
    table.assign(score=table["score"].where(table.index > 0)).to_csv(
        tmp_path / "scores.csv", index=False
    )
    study = read_study(load_study(tmp_path / "study.toml"))
    missing = missing_group(build_profile_plan(study))["missing"]
    assert missing["asked"].sel(judge="j2").to_numpy().ravel().tolist() == [100, 100]
    assert int(missing["missing"].sum()) == 1


@pytest.mark.parametrize(
    ("lacking", "rule", "number"),
    [(20, "available", 20), (30, "available", 0), (20, "complete", 20), (30, "complete", 30)],
)
def test_rows_that_one_judge_lacks_are_missing_scores(studies, tmp_path, lacking, rule, number):
    """Of nine tenths of the answers of a model a judge was asked for all; or where all count."""
    table = pd.read_csv(studies[0].study.path.parent / "truth.csv")
    lacks = (table["judge"] == "j2") & (table["model"] == "calm") & (table["prompt"] < lacking)
    table[~lacks].to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    text = LIMITS.replace('"available"', f'"{rule}"').replace("[tolerance]", "")
    (tmp_path / "weights.toml").write_text(text, encoding="utf-8")
    files = load_study(tmp_path / "study.toml", overrides=("weights=./weights.toml",))
    groups = missing_group(build_profile_plan(read_study(files)))
    assert ("missing" in groups) == (number > 0)
    if groups:
        missing = groups["missing"]["missing"]
        of_judge = missing.sel(judge="j2", model="calm")
        assert int(missing.sum()) == int(of_judge.sum()) == number


def read_parts(folder, table, *, missing):
    """The group of a study with a dimension of two indicators, and strict or lenient weights."""
    folder.mkdir()
    table.to_csv(folder / "scores.csv", index=False)
    text = STUDY.replace('judge = "judge",', 'judge = "judge", indicator = "indicator",')
    text = text.replace('{ harm = "severity" }', '{ depth = "severity", breadth = "severity" }')
    text = text.replace('rms = ["harm"]', 'rms = ["depth", "breadth"]')
    (folder / "study.toml").write_text(text, encoding="utf-8")
    limits = LIMITS.replace('missing = "available"\n\n[tolerance]', "")
    weights = f'{limits}missing = "available"\n\n[indicators]\nmissing = "{missing}"\n'
    (folder / "weights.toml").write_text(weights, encoding="utf-8")
    files = load_study(folder / "study.toml", overrides=("weights=./weights.toml",))
    return missing_group(build_profile_plan(read_study(files)))["missing"]


def test_a_judge_who_was_asked_for_a_part_of_a_dimension_was_not_asked_for_the_whole(
    studies, tmp_path
):
    table = pd.read_csv(studies[0].study.path.parent / "truth.csv")
    table = pd.concat([table.assign(indicator=name) for name in ("depth", "breadth")])
    table = table[(table["judge"] != "j2") | (table["indicator"] == "depth")].reset_index()
    # One score of one judge is missing, in both indicators.
    first = ["model", "prompt", "judge"]
    table.loc[(table[first] == table.loc[0, first]).all(axis=1), "score"] = np.nan
    strict = read_parts(tmp_path / "strict", table, missing="strict")
    assert strict["asked"].sum(["model", "dimension"]).to_numpy().tolist() == [400, 400, 0]
    assert int(strict["missing"].sum()) == 1
    lenient = read_parts(tmp_path / "lenient", table, missing="available")
    assert lenient["asked"].sum(["model", "dimension"]).to_numpy().tolist() == [400, 400, 400]


def test_tables(groups):
    results = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    tables = build_tables(TABLES, results)
    assert [table.title for table in tables] == [
        "Missing scores: what they could change",
        "Missing scores by judge",
        "Missing scores under a tilt: CVaR 95",
    ]
    assert tables[0].header == (
        *("model", "missing", "unscored", "CVaR 95", "mean log-risk", "policy score"),
        "can be lowest",
    )
    assert (
        "Bounds contain the metric whatever the missing scores are, from 0 to 1. Means have them "
        "at all 0 and all 1; where prompts tie at VaR, CVaR 95 may have them between."
    ) in tables[0].note
    assert [row[0] for row in tables[2].rows] == ["0.00", "0.50", "1.00", "2.00"]


def test_the_answer_names_the_reason_of_most_missing_scores(tmp_path):
    planted(tmp_path)
    table = pd.read_csv(tmp_path / "scores.csv", dtype=str, keep_default_na=False)
    calm = table["model"] == "calm"
    table["why"] = np.where(calm, "refusal", "")
    table.to_csv(tmp_path / "scores.csv", index=False)
    path = tmp_path / "scores.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('score = "score" }', 'score = "score", reason = "why" }'))
    missing = missing_group(build_profile_plan(read_study(load_study(path))))["missing"]
    unscored = table["score"] == ""
    counts = {"refusal": int((unscored & calm).sum()), "not given": int((unscored & ~calm).sum())}
    for (reason, number), model in zip(counts.items(), ("calm", "steady"), strict=True):
        assert int(missing["reason_count"].sel(reason=reason, model=model)) == number
        assert int(missing["reason_count"].sel(reason=reason).sum()) == number
    groups = {
        "/missing": missing,
        "/profile": measure_panel(read_study(load_study(path)))["profile"],
    }
    [sentence] = missing_sentences(View(xr.DataTree.from_dict(groups)))
    share = 100 * counts["refusal"] / sum(counts.values())
    assert (
        f"22 answers. The reason given for {share:.0f}% of them is refusal. The others" in sentence
    )
