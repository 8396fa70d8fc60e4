"""Columns without a role by which prompts score alike are found, and named."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from sharpbayes.analysis.study import read_study
from sharpbayes.data.intraclass import MIN_CLUSTERS
from sharpbayes.report.summary import answer
from sharpbayes.workflows.check import check
from tests.analysis.test_clusters import ROLE, SCENARIOS, VARIANTS, clustered
from tests.panels import files_of, frame, measured

MODEL = """schema = "sharpbayes/model/2"
title = "Length"
[[location]]
by = ["model"]
[[slope]]
column = "length"
"""
SCORES = ["bias_a", "bias_b", "truth"]


def correlated(folder, table, **parts):
    """The columns that a study finds."""
    return read_study(files_of(folder, table, **parts)).data.correlated_by


def test_the_correlation_is_that_of_an_analysis_of_variance(tmp_path):
    table = clustered()
    means = table.groupby("prompt")[SCORES].mean()
    scenario = means.index.map(dict(zip(table["prompt"], table["scenario"], strict=True)))
    largest = 0.0
    for name in SCORES:
        groups = [x.to_numpy() for _, x in means[name].groupby(scenario)]
        of_groups = [x.mean() for x in groups]
        between = VARIANTS * np.var(of_groups, ddof=1)
        within = np.mean([np.var(x, ddof=1) for x in groups])
        largest = max(largest, (between - within) / (between + (VARIANTS - 1) * within))
    assert correlated(tmp_path, table) == {"scenario": pytest.approx(largest, rel=1e-9)}
    assert largest > 0.5


def test_it_is_said_by_check_and_in_the_answer(tmp_path):
    table = clustered()
    text = "Prompts with the same 'scenario' score alike (intraclass correlation 0."
    limits = dict(check(files_of(tmp_path / "check", table)).limits)
    assert limits["clusters"].startswith(text)
    assert any(x.startswith(text) for x in answer(measured(tmp_path / "measured", table)))


def test_a_cluster_that_has_its_role_is_not_named_again(tmp_path):
    table = clustered()
    assert correlated(tmp_path / "cluster", table, roles=ROLE) == {}
    assert "clusters" not in dict(check(files_of(tmp_path / "check", table, roles=ROLE)).limits)
    assert correlated(tmp_path / "kind", table, roles=', category = "scenario"') == {}


def test_columns_of_a_table_of_prompts_are_looked_at_too(tmp_path):
    table = clustered()
    prompts = table[["prompt", "scenario"]].drop_duplicates().sort_values("scenario")
    further = pd.DataFrame({"prompt": ["unasked"], "scenario": ["none"]})
    pd.concat([further, prompts]).to_csv(tmp_path / "prompts.csv", index=False)
    side = 'prompts = { data = "prompts.csv", key = "prompt" }'
    columns = table.drop(columns="scenario")
    assert correlated(tmp_path, columns, panel=side) == correlated(tmp_path / "one", table)
    assert correlated(tmp_path, columns, panel=side, roles=ROLE) == {}


def crossed(*, seed=3, template=1.5):
    """Scores of requests of 24 scenarios in twelve templates, a third of the pairs left out."""
    table = frame(models=2, prompts=24 * 12)
    number = table["prompt"].str[1:].astype(int)
    table = table.assign(scenario=number // 12, template=number % 12)
    rng = np.random.default_rng(seed)
    level = rng.normal(5, 1.5, 24)[table["scenario"]]
    level = level + template * rng.normal(size=12)[table["template"]]
    for name in SCORES:
        noise = rng.normal(size=24 * 12)[number]
        table[name] = np.clip(np.rint(level + noise), 0, 10).astype(int)
    kept = rng.random(24 * 12) < 2 / 3
    texts = {name: table[name].map("n{:02d}".format) for name in ("scenario", "template")}
    return table.assign(**texts)[kept[number]]


def test_beyond_named_clusters_it_is_that_of_two_groupings(tmp_path):
    """The mean squares are those of statsmodels, the template after the scenario."""
    table = crossed()
    means = table.groupby("prompt")[[*SCORES, "scenario", "template"]].first()
    means = means.assign(**table.groupby("prompt")[SCORES].mean())
    largest = 0.0
    for name in SCORES:
        fitted = ols(f"{name} ~ C(scenario) + C(template)", means).fit()
        rows = anova_lm(fitted)
        square, noise = rows.loc["C(template)", "mean_sq"], rows.loc["Residual", "mean_sq"]
        size = means["template"].value_counts().to_numpy()
        number = (size.sum() - (size**2).sum() / size.sum()) / 11
        largest = max(largest, (square - noise) / (square + (number - 1) * noise))
    columns = correlated(tmp_path, table, roles=ROLE)
    assert columns == {"template": pytest.approx(largest, rel=1e-6)}
    assert largest > 0.3


def test_a_second_grouping_is_said_by_check_and_in_the_answer(tmp_path):
    text = "Prompts with the same 'template' score alike beyond their 'scenario' (intraclass corr"
    limits = dict(check(files_of(tmp_path / "check", crossed(), roles=ROLE)).limits)
    assert limits["clusters"].startswith(text)
    shown = answer(measured(tmp_path / "measured", crossed(), roles=ROLE))
    assert any(x.startswith(text) for x in shown)
    assert correlated(tmp_path / "alike", crossed(template=0.0), roles=ROLE) == {}


@pytest.mark.parametrize("kind", ["finer", "coarser", "the same"])
def test_groups_of_clusters_and_parts_of_them_are_no_second_grouping(tmp_path, kind):
    """Whoever resamples clusters resamples their parts; groups of them have no spread beyond."""
    table = clustered(variants=8)
    number = table["prompt"].str[1:].astype(int)
    size = {"finer": 4, "coarser": 16, "the same": 8}[kind]
    table["part"] = (number // size).astype(str)
    if kind == "finer":
        table["truth"] = np.where(number // size % 2, 10, 0)
    assert correlated(tmp_path, table, roles=ROLE) == {}


@pytest.mark.parametrize(
    "kind", ["few values", "single prompts", "within a prompt", "empty", "decimals"]
)
def test_columns_that_are_no_clusters(tmp_path, kind):
    table = clustered()
    number = table["prompt"].str[1:].astype(int)
    if kind == "few values":
        table["scenario"] = (number // VARIANTS % (MIN_CLUSTERS - 1)).astype(str)
    elif kind == "single prompts":
        table["scenario"] = (number // 2 + number % 2 * (number > 40) * 1000).astype(str)
    elif kind == "within a prompt":
        table.loc[table["judge"] == "ann", "scenario"] = "s00"
    elif kind == "decimals":  # a number that measures the prompt
        table["scenario"] = number // VARIANTS + 0.5
    else:
        table.loc[table["prompt"] == "p01", "scenario"] = None
    values = table["scenario"].nunique()
    assert kind != "single prompts" or values > SCENARIOS * VARIANTS / 2
    assert correlated(tmp_path, table) == {}


def test_chance_alone_seldom_names_a_column(tmp_path):
    table, alarms = frame(models=2, prompts=60, judges=["ann"]), 0
    prompts = table["prompt"].unique()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = dict(zip(prompts, rng.integers(0, 15, len(prompts)).astype(str), strict=True))
        table["scenario"] = table["prompt"].map(group)
        for name in SCORES:
            table[name] = rng.integers(0, 11, len(table))
        alarms += bool(correlated(tmp_path / str(seed), table))
    assert alarms <= 3


def test_a_covariate_of_the_model_is_no_cluster(tmp_path):
    table = clustered()
    table["length"] = table["scenario"].str[1:].astype(int)
    table = table.drop(columns="scenario")
    (tmp_path / "own.toml").write_text(MODEL, encoding="utf-8")
    assert correlated(tmp_path, table, panel='fit = "./own.toml"') == {}
    assert list(correlated(tmp_path, table)) == ["length"]


def test_prompts_without_a_score_are_left_out(tmp_path):
    table = clustered()
    table.loc[table["prompt"].isin(["p00", "p01"]), SCORES] = np.nan
    assert list(correlated(tmp_path, table)) == ["scenario"]
