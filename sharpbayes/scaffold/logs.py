"""Logs of other programs -> a table with its roles, for the first study of them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.formats import detect_format, read_table
from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.data.readers.paths import find_files
from sharpbayes.data.readers.prompt_text import TEXT
from sharpbayes.errors import DataError, format_list
from sharpbayes.scaffold.column_names import infer_roles
from sharpbayes.scaffold.inference import infer_scale, is_constant
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.roles import CROWD_LOGS, PANEL_LOGS

METADATA = "metadata."
# Programs that score what is good.
HIGH_IS_GOOD = ("lm-eval", "promptfoo", "deepeval", "every-eval-ever")
# A column that is the same for all scorers, which makes them indicators of one judge.
ONE_JUDGE = {"inspect": "task", "promptfoo": "program", "deepeval": "program"}


@dataclass(frozen=True)
class LogTable:
    """A data file in memory, as text, by its name from the study's folder.

    A plain table has an empty ``layout``, and the ``dialect`` of its file. ``roles`` are given by
    the layout or chosen; ``assumptions`` say what was chosen among several things. Empty ``judges``
    are all. ``raters`` are the columns of a wide table whose data were turned into ratings. A table
    that ``is_rewritten`` has other rows or cells than its file.
    """

    name: str
    data: pd.DataFrame
    layout: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    dialect: Dialect = field(default_factory=Dialect)
    raters: tuple[str, ...] = ()
    is_rewritten: bool = False

    @property
    def source(self) -> dict[str, Any]:
        """Keys of a study that name the file: its data, and its dialect if that is unusual."""
        keys = self.dialect.model_dump(exclude_defaults=True, mode="json")
        return {"data": self.name} | ({"dialect": keys} if keys else {})

    @property
    def label(self) -> str:
        """Name of the file, and of its sheet."""
        return self.name if self.dialect.sheet is None else f"{self.name}: {self.dialect.sheet}"

    @property
    def own_roles(self) -> dict[str, Any]:
        """Roles that differ from those of the layout, which a study must name."""
        if self.raters:
            return {"item": self.roles["item"], "rater": [*self.raters]}
        known = PANEL_LOGS.get(self.layout, CROWD_LOGS.get(self.layout, {}))
        return {role: column for role, column in self.roles.items() if known.get(role) != column}


def name_study(path: Path) -> str:
    """Return the name of the study of a file or a pattern: ``probe.toml`` for ``probe_*.eval``.

    The folder ``.`` or ``..`` has the name that it has elsewhere.
    """
    path = path if path.name.strip(".") else path.resolve()
    return f"{path.stem.replace('*', '').replace('?', '').strip('_-. ') or 'study'}.toml"


def read_log(path: Path, name: str) -> LogTable | None:
    """Read the logs of a path or a pattern, called ``name`` in the study; None for plain tables."""
    layout = detect_format(find_files(Path(), str(path))[0])
    if layout is None:
        return None
    if layout == "prolific":
        message = (
            "holds participants, not ratings: look at the ratings, and join this in the study by "
            f'raters = {{ data = "{path.name}", key = "Participant id", layout = "prolific" }}'
        )
        raise DataError.at(path, message)
    table = LogTable(name, read_table(Path(), str(path), layout), layout)
    return _choose_score(table) if layout == "label-studio" else _choose_judges(table)


def _choose_score(table: LogTable) -> LogTable:
    """Choose the tag that is the score: one that annotators of one text differ in."""
    data = table.data
    names = [str(name) for name in data.columns if name not in FACTS]
    scales = {name: infer_scale(data[name], named=True).scale for name in names}
    tags = [name for name, scale in scales.items() if scale and not is_constant(data, name, "id")]
    if not tags:
        message = "no tag with scores found: annotators differ in none that is a number or a choice"
        raise DataError.at(table.name, message)
    numbers = [name for name in tags if "min" in (scales[name] or {})]
    score = infer_roles(data[tags], ["score"], {}).get("score", [*numbers, *tags][0])
    others = [name for name in tags if name != score]
    assumptions = (
        (f"the score is {score!r}; there is also {format_list(others)}",) if others else ()
    )
    roles = {**CROWD_LOGS["label-studio"], "score": score, "time": "created_at"}
    roles |= {TEXT: TEXT} if TEXT in data and is_constant(data, TEXT, "id") else {}
    return replace(table, roles=roles, assumptions=assumptions)


def _choose_judges(table: LogTable) -> LogTable:
    """Choose judges who score the same things; where no two do, each scorer is an indicator."""
    data, roles = table.data, dict(PANEL_LOGS[table.layout])
    assumptions, judges = [], list[str]()
    noted = sorted({name for name in data["indicator"] if name.startswith(METADATA)})
    if noted:
        assumptions.append(f"further indicators that the scorers noted: {format_list(noted)}")
        data = data[~data["indicator"].isin(noted)].reset_index(drop=True)
    groups: dict[tuple[str, ...], list[str]] = {}
    for judge, rows in data.groupby("judge"):
        groups.setdefault(tuple(sorted(set(rows["indicator"]))), []).append(str(judge))
    alike = max(groups.values(), key=len)
    others = sorted(set(data["judge"]) - set(alike))
    if others and len(alike) == 1 and table.layout in ONE_JUDGE:
        single_judge = ONE_JUDGE[table.layout]
        roles |= {"judge": single_judge, "indicator": "measure"}
        assumption = (
            f"no two scorers score the same: each is an indicator, and the {single_judge} the judge"
        )
        assumptions.append(assumption)
    elif others:
        judges = alike
        assumptions.append(f"judges who score other things are left out: {format_list(others)}")
        data = data[data["judge"].isin(alike)].reset_index(drop=True)
    cell = [column for role, column in roles.items() if role != "score"]
    if "log" in data and data.duplicated(cell).any():
        roles["model"] = "log"
        assumptions.append("several logs of one model: each log counts as a model of its own")
    short = {str(name).rpartition(".")[2]: str(name) for name in data.columns if "." in str(name)}
    usual = infer_roles(pd.DataFrame(columns=[*short]), ["category"], {})
    column = short.get(usual.get("category", ""))
    roles |= {"category": column} if column and is_constant(data, column, "prompt") else {}
    return replace(
        table, data=data, roles=roles, assumptions=tuple(assumptions), judges=tuple(judges)
    )
