"""From the rows of single studies to the table of worlds, and to that of its page."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tests.references.worlds.catalogue import WORLDS

CONVERGED = 1.1
GROUPS = ("difference", "mean", "cvar", "human mean", "human cvar", "mpa", "wra")
GROUPS += ("attentive mpa", "attentive wra")
HEADER = ("world", "fit", "kind", "name", "studies", "value", "error")


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return for each world and model the coverage, the share of studies in which checks fail.

    Rows of the kind ``coverage`` have the share of 90% intervals that hold the truth, with the
    standard error over studies; ``check`` the share of studies in which a check of that name fails,
    ``any`` of all checks; ``issue`` the share with what ``check`` says before a fit; ``fit`` the
    share with an R-hat of 1.1 or less. ``unannounced`` has the share of intervals that miss the
    truth in a study of which nothing is announced: no check fails, and `check` does not name the
    world. ``studies`` is the number of studies that a row is about.
    """
    rows = []
    for (world, fit), part in raw.groupby(["world", "fit"], sort=False):
        for kind, name, shares in _shares(part, WORLDS[str(world)].announced_by):
            error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
            rows.append((world, fit, kind, name, len(shares), shares.mean(), error))
    return pd.DataFrame(rows, columns=list(HEADER))


def pool_tables(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return the table of all studies of two tables whose studies differ.

    n = n1 + n2, and the squares about the common mean are those about each mean and between them.
    What `check` says before a fit is a row only of a table in which it was said: elsewhere it is 0.
    """
    keys = ["world", "fit", "kind", "name"]
    both = pd.concat([first, second])
    both["total"] = both["studies"] * both["value"]
    # An error of one study alone is missing, and its square about its own mean nothing.
    within = both["studies"] * (both["studies"] - 1) * both["error"] ** 2
    both["squares"] = within.fillna(0.0) + both["total"] * both["value"]
    sums = both.groupby(keys, sort=False)[["studies", "total", "squares"]].sum().reset_index()
    fitted = sums[sums["kind"] == "fit"].set_index(["world", "fit"])["studies"]
    of_fit = fitted.reindex(pd.MultiIndex.from_frame(sums[["world", "fit"]])).to_numpy()
    number = sums["studies"].where(sums["kind"] != "issue", of_fit)
    value = sums["total"] / number
    squares = (sums["squares"] - sums["total"] * value).clip(lower=0.0)
    error = np.sqrt(squares / (number * (number - 1)).where(number > 1))
    return sums[keys].assign(studies=number.astype(int), value=value, error=error)


def _shares(part: pd.DataFrame, announced_by: str) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what is counted in each study: kind, name and a number for every study."""
    studies = part["study"].unique()
    estimates = part[part["kind"] == "estimate"]
    inside = estimates["truth"].between(estimates["lower"], estimates["upper"])
    unannounced = ~inside & ~estimates["study"].isin(_announced(part, announced_by))
    group = estimates["name"].str.replace(r" m\d.*", "", regex=True)
    for name in (name for name in GROUPS if (group == name).any()):
        of_study = estimates["study"][group == name]
        for kind, events in (("coverage", inside), ("unannounced", unannounced)):
            yield kind, name, events[group == name].groupby(of_study).mean().to_numpy()
    failures = part[part["kind"] == "check"]
    for name, rows in failures.groupby("name", sort=False):
        yield "check", str(name), rows.groupby("study")["truth"].max().to_numpy()
    if len(failures):
        yield "check", "any", failures.groupby("study")["truth"].max().to_numpy()
    for name, rows in part[part["kind"] == "issue"].groupby("name", sort=False):
        named = rows.groupby("study")["truth"].max().reindex(studies, fill_value=0.0)
        yield "issue", str(name), named.to_numpy()
    rhat = part[part["kind"] == "fit"].groupby("study")["truth"].max()
    yield "fit", "converged", (rhat <= CONVERGED).to_numpy().astype(float)


def _announced(part: pd.DataFrame, announced_by: str) -> set[int]:
    """Numbers of the studies in which a check fails, or `check` names the world."""
    named = part["kind"].eq("check") | (part["kind"].eq("issue") & part["name"].eq(announced_by))
    return set(part.loc[named & part["truth"].eq(1.0), "study"])


def page(table: pd.DataFrame) -> Iterator[str]:
    """Yield the tables of the page: coverage, intervals that miss unannounced, failing checks."""
    for kind in ("coverage", "unannounced"):
        yield from _rows(["world", "fit", "studies", *GROUPS])
        for (world, fit), value in _fits(table):
            shares = [_percent(value, kind, name) for name in GROUPS]
            yield _row([world, f"`{fit.removesuffix('.toml')}`", _studies(value, kind), *shares])
        yield ""
    yield from _rows(["world", "fit", "studies", "announced by", "it fails", "any check", "mixed"])
    for (world, fit), value in _fits(table):
        announced = WORLDS[world].announced_by
        kind = "issue" if ("issue", announced) in value.index else "check"
        fails = [_percent(value, kind, announced), _percent(value, "check", "any")]
        cells = [f"`{announced}`" if announced else "", *fails, _percent(value, "fit", "converged")]
        yield _row([world, f"`{fit.removesuffix('.toml')}`", _studies(value, "check"), *cells])


def _fits(table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield world and model with the rows of the table by kind and name."""
    for (world, fit), part in table.groupby(["world", "fit"], sort=False):
        yield (str(world), str(fit)), part.set_index(["kind", "name"])


def _rows(names: list[str]) -> Iterator[str]:
    """Yield the head of a table."""
    yield _row(names)
    yield _row(["---"] * len(names))


def _row(cells: list[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def _studies(value: pd.DataFrame, kind: str) -> str:
    """Number of studies that the rows of a kind are about: the largest."""
    return str(value.loc[[kind], "studies"].astype(int).max()) if kind in value.index else "0"


def _percent(value: pd.DataFrame, kind: str, name: str) -> str:
    """A share with its standard error over studies, in percent; empty where there is none."""
    if (kind, name) not in value.index:
        return ""
    share, error = (float(value.loc[(kind, name), key]) for key in ("value", "error"))
    return f"{100 * share:.0f} ± {100 * error:.0f}"
