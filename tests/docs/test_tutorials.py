"""Tutorials on real ratings: their tables are the published ones, their outputs are of today."""

import tomllib
from pathlib import Path

import pandas as pd
import pytest

from sharpbayes.spec.load import parse
from sharpbayes.spec.schema import KINDS
from tests.make_tutorials import FENCE, FILES, TUTORIALS, call, run_page
from tests.shared_data import SHARED_DATA, needs_shared_data

# Names of the columns in ../shared/data, which were taken from the same files by other means.
SAME = {
    "panel": ("xstest.csv", "xstest.csv", ["model", "prompt", "judge"], "score"),
    "crowd": ("ratings.csv", "pluriharms_ratings.csv", ["item", "rater"], "rating"),
}


def blocks(name, language):
    text = (TUTORIALS / f"{name}.md").read_text("utf-8")
    return [code for kind, _, code in FENCE.findall(text) if kind == language]


@needs_shared_data
@pytest.mark.parametrize("name", SAME)
def test_a_tutorial_makes_the_published_table(name, tmp_path):
    written, published, keys, score = SAME[name]
    FILES[name](tmp_path)
    for code in blocks(name, "python"):
        call(["-c", code], tmp_path)
    table = pd.read_csv(tmp_path / written).rename(columns={"score": score})
    table = table.replace({"gpt4_grader": "gpt4"})  # a judge with the name of a model elsewhere
    expected = pd.read_csv(SHARED_DATA / published)
    ours, theirs = (frame.set_index(keys)[score].sort_index() for frame in (table, expected))
    pd.testing.assert_series_equal(ours, theirs, check_dtype=False)


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_tutorial_are_valid(name):
    studies = blocks(name, "toml")
    assert studies
    for text in studies:
        kind = tomllib.loads(text)["schema"].split("/")[1]
        assert parse(text, Path("page.toml"), KINDS[kind]).spec.title


@pytest.mark.slow
@needs_shared_data
@pytest.mark.parametrize("name", FILES)
def test_outputs_of_a_tutorial_are_of_today(name, tmp_path):
    """``python -m tests.make_tutorials`` writes them again."""
    FILES[name](tmp_path)
    text = (TUTORIALS / f"{name}.md").read_text("utf-8")
    assert run_page(text, tmp_path) == text
