"""The generator of worlds: it stands alone, and its formulas are those of the papers."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sharpbayes.workflows.measure import measure
from tests.references.worlds import crowd, panel
from tests.references.worlds.__main__ import RAW, read_table
from tests.references.worlds.catalogue import WORLDS
from tests.references.worlds.crowd import CrowdWorld
from tests.references.worlds.files import write_study
from tests.references.worlds.panel import PanelWorld
from tests.references.worlds.table import page, pool_tables, summarise

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "benchmarks" / "worlds.md"
# Files that hand studies to the program; no other file here may import it.
JOINED = {"files.py", "__main__.py", "study.py", "test_worlds.py"}


def imports_of(path):
    """Modules that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    yield from (node.module for node in nodes if isinstance(node, ast.ImportFrom))
    yield from (a.name for node in nodes if isinstance(node, ast.Import) for a in node.names)


def test_no_world_imports_the_program():
    paths = [path for path in HERE.glob("*.py") if path.name not in JOINED]
    assert len(paths) > len(WORLDS) / 2
    assert not [(p.name, m) for p in paths for m in imports_of(p) if m.startswith("sharpbayes")]


def test_a_panel_is_profiled_by_the_formulas_of_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(panel, "POPULATION", panel.PROMPTS)
    world = WORLDS["blocks of judges"]
    files, _ = write_study(world, tmp_path, seed=3)
    profile = measure(files)["profile"]
    table = world.simulate(np.random.default_rng(3)).ratings
    index = [table[name].str[1:].astype(int) for name in ("model", "prompt", "judge")]
    indicator = table["indicator"].map({name: i for i, name in enumerate(panel.INDICATORS)})
    scores = np.full((panel.MODELS, panel.PROMPTS, panel.JUDGES, len(panel.INDICATORS)), -1)
    scores[*index, indicator] = table["score"]
    for name, value in panel.profile(scores).items():
        metric, model = name.split()
        assert float(profile[metric].sel(model=model)) == pytest.approx(value)


@pytest.mark.parametrize("name", ["camps of raters", "blocks of raters"])
def test_a_crowd_is_measured_by_the_formulas_of_the_program(name, tmp_path):
    world = WORLDS[name]
    files, _ = write_study(world, tmp_path, seed=4)
    metrics = measure(files)["responsiveness"].sel(group="all", by="all")
    drawn = world.simulate(np.random.default_rng(4))
    item, rater = (drawn.ratings[name].str[1:].astype(int) for name in ("item", "rater"))
    scores = np.full((crowd.ITEMS, crowd.RATERS), -1)
    scores[item, rater] = drawn.ratings["score"]
    truth = crowd.responsiveness(scores, drawn.items["unsafe"].to_numpy())
    assert {m: float(metrics[m]) for m in truth} == pytest.approx(truth)


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_has_ratings_and_truths_that_vary(name, monkeypatch):
    for module in (panel, crowd):
        monkeypatch.setattr(module, "POPULATION", 500)
    world = WORLDS[name]
    first, same, other = (world.simulate(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.truth == same.truth != other.truth
    assert set(first.ratings["score"]) == set(range(5))
    assert isinstance(world, PanelWorld | CrowdWorld)
    assert np.isfinite(list(first.truth.values())).all()


def test_the_page_has_the_rows_of_the_table():
    table = read_table(HERE.parent / "worlds.csv")
    assert "\n".join(page(table)) in PAGE.read_text(encoding="utf-8")
    assert set(table["world"]) == set(WORLDS)


def test_a_table_counts_the_studies_that_a_row_is_about():
    raw = pd.DataFrame(
        [
            ("halo", "judge_panel", 0, "estimate", "cvar m0", 1.0, 0.5, 1.0, 1.5),
            ("halo", "judge_panel", 0, "estimate", "cvar m1", 2.0, 0.5, 1.0, 1.5),
            ("halo", "judge_panel", 0, "fit", "rhat", 1.2, None, None, None),
            ("halo", "judge_panel", 1, "estimate", "cvar m0", 1.0, 0.5, 1.0, 1.5),
            ("halo", "judge_panel", 1, "estimate", "cvar m1", 2.0, 0.5, 1.0, 1.5),
            ("halo", "judge_panel", 1, "check", "halo", 1.0, None, None, None),
            ("halo", "judge_panel", 1, "check", "cvar", 0.0, None, None, None),
            ("halo", "judge_panel", 1, "issue", "judges", 1.0, None, None, None),
            ("halo", "judge_panel", 1, "fit", "rhat", 1.0, None, None, None),
        ],
        columns=list(RAW),
    )
    rows = summarise(raw).set_index(["kind", "name"])[["studies", "value"]]
    assert {key: tuple(row) for key, row in zip(rows.index, rows.to_numpy(), strict=True)} == {
        ("coverage", "cvar"): (2, 0.5),
        # The second study misses one of two too, and a check of it fails.
        ("unannounced", "cvar"): (2, 0.25),
        ("check", "halo"): (1, 1.0),
        ("check", "cvar"): (1, 0.0),
        ("check", "any"): (1, 1.0),
        ("issue", "judges"): (2, 0.5),
        ("fit", "converged"): (2, 0.5),
    }


def test_tables_of_other_studies_add_up_to_the_table_of_all():
    rng = np.random.default_rng(4)
    rows = [
        row
        for study in range(12)
        for row in (
            ("halo", "judge_panel", study, "estimate", "cvar m0", rng.normal(), -1.0, 0.0, 1.0),
            ("halo", "judge_panel", study, "estimate", "cvar m1", rng.normal(), -1.0, 0.0, 1.0),
            ("halo", "judge_panel", study, "check", "halo", float(study % 3 > 0), 0, 0, 0),
            # `check` says it of the later studies alone.
            ("halo", "judge_panel", study, "issue", "judges", float(study > 7), 0, 0, 0),
            ("halo", "judge_panel", study, "fit", "rhat", 1.0 + 0.02 * study, 0, 0, 0),
        )
        if row[3] != "issue" or row[5]
    ]
    raw = pd.DataFrame(rows, columns=list(RAW))
    parts = [summarise(raw[raw["study"].isin(numbers)]) for numbers in (range(5), range(5, 12))]
    keys = ["world", "fit", "kind", "name"]
    pooled, whole = (x.set_index(keys).sort_index() for x in (pool_tables(*parts), summarise(raw)))
    pd.testing.assert_frame_equal(pooled, whole, check_dtype=False)
