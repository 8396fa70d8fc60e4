"""Studies that are being drafted: of judges who score answers, or of raters who score items."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.errors import DataError, Diagnostic, format_list
from sharpbayes.scaffold import harm, inference
from sharpbayes.scaffold.column_names import last_word, quote
from sharpbayes.scaffold.indicators import infer_columns, infer_indicators, infer_named
from sharpbayes.scaffold.inference import InferredScale, infer_scale, list_scores
from sharpbayes.scaffold.labels import LABELS, choose_labels, find_unsafe, list_label_columns
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.prompts import describe_prompt, find_prompt, settle_columns
from sharpbayes.spec.crowd import MODEL_OF_LABELS, NOBODY_OUTSIDE
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.schema import describe_field
from sharpbayes.spec.study_text import format_study

COMMENT_WIDTH = 98
PANEL_ROLES = (
    *("model", "prompt", "judge", "indicator", "score"),
    *("trial", "sample", "category", "cluster"),
)
CELL = ("model", "prompt", "judge", "sample", "trial", "indicator")
OVER_SPAN = f"{inference.BINS} bins of one width over the range of the data,"
TRIALS = (
    "{subject} the same judge's scores of the same answer (trials); where the model "
    "answered again, name the number of the answer as `sample` instead"
)
OTHER_RELEASE = "; where they are answers of another release, give its model another name"
CROWD_ROLES = ("item", "rater", "score")
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
        for name in [name for name in map(str, table.data.columns) if name not in melted]:
            content = inference.describe_values(table.data[name])
            if name not in uses:
                content = inference.explain_unused(table.data[name], reasons.get(name, ""))
            row = LedgerRow(table.label, name, uses.get(name, "not used"), content)
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
            "title": f"A first look at {Path(name).name}",
            "seed": 1,
            section: table,
            "bootstrap": {"replicates": 2000, "level": 0.95},
        } | {key: value for key, value in self.decided.items() if key != section}
        self.text = format_study(study, comments)
        return self


def draft_panel(draft: Draft, main: LogTable, copy: str) -> Draft:
    """Draft a panel; a role that no column has is added to a copy of the data."""
    draft.assume("panel.data", *main.assumptions)
    data, roles = _add_roles(draft, main)
    draft.assume("panel.roles", *settle_columns(data, roles))
    if "score" not in roles:
        roles.pop("indicator", None)
    if main.is_rewritten or len(data.columns) > len(main.data.columns):
        draft.added = data
    table = replace(main, data=data, roles=roles)
    if draft.added is not None:  # the copy is CSV in UTF-8
        table = replace(table, name=copy, dialect=Dialect())
    draft.assume(
        "panel.roles", *harm.describe_people(sorted(inference.list_texts(data[roles["judge"]])))
    )
    columns = infer_columns(table)
    named = draft.decided.get("panel", {}).get("indicators")
    indicators = infer_indicators(table) if "score" in roles else columns
    if named:
        columns, indicators = {}, infer_named(table, named)
    scales = {n: column.scale for n, column in indicators.items() if column.scale is not None}
    shipped = harm.find_shipped_panel(main.layout, indicators)
    if shipped is None:
        _doubt_indicators(draft, table, columns, indicators)
    uses = {column: role for role, column in roles.items()}
    uses |= {name: "indicator" for name in scales if "score" not in roles}
    draft.record(table, uses, {name: inferred.reason for name, inferred in columns.items()})
    if not scales and not named:
        reasons = [f"{name} ({column.reason})" for name, column in indicators.items()]
        known = ", ".join(reasons) or f"all of {', '.join(roles.values())} have a role"
        hint = "" if "score" in roles else f"; name one with {draft.option}score=COLUMN"
        raise DataError.at(main.name, f"no column of scores found: {known}{hint}")
    layout = main.layout or ("long" if "score" in roles else "wide")
    panel: dict[str, Any] = table.source | {"layout": layout}
    own_roles = table.own_roles | ({"trial": True} if draft.rows_are_trials else {})
    panel |= {"roles": own_roles} if own_roles else {}
    panel |= {"judges": [*main.judges]} if main.judges else {}
    panel |= shipped[1] if shipped else _draft_harm(draft, scales, main.layout)
    if shipped:
        assumption = f"the indicators and dimensions are those of the shipped study {shipped[0]}"
        draft.assume("panel.indicators", assumption)
    panel = harm.put_over(panel, draft.decided.get("panel", {}))
    draft.comment("panel.fit", 'fit = "judge_panel"   # "judge_severity" for one indicator')
    return draft.finish(table.name, panel, "panel")


def _draft_harm(draft: Draft, scales: Mapping[str, inference.Scale], layout: str) -> dict[str, Any]:
    """Draft scales, indicators and one dimension; refusals are outside of it if none is decided."""
    draft.assume("panel.indicators", *harm.describe_directions(scales, layout))
    assumption = "all indicators are one dimension of harm; split it into those you mean"
    draft.assume("panel.dimensions", assumption)
    is_decided = {"indicators", "dimensions"} & {*draft.decided.get("panel", {})}
    refusals = [] if is_decided else harm.find_refusals(scales)
    if refusals:
        draft.assume("panel.indicators", harm.REFUSALS.format(format_list(map(quote, refusals))))
    return harm.describe_harm(scales, good=harm.find_good(scales, layout), refusals=refusals)


def _add_roles(draft: Draft, main: LogTable) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add a prompt, a judge and the number of a repeat where no column has them."""
    data, roles = main.data.copy(), dict(main.roles)

    def add(role: str, values: list[str], assumption: str) -> None:
        name = role
        while name in data.columns:
            name += "_added"
        roles[role], data[name] = name, values
        draft.assume("panel.data", assumption)

    if "prompt" not in roles and (name := find_prompt(data, roles)):
        roles["prompt"] = name
        draft.assume("panel.roles", describe_prompt(name))
    elif "prompt" not in roles:
        numbers = [str(row) for row in range(1, len(data) + 1)]
        add("prompt", numbers, "no column names the prompt: every row counts as its own prompt")
    if "judge" not in roles:
        unnamed = ["unnamed"] * len(data)
        add("judge", unnamed, "no column names the judge: all rows count as one judge's")
    cell = [roles[role] for role in CELL if role in roles]
    if "trial" in roles and not main.layout:
        draft.assume("panel.roles", TRIALS.format(subject=f"{quote(roles['trial'])} numbers"))
    if not main.layout and not draft.rows_are_trials and data.duplicated(cell).any():
        free = [name for name in main.data.columns if name not in roles.values()]
        apart = [name for name in free if not data.duplicated([*cell, name]).any()]
        cell = [column for column in cell if column != roles.get("sample")]
        repeating = [quote(n) for n in apart if data[n].nunique() <= inference.MAX_GROUPS]
        if repeating or "sample" in roles or "judge" not in main.roles:
            numbers = [str(repeat + 1) for repeat in data.groupby(cell, sort=False).cumcount()]
            repetition = f", once for each {format_list(repeating)}" if repeating else ""
            assumption = (
                f"some cells are rated more than once{repetition}; the repeats are numbered"
            )
            add("sample", numbers, assumption)
        else:
            draft.rows_are_trials = True
            assumption = TRIALS.format(subject="rows that repeat a cell are taken as")
            draft.assume("panel.roles", assumption + OTHER_RELEASE)
    return data, roles


