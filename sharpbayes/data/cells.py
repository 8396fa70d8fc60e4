"""A panel's levels as plain arrays, which need no xarray, and as the dataset that metrics take."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

Codes = NDArray[np.int32]
Levels = NDArray[np.int16]
# What a rating by a person is about, and who gave it.
PEOPLE = ("model", "prompt", "indicator", "rater")


@dataclass(frozen=True)
class Cells:
    """What a panel's tables hold.

    Attributes:
        level: Level of each cell, from 0, -1 where it is missing; an axis for each of ``labels``.
        labels: Labels of ``model``, ``prompt``, ``judge``, perhaps ``sample``, and ``indicator``.
        prompt_columns: For each column of prompts its value for every prompt.
        people_level: Level of each rating by a person; empty without people.
        people: For each of model, prompt, indicator and rater its position among labels.
        persons: Labels of the people.
        counts: ``ratings``, ``missing`` (empty cells), ``absent`` (cells without a row) and
            those of the table that was read, such as ``unscored_samples``.
    """

    level: Levels
    labels: dict[str, tuple[str, ...]]
    prompt_columns: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    people_level: Levels = field(default_factory=lambda: np.empty(0, np.int16))
    people: dict[str, Codes] = field(default_factory=dict)
    persons: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def chosen(self, dim: str, kept: Sequence[str]) -> "Cells":
        """Return the cells of some labels of a dimension, in the order given."""
        place = [self.labels[dim].index(name) for name in kept]
        level = self.level.take(place, axis=list(self.labels).index(dim))
        return replace(self, level=level, labels=self.labels | {dim: tuple(kept)})

    def dataset(self) -> "xr.Dataset":
        """Return ``level (model, prompt, judge, [sample,] indicator)`` with its labels.

        Columns of prompts are coordinates, counts attributes. Ratings by people are
        ``people_level``, ``people_model``, ``people_prompt``, ``people_indicator`` and
        ``people_rater`` over ``people_rating``, their labels ``person``.
        """
        import xarray as xr  # noqa: PLC0415 - `check` does without

        held: dict[str, Any] = {"level": (tuple(self.labels), self.level)}
        coords: dict[str, Any] = {dim: list(labels) for dim, labels in self.labels.items()}
        coords |= {name: ("prompt", column) for name, column in self.prompt_columns.items()}
        if self.people:
            held["people_level"] = ("people_rating", self.people_level)
            held |= {f"people_{name}": ("people_rating", at) for name, at in self.people.items()}
            coords["person"] = list(self.persons)
        return xr.Dataset(held, coords, self.counts)


def cells_of(levels: "xr.Dataset") -> Cells:
    """Return the plain arrays, counts apart, of a dataset as :meth:`Cells.dataset` makes it."""
    names = PEOPLE if "people_level" in levels else ()
    said = {name: levels[f"people_{name}"].to_numpy() for name in names}
    return Cells(
        level=levels["level"].to_numpy(),
        labels={str(dim): _labels(levels, str(dim)) for dim in levels["level"].dims},
        prompt_columns=prompt_columns(levels),
        people_level=levels["people_level"].to_numpy() if said else np.empty(0, np.int16),
        people=said,
        persons=_labels(levels, "person") if said else (),
    )


def prompt_columns(levels: "xr.Dataset") -> dict[str, NDArray[np.str_]]:
    """Return each column of prompts of a dataset, without its levels."""
    return {
        str(name): column.to_numpy().astype(str)
        for name, column in levels.coords.items()
        if column.dims == ("prompt",) and name != "prompt"
    }


def _labels(levels: "xr.Dataset", dim: str) -> tuple[str, ...]:
    """Labels of a dimension."""
    return tuple(str(label) for label in levels[dim].to_numpy())
