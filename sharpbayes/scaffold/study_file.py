"""A data file -> a commented study that ``check`` accepts; every guess is marked in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pandas as pd

from sharpbayes.data.readers.paths import is_table
from sharpbayes.errors import DataError, SpecError, StorageError, did_you_mean, format_list
from sharpbayes.scaffold.column_names import (
    REMARKS,
    ROLES,
    SCORE_WORDS,
    UNNAMED,
    WORDS,
    find_model,
    infer_roles,
    last_word,
    quote,
    split_name,
    title_columns,
)
from sharpbayes.scaffold.crowd_draft import CROWD_ROLES, draft_crowd
from sharpbayes.scaffold.dialect import read_with_dialect
from sharpbayes.scaffold.drafts import Draft
from sharpbayes.scaffold.harm import find_refusals
from sharpbayes.scaffold.inference import MAX_GROUPS, infer_scale, is_number
from sharpbayes.scaffold.joined_files import fold_logs, join_files
from sharpbayes.scaffold.logs import LogTable, read_log
from sharpbayes.scaffold.merged_cells import fill_merged
from sharpbayes.scaffold.nested_cells import unfold_cells
from sharpbayes.scaffold.pairs import refuse_pairs
from sharpbayes.scaffold.panel_draft import (
    PANEL_ROLES,
    draft_panel,
    find_only_model,
    leave_out_unlabelled,
)
from sharpbayes.scaffold.prompts import CATEGORY, FINER, settle_item, settle_prompt
from sharpbayes.scaffold.raters import find_only_score, list_properties, melt_items, melt_wide
from sharpbayes.scaffold.repeats import leave_out_tries
from sharpbayes.scaffold.score_columns import melt_scores
from sharpbayes.scaffold.sibling_files import (
    doubt_siblings,
    explain_sheets,
    find_ratings,
    name_relative,
    name_table,
    read_siblings,
)
from sharpbayes.scaffold.side_tables import add_columns, require_use, split_tables
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.roles import CROWD_LOGS, CrowdRoles
from sharpbayes.storage.files import write_text

# Judges by these names are likely people; groups of them would be a crowd.
SCORING_PEOPLE = {"rater", "annotator"} | ({*WORDS["rater"]} - {*WORDS["judge"]})
AS_JUDGES = (
    'a column names the model, so "{0}" is taken as the judge; for groups of raters write the '
    'study by `init --role "rater={0}"`'
)
MODELS = '"{}" is taken as the model, because its values begin as names of models do'
NO_MODEL = (
    'no column names the model, so "{item}" is taken as the item and "{rater}" as the rater, and '
    "of rows that repeat both the first counts; where models answered, name the column of the "
    "model by `init --role model=COLUMN`, or add one to the data"
)
ONLY_SCORE = (
    'no column is named as a score; "{}" is taken as it, the only one that differs between the '
    "raters of an item and between the items of a rater"
)
VARIES = (
    '"{0}" varies where one rater scored one item more than once, as names of models do, and '
    "of these scores the first counts; where models answered, write the study by "
    '`init --role "model={0}"`'
)
QUESTIONS = (
    '"{}" names what is scored, and of the scores of one item by one rater the first counts: keep '
    "the rows of one question; where models answered, name the column of the model by "
    "`init --role model=COLUMN`, or add one to the data"
)
COMMENTS = (
    '"{item}" is taken as the item, but no two rows have one of its texts: where these are '
    "comments on the answers, name the column of the item by `init --role item=COLUMN`, and where "
    "models answered that of the model by `init --role model=COLUMN`"
)
# Roles that are declared of a panel alone.
PANEL_ALONE = {"prompt", "judge", "indicator"}
# Of an item and of a rater: words by which the data may be a panel.
PANEL_ITEM, PANEL_RATERS = "prompt", ("judge", "grader")


def write_study(
    path: Path,
    out: Path,
    *,
    roles: Mapping[str, str] | None = None,
    others: Sequence[Path] = (),
) -> Draft:
    """Write a study for a data file, and return its draft: columns, and what is not certain.

    ``path`` is a CSV, TSV, Excel, Parquet or JSON file of ratings, a log, or a table of
    raters or items with the ratings in the same folder; ``others`` are further files of ratings,
    such as those of other models. The folder of ``out`` also gets a copy of the data where columns
    are added. ``roles`` are columns by role, in place of those inferred. A file that is already
    there is never replaced.
    """
    copy = out.parent / f"{out.stem}.data.csv"
    with _name_file(path):
        draft = draft_study(
            path, folder=out.parent, copy=copy.name, roles=roles or {}, others=others
        )
    texts = (
        {} if draft.added is None else {copy: draft.added.to_csv(index=False, lineterminator="\n")}
    )
    texts[out] = draft.text
    existing = [str(target) for target in texts if target.exists()]
    if existing:
        raise StorageError(f"{format_list(existing)}: already there; name another with --out")
    for target, text in texts.items():
        write_text(target, text, f"{out}: cannot write study")
    return draft


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Name a data file in errors about its columns, which are inferred without its name."""
    try:
        yield
    except DataError as error:
        problems = error.diagnostics
        named = [replace(x, path=str(path)) if x.path == UNNAMED else x for x in problems]
        raise DataError(named) from None


