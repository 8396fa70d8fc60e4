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
    share with an R-hat of 1.1 or less. ``studies`` is the number of studies that a row is about.
    """
    rows = []
    for (world, fit), part in raw.groupby(["world", "fit"], sort=False):
        for kind, name, shares in _shares(part):
            error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
            rows.append((world, fit, kind, name, len(shares), shares.mean(), error))
    return pd.DataFrame(rows, columns=list(HEADER))


def _shares(part: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what is counted in each study: kind, name and a number for every study."""
    studies = part["study"].unique()
    estimates = part[part["kind"] == "estimate"]
    inside = estimates["truth"].between(estimates["lower"], estimates["upper"])
    group = estimates["name"].str.replace(r" m\d.*", "", regex=True)
    for name in (name for name in GROUPS if (group == name).any()):
        rows = group == name
        yield "coverage", name, inside[rows].groupby(estimates["study"][rows]).mean().to_numpy()
    failures = part[part["kind"] == "check"]
    for name, rows in failures.groupby("name", sort=False):
        yield "check", str(name), rows.groupby("study")["truth"].max().to_numpy()
    yield "check", "any", failures.groupby("study")["truth"].max().to_numpy()
    for name, rows in part[part["kind"] == "issue"].groupby("name", sort=False):
        named = rows.groupby("study")["truth"].max().reindex(studies, fill_value=0.0)
        yield "issue", str(name), named.to_numpy()
    rhat = part[part["kind"] == "fit"].groupby("study")["truth"].max()
    yield "fit", "converged", (rhat <= CONVERGED).to_numpy().astype(float)


def page(table: pd.DataFrame) -> Iterator[str]:
    """Yield the rows of the page: coverage by estimand, and how often the checks fail."""
    for (world, fit), part in table.groupby(["world", "fit"], sort=False):
        value = part.set_index(["kind", "name"])["value"].astype(float)
        covered = [f"{100 * value['coverage'].get(name, np.nan):.0f}" for name in GROUPS]
        covered = [text.replace("nan", "") for text in covered]
        announced = WORLDS[str(world)].announced_by
        named = f"{announced}: {_percent(value, announced)}" if announced else ""
        studies = part["studies"].iloc[0]
        cells = [str(world), f"`{fit}`", str(studies), *covered, named, _percent(value, "any")]
        yield f"| {' | '.join(cells)} |"


def _percent(value: pd.Series, name: str) -> str:
    """Share of studies in which a check of a name fails, in percent."""
    shares = [value[key] for key in (("check", name), ("issue", name)) if key in value.index]
    return f"{100 * max(shares, default=0.0):.0f}"
