"""A study that is being drafted, with its comments, its assumptions and a ledger of columns."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.errors import format_list
from sharpbayes.scaffold import inference
from sharpbayes.scaffold.column_names import quote, title_columns
from sharpbayes.scaffold.inference import InferredScale
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.number_checks import describe_numbers
from sharpbayes.spec.schema import describe_field
from sharpbayes.spec.study_text import format_study

COMMENT_WIDTH = 98
OVER_SPAN = f"{inference.BINS} bins of one width over the range of the data,"
HEAD = (
    'A first study of "{name}", written by `sharpbayes init`: read every CHECK,',
    "then run `sharpbayes check` and `sharpbayes measure` on this file.",
)


@dataclass(frozen=True)
class LedgerRow:
    """What became of a column of a file: its role and its values; or ``not used``, and why."""

    file: str
    column: str
    role: str
    content: str


@dataclass
class Draft:
    """A study that is being drafted, with comments by dotted key.

    Each of the ``assumptions``, what could not be inferred, is also a comment, and so is the
    ``ledger`` of all columns. The data are ``added`` where columns were missing;
    ``rows_are_trials`` where repeats of a cell are trials that no column numbers. What is
    ``decided``, a part of a study, is not inferred; a role is named by ``option``.
    """

    decided: Mapping[str, Any] = field(default_factory=dict)
    head: Sequence[str] = HEAD
    option: str = "--role "
    text: str = ""
    ledger: list[LedgerRow] = field(default_factory=list)
    comments: dict[str, list[str]] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    added: pd.DataFrame | None = None
    rows_are_trials: bool = False

    def comment(self, key: str, text: str) -> None:
        """Add a comment to a key."""
        self.comments.setdefault(key, []).append(text)

    def assume(self, key: str, *texts: str) -> None:
        """Note what could not be inferred, and mark it in comments on a key."""
        for text in () if self._is_decided(key) else texts:
            self.assumptions.append(text)
            self.comment(key, f"CHECK: {text}")

    def doubt_order(
        self, key: str, inferred: Mapping[str, InferredScale], missing: Sequence[str]
    ) -> None:
        """Note what is assumed about the order and the range of scales.

        ``missing`` are the texts that are read as empty cells.
        """
        ordered: dict[str, list[str]] = {}
        for name, column in inferred.items():
            if column.order:
                ordered.setdefault(column.order, []).append(quote(name))
        for order, names in ordered.items():
            self.assume(key, f"the order of {format_list(names)} {order}")
        self.assume(key, *describe_numbers(inferred, missing))

    def _is_decided(self, key: str) -> bool:
        """Tell whether a key is decided; names of indicators alone say nothing of their scores."""
        section, _, name = key.rpartition(".")
        value = self.decided.get(section, {}).get(name)
        if name == "indicators":
            return value is not None and all(value.values())
        return value is not None and name != "scales"

    def record(self, table: LogTable, uses: Mapping[str, str], reasons: Mapping[str, str]) -> None:
        """Enter every column of a table: its role, or the reason why it is not used."""
        for name in table.raters:
            scores = table.data["score"][table.data["rater"] == name]
            self.ledger.append(
                LedgerRow(table.label, name, "rater", inference.describe_values(scores))
            )
        melted = {"rater", "score"} if table.raters else set()
        titles = zip(map(str, table.data.columns), title_columns(table.data.columns), strict=True)
        for name, title in [pair for pair in titles if pair[0] not in melted]:
            content = inference.describe_values(table.data[name])
            if name not in uses:
                content = inference.explain_unused(table.data[name], reasons.get(name, ""))
            row = LedgerRow(table.label, title, uses.get(name, "not used"), content)
            self.ledger.append(row)

    def format_ledger(self) -> Iterator[str]:
        """Yield the ledger as lines, a block for each file."""
        for file, rows in groupby(self.ledger, key=lambda row: row.file):
            yield f'Columns of "{file}":'
            block = [(row.column, row.role, row.content) for row in rows]
            widths = [max(len(row[n]) for row in block) for n in range(2)]
            for column, role, values in block:
                yield f"  {column:{widths[0]}}  {role:{widths[1]}}  {values}".rstrip()

    def finish(self, name: str, table: Mapping[str, Any], section: str) -> "Draft":
        """Write the text of ``[panel]`` or ``[crowd]``, each key with its description."""
        head = [line.replace("{name}", name) for line in self.head]
        comments = {
            "": [*head, *self.format_ledger(), *self.comments.pop("", [])],
            "weights": ['weights = "./weights.toml"   # yours; see `sharpbayes show sharp`'],
        }
        for key in [*table, "fit"]:
            path = f"{section}.{key}"
            described = textwrap.wrap(describe_field("study", path), COMMENT_WIDTH)
            comments[path] = described + self.comments.pop(path, [])
        comments |= self.comments
        study = {
            "schema": "sharpbayes/study/2",
            "title": f"A first look at {Path(name).name or 'this folder'}",
            "seed": 1,
            section: table,
            "bootstrap": {"replicates": 2000, "level": 0.95},
        } | {key: value for key, value in self.decided.items() if key != section}
        self.text = format_study(study, comments)
        return self