def draft_study(
    path: Path,
    *,
    folder: Path,
    copy: str,
    roles: Mapping[str, str],
    others: Sequence[Path] = (),
) -> Draft:
    """Return the study of a data file, without writing anything.

    The study will lie in ``folder``. Where columns must be added, it reads the file ``copy``.
    """
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        message = f"no such role, there are {', '.join(ROLES)}{did_you_mean(unknown[0], ROLES)}"
        raise SpecError.at("init --role", message, key=unknown[0])
    draft = Draft()
    path, others = fold_logs(path, others)
    name = name_relative(path, folder)
    log = None if others else read_log(path, name)
    joined, beside = (None, []) if log else _join_tables(path, others, folder, roles)
    main = log or joined or find_ratings(path, folder, draft, declared=roles)
    missing = sorted(set(roles.values()) - set(main.data.columns))
    if missing:
        message = f"no such column, the columns are {', '.join(title_columns(main.data.columns))}"
        raise DataError.at(path, message, key=missing[0])
    if log is None and not roles:
        refuse_pairs(main.data, path)
    if log is not None:
        log = replace(log, roles={**log.roles, **roles})
        if log.layout in CROWD_LOGS:
            return draft_crowd(draft, log, ())
        return draft_panel(draft, log, copy)
    if joined is not None:
        is_declared = bool({*joined.roles.values()} & {*roles.values()})
        roles = roles if is_declared else {**joined.roles, **roles}
        draft = _draft_table(draft, main, roles, copy, lambda: beside)
        require_use(beside, {row.file for row in draft.ledger}, ratings=main.label)
        return draft
    read = partial(read_siblings, path, folder, draft, known=main.label)
    with explain_sheets(path, main.dialect.sheet or ""):
        return _draft_table(draft, main, roles, copy, lambda: doubt_siblings(read(), name))


def _draft_table(
    draft: Draft,
    main: LogTable,
    roles: Mapping[str, str],
    copy: str,
    read_siblings: Callable[[], list[LogTable]],
) -> Draft:
    """Draft a panel where a column or a lack of repeats says that models answered, else a crowd.

    Only a crowd has tables alongside, which are read for it.
    """
    panel = melt_scores(fill_merged(main, roles), roles)
    panel_roles = infer_panel_roles(panel.data, roles)
    panel = replace(panel, roles=panel_roles)
    is_panel = "model" in panel_roles or PANEL_ALONE & {*roles}
    if is_panel and "rater" not in roles:
        if last_word(panel_roles.get("judge", "")) in SCORING_PEOPLE:
            draft.assume("panel.roles", AS_JUDGES.format(panel_roles["judge"]))
        draft.assume("panel.roles", *describe_roles(panel.data, panel_roles, roles))
        labelled = leave_out_unlabelled(draft, panel)
        return draft_panel(draft, leave_out_tries(draft, labelled, roles), copy)
    crowd = find_crowd(main, roles)
    is_crowd = "rater" in crowd.roles or len(crowd.data) != len(main.data)
    is_crowd &= len(panel.data) == len(main.data)  # no columns of judges became rows
    answers = None if is_crowd else find_only_model(panel, crowd.roles.get("item", ""))
    if answers is not None:
        return draft_panel(draft, answers, copy)
    _refuse_other_roles(roles)
    crowd = replace(crowd, roles={**crowd.roles, **roles})
    siblings = [table for table in read_siblings() if table.label != main.label]
    crowd = replace(crowd, name=copy, dialect=Dialect()) if crowd.is_rewritten else crowd
    _doubt_crowd(draft, crowd, roles)
    return draft_crowd(draft, crowd, siblings)


