"""Seconds that a user waits for each command, of this checkout and of another, in turn.

    uv run python -m tests.benchmarks.commands --before PATH --page docs/benchmarks/commands.md

Every command is a cold process. The first round fills caches (machine code, bytecode) and is left
out. Commands of the two checkouts follow each other, so that what else runs on the machine meets
both alike.
"""

import argparse
import datetime as dt
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.benchmarks import datasets
from tests.references.fitted_limits import WEIGHTS, draw_scores, write_study

HERE = Path(__file__).parents[2]
# Each command with its arguments and the seconds that are its goal.
COMMANDS = {
    "`fit quickstart`": (("fit", "quickstart", "--out", "panel.nc"), 5.0),
    "`fit quickstart_crowd`": (("fit", "quickstart_crowd", "--out", "crowd.nc"), 4.0),
    "`fit` of 13,036 ratings by a crowd": (("fit", "made.toml", "--out", "made.nc"), 7.0),
    "`fit quickstart --preview`": (
        ("fit", "quickstart", "--preview", "--out", "preview.nc"),
        None,
    ),
    "`measure quickstart`": (("measure", "quickstart", "--out", "measured.nc"), 1.5),
    "`weigh` of the panel's fit": (
        ("weigh", "panel.nc", "--weights", "precautionary", "--out", "weighed.nc"),
        1.5,
    ),
    "`report` of the panel's fit": (("report", "panel.nc", "--out", "panel.html"), 3.0),
    "`report` of the crowd's fit": (("report", "crowd.nc", "--out", "crowd.html"), None),
    "`fit` of 400 prompts": (("fit", "prompts/study.toml", "--out", "prompts.nc"), None),
    "`weigh` of it": (
        ("weigh", "prompts.nc", "--weights", "prompts/wide.toml", "--out", "weighed.nc"),
        None,
    ),
    "`next` of it": (("next", "prompts.nc", "--weights", "prompts/wide.toml"), None),
}
# Status of an answer that cannot be told.
NOT_DECIDED = 7
PAGE = """# Commands

What a user waits for, with warm caches. `{command}`: {repeats} runs of each command by each
checkout in turn, after one that is left out. Wall time is the median, beside the least; processor
time is the least. Measured on {day} with {cores} cores, commits {before} and {after}.

{table}
"""


def write_crowd(folder):
    """Write a simulated crowd of the size of those that people held out."""
    datasets.made("13k").to_parquet(folder / "made.parquet")
    text = datasets.STUDY.format(title="13,036 ratings", seed=1, data="made.parquet")
    (folder / "made.toml").write_text(text, encoding="utf-8")


def write_panel(folder):
    """Write a panel of three models with 400 prompts, and limits that all of them keep."""
    folder.mkdir()
    write_study(folder, draw_scores(np.random.default_rng(127), 400, 0.0))
    (folder / "wide.toml").write_text(WEIGHTS.format(mean=9.0, cvar=9.9), encoding="utf-8")


def run_command(checkout, folder, arguments):
    """Return wall and processor seconds and the largest memory in MB of one process."""
    hidden = "PYTHONDONTWRITEBYTECODE"
    environment = {name: value for name, value in os.environ.items() if name != hidden}
    environment["PYTHONPATH"] = str(checkout)
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "sharpbayes", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, NOT_DECIDED):
        raise SystemExit(f"{checkout}: {arguments} ended with status {process.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def run_rounds(checkouts, repeats):
    """Return (round, number) by command and checkout: wall seconds, processor seconds, memory."""
    taken = {(name, checkout): [] for name in COMMANDS for checkout in checkouts}
    with tempfile.TemporaryDirectory() as scratch:
        folders = {checkout: Path(scratch) / str(n) for n, checkout in enumerate(checkouts)}
        for folder in folders.values():
            folder.mkdir()
            write_crowd(folder)
            write_panel(folder / "prompts")
        for number in range(repeats + 1):
            for name, (arguments, _) in COMMANDS.items():
                for checkout, folder in folders.items():
                    taken[name, checkout].append(run_command(checkout, folder, arguments))
                    print(number, name, checkout.name, *taken[name, checkout][-1], flush=True)
    return {key: np.array(runs[1:]) for key, runs in taken.items()}


def tabulate(taken, checkouts):
    """Return the lines of a Markdown table, checkouts beside each other."""
    names = ["before", "now"][-len(checkouts) :]
    columns = [
        f"{name}, {measure}" for name in names for measure in ("wall, s", "processor, s", "MB")
    ]
    lines = [
        "| " + " | ".join(["command", *columns, "goal, s"]) + " |",
        "| " + " | ".join(["---"] * (len(columns) + 2)) + " |",
    ]
    for name, (_, goal) in COMMANDS.items():
        cells = [name]
        for checkout in checkouts:
            wall, used, memory = taken[name, checkout].T
            cells.append(f"{np.median(wall):.1f} ({wall.min():.1f})")
            cells += [f"{used.min():.1f}", f"{memory.max():.0f}"]
        lines.append("| " + " | ".join([*cells, "" if goal is None else f"{goal:g}"]) + " |")
    return lines


def commit_of(checkout):
    """Return the commit of a checkout, with a plus sign where files have changed since."""
    call = ("git", "-C", str(checkout), "describe", "--always", "--abbrev=10", "--dirty=+")
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def describe_day():
    """Return the day and the number of cores, as pages name them."""
    day = dt.datetime.now(dt.UTC).date().isoformat()
    return {"day": day, "cores": len(os.sched_getaffinity(0))}


def main():
    """Time both checkouts, print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=Path, help="page that the table is written to")
    asked = parser.parse_args()
    checkouts = [*([asked.before.resolve()] if asked.before else []), HERE]
    lines = tabulate(run_rounds(checkouts, asked.repeats), checkouts)
    print("\n".join(lines))
    if asked.page:
        page = PAGE.format(
            command=f"python -m tests.benchmarks.commands --before PATH --repeats {asked.repeats}",
            repeats=asked.repeats,
            **describe_day(),
            before=commit_of(checkouts[0]),
            after=commit_of(HERE),
            table="\n".join(lines),
        )
        asked.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
