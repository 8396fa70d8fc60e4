"""A DataFrame, and what its owner decides -> a commented study with its tables in memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from sharpbayes.data.memory import MemoryPath, convert_frame, format_frame
from sharpbayes.data.readers.formats import read_table
from sharpbayes.data.readers.text_table import write_as_text
from sharpbayes.errors import DataError, Diagnostic, SpecError, did_you_mean
from sharpbayes.scaffold.crowd_draft import draft_crowd
from sharpbayes.scaffold.drafts import Draft
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.merged_cells import fill_merged
from sharpbayes.scaffold.nested_cells import unfold_cells
from sharpbayes.scaffold.panel_draft import draft_panel
from sharpbayes.scaffold.repeats import leave_out_tries
from sharpbayes.scaffold.score_columns import melt_scores
from sharpbayes.scaffold.study_file import describe_roles, find_crowd, infer_panel_roles
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.roles import CrowdRoles, PanelRoles
from sharpbayes.spec.scales import Scale
from sharpbayes.spec.study import Study

Section = Literal["panel", "crowd"]

# Names of the study and of its table, in messages and in results.
STUDY, DATA = "study", "frame.csv"
HEAD = ("A study of a DataFrame. A CHECK is an assumption that no argument confirms.",)
ROLES = {"panel": {*PanelRoles.model_fields}, "crowd": {*CrowdRoles.model_fields}}
TABLES = {"panel": {*Panel.model_fields}, "crowd": {*Crowd.model_fields}}
OF_STUDY = {*Study.model_fields} - {"schema_", "panel", "crowd"}


def draft_frame(
    frame: Any, section: Section, settings: Mapping[str, Any]
) -> tuple[str, MemoryPath]:
    """Return the text of a study of a DataFrame, and its path, with all tables in memory.

    ``settings`` are columns by role, keys of ``[panel]`` or ``[crowd]``, and keys of the study. A
    DataFrame may stand where a study names a file. What is left out is inferred, and marked in the
    text.
    """
    _refuse_unknown(section, settings)
    original = convert_frame(frame)
    table, split = _unfold_frame(original)
    files = {DATA: format_frame(table)}
    path = MemoryPath(STUDY, files=files)
    decided = {key: _to_plain(value, f"{key}.csv", files) for key, value in settings.items()}
    rows_are_trials = section == "panel" and decided.get("trial") is True
    if rows_are_trials:
        del decided["trial"]
    roles = {name: str(decided.pop(name)) for name in ROLES[section] & {*decided}}
    _refuse_forms(decided)
    of_study = {name: decided.pop(name) for name in sorted(OF_STUDY & {*decided})}
    draft = Draft(decided=of_study | {section: decided}, head=HEAD, option="")
    draft.rows_are_trials = rows_are_trials
    for text in split:  # no argument could confirm it
        draft.comment("", text)
    data = _restore_orders(read_table(path.parent, DATA, roles=roles.items()), original)
    if section == "panel":
        panel = leave_out_tries(draft, _find_panel(data, roles, decided), roles)
        draft_panel(draft, panel, DATA)
    else:
        main = find_crowd(LogTable(DATA, data), roles)
        main = replace(main, roles={**main.roles, **roles})
        _name_side_tables(decided, main.roles)
        others = [LogTable(name, read_table(path.parent, name)) for name in files if name != DATA]
        draft_crowd(draft, main, others)
    if draft.added is not None:
        files[DATA] = format_frame(draft.added)
    return draft.text, path


def _unfold_frame(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a DataFrame without objects and lists in its cells, and what was assumed of them.

    Lists may be arrays, as those of Parquet are.
    """
    nested = [name for name in table.columns if table.columns.is_unique and _is_nested(table[name])]
    if not nested:
        return table, ()
    lists = {
        name: [x.tolist() if hasattr(x, "tolist") else x for x in table[name]] for name in nested
    }
    cells = table.assign(
        **{str(name): pd.Series(x, table.index, object) for name, x in lists.items()}
    )
    unfolded = unfold_cells(LogTable(DATA, write_as_text(cells)))
    return (unfolded.data, unfolded.assumptions) if unfolded.is_rewritten else (table, ())