def _refuse_other_roles(declared: Mapping[str, str]) -> None:
    """Raise SpecError where a role was declared that a crowd does not have."""
    others = [role for role in declared if role not in CrowdRoles.model_fields]
    if others:
        known = ", ".join(role for role in ROLES if role in CrowdRoles.model_fields)
        message = f"this table is taken as a crowd, which has no such role; its roles are {known}"
        raise SpecError.at("init --role", message, key=others[0])


def _doubt_crowd(draft: Draft, main: LogTable, declared: Mapping[str, str]) -> None:
    """Note what looks like a panel without its models: repeated rows, comments as items."""
    item, rater = (main.roles.get(role, "") for role in ("item", "rater"))
    if not (item and rater) or main.raters:
        return
    if "item" not in declared and last_word(item) in REMARKS and main.data[item].is_unique:
        draft.assume("crowd.roles", COMMENTS.format(item=item))
    is_like_panel = last_word(item) == PANEL_ITEM or last_word(rater) in PANEL_RATERS
    if not main.data.duplicated([item, rater]).any():
        return
    if name := _find_repeating(main):
        is_question = "indicator" in infer_roles(main.data[[name]], ("indicator",), {})
        draft.assume("crowd.roles", (QUESTIONS if is_question else VARIES).format(name))
    elif is_like_panel and not {"item", "rater"} & {*declared}:
        draft.assume("crowd.roles", NO_MODEL.format(item=item, rater=rater))


def _find_repeating(main: LogTable) -> str:
    """Return the first column of few words that tells apart what a rater scored of one item."""
    data, cell = main.data, [main.roles["item"], main.roles["rater"]]
    free = [str(name) for name in data.columns if name not in main.roles.values()]
    words = [name for name in free if not is_number(data[name])]
    groupings = [name for name in words if 1 < data[name].nunique() <= MAX_GROUPS]
    return next((name for name in groupings if not data.duplicated([*cell, name]).any()), "")


