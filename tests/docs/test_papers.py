"""The printed tables of both papers against each other: what docs/papers.md says of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.metrics.panel.pooling import log_sum_exp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
# SHARP, Table 4: CVaR 95 and the shares of bias, fairness, ethics and epistemic reliability.
TABLE_4 = {
    "claude-sonnet-4-5": (1.689, 0.301, 0.276, 0.202, 0.221),
    "gemini-1.5-pro": (3.499, 0.254, 0.243, 0.195, 0.308),
    "claude-3-5-sonnet": (3.782, 0.255, 0.229, 0.190, 0.327),
    "gemini-2.5-pro": (3.868, 0.352, 0.264, 0.201, 0.184),
    "qwen3-235b": (3.895, 0.357, 0.229, 0.182, 0.228),
    "gpt-4o": (4.519, 0.275, 0.222, 0.187, 0.316),
    "gpt-oss-120b": (5.286, 0.286, 0.250, 0.205, 0.260),
    "deepseek-chat": (5.735, 0.339, 0.230, 0.196, 0.232),
    "mistral-large": (5.988, 0.338, 0.230, 0.199, 0.231),
    "llama3-3-70b": (7.934, 0.435, 0.200, 0.166, 0.188),
    "llama3-1-405b": (8.397, 0.386, 0.223, 0.193, 0.185),
}
# SHARP, Table 10: CVaR 95 at temperatures 0.15, 0.20 and 0.25.
TABLE_10 = {
    "claude-sonnet-4-5": (1.68009, 1.68902, 1.70089),
    "gemini-1.5-pro": (3.46838, 3.49870, 3.53697),
    "claude-3-5-sonnet": (3.75266, 3.78177, 3.81934),
    "gemini-2.5-pro": (3.85193, 3.86761, 3.89111),
    "qwen3-235b": (3.87204, 3.89523, 3.92749),
    "gpt-oss-120b": (5.25536, 5.28608, 5.32640),
    "deepseek-chat": (5.70648, 5.73468, 5.77213),
    "mistral-large": (5.95198, 5.98760, 6.03271),
    "llama3-3-70b": (7.90593, 7.93393, 7.96984),
    "llama3-1-405b": (8.35638, 8.39657, 8.44789),
}
# SHARP, Table 11: the largest difference of CVaR 95 over the three temperatures.
TABLE_11 = {
    "llama3-1-405b": 0.0915134,
    "mistral-large": 0.0807286,
    "gpt-oss-120b": 0.0710353,
    "gemini-1.5-pro": 0.0685905,
    "claude-3-5-sonnet": 0.0666781,
    "deepseek-chat": 0.0656494,
    "llama3-3-70b": 0.0639092,
    "qwen3-235b": 0.0554545,
    "gemini-2.5-pro": 0.0391798,
    "claude-sonnet-4-5": 0.0207980,
}
# SHARP, Tables 18 and 19: average ranks of eleven models over 901 prompts, and the statistic.
AVERAGE_RANKS = (4.1337, 4.9884, 5.1393, 5.1465, 5.2625, 5.7991, 6.3940, 6.4345, 6.6182, 7.8135)
AVERAGE_RANKS = (*AVERAGE_RANKS, 8.2703)
FRIEDMAN, PROMPTS, MODELS = 1629.91, 901, 11


def shares(row):
    return sum(row[1:])


def test_four_rows_of_table_4_do_not_add_to_one():
    # Four shares of three decimals: rounding moves a sum by at most 4 x 0.0005.
    off = {name for name, row in TABLE_4.items() if abs(shares(row) - 1) > 0.002 + 1e-9}
    assert off == {"qwen3-235b", "deepseek-chat", "llama3-3-70b", "llama3-1-405b"}
    assert min(shares(TABLE_4[name]) for name in off) == pytest.approx(0.987)
    assert all(shares(TABLE_4[name]) < 1 for name in off)


def test_log_sum_exp_falls_as_temperature_rises():
    harm = xr.DataArray(np.random.default_rng(1).random((200, 3)), dims=("cell", "judge"))
    pooled = [log_sum_exp(harm, temperature=t, missing="error") for t in (0.15, 0.20, 0.25)]
    assert bool((pooled[0] > pooled[1]).all())
    assert bool((pooled[1] > pooled[2]).all())


def test_every_cvar_of_table_10_rises():
    assert len(TABLE_10) == 10
    assert all(low < middle < high for low, middle, high in TABLE_10.values())


def test_table_11_is_the_range_of_table_10():
    for name, spread in TABLE_11.items():
        assert TABLE_10[name][2] - TABLE_10[name][0] == pytest.approx(spread, abs=2e-5)


def test_tables_18_and_19_imply_a_tie_factor_of_0_790():
    ranks = np.array(AVERAGE_RANKS)
    assert ranks.sum() == pytest.approx(MODELS * (MODELS + 1) / 2, abs=5e-4)
    scale = 12 * PROMPTS / (MODELS * (MODELS + 1))
    untied = scale * ((ranks - (MODELS + 1) / 2) ** 2).sum()
    assert untied == pytest.approx(1288.4, abs=0.1)
    assert untied / FRIEDMAN == pytest.approx(0.790, abs=5e-4)


def published(kind):
    """The rows of the responsiveness paper of one kind: two parts and what they make."""
    table = pd.read_csv(ROOT / "tests" / "references" / "published_responsiveness.csv")
    return table[table["kind"] == kind]


def test_every_hm_is_the_harmonic_mean_of_mpa_and_wra():
    table = published("hm")
    mpa, wra = table["first"], table["second"]
    assert len(table) > 60
    # Four decimals: rounding of both moves the mean by at most 1e-4.
    np.testing.assert_allclose(2 * mpa * wra / (mpa + wra), table["combined"], atol=1.01e-4)


def test_every_gai_is_irr_over_xrr():
    table = published("gai")
    assert len(table) == 20
    np.testing.assert_allclose(table["first"] / table["second"], table["combined"], atol=5e-4)


def test_the_page_says_these_figures():
    text = PAGE.read_text(encoding="utf-8")
    for figure in ("0.987", "1,288.4", "1,629.91", "0.790", "ten models", "four rows"):
        assert figure in text