def _doubt_indicators(
    draft: Draft,
    main: LogTable,
    columns: Mapping[str, InferredScale],
    indicators: Mapping[str, InferredScale],
) -> None:
    """Note what is assumed about indicators, and which have no scale and are left out."""
    data, roles = main.data, main.roles
    words = [n for n, column in columns.items() if column.reason == inference.UNKNOWN_WORDS]
    words = [quote(n) for n in words if data[n].nunique() <= inference.MAX_GROUPS]
    if "score" in roles:
        others = [quote(n) for n, column in columns.items() if column.scale is not None]
        words = []
        if others:
            assumption = (
                f'only "{roles["score"]}" is taken as the score; {format_list(others)} could be'
            )
            draft.assume("panel.roles", assumption)
    if words:
        assumption = f"words are harm only where you name them; left out: {format_list(words)}"
        draft.assume("panel.indicators", assumption)
    without = [name for name, column in indicators.items() if column.scale is None]
    if without and "score" in roles:
        assumption = f"no scale fits, so that they are left out: {format_list(sorted(without))}"
        draft.assume("panel.scales", assumption)
    spans = {n: column.span for n, column in indicators.items() if "bins" in (column.scale or {})}
    if cut := [quote(name) for name, span in spans.items() if not span]:
        draft.assume("panel.scales", f"scores from 0 to 1 are cut into five: {format_list(cut)}")
    for name in (name for name, span in spans.items() if span):
        draft.assume("panel.scales", f'scores of "{name}" are cut into {OVER_SPAN} {spans[name]}')
    _doubt_order(draft, "panel.scales", indicators)


def _doubt_order(draft: Draft, key: str, inferred: Mapping[str, InferredScale]) -> None:
    """Note what is assumed about the order and the range of scales."""
    ordered: dict[str, list[str]] = {}
    for name, column in inferred.items():
        if column.order:
            ordered.setdefault(column.order, []).append(quote(name))
    for order, names in ordered.items():
        draft.assume(key, f"the order of {format_list(names)} {order}")
    draft.assume(key, *inference.describe_numbers(inferred))


