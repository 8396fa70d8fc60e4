"""Test runs of promptfoo and DeepEval -> a long table: a row for each score of an answer."""

from collections.abc import Sequence
from hashlib import sha256

import pandas as pd

from sharpbayes.data.readers.prompt_text import keep_one_text
from sharpbayes.data.readers.rows import Rows, tabulate_rows

# Who scores where a program does, and where the log does not name the model that does.
CODE, UNNAMED = "code", "unnamed grader"
MAX_LABEL = 60


def shorten_text(text: str) -> str:
    """Return a text as a label: the start and a digest of one that is long or has line breaks.

    >>> shorten_text("Is it safe?")
    'Is it safe?'
    >>> shorten_text("Is it safe? " * 9)
    'Is it safe? Is it safe? Is it safe? Is it safe? I … a141c9de'
    """
    line = " ".join(text.split())
    if line == text and len(text) <= MAX_LABEL:
        return text
    digest = sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]
    return f"{line[: MAX_LABEL - len(digest) - 3].rstrip()} … {digest}"


def tabulate_runs(runs: Sequence[Rows], program: str) -> pd.DataFrame:
    """Join runs to one table, and number what is repeated.

    Rows need the columns ``log``, ``answer`` (the number of the answer in its log), ``model``,
    ``prompt``, ``text``, ``judge`` and ``indicator``. The ``sample`` numbers the answers of a model
    to a prompt in a log. A judge's second score of one name gets a number: ``agrees.2``.
    """
    table = tabulate_rows(runs)
    if table.empty:
        return table
    answers = table["answer"].astype(int).groupby([table[n] for n in ("log", "model", "prompt")])
    table["sample"] = answers.rank("dense").astype(int)
    repeats = table.groupby(["log", "answer", "judge", "indicator"]).cumcount() + 1
    names = zip(table["indicator"], repeats, strict=True)
    table["indicator"] = [name if n == 1 else f"{name}.{n}" for name, n in names]
    table["measure"] = table["judge"] + "." + table["indicator"]
    table["program"] = program
    return keep_one_text(table.drop(columns="answer"))
