"""Items of a crowd that a reader chooses by name, in place of the most contested ones."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from sharpbayes.errors import SpecError, did_you_mean, format_list

GROUP = "contested_items"
OPTION = "report --item"


def choose_items(results: xr.DataTree, names: Sequence[str]) -> xr.DataTree:
    """Return results whose ``/contested_items`` are the named ones, in this order.

    The scores and texts are those of ``/ratings``. Without names the results are returned as they
    are.

    Raises:
        SpecError: There is no item of a name, or none at all; all such names at once.
    """
    if not names:
        return results
    names = list(dict.fromkeys(names))
    if GROUP not in results:
        raise SpecError.at(OPTION, "results without raters have no items")
    contested, ratings = results[GROUP].to_dataset(), results["ratings"].to_dataset()
    known = [str(label) for label in ratings["item"].to_numpy()]
    unknown = [
        f"no item {name!r}, there are {format_list(known)}{did_you_mean(name, known)}"
        for name in names
        if name not in known
    ]
    if unknown:
        raise SpecError.at(OPTION, "; ".join(unknown))
    named = contested.drop_dims("item")
    named["score"] = _scores(ratings, names, contested["rater"])
    if "item_text" in ratings:
        named["text"] = ratings["item_text"].sel(item=names)
    with_named = results.copy()
    with_named[GROUP] = xr.DataTree(named.assign_attrs(chosen=len(names)))
    return with_named


def _scores(ratings: xr.Dataset, names: Sequence[str], raters: xr.DataArray) -> xr.DataArray:
    """Scores of items over (item, rater), -1 where there is none."""
    items, people = (list(map(str, ratings[dim].to_numpy())) for dim in ("item", "rater"))
    columns = {name: place for place, name in enumerate(map(str, raters.to_numpy()))}
    score = np.full((len(names), raters.size), -1, dtype=np.int16)
    for row, name in enumerate(names):
        rows = np.flatnonzero(ratings["item_code"].to_numpy() == items.index(name))
        rater_columns = [columns[people[code]] for code in ratings["rater_code"].to_numpy()[rows]]
        score[row, rater_columns] = ratings["score"].to_numpy()[rows]
    return xr.DataArray(score, {"item": list(names), "rater": raters}, ("item", "rater"))
