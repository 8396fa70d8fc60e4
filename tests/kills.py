"""Commands killed at random moments: is earlier output whole, and are the numbers the same.

``python -m tests.kills 50 10 --out tests/references/kills.csv`` kills `fit` fifty times and every
other command ten times; every third time a run that itself resumes a killed one.
"""

import argparse
import csv
import glob
import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
import xarray as xr

from sharpbayes import library
from sharpbayes.cli.commands import app
from sharpbayes.cli.targets import MARKED_BYTES
from sharpbayes.storage.files import TEMPORARY
from sharpbayes.storage.results import open_results, save_results
from tests.references.provenance import record_run
from tests.shared_results import as_converged

FEW = ["--set", "bootstrap.replicates=2000", "--set", "crowd.permutations=20"]
SMALL = [*FEW, "--set", "sampler.tune=150", "--set", "sampler.draws=150"]
SMALL += ["--set", "sampler.predictive_draws=40", "--set", "sampler.chains=3"]
FIT = ["fit", "quickstart_crowd", "--out", "r.nc", *SMALL]
FEWEST = ["--set", "sampler.draws=50", "--set", "sampler.tune=50", "--set", "sampler.chains=2"]
FEWEST += ["--set", "sampler.predictive_draws=20"]
# All statuses with which a command says what it found.
ENDED = {0, 4, 6, 7}
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["sharpbayes.cli.commands", "sharpbayes.workflows.weigh", "sharpbayes.bayes.fit"]
)
LONGEST = 1.4
HEADER = [
    *("command", "kill", "seconds", "of", "during", "resumes", "kept", "previous_output"),
    *("half_written", "same_numbers"),
]
GATE = "\n[gate]\nmean = 0.5\n"


@dataclass(frozen=True)
class Command:
    """A command that is killed, in a folder beside the inputs, and how it goes on.

    ``earlier`` are results among the inputs that stand where the command writes its own.
    """

    text: str
    resumes: bool = False
    earlier: str = "crowd.nc"


PANEL, CROWD = "../inputs/panel.nc", "../inputs/crowd.nc"
GROWN = f"../inputs/{FIT[1]}.toml"
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "weigh": Command(f"weigh {PANEL} --weights equal --out weighed.nc"),
        "gate": Command(
            f"gate {PANEL} --model aster --against-model briar --weights ../inputs/gate.toml "
            "--markdown gate.md --junit gate.xml"
        ),
        "next": Command(f"next {PANEL} --cost judge=0.05 --out list.csv"),
        "compare": Command(
            f"compare {CROWD} ../inputs/other.nc --refits 0 --out compared.nc --tables tables"
        ),
        "report": Command(f"report {PANEL} --out page.html"),
        "report --figures": Command(f"report {PANEL} --figures figures --tables tables"),
        # No fit stands in its place: a measurement does not replace one.
        "measure": Command(
            " ".join(["measure", *FIT[1:4], *FEW]), resumes=True, earlier="measured.nc"
        ),
        "fit --update": Command(
            " ".join(["fit", GROWN, *FIT[2:], "--update", "../inputs/earlier.nc"]), resumes=True
        ),
        "calibrate": Command(
            " ".join(["calibrate", *FIT[1:4], "--simulations 20", *FEW, *FEWEST]), resumes=True
        ),
        "fit": Command(" ".join(FIT), resumes=True),
    }
)


def make_inputs(folder):
    """Write the results and weights that commands read."""
    folder.mkdir()
    run_command(folder, " ".join(["fit quickstart --out panel.nc", *FEW[:2], *FEWEST]))
    run_command(folder, " ".join([*FIT[:3], "crowd.nc", *FEW, *FEWEST]))
    # A study before a tenth of its ratings were there.
    for path in library.folder("studies").glob(f"{FIT[1]}*"):
        shutil.copy(path, folder)
    head, *rows = (folder / f"{FIT[1]}.csv").read_text("utf-8").splitlines(keepends=True)
    kept = [row for number, row in enumerate(rows) if number % 10]
    (folder / "earlier.csv").write_text("".join([head, *kept]), encoding="utf-8")
    data = "--set crowd.data='earlier.csv'"
    run_command(folder, " ".join(["fit", f"{FIT[1]}.toml --out earlier.nc", data, *FEW, *FEWEST]))
    for path in folder.glob("*.nc"):
        save_results(as_converged(open_results(path)), path)
    run_command(folder, f"measure {FIT[1]} --out measured.nc --set bootstrap.replicates=20")
    shutil.copy(folder / "crowd.nc", folder / "other.nc")
    weights = library.find("weights", "equal").read_text(encoding="utf-8")
    (folder / "gate.toml").write_text(weights + GATE, encoding="utf-8")


def run_command(folder, text, seconds=None):
    """Run a command in a folder and return its exit status, None if it was killed at that moment.

    Its process starts with the program loaded, so that moments fall on the work.
    """
    started = PROCESSES.Process(target=_call, args=(folder, text.split()))
    started.start()
    started.join(seconds)
    if started.exitcode is None:
        started.kill()
        started.join()
    assert started.exitcode in {*ENDED, -signal.SIGKILL}, log_path(folder).read_text()
    return None if started.exitcode < 0 else started.exitcode


def _call(folder, arguments):
    """Be the command."""
    os.chdir(folder)
    with log_path(folder).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    app(arguments, prog_name="sharpbayes")


