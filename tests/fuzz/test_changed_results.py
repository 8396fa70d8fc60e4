"""Every reader of results refuses what it cannot use in a sentence: no internal error."""

import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sharpbayes import library
from sharpbayes.cli.commands import app
from sharpbayes.errors import StorageError
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.storage.schema import declared_variables
from tests.fuzz.changed_results import save_changed
from tests.fuzz.outcomes import COUNT
from tests.shared_results import SMALL, as_converged

REPORTS = (
    *(
        "report {} --text",
        "report {} --json",
        "report {} --tables tables",
        "report {} --out r.html",
    ),
    *("weigh {} --weights equal", "weigh {} --weights equal --out weighed.nc"),
)
GATES = (
    "gate {} --model aster --against-model briar --weights gate.toml --markdown gate.md",
    "gate original.nc --model aster --against {} --against-model briar --weights gate.toml --json",
)
PLANS = ("next {} --cost judge=0.05 --count 5 --out next.csv", "compare {} original.nc --refits 0")
FITS = "fit {} --update {} --quiet --out f.nc " + " ".join(f"--set {text}" for text in SMALL)
# What each kind of results is given to.
COMMANDS = {
    "measured_panel": (*REPORTS, *GATES),
    "measured_crowd": REPORTS,
    "fitted_panel": (*GATES, *PLANS, FITS.format("quickstart", "{}"), *REPORTS),
    "fitted_crowd": (PLANS[1], FITS.format("quickstart_crowd", "{}"), *REPORTS),
}
GATE = "[gate]\nmean = 0.5\n"
ENDED = {0, 2, 3, 4, 5, 6, 7}
# What a sentence begins with: a file, the title of results, or the side or option that was given.
PLACE = re.compile(
    r"^(r\d+(\.nc)?|results of|these results|candidate|reference|--update|\S*quickstart)",
    re.MULTILINE,
)
FEW_CASES, MANY_CASES = 3, 250


# Commands over results of fits take the longest.
KINDS = [
    pytest.param(kind, marks=pytest.mark.slow) if kind.startswith("fitted") else kind
    for kind in COMMANDS
]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    """A kind of results."""
    return request.param


@pytest.fixture(scope="module")
def original(kind, shared_results):
    """Results of a panel and of a crowd, measured and fitted."""
    results = open_results(shared_results(kind))
    return as_converged(results) if "posterior" in results else results


def try_cases(kind, original, folder, monkeypatch, cases):
    """Give changed results to the commands; return how many ended in which status."""
    monkeypatch.chdir(folder)
    save_results(original, folder / "original.nc")
    Path("gate.toml").write_text(library.find("weights", "equal").read_text("utf-8") + GATE)
    statuses, surprises = Counter(), []
    for case in cases:
        path = folder / f"r{case}.nc"
        descriptions = save_changed(original, path, np.random.default_rng(case))
        if not descriptions:
            statuses["not written"] += 1
            continue
        command = COMMANDS[kind][case % len(COMMANDS[kind])].format(path.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, where every number is infinite
            done = CliRunner().invoke(app, command.split())
        path.unlink(missing_ok=True)
        if is_surprising(done):
            surprises.append((case, command, descriptions, done.exit_code, done.stderr[-500:]))
        statuses[done.exit_code] += 1
    COUNT.update({f"exit {status}": number for status, number in statuses.items()})
    assert not surprises, "\n".join(map(str, surprises))
    return statuses


def is_surprising(done):
    """Whether a command ended otherwise than is documented, or refused without a place."""
    refused = done.exit_code in {3, 5}
    placed = not refused or PLACE.search(done.stderr)
    return done.exit_code not in ENDED or "Traceback" in done.stderr or not placed


def test_changed_results_are_refused_in_a_sentence(kind, original, tmp_path, monkeypatch):
    assert try_cases(kind, original, tmp_path, monkeypatch, range(FEW_CASES)).total() == FEW_CASES


@pytest.mark.slow
def test_many_changed_results_are_refused_in_a_sentence(kind, original, tmp_path, monkeypatch):
    statuses = try_cases(kind, original, tmp_path, monkeypatch, range(MANY_CASES))
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
