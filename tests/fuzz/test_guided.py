"""Files that grow by what code they reach: studies, weights, models and tables."""

import shutil

import numpy as np
import pytest

from sharpbayes.library import folder
from sharpbayes.spec.load import load, load_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.check import check
from tests.fuzz.coverage import NewLines, change_bytes, grow
from tests.fuzz.outcomes import outcome
from tests.fuzz.test_tables import loads

FEW_CASES, MANY_CASES = 40, 1500
CSV = b"i,r,s,g\na,x,1,w\nb,y,10,w\n"
JSON_LINES = b'{"i":"a","r":"x","s":1,"g":"w"}\n{"i":"b","r":"y","s":10,"g":"w"}\n'


@pytest.fixture
def base(tmp_path):
    """A folder with the data of the shipped studies."""
    for path in folder("studies").glob("*.csv"):
        shutil.copy(path, tmp_path)
    return tmp_path


def shipped(kind):
    return [path.read_bytes() for path in sorted(folder(kind).glob("*.toml"))]


def give_study(base, content):
    path = base / "s.toml"
    path.write_bytes(content)
    files = outcome(lambda: load_study(path), place=[str(base), "sharpbayes", ".toml"])
    if files is not None:
        outcome(lambda: check(files), place=[str(base), "sharpbayes", ".toml"])


def give_file(base, content, kind):
    path = base / "f.toml"
    path.write_bytes(content)
    outcome(lambda: load(path, kind), place=[str(path)])


def give_table(base, content, name):
    (base / name).write_bytes(content)
    loads(base, name)


GUIDED = {
    "study": (shipped("studies"), give_study),
    "weights": (shipped("weights"), lambda base, content: give_file(base, content, Weights)),
    "model": (shipped("models"), lambda base, content: give_file(base, content, Model)),
    "csv": ([CSV], lambda base, content: give_table(base, content, "t.csv")),
    "json lines": ([JSON_LINES], lambda base, content: give_table(base, content, "t.jsonl")),
}


def try_guided(base, kind, cases):
    """Give cases of one kind; return how many of them reached new lines."""
    seeds, give = GUIDED[kind]
    generator = np.random.default_rng(cases)
    corpus = grow(seeds, lambda content: give(base, content), cases=cases, generator=generator)
    return len(corpus) - len(seeds)


@pytest.mark.parametrize("kind", GUIDED)
def test_guided_files_end_in_success_or_a_documented_error(base, kind):
    assert try_guided(base, kind, FEW_CASES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", GUIDED)
def test_many_guided_files_end_in_success_or_a_documented_error(base, kind):
    assert try_guided(base, kind, MANY_CASES)


def test_lines_are_new_once():
    generator = np.random.default_rng(1)
    with NewLines() as lines:
        folder("studies")
        first = lines.count
        folder("studies")
        assert lines.count == first
    assert change_bytes([CSV], generator) != CSV