def log_path(folder):
    """Where a run says what it does: beside its folder."""
    return folder.with_name(f"{folder.name}.log")


def last_step(folder):
    """The step that a run had announced last when it was killed."""
    log = log_path(folder).read_text() if log_path(folder).is_file() else ""
    if half_written(folder):
        return "writing results"
    if "results written" in log:
        return "removing what was kept"
    steps = [line.removesuffix(" ...") for line in log.splitlines() if line.endswith(" ...")]
    return re.sub(" \\(.*", "", steps[-1]) if steps else "no step announced"


def half_written(folder):
    """Files that a killed run had begun to write under temporary names."""
    return [*folder.rglob(f"{glob.escape(TEMPORARY)}*")]


def assert_same(path, expected):
    """Every variable of every group to the last bit; every byte of other files."""
    if path.suffix != ".nc":
        assert path.read_bytes() == expected.read_bytes(), path
        return
    one, other = open_results(path), open_results(expected)
    assert set(one.children) == set(other.children)
    for name in one.children:
        xr.testing.assert_identical(
            one[name].to_dataset().drop_attrs(), other[name].to_dataset().drop_attrs()
        )


def contents(folder, paths):
    """The bytes of each file, None of one that is not there."""
    return {
        path: (folder / path).read_bytes() if (folder / path).is_file() else None for path in paths
    }


def place_earlier(folder, expected, outputs, results):
    """Place complete earlier output: other results, and other files that begin as expected."""
    for path in outputs:
        (folder / path).parent.mkdir(exist_ok=True)
        start = (expected / path).read_bytes()[:MARKED_BYTES]
        earlier = results.read_bytes() if path.suffix == ".nc" else start + b" earlier"
        (folder / path).write_bytes(earlier)


def compare_outputs(folder, expected, before):
    """Say of each output whether it is the earlier one or a new one that is right."""
    now, new = contents(folder, before), 0
    for path, content in now.items():
        if content != before[path]:
            assert_same(folder / path, expected / path)
            new += 1
    return "whole" if not new else "replaced" if new == len(before) else "some replaced"


def kill_and_repeat(folder, command, moments, *, usual, expected, earlier):
    """Yield a row of the table for every moment; every run is brought to its end.

    Args:
        folder: An empty folder.
        command: One of the table of commands.
        moments: Seconds after the start.
        usual: Seconds that a run takes.
        expected: Folder with the output of a run that nothing disturbed, and nothing else.
        earlier: A results file that stands in the place of results before each kill.
    """
    outputs = [path.relative_to(expected) for path in expected.rglob("*") if path.is_file()]
    resumed, number = False, 0
    for seconds in moments:
        if not resumed:
            place_earlier(folder, expected, outputs, earlier)
        before = contents(folder, outputs)
        log_path(folder).unlink(missing_ok=True)
        text = command.text + " --resume" * resumed
        ended = run_command(folder, text, seconds=float(seconds)) is not None
        state = compare_outputs(folder, expected, before)
        if ended:  # the last moment: all output stands
            assert state == "replaced"
            resumed = False
            continue
        number += 1
        step, half = last_step(folder), half_written(folder)
        kept = Counter(part.stem.split("-")[0] for part in folder.glob("*.checkpoint/*.npz"))
        row = [number, f"{seconds:.2f}", f"{usual:.2f}", step, "yes" if resumed else "no"]
        row.append(" ".join(f"{count} {kind}" for kind, count in sorted(kept.items())) or "nothing")
        row += [state, len(half)]
        begun = command.resumes and any(folder.glob("*.checkpoint/run"))
        resumed = begun and number % 3 == 1
        if not resumed:
            run_command(folder, command.text + " --resume" * begun)
            for path in outputs:
                assert_same(folder / path, expected / path)
            if command.resumes:  # what killed runs had begun to write is gone too
                assert not half_written(folder)
            for path in half_written(folder):
                path.unlink()
            assert sorted(contents(folder, outputs)) == sorted(
                path.relative_to(folder) for path in folder.rglob("*") if path.is_file()
            )
        yield [*row, "killed again" if resumed else "yes"]


def time_command(folder, command):
    """Run a command that nothing disturbs, and return its seconds."""
    before = time.monotonic()
    run_command(folder, command.text)
    return time.monotonic() - before


def main():
    """Kill as often as the command line says and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fits", type=int, help="kills of `fit`")
    parser.add_argument("others", type=int, help="kills of every other command")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=9)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as scratch, options.out.open("w", newline="") as file:
        base = Path(scratch)
        make_inputs(base / "inputs")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for number, (name, command) in enumerate(COMMANDS.items()):
            expected, folder = base / f"expected{number}", base / f"runs{number}"
            expected.mkdir()
            folder.mkdir()
            usual = time_command(expected, command)
            # Longer than a run takes: the machine may be slower later on.
            moments = iter(lambda usual=usual: rng.uniform(0.02, LONGEST) * usual, None)
            paths = {"expected": expected, "earlier": base / "inputs" / command.earlier}
            rows = kill_and_repeat(folder, command, moments, usual=usual, **paths)
            for row in islice(rows, options.fits if name == "fit" else options.others):
                writer.writerow([name, *row])
                file.flush()
    record_run(options.out)


if __name__ == "__main__":
    main()