def draft_crowd(draft: Draft, main: LogTable, siblings: Sequence[LogTable]) -> Draft:
    """Draft a crowd; sibling tables of raters and items are joined."""
    data, roles = main.data, main.roles
    columns = ", ".join(map(str, data.columns))
    message = f"no column found for it among {columns}; name it with {draft.option}"
    missing = [role for role in CROWD_ROLES if role not in roles]
    texts = {role: f"{message}{role}=COLUMN" for role in missing}
    if missing and draft.option and "model" not in roles:
        texts[missing[0]] += (
            f"; where judges score models, name these with {draft.option}model=COLUMN"
        )
    DataError.raise_any(Diagnostic(main.name, 0, role, text) for role, text in texts.items())
    draft.assume("crowd.data", *main.assumptions)
    draft.added = data if main.is_rewritten else None
    crowd: dict[str, Any] = main.source
    crowd |= {"layout": main.layout} if main.layout else {}
    crowd["roles"] = main.own_roles or roles
    decided = draft.decided.get("crowd", {})
    labels = decided.get("labels") or _find_experts(draft, siblings, roles["item"])
    # A table of labels is none of items, not even where each item has one label.
    others = [table for table in siblings if not table.source.items() <= labels.items()]
    tables = {"rater": main, "item": main}
    for role in tables:
        sides = (t for t in others if inference.is_side_table(t.data, roles[role], data))
        tables[role] = side = next(sides, main)
        if side is not main:
            crowd[f"{role}s"] = side.source | {"key": roles[role]}
            draft.assume(f"crowd.{role}s", *side.assumptions)
    crowd["scale"] = scale = decided.get("scale") or _infer_scores(draft, data[roles["score"]])
    named = [*list_label_columns([data, tables["item"].data], roles)]
    if not labels:
        labels, assumption = choose_labels(named, list_scores(scale))
        draft.assume("crowd.labels", assumption)
    if labels.get("from") == "crowd" and (direction := harm.describe_crowd_direction(scale)):
        draft.assume("crowd.scale", direction)
    crowd["labels"] = labels
    problems = {column.name: column.problem for column in named}
    groups = _find_groups(draft, main, tables, labels.get("column", ""), problems)
    crowd |= {"groups": [[name] for name in groups["rater"]], "by": groups["item"]}
    if labels.get("from") == "crowd" and not groups["rater"]:
        draft.assume("crowd.labels", "; ".join(NOBODY_OUTSIDE))
    if data.duplicated([roles["item"], roles["rater"]]).any():
        crowd["duplicates"] = "first"
        assumption = "some raters scored an item more than once: the first score counts"
        draft.assume("crowd.duplicates", assumption)
    draft.ledger.sort(key=lambda row: row.file != main.label)
    model = MODEL_OF_LABELS.get(str(labels.get("from")), MODEL_OF_LABELS["crowd"])
    draft.comment("crowd.fit", f'fit = "{model}"')
    return draft.finish(main.name, crowd | decided, "crowd")


def _infer_scores(draft: Draft, score: pd.Series) -> inference.Scale:
    """Infer the scale of a crowd's score; a number that has none is cut into bins."""
    inferred = infer_scale(score, named=True)
    if inferred.scale is None:
        inferred = inference.infer_bins(score)
    if harm.find_good({str(score.name): inferred.scale or {}}):
        inferred = inference.reverse_scale(inferred, score)
    _doubt_order(draft, "crowd.scale", {str(score.name): inferred})
    if inferred.span:
        draft.assume("crowd.scale", f"scores are cut into {OVER_SPAN} {inferred.span}")
    return inferred.scale or {}


def _find_groups(
    draft: Draft,
    main: LogTable,
    tables: Mapping[str, LogTable],
    label: str,
    problems: Mapping[str, str],
) -> dict[str, list[str]]:
    """Find columns of raters and of items, and enter all columns of all tables in the ledger.

    ``problems`` are those of columns that are named as labels of items.
    """
    used = [*main.roles.values(), *FACTS, label]
    uses = {column: role for role, column in main.roles.items()}
    uses |= {label: "label of items"} if label else {}
    reasons: dict[str, dict[str, str]] = {}
    groups: dict[str, list[str]] = {"rater": [], "item": []}
    for role, side in tables.items():
        for table in {main.label: main, side.label: side}.values():
            for name in [str(name) for name in table.data.columns if name not in used]:
                why = inference.explain_group(table.data, name, key=main.roles[role], unit=role)
                reason = why and (problems.get(name) or why)
                reasons.setdefault(table.label, {}).setdefault(name, reason)
                if not why and name not in uses:
                    groups[role].append(name)
                    uses[name] = "rater group" if role == "rater" else "column of items"
    for table in {table.label: table for table in (main, *tables.values())}.values():
        draft.record(table, uses, reasons.get(table.label, {}))
    return groups


def _find_experts(draft: Draft, siblings: Sequence[LogTable], item: str) -> dict[str, Any]:
    """Return labels by experts in a table of their own; empty where there is none."""
    for table in siblings:
        names = [str(name) for name in table.data.columns if name != item]
        expert = next((name for name in names if last_word(name) == "expert"), None)
        flags = (n for n in names if LABELS.search(n.lower()) and find_unsafe(table.data[n]))
        label = next((name for name in flags if name != expert), None)
        if item in table.data.columns and expert and label:
            unsafe = f"{find_unsafe(table.data[label])} is unsafe"
            text = f'"{label}" of "{table.label}" is taken as what each expert says: {unsafe}'
            draft.assume("crowd.labels", text)
            roles = {"item": item, "expert": expert, "label": label}
            draft.record(table, {column: role for role, column in roles.items()}, {})
            draft.assume("crowd.labels", *table.assumptions)
            return {"from": "experts", **table.source, "roles": roles}
    return {}
