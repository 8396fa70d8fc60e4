"""Ratings of a panel as plain arrays, and as the labelled dataset that metrics take."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

Codes = NDArray[np.int32]
Scores = NDArray[np.int16]
# What a person rated, and the person.
PEOPLE = ("model", "prompt", "indicator", "rater")


@dataclass(frozen=True)
class PanelRatings:
    """The ratings of a panel as plain arrays, which need no xarray.

    A cell is one judge's score of one indicator of a model's answer to a prompt.

    Attributes:
        score: Position of each cell's score on its scale, from 0; -1 where it is missing. The axes
            follow ``labels``.
        labels: Labels of ``model``, ``prompt``, ``judge``, ``sample`` (if any) and ``indicator``.
        prompt_columns: Columns of prompts: a value for every prompt.
        people_score: Score of each rating by a person; empty without people.
        people: For model, prompt, indicator and rater: the position of each person's rating
            among the labels.
        persons: Labels of the people.
        counts: ``ratings``, ``missing`` (empty cells), ``absent`` (cells without a row), and counts
            that the reader of the table adds, such as ``unscored_samples``.
    """

    score: Scores
    labels: dict[str, tuple[str, ...]]
    prompt_columns: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    people_score: Scores = field(default_factory=lambda: np.empty(0, np.int16))
    people: dict[str, Codes] = field(default_factory=dict)
    persons: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def select(self, dim: str, labels: Sequence[str]) -> "PanelRatings":
        """Return the cells of some labels of a dimension, in the order given."""
        positions = [self.labels[dim].index(label) for label in labels]
        score = self.score.take(positions, axis=list(self.labels).index(dim))
        return replace(self, score=score, labels=self.labels | {dim: tuple(labels)})

    def to_dataset(self) -> "xr.Dataset":
        """Return ``score (model, prompt, judge, [sample,] indicator)`` with its labels.

        Columns of prompts are coordinates, counts attributes. Ratings by people are
        ``people_score``, ``people_model``, ``people_prompt``, ``people_indicator`` and
        ``people_rater`` over ``people_rating``; their labels are ``person``.
        """
        import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

        variables: dict[str, Any] = {"score": (tuple(self.labels), self.score)}
        coords: dict[str, Any] = {dim: list(labels) for dim, labels in self.labels.items()}
        coords |= {name: ("prompt", column) for name, column in self.prompt_columns.items()}
        if self.people:
            variables["people_score"] = ("people_rating", self.people_score)
            for name, codes in self.people.items():
                variables[f"people_{name}"] = ("people_rating", codes)
            coords["person"] = list(self.persons)
        return xr.Dataset(variables, coords, self.counts)

    @classmethod
    def from_dataset(cls, dataset: "xr.Dataset") -> "PanelRatings":
        """Return the plain arrays, without counts, of a dataset of :meth:`to_dataset`."""
        score = dataset["score"]
        by_people: dict[str, Any] = {}
        if "people_score" in dataset:
            by_people = {
                "people_score": dataset["people_score"].to_numpy(),
                "people": {name: dataset[f"people_{name}"].to_numpy() for name in PEOPLE},
                "persons": _list_labels(dataset, "person"),
            }
        return cls(
            score=score.to_numpy(),
            labels={str(dim): _list_labels(dataset, str(dim)) for dim in score.dims},
            prompt_columns=read_prompt_columns(dataset),
            **by_people,
        )


def read_prompt_columns(dataset: "xr.Dataset") -> dict[str, NDArray[np.str_]]:
    """Return the columns of prompts that a dataset holds as coordinates."""
    return {
        str(name): column.to_numpy().astype(str)
        for name, column in dataset.coords.items()
        if column.dims == ("prompt",) and name != "prompt"
    }


def _list_labels(dataset: "xr.Dataset", dim: str) -> tuple[str, ...]:
    """Return the labels of a dimension."""
    return tuple(str(label) for label in dataset[dim].to_numpy())
