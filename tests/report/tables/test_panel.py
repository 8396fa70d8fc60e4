"""Tables of a panel: the paper's order, and every number that of the results."""

import csv
import io
import re
from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report.tables.catalogue import TABLES, report_tables
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.report.tables.renderer import (
    as_csv,
    as_latex,
    as_markdown,
    escape_latex,
    write_tables,
)
from sharpbayes.report.tables.table import MINUS, Table
from tests.panels import JUDGES, frame, measured

TITLES = [
    "CVaR 95: bootstrap",
    "Mean log-risk: bootstrap",
    "Volatility of log-risk: bootstrap",
    "Policy score: bootstrap",
    "Differences of models: bootstrap",
    "Tail shares of dimensions: bootstrap",
    "Stability: the order of models without each judge and under other settings",
    "Stability: the lowest model by other metrics without each judge",
    "Verdict on each model under the tolerance",
    "The tolerance limit by limit",
    "Table 1: Risk profile by model, lowest tail risk first",
    "Section 3.3: Risk tiers, and pairs that are not distinguishable",
    "Tables 2-3: Harm by dimension",
    "Table 4: Tail attribution of compounded log-risk",
    "Distribution over prompts",
    "Evidence: what these prompts can carry",
    "Ranks by CVaR across offsets epsilon",
    "CVaR across offsets epsilon",
    "Worst prompts of each model, what drives their harm, and which judges say so",
    "Table 5: Dispersion of judges by dimension",
    "Table 6: Ranks by CVaR with a judge left out",
    "Table 6, each model: CVaR (rank) with a judge left out",
    "Table 7: Concordance of judges over prompts, summarised over models",
    "Appendix C: CVaR (rank) under other ensembles of judges",
    "Appendix C, pairs: Two ensembles of judges compared",
    "Effective number of independent judges",
    "Table 8: Dependence among harm dimensions",
    "Table 8, each pair: Dependence of two dimensions",
    "Table 9: Ranks by CVaR across temperatures",
    "Table 10: Safest and riskiest models across temperatures",
    "Table 11: Largest difference of CVaR across temperatures",
    "Table 12: Aggregates of risk",
    "Table 13: Rank correlations between aggregates",
    "Table 14: Decision flips, similar by the mean and different by the tail",
    "Table 15: Risk profile with paired bootstrap intervals",
    "Table 16: Ranks by CVaR across tail levels",
    "Table 16, each model: CVaR across tail levels",
    "Table 17: Most ambiguous pairs of models",
    "Table 18: Friedman test of log-risk",
    "Table 19: Friedman average ranks, lower is safer",
    "Section H.2: Pairs that signed-rank tests do not distinguish",
    "Section H, every pair: Differences of CVaR and signed-rank tests",
    "Table 20: Two-way decomposition of log-risk",
    "Section H.3: Mixed models with a prompt intercept",
    "Risk profile by category of prompts",
    "Section 4: Risk profile with and without refused answers",
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A panel that has everything there is to show; the last model is much the worst."""
    table = frame(models=7, prompts=40, judges=(*JUDGES, "dee"), seed=3)
    table["refused"] = (table["prompt"] == "p05").astype(int)
    worst = table["model"] == "m6"
    table.loc[worst, ["bias_a", "bias_b"]] = 10
    return measured(
        tmp_path_factory.mktemp("panel"),
        table,
        roles=', category = "kind"',
        panel='judges = ["ann", "bob", "cat"]\n',
        indicators='refused = { scale = "flag", refusal = true }\n',
        tables='[panel.ensembles.dee]\njudges = ["dee"]\n[panel.ensembles.pair]\n'
        'judges = ["ann", "bob"]\n',
        weights="[tolerance]\ncvar = 4.0\n[flips]\nmax_mean_gap = 0.3\nmin_tail_gap = 0.1\n",
    )


@pytest.fixture(scope="module")
def tables(results):
    return {table.title: table for table in report_tables(results)}


def table_of(tables, start):
    [matching] = [table for title, table in tables.items() if title.startswith(start)]
    return matching


def value_of(text):
    return float(text.replace(MINUS, "-"))


def near(text, value):
    if np.isnan(value):
        return text == "-"
    return value_of(text) == pytest.approx(float(value), abs=6e-4)


def test_tables_stand_in_the_order_of_the_paper(results):
    assert [table.title for table in report_tables(results)] == TITLES


def test_every_row_is_as_long_as_its_header(tables):
    for table in tables.values():
        assert table.rows or "Pairs that" in table.title
        assert {len(row) for row in table.rows} <= {len(table.header)}, table.title
        assert all(text for row in table.rows for text in row), table.title


def test_the_profile_is_that_of_the_results(results, tables):
    profile = results["profile"].to_dataset()
    table = table_of(tables, "Table 1:")
    assert [value_of(row[1]) for row in table.rows] == sorted(
        value_of(row[1]) for row in table.rows
    )
    for row in table.rows:
        one = profile.sel(model=row[0])
        names = ("cvar", "mean", "volatility", "any_harm_cvar", "policy_score")
        assert all(
            near(text, one[name]) for text, name in zip((row[1], *row[3:7]), names, strict=True)
        )
        assert row[7] == str(int(one["tier"]))
        verdict = results["tolerance"]["verdict"].sel(model=row[0])
        assert row[8] == str(verdict.item())


def test_tiers_hold_every_model_and_name_the_pairs(results, tables):
    interval = results["profile_interval"].to_dataset()
    table = table_of(tables, "Section 3.3")
    tiers = [row[1].split(", ") for row in table.rows]
    assert sorted(model for tier in tiers for model in tier) == [f"m{i}" for i in range(7)]
    assert tiers[-1] == ["m6"]
    named = {
        frozenset(pair.split(" ~ "))
        for row in table.rows
        for pair in row[3].split(", ")
        if pair != "-"
    }
    across = table.note.split("tiers: ")[1].rstrip(".")
    named |= {frozenset(pair.split(" ~ ")) for pair in across.split(", ") if pair != "none"}
    expected = {
        frozenset((a, b))
        for a, b in combinations([f"m{i}" for i in range(7)], 2)
        if not bool(interval["separable"].sel(model=a, other=b))
    }
    assert named == expected


def tiers_table(*tier):
    """The table of tiers of a, b and c, where only a and b are distinguishable."""
    models = list("abc")
    separable = ~np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    profile = xr.Dataset(
        {"cvar": ("model", [1.0, 2.0, 3.0]), "tier": ("model", list(tier))},
        {"model": models},
        {"alpha": 0.95, "tier_rule": "paired-difference", "population": "the prompts"},
    )
    interval = xr.Dataset(
        {"separable": (("model", "other"), separable)}, {"model": models, "other": models}
    )
    results = xr.DataTree.from_dict({"/profile": profile, "/profile_interval": interval})
    [spec] = [spec for spec in TABLES if spec.name == "tiers"]
    [table] = build_tables([spec], results)
    return table


def test_pairs_alike_across_tiers_are_named_apart_from_those_inside():
    table = tiers_table(1, 2, 2)
    assert [row[3:] for row in table.rows] == [("-", "-"), ("b ~ c", "-")]
    assert table.note == (
        "Rule: paired-difference. A tier is a chain: its ends may be distinguishable. Not "
        "distinguishable across tiers: a ~ c."
    )


def test_models_of_one_tier_that_are_distinguishable_are_named():
    table = tiers_table(1, 1, 1)
    assert [row[3:] for row in table.rows] == [("a ~ c, b ~ c", "a < b")]


def test_dimensions_and_shares(results, tables):
    profile = results["profile"].to_dataset()
    for row in table_of(tables, "Tables 2-3").rows:
        one = profile.sel(model=row[0])
        expected = [
            one[name].sel(dimension=d)
            for d in ("bias", "epistemic")
            for name in ("dimension_mean", "dimension_cvar")
        ]
        assert all(near(text, value) for text, value in zip(row[1:], expected, strict=True))
    for row in table_of(tables, "Table 4").rows:
        assert float(row[2]) + float(row[3]) == pytest.approx(1.0, abs=1.1e-3)


def test_judges(results, tables):
    judges = results["judges"].to_dataset()
    for row in table_of(tables, "Table 5").rows:
        assert near(row[2], judges["mad"].sel(dimension=row[0]))
        assert row[1] == "280"
    for row in table_of(tables, "Table 6:").rows:
        assert near(row[2], judges["lojo_tau"].sel(judge_out=row[0]))
        assert row[1] == "7"
    rows = table_of(tables, "Table 7").rows
    assert len(rows) == 2 * 3
    for row in rows:
        one = judges.sel(dimension=row[0], pair=row[1])
        names = ("mean", "median", "sd")
        assert all(
            near(text, one[f"concordance_{n}"]) for text, n in zip(row[3:], names, strict=True)
        )
    pairs = table_of(tables, "Appendix C, pairs").rows
    assert [row[:3] for row in pairs] == [
        ("study", "dee", "yes"),
        ("study", "pair", "no"),
        ("dee", "pair", "yes"),
    ]


def test_extremes_are_the_ends_of_each_order(results, tables):
    cvar = results["validation"]["temperature_cvar"]
    rows = table_of(tables, "Table 10").rows
    assert len(rows) == 2 * 3 * 5
    for temperature in (0.15, 0.2, 0.25):
        order = [f"m{i}" for i in cvar.sel(temperature=temperature).values.argsort()]
        shown = {
            end: [row[2] for row in rows if row[0] == end and float(row[1]) == temperature]
            for end in ("safest", "riskiest")
        }
        assert shown == {"safest": order[:5], "riskiest": order[-5:]}


def test_flips_are_all_that_were_found_each_once(results, tables):
    flip = results["validation"]["decision_flip"].values
    table = table_of(tables, "Table 14")
    assert len(table.rows) == flip.sum() / 2 > 0
    mean, cvar = (results["profile"][name].to_series() for name in ("mean", "cvar"))
    for row in table.rows:
        a, b = row[0].split(" / ")
        assert bool(results["validation"]["decision_flip"].sel(model=a, other=b))
        assert row[3] == f"{mean.rank()[a]:g} / {mean.rank()[b]:g}"
        assert row[4] == f"{cvar.rank()[a]:g} / {cvar.rank()[b]:g}"
        assert row[5] == ("yes" if (mean[a] < mean[b]) != (cvar[a] < cvar[b]) else "no")


def test_ambiguous_pairs_are_the_closest_first(results, tables):
    interval = results["profile_interval"].to_dataset()
    table = table_of(tables, "Table 17")
    gaps = [abs(value_of(row[2])) for row in table.rows]
    assert gaps == sorted(gaps)
    alike = (~interval["separable"].values[np.triu_indices(7, 1)]).sum()
    assert len(table.rows) == min(10, alike)
    assert table.note.startswith(f"{21 - alike} of 21 pairs are separable")
    for row in table.rows:
        low, high = map(value_of, row[3].split(" to "))
        assert low <= value_of(row[2]) <= high
        assert low <= 0 <= high


def test_pairs_show_the_interval_that_decides_whether_they_are_separable(results, tables):
    """That of all pairs together contains more than that of a pair by itself."""
    interval = results["profile_interval"].to_dataset()
    every = table_of(tables, "Section H, every pair")
    decides = "the joint interval, which holds for all pairs together, excludes 0"
    assert f"Separable: {decides}. p: " in every.note
    assert f"are separable ({100 * float(interval['separable_share']):.1f}%): their joint" in (
        table_of(tables, "Table 17").note
    )
    for row in every.rows:
        pair = {"model": row[0], "other": row[1]}
        bounds = interval["cvar_difference_joint"].sel(pair).values
        low, high = map(value_of, row[3].split(" to "))
        np.testing.assert_allclose([low, high], bounds, rtol=0.1, atol=0.06)
        assert row[4] == ("no" if low <= 0 <= high else "yes")


def test_signed_rank_pairs_are_those_above_the_level(results, tables):
    holm = results["validation"]["wilcoxon_p_holm"].values[np.triu_indices(7, 1)]
    table = table_of(tables, "Section H.2")
    assert len(table.rows) == (holm > 0.05).sum()
    assert table.note.startswith(f"{(holm <= 0.05).sum()} of 21 pairs differ")


def test_with_and_without_refused_answers(results, tables):
    answered = results["profile_answered"].to_dataset()
    for row in table_of(tables, "Section 4").rows:
        one = answered.sel(model=row[0])
        assert (row[1], row[2]) == ("0.025", "39")
        assert near(row[3], results["profile"]["cvar"].sel(model=row[0]))
        assert near(row[4], one["cvar"])


@pytest.mark.parametrize("options", [{"models": 1}, {"judges": ["ann"]}, {"prompts": 2}])
def test_thin_panels_have_tables_too(tmp_path, options):
    for table in report_tables(measured(tmp_path, frame(**options))):
        assert {len(row) for row in table.rows} <= {len(table.header)}
        assert "nan" not in as_csv(table)


def test_a_model_without_any_answer_is_shown_as_missing(tmp_path):
    table = frame().assign(refused=0)
    table.loc[table["model"] == "m1", "refused"] = 1
    tables_shown = report_tables(
        measured(tmp_path, table, indicators='refused = { scale = "flag", refusal = true }\n')
    )
    [row] = [row for row in tables_shown[-1].rows if row[0] == "m1"]
    assert (row[1], row[2], row[4], row[5], row[7]) == ("1.000", "0", "-", "-", "-")


def test_files_hold_what_the_tables_show(results, tables, tmp_path):
    paths = write_tables(list(tables.values()), tmp_path / "deep" / "out")
    assert len(paths) == len(set(paths)) == 3 * len(TITLES)
    path = tmp_path / "deep" / "out" / "table-12-aggregates-of-risk.csv"
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))
    table = table_of(tables, "Table 12")
    plain = [[cell.replace(MINUS, "-") for cell in row] for row in table.rows]
    assert rows == [list(table.header), *plain]
    order = sorted(p.name for p in paths if p.name.startswith("table-") and p.suffix == ".csv")
    numbers = [int(name[6:8]) for name in order]
    assert numbers == sorted(numbers)


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot write tables: "):
        write_tables([Table("T", ("a",), ())], tmp_path / "file" / "out")


NASTY = r"a_b & 50% #1 {x} $y$ ~ ^ \z <c> d|e"


def test_latex_prints_every_character_as_it_stands():
    text = escape_latex(NASTY)
    back = text
    for written, meant in (
        (r"\textasciitilde{}", "~"),
        (r"\textasciicircum{}", "^"),
        (r"\textless{}", "<"),
        (r"\textgreater{}", ">"),
        (r"\textbar{}", "|"),
    ):
        back = back.replace(written, meant)
    back = re.sub(r"\\([_&%#{}$])", r"\1", back.replace(r"\textbackslash{}", "\0"))
    assert back.replace("\0", "\\") == NASTY
    # What is left after taking away escapes holds nothing that LaTeX would act on.
    bare = re.sub(r"\\(text\w+\{\}|[_&%#{}$])", "", text)
    assert not set(bare) & set(r"_&%#{}$~^\<>|")


def test_cells_with_separators_stay_one_cell():
    table = Table("T", ("model", "x"), ((NASTY, "1"), ("[b], c", "2")))
    assert list(csv.reader(io.StringIO(as_csv(table))))[1:] == [[NASTY, "1"], ["[b], c", "2"]]
    row = as_markdown(table).splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    lines = as_latex(table).splitlines()
    [first] = [line for line in lines if "a\\_b" in line]
    assert len(re.findall(r"(?<!\\)&", first)) == 1
    # A bracket after a line break would be read as its optional argument.
    assert r"{}[b], c & 2 \\" in lines


def test_the_note_on_mixed_models_is_made_of_sentences(tmp_path):
    results = measured(tmp_path, frame(prompts=1))
    table = next(t for t in report_tables(results) if t.title.startswith("Section H.3"))
    assert table.note == "From 1 prompt. Missing: fewer than two models or prompts."


def test_the_note_says_what_counts_as_a_refusal(tables):
    assert table_of(tables, "Section 4: Risk profile with and without").note == (
        "Low risk may be refusal; an answer counts as refused where the mean of its judges' "
        "refusals is at least the cut of the weights. At 0.5 a tie of two judges counts."
    )
