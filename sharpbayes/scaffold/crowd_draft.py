"""A study of raters who score items, drafted from a table and those alongside it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from sharpbayes.data.cells import describe_mixture
from sharpbayes.data.readers.label_studio import FACTS
from sharpbayes.errors import DataError, Diagnostic, format_count, format_list
from sharpbayes.scaffold import harm, inference
from sharpbayes.scaffold.column_names import (
    WORDS,
    holds_lists,
    is_named_score,
    last_word,
    quote,
    title_columns,
)
from sharpbayes.scaffold.drafts import OVER_SPAN, Draft
from sharpbayes.scaffold.indicators import list_likely_scores
from sharpbayes.scaffold.inference import infer_scale, list_scores
from sharpbayes.scaffold.labels import (
    LABELS,
    MAX_MIXED_SHARE,
    choose_labels,
    find_unsafe,
    list_label_columns,
)
from sharpbayes.scaffold.logs import LogTable
from sharpbayes.scaffold.prompts import CLUSTERS, groups_units
from sharpbayes.spec.crowd import MODEL_OF_LABELS, NOBODY_OUTSIDE

MAX_NAMES = 5
LISTS = "lists in {} do not say whose scores they are: write a row for each score"
MODELS = "name these with {}model=COLUMN, or give a file for each model"
# What a column of clusters of items is called: turns of one conversation, images of one prompt.
CLUSTER_WORDS = {*WORDS["cluster"], "prompt", "conversation", "dialogue", "thread"}
MIXED = (
    "{} is no group of raters, because it has several values for {}: {} has {}; where these are "
    "mistakes, correct the data"
)
CROWD_ROLES = ("item", "rater", "score")


def draft_crowd(draft: Draft, main: LogTable, siblings: Sequence[LogTable]) -> Draft:
    """Draft a crowd; sibling tables of raters and items are joined."""
    data, roles = main.data, main.roles
    DataError.raise_any(
        Diagnostic(main.label, 0, role, text) for role, text in _explain_missing(draft.option, main)
    )
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
    if "cluster" not in roles and (cluster := _find_cluster(tables["item"].data, data, roles)):
        roles["cluster"] = cluster
        draft.assume("crowd.roles", CLUSTERS.format("items", quote(cluster)))
    if "cluster" in roles:
        crowd["roles"] = crowd["roles"] | {"cluster": roles["cluster"]}
    crowd["scale"] = scale = decided.get("scale") or _infer_scores(
        draft, data[roles["score"]], main.dialect.missing
    )
    named = [*list_label_columns([main, tables["item"]], roles)]
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


def _find_cluster(items: pd.DataFrame, ratings: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Return the column that is named as a cluster and groups items; empty without one.

    >>> table = pd.DataFrame({"image": list("abcd"), "prompt": list("xxyy")})
    >>> _find_cluster(table, table, {"item": "image"})
    'prompt'
    """
    item = roles["item"]
    for table in (items, ratings):
        names = [str(name) for name in table.columns if name not in roles.values()]
        for name in (name for name in names if last_word(name) in CLUSTER_WORDS):
            if groups_units(table, name, item):
                return name
    return ""


def _explain_missing(option: str, main: LogTable) -> Iterator[tuple[str, str]]:
    """Yield each role of a crowd that no column has, and what can be done."""
    listed = f" among {', '.join(title_columns(main.data.columns))}"
    for role in (role for role in CROWD_ROLES if role not in main.roles):
        text = f"no column found for it{listed}; name it with {option}{role}=COLUMN"
        text += _suggest_scores(main) if role == "score" else ""
        if listed and option and "model" not in main.roles:
            text += f"; where judges score models, {MODELS.format(option)}"
        yield role, text
        listed = ""


def _suggest_scores(main: LogTable) -> str:
    """Return which columns could be the score, and which hold lists of scores; often nothing."""
    text = ""
    if names := list_likely_scores(main):
        text = f", such as {format_list(map(quote, names), limit=MAX_NAMES)}"
    scores = (name for name in map(str, main.data.columns) if is_named_score(name))
    if lists := [quote(name) for name in scores if holds_lists(main.data[name])]:
        text += f"; {LISTS.format(format_list(lists))}"
    return text


def _infer_scores(draft: Draft, score: pd.Series, missing: Sequence[str]) -> inference.Scale:
    """Infer the scale of a crowd's score; a number that has none is cut into bins."""
    inferred = infer_scale(score, named=True)
    if inferred.scale is None:
        inferred = inference.infer_bins(score)
    if harm.find_good({str(score.name): inferred.scale or {}}):
        inferred = inference.reverse_scale(inferred, score)
    inferred = harm.reverse_assent(inferred, str(score.name))
    draft.doubt_order("crowd.scale", {str(score.name): inferred}, missing)
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
                of_table = reasons.setdefault(table.label, {})
                if of_table.get(name, inference.VARIES) == inference.VARIES:
                    of_table[name] = reason
                if why == inference.VARIES and role == "rater":
                    draft.assume(
                        "crowd.groups", *describe_mixed(table.data, name, main.roles[role])
                    )
                if not why and name not in uses:
                    groups[role].append(name)
                    uses[name] = "rater group" if role == "rater" else "column of items"
    for table in {table.label: table for table in (main, *tables.values())}.values():
        draft.record(table, uses, reasons.get(table.label, {}))
    return groups


def describe_mixed(table: pd.DataFrame, name: str, rater: str) -> Iterator[str]:
    """Yield that a column of words is no group, where it has several values for a few raters.

    >>> table = pd.DataFrame({"rater": list("aabbcc"), "age": ["young", "old", *["old"] * 4]})
    >>> next(describe_mixed(table, "age", "rater"))[:62]
    '"age" is no group of raters, because it has several values for'
    """
    counts = table.groupby(rater)[name].nunique()
    mixed = counts.index[counts > 1]
    if not len(mixed) or len(mixed) > max(1, MAX_MIXED_SHARE * len(counts)):
        return
    if not 1 < table[name].nunique() <= inference.MAX_GROUPS:
        return
    cells = describe_mixture(table[name][table[rater] == mixed[0]])
    yield MIXED.format(quote(name), format_count(len(mixed), "rater"), mixed[0], cells)


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
