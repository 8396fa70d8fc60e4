"""Fits of real ratings; the folder with the files stands beside the checkout."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from tests.shared_data import SHARED_DATA, needs_shared_data

ROOT = Path(__file__).parents[2]
STUDIES = Path(__file__).parents[1] / "studies"

pytestmark = needs_shared_data


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pluriharms", "dices350", "xstest"])
def test_a_fit_converges(name):
    results = fit(load_study(STUDIES / f"{name}.toml"))
    diagnostics = results["diagnostics"].to_dataset()
    parameters = diagnostics["parameter"].to_numpy()
    core = [p for p in parameters if p.startswith(("sd_", "threshold_"))]
    assert (diagnostics["rhat"].sel(parameter=core) < 1.01).all()
    assert (diagnostics["ess_bulk"].sel(parameter=core) > 400).all()
    assert results.attrs["status"] == "fitted", diagnostics.attrs["convergence_issues"]


def test_pluriharms_counts_its_missing_ratings():
    results = measure(load_study(STUDIES / "pluriharms.toml"))
    assert (results.attrs["data_ratings"], results.attrs["data_missing"]) == (15_000 - 275, 275)
    groups = results["responsiveness"]["group"].to_numpy()
    assert {"all", "gender=Man", "gender=Woman"} <= set(groups)


def test_dices_against_the_definitions():
    results = measure(load_study(STUDIES / "dices350.toml"))
    table = pd.read_csv(SHARED_DATA / "dices350.csv")
    scores = table.groupby("item")["score"].agg(
        lambda column: max(column.value_counts().loc[lambda c: c == c.max()].index)
    )
    unsafe = table.groupby("item")["gold_unsafe"].first().to_numpy() == 1
    low, high = scores[~unsafe].to_numpy(), scores[unsafe].to_numpy()
    expected = (high[:, None] > low[None, :]).mean()
    cell = results["responsiveness"].to_dataset().sel(group="all", by="all")
    assert float(cell["wra"]) == pytest.approx(expected)
    for s in np.unique(scores):
        expected = unsafe[scores.to_numpy() == s].mean()
        assert float(cell["precision"].sel(score=str(s))) == pytest.approx(expected)


def test_xstest_counts_harm_by_the_kind_of_prompt():
    results = measure(load_study(STUDIES / "xstest.toml"))
    table = pd.read_csv(SHARED_DATA / "xstest.csv", dtype={"prompt": str})
    harm = np.where(table["contrast"], 1 - table["score"] / 2, table["score"] / 2)
    table["power"] = np.exp(harm / 0.2)
    pooled = 0.2 * np.log(table.groupby(["model", "prompt"])["power"].mean())
    expected = pooled.groupby("model").mean()
    means = results["profile"]["dimension_mean"].sel(dimension="refusal").to_series()
    pd.testing.assert_series_equal(means, expected, check_names=False)


def test_xstest_under_other_judges_by_plain_loops():
    results = measure(load_study(STUDIES / "xstest_judges.toml"))
    table = pd.read_csv(SHARED_DATA / "xstest.csv", dtype={"prompt": str})
    table["harm"] = np.where(table["contrast"], 1 - table["score"] / 2, table["score"] / 2)
    judges = {
        "study": ["human_1", "human_2", "gpt4"],
        "people": ["human_1", "human_2"],
        "programs": ["gpt4", "strmatch"],
    }
    for name, pooled in judges.items():
        of = table[table["judge"].isin(pooled)].dropna(subset=["harm"])
        for model, rows in of.groupby("model"):
            harm = rows.groupby("prompt")["harm"].apply(
                lambda x: 0.2 * np.log(np.mean(np.exp(x / 0.2)))
            )
            risk = np.sort(-np.log(1 - harm.to_numpy() + 1e-6))
            var = risk[int(np.ceil(0.95 * len(risk) - 1e-9)) - 1]
            cvar = results["judges"]["ensemble_cvar"].sel(ensemble=name, model=model)
            assert float(cvar) == pytest.approx(risk[risk >= var].mean())
    scored = table.dropna(subset=["score"]).drop_duplicates(["model", "prompt"])
    kinds = scored.groupby(["model", "type"]).size()
    prompts = results["profile_category"]["prompts"].transpose("model", "category")
    assert prompts.to_series().to_dict() == kinds.to_dict()


def test_xstest_has_people_beside_programs():
    ratings = read_study(load_study(STUDIES / "xstest_people.toml")).ratings
    table = pd.read_csv(SHARED_DATA / "xstest.csv", dtype={"prompt": str})
    labels = {name: np.append(c.labels, "")[c.codes] for name, c in ratings.factors.items()}
    for who, column in (("gpt4", "judge"), ("human_1", "rater"), ("human_2", "rater")):
        of = table[table["judge"] == who].dropna(subset=["score"])
        harm = np.where(of["contrast"], 2 - of["score"], of["score"])
        level = ratings.score[labels[column] == who]
        assert np.bincount(level).tolist() == np.bincount(harm.astype(int)).tolist()
    own_family = labels["own_family"] != ""
    assert set(labels["judge"][own_family]) == set(labels["model"][own_family]) == {"gpt4"}


@pytest.mark.slow
def test_people_on_a_fifth_of_xstest_correct_the_programs(tmp_path):
    """The profile as people would score is nearer what people say of all prompts."""
    table = pd.read_csv(SHARED_DATA / "xstest.csv", dtype=str)
    people = table[table["judge"].str.startswith("human")]
    chosen = np.random.default_rng(1).choice(sorted(people["prompt"].unique()), 90, replace=False)
    people[people["prompt"].isin(chosen)].to_csv(tmp_path / "people.csv", index=False)
    text = (STUDIES / "xstest_people.toml").read_text(encoding="utf-8")
    main, beside = text.replace("../../../shared/data", SHARED_DATA.as_posix()).split(
        "[panel.people]"
    )
    beside = beside.replace((SHARED_DATA / "xstest.csv").as_posix(), "people.csv")
    path = tmp_path / "study.toml"
    path.write_text(f"{main}[panel.people]{beside}", encoding="utf-8")
    results = fit(load_study(path))
    by_people = load_study(
        STUDIES / "xstest_judges.toml", overrides=['panel.judges=["human_1", "human_2"]']
    )
    wanted = measure(by_people)["profile"]["mean"]
    mean = results["posterior_profile_human"]["mean"].mean(["chain", "draw"])
    error = np.abs(mean - wanted).sum()
    assert float(error) < 0.7 * float(np.abs(results["profile"]["mean"] - wanted).sum())
