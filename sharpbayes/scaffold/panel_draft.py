"""A study of judges who score the answers of models, drafted from a table."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.errors import DataError, format_count, format_list
from sharpbayes.scaffold import harm, inference
from sharpbayes.scaffold.column_names import (
    holds_lists,
    is_model,
    is_named_score,
    last_word,
    quote,
)
from sharpbayes.scaffold.drafts import OVER_SPAN, Draft
from sharpbayes.scaffold.indicators import (
    ONE_VALUE,
    infer_columns,
    infer_indicators,
    infer_named,
    is_narrow,
    is_score_column,
    is_wide,
    list_likely_scores,
)
from sharpbayes.scaffold.inference import InferredScale, is_constant
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.prompts import describe_prompt, find_prompt, settle_columns
from sharpbayes.scaffold.repeats import (
    CELL,
    SETTINGS,
    describe_copies,
    list_settings,
    number_answers,
)
from sharpbayes.spec.dialect import Dialect

PANEL_ROLES = (
    *("model", "prompt", "judge", "indicator", "score"),
    *("trial", "sample", "category", "cluster"),
)
TRIALS = (
    "{subject} the same judge's scores of the same answer (trials); where the model "
    "answered again, name the number of the answer as `sample` instead"
)
OTHER_RELEASE = "; where they are answers of another release, give its model another name"
VERSIONS = "; where they are versions to compare, add them to the name of the model"
ANSWERS = "each model answered a prompt several times; {} names its answers, which are numbered"
REPETITION = "some cells are rated more than once{}; the repeats are numbered"
LABELLED = ("model", "prompt", "judge")
# Of a table in which more rows lack a label, `check` says it.
MAX_UNLABELLED = 0.5
UNLABELLED = "{} without a label in {} left out; write one where they are meant"
NAME_SCORE = "name one with {}score=COLUMN"
BY_HAND = (
    "where one is the score, write the study yourself, with its scale under [panel.scales]: "
    "`sharpbayes show quickstart` prints an example"
)
NESTED = "lists in {} are not read: write a row for each score, with its judge"
UNNAMED_NUMBERS = (
    "no column is named as a score; {} are taken as indicators, because their numbers lie between "
    "0 and 100"
)


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
    named = draft.decided.get("panel", {}).get("indicators") or {}
    columns, indicators = _infer_indicators(table, named)
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
        advice = "".join(f"; {text}" for text in _advise(draft, table, columns))
        raise DataError.at(main.name, f"no column of scores found: {known}{advice}")
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


def leave_out_unlabelled(draft: Draft, main: LogTable) -> LogTable:
    """Return a table without the rows that have no model, prompt or judge in a column of them."""
    names = [main.roles[role] for role in LABELLED if role in main.roles]
    is_empty = main.data[names].astype(str).apply(lambda cells: cells.str.strip() == "")
    rows = is_empty.any(axis=1)
    if not 0 < rows.mean() <= MAX_UNLABELLED:
        return main
    columns = format_list([quote(name) for name in names if is_empty[name].any()])
    draft.assume("panel.data", UNLABELLED.format(format_count(int(rows.sum()), "row"), columns))
    return replace(main, data=main.data[~rows].reset_index(drop=True), is_rewritten=True)


def find_only_model(table: LogTable, item: str) -> LogTable | None:
    """Return a table whose rows are answers of one model, with its prompt; None for others.

    It has one row for each prompt, or for each ``item``, by each judge that it names, and scores.

    >>> data = pd.DataFrame({"id": ["p", "q"], "harmful": ["0", "1"]})
    >>> find_only_model(LogTable("t.csv", data), "id").roles
    {'prompt': 'id'}
    """
    names = (name for name in (table.roles.get("prompt"), item) if name)
    judge = [table.roles[role] for role in ("judge",) if role in table.roles]
    prompt = next((name for name in names if not table.data.duplicated([name, *judge]).any()), "")
    if not prompt:
        return None
    table = replace(table, roles=table.roles | {"prompt": prompt})
    scores = [*list_likely_scores(table), *(n for n in map(str, table.data) if is_named_score(n))]
    return table if scores else None


def _infer_indicators(
    table: LogTable, named: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, InferredScale], dict[str, InferredScale]]:
    """Infer the scales of columns and of indicators; those that are ``named`` need no columns.

    Words of agreement stand in the order of harm, except where the direction is decided.
    """
    columns = {} if named else infer_columns(table)
    indicators = columns
    if named:
        indicators = infer_named(table, named)
    elif "score" in table.roles:
        indicators = infer_indicators(table)
    return columns, {
        name: inferred if "reverse" in named.get(name, {}) else harm.reverse_assent(inferred, name)
        for name, inferred in indicators.items()
    }


def _advise(draft: Draft, table: LogTable, columns: Mapping[str, InferredScale]) -> Iterator[str]:
    """Yield what to do where no column is a score; ``columns`` are those without a role."""
    data, score = table.data, table.roles.get("score")
    names = [score] if score else [*columns] or [*map(str, data.columns)]
    nested = [name for name in names if holds_lists(data[name])]
    filled = [name for name in names if inference.list_texts(data[name])]
    units = [name for name, column in columns.items() if column.reason.startswith(ONE_VALUE)]
    others = [name for name in filled if name not in {*nested, *units}]
    if nested:
        yield NESTED.format(format_list(map(quote, nested)))
    if not score and any(inference.infer_score(data[name]).scale for name in others):
        yield NAME_SCORE.format(draft.option)
    elif filled and not nested:
        yield BY_HAND


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

    if "model" not in roles:
        named = next(
            (part for part in Path(main.name).stem.split("_") if is_model(part)), "unnamed"
        )
        answers = f'no column names the model: all rows are taken as answers of one, "{named}"'
        add("model", [named] * len(data), answers)
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
        draft.assume("panel.data", *describe_copies(main.data))
        if repeats := _number_repeats(data, main, roles):
            add("sample", *repeats)
        _take_trials(draft, data, roles)
    return data, roles


def _take_trials(draft: Draft, data: pd.DataFrame, roles: Mapping[str, str]) -> None:
    """Take rows that still repeat a cell as trials; of settings of the judge, name those."""
    cell = [roles[role] for role in CELL if role in roles]
    if rows := int(data.duplicated(cell).sum()):
        draft.rows_are_trials = True
        settings = format_list(map(quote, list_settings(data, roles, of_judge=True)))
        by = f", once for each {settings}," * bool(settings)
        subject = f"rows that repeat a cell ({rows} of {len(data)}){by} are taken as"
        draft.assume("panel.roles", TRIALS.format(subject=subject) + OTHER_RELEASE)


def _number_repeats(
    data: pd.DataFrame, main: LogTable, roles: Mapping[str, str]
) -> tuple[list[str], str] | None:
    """Return numbers of the answers of rows that repeat a cell, and what they assume.

    None where the rows are judgements of one answer.
    """
    cell = [roles[role] for role in CELL if role in roles]
    free = [name for name in main.data.columns if name not in roles.values()]
    apart = [name for name in free if not data.duplicated([*cell, name]).any()]
    answer = next((name for name in apart if _names_answers(data, name, roles)), "")
    if answer and "sample" not in roles:
        return number_answers(data, roles, [answer]), ANSWERS.format(quote(answer))
    settings = list_settings(data, roles, of_judge=False)
    if settings and "sample" not in roles:
        repetition = REPETITION.format(f", once for each {format_list(map(quote, settings))}")
        return number_answers(data, roles, settings), repetition + VERSIONS
    cell = [column for column in cell if column != roles.get("sample")]
    of_judge = list_settings(data, roles, of_judge=True)
    # A score that differs between two ratings of a cell tells no versions apart.
    labels = [n for n in apart if last_word(n) in SETTINGS or not inference.is_number(data[n])]
    repeating = [n for n in labels if data[n].nunique() <= inference.MAX_GROUPS]
    repeating = [quote(name) for name in repeating if name not in of_judge]
    if not (repeating or "sample" in roles or "judge" not in main.roles):
        return None
    numbers = data.groupby(cell, sort=False).cumcount()
    repetition = f", once for each {format_list(repeating)}" if repeating else ""
    assumption = REPETITION.format(repetition) + VERSIONS * bool(repeating)
    return [str(number + 1) for number in numbers], assumption


def _names_answers(data: pd.DataFrame, name: str, roles: Mapping[str, str]) -> bool:
    """Tell whether a column names answers of a model to a prompt, which several judges scored."""
    is_of_answers = all(is_constant(data, roles[role], name) for role in ("model", "prompt"))
    judges = data.groupby(name, observed=True)[roles["judge"]].nunique()
    return is_of_answers and float(judges.mean()) > 1


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
    cut = [name for name, span in spans.items() if not span]
    narrow = [name for name in cut if is_narrow(indicators[name].scale or {})]
    five = [name for name in cut if name not in narrow]
    for bins, names in (("five", five), ("20, because they span little of it", narrow)):
        if listed := format_list(map(quote, names)):
            draft.assume("panel.scales", f"scores from 0 to 1 are cut into {bins}: {listed}")
    for name in (name for name, span in spans.items() if span):
        draft.assume("panel.scales", f'scores of "{name}" are cut into {OVER_SPAN} {spans[name]}')
    wide = [name for name in indicators if is_wide(indicators[name].scale or {})]
    if unnamed := [quote(name) for name in wide if not is_score_column(data[name])]:
        draft.assume("panel.indicators", UNNAMED_NUMBERS.format(format_list(unnamed)))
    draft.doubt_order("panel.scales", indicators, main.dialect.missing)
