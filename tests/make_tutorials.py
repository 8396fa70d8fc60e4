"""Outputs of the tutorials: ``python -m tests.make_tutorials [NAME ...]`` writes them again.

A tutorial begins with files as a project publishes them. The files are no part of this repository:
their columns are put together from ``../shared/data``. The fits of a tutorial take minutes.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tests.shared_data import SHARED_DATA

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LABELS = {0: "1_full_compliance", 1: "3_partial_refusal", 2: "2_full_refusal"}
PEOPLE = {"human_1": "annotation_1", "human_2": "annotation_2"}
PROGRAMS = {"gpt4": "gpt4_label", "strmatch": "strmatch_label"}
KINDS = {"gpt4_label": "gpteval", "strmatch_label": "streval"}
GROUPS = {"gender": "Gender", "age": "Age", "politics": "Political_Affiliation"}


def write_xstest(folder: Path) -> None:
    """Write XSTest's labels as its repository has them: a file for each model and program."""
    table = pd.read_csv(SHARED_DATA / "xstest.csv")
    table["label"] = table["score"].map(LABELS).fillna("an answer that is no label")
    table["judge"] = table["judge"].map(PEOPLE | PROGRAMS)
    for model, rows in table.groupby("model"):
        keys = rows.drop_duplicates("prompt")[["prompt", "type"]]
        wide = keys.join(rows.pivot_table("label", "prompt", "judge", "first"), on="prompt")
        wide = wide.rename(columns={"prompt": "id"}).assign(prompt="the text of the prompt")
        for label, kind in KINDS.items():
            columns = ["id", "type", "prompt", *PEOPLE.values(), label]
            wide[columns].to_csv(folder / f"xstest_v2_completions_{model}_{kind}.csv", index=False)


def write_pluriharms(folder: Path) -> None:
    """Write PluriHarms' annotations as its release has them: a row for each person."""
    ratings = pd.read_csv(SHARED_DATA / "pluriharms_ratings.csv")
    people = pd.read_csv(SHARED_DATA / "pluriharms_raters.csv")[["rater", *GROUPS]]
    wide = ratings.pivot_table("rating", "rater", "item", "first").add_prefix("Rating_")
    table = people.join(wide, on="rater").rename(columns={"rater": "Participant_ID"} | GROUPS)
    table.to_csv(folder / "annotations.csv", index=False)


def copy_logs(folder: Path) -> None:
    """Copy the logs that Inspect wrote."""
    for path in (ROOT / "tests" / "data" / "logs").glob("probe_*"):
        shutil.copy(path, folder)


FILES: dict[str, Callable[[Path], None]] = {
    "panel": write_xstest,
    "crowd": write_pluriharms,
    "inspect": copy_logs,
}


def run_page(text: str, folder: Path) -> str:
    """Run the blocks of a page in a folder; return it with what its commands print now."""

    def run(match: re.Match[str]) -> str:
        language, title, code = match.groups()
        saved = re.search(r'title="([^"]+)"', title)
        if saved:
            (folder / saved.group(1)).write_text(code, encoding="utf-8")
        if language == "python":
            call(["-c", code], folder)
        shown = run_commands(code, folder) if language == "console" else code
        return f"```{language}{title}\n{shown}```"

    return FENCE.sub(run, text)


def run_commands(text: str, folder: Path) -> str:
    """Run the commands of a block; return each with its output."""
    lines = [line for line in text.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{call(arguments(line), folder)}" for line in lines)


def arguments(line: str) -> list[str]:
    """Return how Python is called for a line that calls the program."""
    return ["-m", *shlex.split(line.removeprefix("$ "))]


def call(words: list[str], folder: Path) -> str:
    """Run Python with these words; return what a terminal of 80 columns shows."""
    extra = {"COLUMNS": "80", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | extra,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())


def main() -> None:
    """Run all tutorials, or those named on the command line, and write their outputs."""
    for name in sys.argv[1:] or FILES:
        page = TUTORIALS / f"{name}.md"
        with TemporaryDirectory() as folder:
            FILES[name](Path(folder))
            page.write_text(run_page(page.read_text("utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
