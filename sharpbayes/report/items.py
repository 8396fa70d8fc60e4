"""Items of a crowd that a reader chooses by name, in place of the most contested ones."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from sharpbayes.errors import SpecError, did_you_mean, format_list

GROUP = "contested_items"
OPTION = "report --item"


def choose_items(results: xr.DataTree, names: Sequence[str]) -> xr.DataTree:
    """Return results whose ``/contested_items`` are the named ones, in this order.

    The scores are those of ``/ratings``, which results of a fit hold; results of a measurement hold
    the contested items alone. Without names the results are returned as they are.

    Raises:
        SpecError: There is no item of a name, or none at all; all such names at once.
    """
    if not names:
        return results
    names = list(dict.fromkeys(names))
    if GROUP not in results:
        raise SpecError.at(OPTION, "results without raters have no items")
    contested = results[GROUP].to_dataset()
    ratings = results["ratings"].to_dataset() if "ratings" in results else None
    known = [str(label) for label in (contested if ratings is None else ratings)["item"].values]
    if unknown := [name for name in names if name not in known]:
        raise SpecError.at(OPTION, "; ".join(_explain(results, name, known) for name in unknown))
    chosen = contested.reindex(item=list(names), fill_value={"score": -1, "text": ""})
    if ratings is not None:
        chosen["score"] = _scores(ratings, names, contested["rater"])
    shown = results.copy()
    shown[GROUP] = xr.DataTree(chosen.assign_attrs(chosen=len(names)))
    return shown


def _explain(results: xr.DataTree, name: str, known: list[str]) -> str:
    """Why an item cannot be shown."""
    if name in map(str, results["items"]["item"].to_numpy()):
        kept = f"those of {format_list(known)} are"
        return f"single scores of {name!r} are not kept without a fit, {kept}"
    return f"no item {name!r}, there are {format_list(known)}{did_you_mean(name, known)}"


def _scores(ratings: xr.Dataset, names: Sequence[str], raters: xr.DataArray) -> xr.DataArray:
    """Scores of items over (item, rater), -1 where there is none."""
    items, people = (list(map(str, ratings[dim].to_numpy())) for dim in ("item", "rater"))
    columns = {name: place for place, name in enumerate(map(str, raters.to_numpy()))}
    score = np.full((len(names), raters.size), -1, dtype=np.int16)
    for row, name in enumerate(names):
        given = np.flatnonzero(ratings["item_code"].to_numpy() == items.index(name))
        who = [columns[people[code]] for code in ratings["rater_code"].to_numpy()[given]]
        score[row, who] = ratings["score"].to_numpy()[given]
    return xr.DataArray(score, {"item": list(names), "rater": raters}, ("item", "rater"))
