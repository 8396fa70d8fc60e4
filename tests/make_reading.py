"""The worked examples of docs/reading.md: ``python -m tests.make_reading`` writes them again.

It fits the quickstart, with 30 prompts, and a study of 100 prompts with the same truth, which takes
some minutes. An example is between ``<!-- example: NAME -->`` and ``<!-- end -->``.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

import numpy as np
import xarray as xr

import sharpbayes
from sharpbayes.report.summary import answer, verdict
from tests.make_quickstart import FOLDER, SEED, panel_table

PAGE = Path(__file__).parents[1] / "docs" / "reading.md"
EXAMPLES = {"bad": 30, "good": 100}


def fit_example(prompts: int, folder: Path) -> xr.DataTree:
    """Fit the quickstart's study to judgements of so many prompts."""
    table = panel_table(np.random.default_rng(SEED), prompts)
    table.to_csv(folder / "quickstart.csv", index=False)
    (folder / "study.toml").write_text((FOLDER / "quickstart.toml").read_text("utf-8"), "utf-8")
    return sharpbayes.fit(sharpbayes.load_study(folder / "study.toml"))


def describe(results: xr.DataTree) -> str:
    """Write the answer as the terminal shows it."""
    texts = (*answer(results), verdict(results))
    lines = [fill(text, 80, break_on_hyphens=False) for text in texts]
    return "```text\n" + "\n".join(lines) + "\n```"


def replace_example(text: str, name: str, shown: str) -> str:
    """Return the page with another text in an example."""
    start, end = f"<!-- example: {name} -->\n", "\n<!-- end -->"
    head, _, rest = text.partition(start)
    return head + start + shown + end + rest.partition(end)[2]


def main() -> None:
    """Fit both examples, or those named on the command line, and write them into the page."""
    text = PAGE.read_text("utf-8")
    for name in sys.argv[1:] or EXAMPLES:
        with TemporaryDirectory() as folder:
            shown = describe(fit_example(EXAMPLES[name], Path(folder)))
        text = replace_example(text, name, shown)
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