def find_crowd(main: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table with the roles of a crowd; columns per rater or item are turned into rows."""
    main = melt_items(main, declared)
    if not main.is_rewritten and not {"rater", "score"} & {*declared}:
        main = melt_wide(replace(main, roles=infer_roles(main.data, ["item"], declared)))
    if main.raters:
        return main
    main = fill_merged(main, declared)
    roles = infer_roles(main.data, CROWD_ROLES, declared)
    settle_item(main.data, roles, declared)
    if "rater" not in declared and _scores_once(main.data, roles):
        del roles["rater"]
    return _choose_score(replace(main, roles=roles), declared)


def _scores_once(data: pd.DataFrame, roles: Mapping[str, str]) -> bool:
    """Tell whether no two rows have one rater, nor one item, so that nobody could be compared."""
    columns = [roles[role] for role in ("item", "rater") if role in roles]
    return len(columns) > 1 and len(data) > 1 and all(data[name].is_unique for name in columns)


def _choose_score(main: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table of a crowd with a score that is no property of items or of raters."""
    if "score" in declared:
        return main
    data = main.data.drop(columns=list_properties(main.data, main.roles))
    wanted = [role for role in CROWD_ROLES if role in main.roles or role == "score"]
    roles = infer_roles(data, wanted, declared)
    if name := find_only_score(main.data, roles):
        assumptions = (*main.assumptions, ONLY_SCORE.format(name))
        return replace(main, roles={**roles, "score": name}, assumptions=assumptions)
    return replace(main, roles=roles) if "score" in roles else main


def infer_panel_roles(data: pd.DataFrame, declared: Mapping[str, str]) -> dict[str, str]:
    """Return columns of a panel by role; of a score only where each row is one."""
    roles = infer_roles(data, PANEL_ROLES, find_model(data, declared) | {**declared})
    settle_prompt(data, roles, declared)
    if "judge" not in roles and (rater := _find_rater(data, roles)):
        roles["judge"] = rater
    if "score" in declared or "score" not in roles:
        return roles
    if not _is_long(data.columns, roles["score"]) or _has_refusals(data, roles):
        del roles["score"]
    return roles


def _find_rater(data: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Return the column of raters that tells apart the rows of one answer; empty without one.

    >>> rows = {"model": list("aaaa"), "prompt": list("ppqq"), "user_id": list("uvuv")}
    >>> _find_rater(pd.DataFrame(rows), {"model": "model", "prompt": "prompt"})
    'user_id'
    """
    if not {"model", "prompt"} <= {*roles}:
        return ""
    free = data[[name for name in data.columns if name not in roles.values()]]
    rater = infer_roles(free, ("rater",), {}).get("rater", "")
    answer = [roles[role] for role in ("model", "prompt")]
    is_rater = rater and data.duplicated(answer).any() and not data[rater].is_unique
    return rater if is_rater and not data.duplicated([*answer, rater]).any() else ""


def describe_roles(
    data: pd.DataFrame, roles: Mapping[str, str], declared: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is assumed where a column is the model or the prompt by its values."""
    model, prompt = roles.get("model", ""), roles.get("prompt", "")
    if model and "model" not in declared and not {*split_name(model)} & {*WORDS["model"]}:
        yield MODELS.format(model)
    if prompt and infer_roles(data, ("model", "prompt"), declared).get("prompt") != prompt:
        yield FINER.format(quote(prompt))
    indicator = infer_roles(data, PANEL_ROLES, declared).get("indicator")
    if indicator is not None and indicator == roles.get("category"):
        yield CATEGORY.format(quote(indicator))


def _has_refusals(data: pd.DataFrame, roles: Mapping[str, str]) -> bool:
    """Tell whether a score has refusals of the same answers beside it, and no other scores."""
    if "indicator" in roles:
        return False
    free = [str(name) for name in data.columns if name not in roles.values()]
    inferred = {name: infer_scale(data[name], named=False).scale for name in free}
    scales = {name: scale for name, scale in inferred.items() if scale is not None}
    refusals = find_refusals({roles["score"]: {}, **scales})
    return bool(scales) and len(refusals) == len(scales)


def _is_long(columns: Iterable[object], score: str) -> bool:
    """Tell whether a panel has a row for each score: it has one column of scores."""
    named = [name for name in columns if last_word(name) in SCORE_WORDS]
    return score in named and (len(named) == 1 or score.lower() in SCORE_WORDS)


def _join_tables(
    path: Path, others: Sequence[Path], folder: Path, declared: Mapping[str, str]
) -> tuple[LogTable | None, list[LogTable]]:
    """Return the ratings of several files, and the tables beside them, which a panel has not.

    Columns of tables beside the ratings of a panel are added to these. None of a single file.
    """
    name, files = name_relative(path, folder), [path, *others]
    if not others or not all(is_table(file) and file.is_file() for file in files):
        return join_files(path, others, name, declared), []
    read = cache(read_with_dialect)
    tables = [unfold_cells(name_table(file, folder, read(file))) for file in files]
    rated, beside = split_tables(tables)
    if not beside:
        return join_files(path, others, name, declared, read=read), []
    main = tables[rated[0]]
    if len(rated) > 1:
        first, *rest = (files[place] for place in rated)
        main = join_files(first, rest, main.name, declared, read=read) or main
    is_panel = "model" in {**main.roles, **infer_roles(main.data, ("model",), declared)}
    return (add_columns(main, beside), []) if is_panel else (main, beside)
