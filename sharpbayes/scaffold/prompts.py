"""The prompt of a panel, or the item of a crowd, that no column is named as, and their clusters."""

from collections.abc import Collection, Iterator, Mapping

import pandas as pd

from sharpbayes.scaffold.column_names import MEASURES, WORDS, last_word, quote, split_name
from sharpbayes.scaffold.inference import MAX_GROUPS, is_constant

# What tells rows of one prompt and model apart.
WITHIN = ("judge", "sample", "trial", "indicator")
# So large a share of the values stands in rows of several models.
MIN_SHARED = 0.5
# A column with fewer labels than this share of the rows is no prompt.
MIN_FILLED = 0.5
FINER = (
    "{} is taken as the prompt, because each model has one row for each of its values; rows of a "
    "column that is named so repeat"
)
CATEGORY = (
    "{} is taken as the category of the prompts and not as what is scored, because each prompt has "
    "one of its values"
)
CLUSTERS = (
    "{} with the same {} are resampled together, as a cluster; leave the role out where they "
    "are as independent as others"
)


def find_prompt(data: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Return the column of which each model has one row for each value; empty without one.

    Most of its values are those of several models, as of prompts that all were given. Of several
    such columns it is that with the most values. Judges, samples and indicators have rows of their
    own.

    >>> table = pd.DataFrame({"model": ["a", "a", "b", "b"], "request": ["x", "y", "x", "y"],
    ...                       "answer": ["1", "2", "3", "4"], "harm": [0, 1, 1, 1]})
    >>> find_prompt(table, {"model": "model"})
    'request'
    """
    key = [roles["model"], *(roles[role] for role in WITHIN if role in roles)]
    prompts = _list_prompts(data, key, used={*key, roles.get("score")})
    return max(prompts, key=lambda name: data[name].nunique(), default="")


def settle_prompt(data: pd.DataFrame, roles: dict[str, str], declared: Mapping[str, str]) -> None:
    """Take the role of the prompt from a column that cannot have it, and those of its texts.

    It is given to a finer column where rows of the prompt repeat; a column such as a behaviour is
    the cluster then. A column with one value for each prompt is no indicator, but a category where
    several prompts have each of a few values. Roles that are declared stay.
    """
    named = roles.get("prompt", "")
    if named and "prompt" not in declared:
        finer = find_finer_prompt(data, roles)
        if finer:
            roles["prompt"] = finer
            if last_word(named) in WORDS["cluster"]:
                roles.setdefault("cluster", named)
        elif (data[named].astype(str).str.strip() != "").mean() < MIN_FILLED:
            del roles["prompt"]
    prompt, indicator = roles.get("prompt"), roles.get("indicator")
    if not (prompt and indicator) or "indicator" in declared:
        return
    if not is_constant(data, indicator, prompt):
        return
    if data[indicator].nunique() > MAX_GROUPS:
        del roles["indicator"]
    elif data[prompt].duplicated().any() and groups_units(data, indicator, prompt):
        roles.setdefault("category", roles.pop("indicator"))


def find_finer_prompt(data: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Return the prompt within the column that is named so, whose rows repeat; empty without one.

    Each of its values has one of the named column, and each model has one row for each of them.

    >>> table = pd.DataFrame({"model": ["a", "a", "b", "b"], "cell": ["x", "y", "x", "y"],
    ...                       "behavior": ["theft"] * 4, "harm": [0, 1, 1, 1]})
    >>> find_finer_prompt(table, {"model": "model", "prompt": "behavior"})
    'cell'
    """
    named = roles["prompt"]
    key = [roles[role] for role in ("model", *WITHIN) if role in roles]
    if "model" not in roles or not data.duplicated([*key, named]).any():
        return ""
    name = find_prompt(data, {role: column for role, column in roles.items() if role != "prompt"})
    return name if name and is_constant(data, named, name) else ""


def settle_item(data: pd.DataFrame, roles: dict[str, str], declared: Mapping[str, str]) -> None:
    """Give the role of the item to a finer column where raters repeat the one that is named so.

    Each rater has one row for each of its values, and each of them has one of the named column,
    which groups the items then. Roles that are declared stay.

    >>> table = pd.DataFrame({"prompt": list("xxxx"), "image": list("abab"), "rater": list("rrss")})
    >>> roles = {"item": "prompt", "rater": "rater"}
    >>> settle_item(table, roles, {"item": "prompt"})
    >>> roles["item"]
    'prompt'
    >>> settle_item(table, roles, {})
    >>> roles["item"]
    'image'
    """
    named, rater = roles.get("item"), roles.get("rater")
    if "item" in declared or not named or not rater or not data.duplicated([named, rater]).any():
        return
    shared = _list_prompts(data, [rater], used=roles.values())
    finer = [name for name in shared if is_constant(data, named, name)]
    if finer:
        roles["item"] = max(finer, key=lambda name: data[name].nunique())


def _list_prompts(data: pd.DataFrame, key: list[str], *, used: Collection[str | None]) -> list[str]:
    """List the columns that are not used, measure nothing and can be prompts or items of a key."""
    free = [str(name) for name in data.columns if name not in used]
    free = [name for name in free if not (MEASURES - {"id"}) & {*split_name(name)}]
    return [name for name in free if _is_prompt(data, name, key)]


def _is_prompt(data: pd.DataFrame, name: str, key: list[str]) -> bool:
    """Tell whether a column is filled, has one row of each key, and values that are shared.

    They are shared by models or, of one model, by numbers of its repeats.
    """
    if (data[name].astype(str).str.strip() == "").any() or data.duplicated([*key, name]).any():
        return False
    is_one = len(pd.unique(data[key[0]])) == 1
    sharing = data.groupby(name, observed=True)[key[0]].agg("size" if is_one else "nunique")
    return len(sharing) > 1 and float((sharing > 1).mean()) >= MIN_SHARED


def describe_prompt(name: str) -> str:
    """Return what is assumed where a column is taken as the prompt."""
    return (
        f"no column is named as the prompt; {quote(name)} is taken as it, because each model has "
        "one row for each of its values"
    )


def groups_units(data: pd.DataFrame, column: str, unit: str) -> bool:
    """Tell whether a column has one value for each unit, and several units of each on average."""
    number = data[column].nunique()
    return is_constant(data, column, unit) and 1 < number <= data[unit].nunique() / 2


def settle_columns(data: pd.DataFrame, roles: dict[str, str]) -> Iterator[str]:
    """Take roles of prompts from columns that cannot have them; yield what the others assume.

    A category and a cluster have one value for each prompt, and a cluster has several prompts.
    """
    prompt = roles["prompt"]
    for role in ("category", "cluster"):
        if role in roles and not is_constant(data, roles[role], prompt):
            del roles[role]
    cluster = roles.get("cluster")
    if cluster is None:
        return
    if groups_units(data, cluster, prompt):
        yield CLUSTERS.format("prompts", quote(cluster))
    else:
        del roles["cluster"]
