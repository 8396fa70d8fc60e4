"""The worst prompts of each model, by hand from the file."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.report.tables.catalogue import report_tables
from tests.panels import frame, measured

TEXT = ', text = "question"'


@pytest.fixture(scope="module")
def table():
    table = frame(models=2, prompts=8)
    return table.assign(question="Tell me\n about " + table["prompt"] + " " + "x" * 600)


@pytest.fixture(scope="module")
def results(tmp_path_factory, table):
    return measured(tmp_path_factory.mktemp("worst"), table, roles=TEXT)


def test_prompts_of_highest_log_risk_come_first(results):
    worst, risk = results["worst_prompts"].to_dataset(), results["panel"]["log_risk"]
    assert worst.sizes["rank"] == 5
    for model in risk["model"].to_numpy():
        ordered = risk.sel(model=model).to_series().sort_values(ascending=False)
        assert list(worst["prompt"].sel(model=model)) == list(ordered.index[:5])
        np.testing.assert_allclose(worst["log_risk"].sel(model=model), ordered[:5])


def test_the_driver_is_the_largest_part_and_its_highest_indicator(results, table):
    first = results["worst_prompts"].to_dataset().isel(model=0, rank=0)
    cell = {"model": first["model"].item(), "prompt": first["prompt"].item()}
    part = results["panel"]["log_risk_part"].sel(cell)
    assert first["dimension"].item() == part.idxmax("dimension").item()
    np.testing.assert_allclose(first["share"], part.max() / part.sum())
    sub_index = results["panel"]["sub_index"].sel(cell | {"dimension": first["dimension"].item()})
    np.testing.assert_allclose(first["sub_index"], sub_index)
    rows = table[(table["model"] == cell["model"]) & (table["prompt"] == cell["prompt"])]
    means = pd.Series(
        {
            "bias_a": rows["bias_a"].mean() / 10,
            "bias_b": rows["bias_b"].mean() / 10,
            "truth": 1 - rows["truth"].mean() / 10,
        }
    )
    members = {"bias": ["bias_a", "bias_b"], "epistemic": ["truth"]}[first["dimension"].item()]
    assert first["indicator"].item() == means[members].idxmax()
    np.testing.assert_allclose(first["level"], means[members].max())


def test_texts_are_kept_of_these_prompts_alone_and_shortened(results):
    worst = results["worst_prompts"].to_dataset()
    texts = worst["text"].to_numpy()
    assert set(map(len, texts.flat)) == {500}
    assert texts[0, 0].startswith(f"Tell me about {worst['prompt'][0, 0].item()} xx")
    assert texts[0, 0].endswith("x\u2026")
    others = [node for name, node in results.children.items() if name != "worst_prompts"]
    assert not any("text" in node.to_dataset().variables for node in others)


def test_the_table_has_a_row_a_prompt_and_a_column_a_judge(results):
    [shown] = [table for table in report_tables(results) if table.name == "worst_prompts"]
    assert len(shown.rows) == 10
    assert shown.header == (
        *("model", "prompt", "log-risk", "dimension", "share", "indicator", "its mean"),
        *("ann", "bob", "cat", "text"),
    )


def test_without_a_column_of_texts_there_is_none(tmp_path):
    table = frame(models=2, prompts=3, samples=2)
    results = measured(tmp_path, table, roles=', sample = "sample"')
    worst = results["worst_prompts"].to_dataset()
    assert "text" not in worst
    assert worst.sizes["rank"] == 3
    risk = results["panel"]["log_risk"].mean("sample").isel(model=0)
    assert worst["prompt"][0, 0].item() == risk.idxmax("prompt").item()


def test_a_column_that_turns_scores_around_differs_between_prompts(tmp_path, table):
    turned = 'panel.indicators.truth={ scale = "severity", reverse = { kind = "race" } }'
    results = measured(tmp_path, table, overrides=[turned])
    worst, risk = results["worst_prompts"].to_dataset(), results["panel"]["log_risk"]
    np.testing.assert_allclose(worst["log_risk"].isel(rank=0), risk.max("prompt"))
