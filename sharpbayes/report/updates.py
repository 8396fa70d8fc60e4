"""The fits that a fit went on from: a sentence of the answer, and digests from old to new."""

import json
from collections.abc import Iterator
from typing import Any

import xarray as xr

from sharpbayes.errors import format_count

WEIGHTED, AFRESH = "importance sampling", "fresh chains"


def list_updates(results: xr.DataTree) -> list[dict[str, Any]]:
    """Return the updates of results, oldest first, as they were stored."""
    updates = json.loads(str(results.attrs.get("updates", "[]")))
    return [dict(update) for update in updates]


def update_sentences(results: xr.DataTree) -> list[str]:
    """Return a sentence on the last update of a fit; none where there was none."""
    updates = list_updates(results)
    return [f"This fit updates an earlier one: {describe_update(updates[-1])}."] if updates else []


def describe_update(update: dict[str, Any]) -> str:
    """Return how an update came to its draws.

    >>> describe_update({"new_ratings": 2, "method": "chains", "reason": "they are many"})
    '2 new ratings; chains ran from its draws, because they are many'
    >>> describe_update({"new_ratings": 2, "method": "fresh chains", "reason": "they are many"})
    '2 new ratings; chains started afresh, because they are many'
    >>> facts = {"method": "importance sampling", "pareto_k": 0.314, "effective_draws": 1234.5}
    >>> describe_update({"new_ratings": 1, **facts})
    '1 new rating; its draws were weighted and no chain ran (Pareto k 0.31, 1234 effective draws)'
    """
    count = format_count(int(update.get("new_ratings", 0)), "new rating")
    numbers = ""
    if "pareto_k" in update:
        k, effective = float(update["pareto_k"]), float(update["effective_draws"])
        numbers = f" (Pareto k {k:.2f}, {effective:.0f} effective draws)"
    if update.get("method") == WEIGHTED:
        return f"{count}; its draws were weighted and no chain ran{numbers}"
    if update.get("method") == AFRESH:
        return f"{count}; chains started afresh, because {update.get('reason', '')}{numbers}"
    return f"{count}; chains ran from its draws, because {update.get('reason', '')}{numbers}"


def update_provenance(results: xr.DataTree) -> Iterator[tuple[str, str]]:
    """Yield what each update went on from, with its digests, oldest first."""
    for number, update in enumerate(list_updates(results), 1):
        digests = (
            f"{name.removesuffix('_sha256')} {update[name]}"
            for name in ("data_sha256", "study_sha256", "posterior_sha256")
            if name in update
        )
        text = f"fit of {update.get('created', '')}: {', '.join(digests)}"
        yield f"Update {number} of", f"{text}; {describe_update(update)}"
