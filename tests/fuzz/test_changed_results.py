"""Every reader of results refuses what it cannot use in a sentence: no internal error."""

import warnings
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import StorageError
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.storage.schema import declared_variables
from tests.fuzz.changed_results import save_changed
from tests.fuzz.outcomes import COUNT

COMMANDS = (
    *(["report", "--text"], ["report", "--json"], ["report", "--tables", "tables"]),
    *(["weigh", "--weights", "equal"], ["report", "--out", "r.html"]),
)
FEW_CASES, MANY_CASES = 6, 250


@pytest.fixture(scope="module", params=["measured_panel", "measured_crowd"])
def original(request, shared_results):
    """Results of a panel and of a crowd."""
    return open_results(shared_results(request.param))


def try_cases(original, folder, monkeypatch, cases):
    """Give changed results to the commands; return how many ended in which status."""
    monkeypatch.chdir(folder)
    statuses = Counter()
    for case in cases:
        path = folder / f"r{case}.nc"
        descriptions = save_changed(original, path, np.random.default_rng(case))
        if not descriptions:
            statuses["not written"] += 1
            continue
        command, *options = COMMANDS[case % len(COMMANDS)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, where every number is infinite
            done = CliRunner().invoke(app, [command, path.name, *options])
        assert done.exit_code in {0, 2, 5}, (case, descriptions, done.stderr[-500:])
        assert "Traceback" not in done.stderr
        if done.exit_code:
            assert done.stderr.startswith((path.name, "results of ")) or done.exit_code == 2
        statuses[done.exit_code] += 1
    COUNT.update({f"exit {status}": number for status, number in statuses.items()})
    return statuses


def test_changed_results_are_refused_in_a_sentence(original, tmp_path, monkeypatch):
    assert try_cases(original, tmp_path, monkeypatch, range(FEW_CASES)).total() == FEW_CASES


@pytest.mark.slow
def test_many_changed_results_are_refused_in_a_sentence(original, tmp_path, monkeypatch):
    statuses = try_cases(original, tmp_path, monkeypatch, range(MANY_CASES))
    assert statuses.total() == MANY_CASES
    assert statuses[0]
    assert statuses[5]


def test_each_fault_has_a_line_with_its_place(original, tmp_path):
    group = "profile" if "profile" in original else "responsiveness"
    data = original[group].to_dataset()
    name = next(name for name in data.data_vars if (group, name) in declared_variables())
    [dim, *_] = data[name].dims
    broken = original.copy()
    broken[group] = data.rename({dim: f"{dim}_"})
    broken.attrs["created"] = "yesterday"
    save_results(broken, tmp_path / "r.nc")
    with pytest.raises(StorageError) as raised:
        open_results(tmp_path / "r.nc")
    text = str(raised.value)
    assert f"/{group}/{name}: has no dimension `{dim}`; did you mean '{dim}_'?" in text
    assert "/: attribute `created` is 'yesterday', must be a time" in text
    assert all(line.startswith(f"{tmp_path / 'r.nc'}: ") for line in text.splitlines())