def _is_nested(column: pd.Series) -> bool:
    """Tell whether the first value of a column is an object or a list, or a text of one."""
    kinds = (dict, list, np.ndarray, str)
    cells = () if isinstance(column.dtype, pd.CategoricalDtype) else column
    first = next((cell for cell in cells if isinstance(cell, kinds)), "")
    return not isinstance(first, str) or first.lstrip()[:1] in ("{", "[")


def _restore_orders(data: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return texts with the order of their categories in the DataFrame that they come from."""
    orders = {}
    for name, column in table.items():
        is_ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered
        if is_ordered and name in data:
            words = write_as_text(pd.DataFrame({name: column.cat.categories}))[name]
            dtype = pd.CategoricalDtype(["", *words], ordered=True)
            orders[str(name)] = data[name].astype(dtype)
    return data.assign(**orders)


def _refuse_unknown(section: Section, settings: Mapping[str, Any]) -> None:
    """Refuse settings that neither a study nor its table has."""
    known = sorted(ROLES[section] | OF_STUDY | TABLES[section] - {"data", "layout", "roles"})
    SpecError.raise_any(
        Diagnostic(STUDY, 0, name, f"no such setting{did_you_mean(name, known)}")
        for name in settings
        if name not in known
    )


def _refuse_forms(decided: dict[str, Any]) -> None:
    """Refuse settings that are no tables, which the inference of the others reads."""
    forms = {"indicators": (dict, list), "scales": (dict,), "scale": (dict,), "labels": (dict, str)}
    SpecError.raise_any(
        Diagnostic(STUDY, 0, key, f"found {decided[key]!r}, must be a table")
        for key, allowed in forms.items()
        if not isinstance(decided.get(key, {}), allowed)
    )
    scale = decided.get("scale")
    try:
        TypeAdapter(Scale | None).validate_python(scale)
    except ValidationError:  # the study names the error; its labels are not inferred from it
        decided.setdefault("labels", {"from": "crowd", "cut": 1})


def _to_plain(value: Any, name: str, files: dict[str, bytes]) -> Any:
    """Return a setting as TOML has it; a DataFrame becomes the file of a name."""
    if hasattr(value, "columns"):
        files[name] = format_frame(value)
        return name
    if isinstance(value, Mapping):
        return {str(key): _to_plain(inner, name, files) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(inner, name, files) for inner in value]
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, str | int | float | list):
        return plain
    key, kind = name.removesuffix(".csv"), type(value).__name__
    message = f"found a value of type {kind}, allowed are texts, numbers, lists and tables of them"
    raise SpecError.at(STUDY, message, key=key)


def _find_panel(data: pd.DataFrame, declared: dict[str, str], decided: dict[str, Any]) -> LogTable:
    """Return the table of a panel with its roles; indicators get their long form."""
    named = decided.get("indicators", {})
    tables = named.values() if isinstance(named, dict) else [{}] * len(named)
    named = {
        str(name): table if isinstance(table, dict) else {"scale": table}
        for name, table in zip(named, tables, strict=True)
    }
    columns = {str(table.get("column", name)) for name, table in named.items()}
    table = fill_merged(LogTable(DATA, data), declared)
    table = table if named else melt_scores(table, declared)
    data = table.data
    # A named indicator has no other role.
    others = data.drop(columns=columns & {*data.columns} - {*declared.values()})
    roles = infer_panel_roles(others, declared)
    if "indicators" in decided:
        decided["indicators"] = named
    if named and "score" not in declared and columns <= {*data.columns}:
        roles.pop("score", None)
    if "model" not in roles:
        known = ", ".join(map(str, data.columns))
        message = f"no column found for it among {known}; name it with model=COLUMN"
        raise DataError.at(DATA, message, key="model")
    if "prompts" in decided:
        _name_side_tables(decided, roles)
    assumptions = (*table.assumptions, *describe_roles(others, roles, declared))
    return replace(table, roles=roles, assumptions=assumptions)


def _name_side_tables(decided: dict[str, Any], roles: Mapping[str, str]) -> None:
    """Write side tables and labels out that are given by their data alone."""
    for key, role in (("raters", "rater"), ("items", "item"), ("prompts", "prompt")):
        if isinstance(decided.get(key), str):
            decided[key] = {"data": decided[key], "key": roles.get(role)}
    if isinstance(decided.get("labels"), str):
        of_expert = {"item": roles["item"]} if "item" in roles else {}
        decided["labels"] = {"from": "experts", "data": decided["labels"], "roles": of_expert}
