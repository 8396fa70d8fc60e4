"""Ratings in long form, one row a rating, and those of a panel as an array with labelled axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.covariates import Covariate, UnitNumbers, unpack_numbers
from sharpbayes.data.variable_names import decode_column, encode_column

if TYPE_CHECKING:
    import xarray as xr

Codes = NDArray[np.int32]
Scores = NDArray[np.int16]
Rows = NDArray[np.integer] | NDArray[np.bool_]
# What a person rated, and the person.
PEOPLE = ("model", "prompt", "indicator", "rater")
# Stands for the person of labels that have none.
GOLD = "gold"
# Which of the answers of a model to a prompt, where there are several.
SAMPLE = "sample"


def name_people(persons: Sequence[str], *, action: str) -> str:
    """Return how the people behind ratings are named, who ``scored`` or ``labelled``.

    >>> name_people(["ann", "bo"], action="scored"), name_people(["gold"], action="scored")
    ('the 2 people who scored', 'the gold labels')
    """
    if [*persons] == [GOLD]:
        return "the gold labels"
    count = "one person" if len(persons) == 1 else f"{len(persons)} people"
    return f"the {count} who {action}"


@dataclass(frozen=True)
class Factor:
    """A labelled column of a table of ratings, as R's ``factor``.

    Attributes:
        labels: The distinct labels, in the order in which results show them.
        codes: Position of each rating's label; -1 where the rating has none.
    """

    labels: tuple[str, ...]
    codes: Codes

    def of(self, rows: Rows) -> "Factor":
        """Return the factor of some of the ratings, with all its labels."""
        return Factor(self.labels, self.codes[rows])


@dataclass(frozen=True)
class Ratings:
    """All observed ratings of a study; their order does not depend on the rows of the file.

    Attributes:
        score: Position of each rating on its scale, from 0; shape (rating,).
        factors: Labelled columns by role. A panel has ``model``, ``prompt``, ``judge``,
            ``indicator``, ``dimension`` and ``scale``, with ``sample`` and ``trial`` where answers
            or judgements are repeated, ``rater`` and ``machine`` where people score too,
            ``family`` where two judges share one and ``own_family`` where families are declared. A
            crowd has ``item``, ``rater``, ``scale``
            and ``group:<column>``; columns of items are under their own name, labels from a column
            of items under ``item_label``.
        scales: Labels of the scores of each scale, by its name in ``factors["scale"]``.
        covariates: Columns of numbers that a model names.
    """

    score: Scores
    factors: dict[str, Factor]
    scales: dict[str, tuple[str, ...]]
    covariates: dict[str, Covariate] = field(default_factory=dict)

    def of(self, rows: Rows) -> "Ratings":
        """Return some of the ratings: their positions, or true for each one that is kept."""
        factors = {name: factor.of(rows) for name, factor in self.factors.items()}
        covariates = {name: numbers.of(rows) for name, numbers in self.covariates.items()}
        return Ratings(self.score[rows], factors, self.scales, covariates)


def append_codes(
    factors: Mapping[str, Factor],
    codes: Mapping[str, NDArray[np.integer]],
    count: int,
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Factor]:
    """Append ``count`` ratings to factors; a factor without codes for them has no label there."""
    none = np.full(count, -1)
    return {
        name: Factor(
            (labels or {}).get(name, factor.labels),
            np.concatenate([factor.codes, codes.get(name, none)]).astype(np.int32),
        )
        for name, factor in factors.items()
    }


def fill_design(score: Scores) -> Scores:
    """Return the lowest score for every cell of a table that has none; other scores stay.

    >>> fill_design(np.array([-1, -1])), fill_design(np.array([-1, 2]))
    (array([0, 0]), array([-1,  2]))
    """
    return score if (score >= 0).any() else np.zeros_like(score)


@dataclass(frozen=True)
class PanelRatings:
    """The ratings of a panel as plain arrays, which need no xarray.

    A cell is one judge's score of one indicator of a model's answer to a prompt.

    Attributes:
        score: Position of each cell's score on its scale, from 0; -1 where it is missing. The axes
            follow ``labels``.
        labels: Labels of ``model``, ``prompt``, ``judge``, ``sample`` and ``trial`` (if any) and
            ``indicator``.
        prompt_columns: Columns of prompts: a value for every prompt.
        prompt_text: Text of every prompt, shortened; empty without a column of texts. It stays out
            of :meth:`to_dataset`, and so out of results.
        people_score: Score of each rating by a person; empty without people.
        people: For model, prompt, sample (if any), indicator and rater: the position of each
            person's rating among the labels.
        persons: Labels of the people.
        people_probability: With which each rated answer was chosen for people; empty where nobody
            declared it.
        counts: ``ratings``, ``missing`` (empty cells), ``absent`` (cells without a row), and counts
            that the reader of the table adds, such as ``unscored_samples``.
        unasked: Cells without a row in the table, of the shape of ``score``; None where every cell
            has one. They stay out of :meth:`to_dataset`, and are in the ratings of results.
        numbers: Numeric columns that a model names, by name. They stay out of :meth:`to_dataset`.
        missing_reasons: For each reason that the table gives for missing scores, how many scores of
            each model are missing for it. They stay out of :meth:`to_dataset`.
        correlated_by: Columns without a role by which prompts score alike, with the intraclass
            correlation. They stay out of :meth:`to_dataset`.
    """

    score: Scores
    labels: dict[str, tuple[str, ...]]
    prompt_columns: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    prompt_text: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    people_score: Scores = field(default_factory=lambda: np.empty(0, np.int16))
    people: dict[str, Codes] = field(default_factory=dict)
    persons: tuple[str, ...] = ()
    people_probability: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    counts: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, UnitNumbers] = field(default_factory=dict)
    unasked: NDArray[np.bool_] | None = None
    missing_reasons: dict[str, NDArray[np.intp]] = field(default_factory=dict)
    correlated_by: dict[str, float] = field(default_factory=dict)

    def select(self, dim: str, labels: Sequence[str]) -> "PanelRatings":
        """Return the cells of some labels of a dimension, in the order given."""
        positions = [self.labels[dim].index(label) for label in labels]
        axis = list(self.labels).index(dim)
        score = self.score.take(positions, axis=axis)
        unasked = None if self.unasked is None else self.unasked.take(positions, axis=axis)
        numbers = {name: column.take(dim, positions) for name, column in self.numbers.items()}
        selected = self.labels | {dim: tuple(labels)}
        return replace(self, score=score, labels=selected, numbers=numbers, unasked=unasked)

    def as_design(self) -> "PanelRatings":
        """Return the cells with the lowest score each, where the table has no score at all."""
        score = fill_design(self.score)
        if score is self.score:
            return self
        if self.unasked is not None:
            score[self.unasked] = -1
        counts = self.counts | {"ratings": int((score >= 0).sum()), "missing": 0}
        return replace(self, score=score, counts=counts)

    def to_dataset(self) -> "xr.Dataset":
        """Return ``score (model, prompt, judge, [sample,] [trial,] indicator)`` with its labels.

        Columns of prompts are coordinates, counts attributes. Ratings by people are
        ``people_score``, ``people_model``, ``people_prompt``, ``people_sample`` (if any),
        ``people_indicator`` and ``people_rater`` over ``people_rating``; their labels are
        ``person``.
        """
        import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

        variables: dict[str, Any] = {"score": (tuple(self.labels), self.score)}
        coords: dict[str, Any] = {dim: list(labels) for dim, labels in self.labels.items()}
        coords |= {encode_column(n): ("prompt", x) for n, x in self.prompt_columns.items()}
        if self.people:
            variables["people_score"] = ("people_rating", self.people_score)
            for name, codes in self.people.items():
                variables[f"people_{name}"] = ("people_rating", codes)
            coords["person"] = list(self.persons)
        if self.people_probability.size:
            variables["people_probability"] = ("people_rating", self.people_probability)
        return xr.Dataset(variables, coords, self.counts)

    @classmethod
    def from_dataset(cls, dataset: "xr.Dataset") -> "PanelRatings":
        """Return the plain arrays, without counts, of a dataset of :meth:`to_dataset`."""
        score = dataset["score"]
        by_people: dict[str, Any] = {}
        if "people_score" in dataset:
            by_people = {
                "people_score": dataset["people_score"].to_numpy(),
                "people": {
                    name: dataset[f"people_{name}"].to_numpy()
                    for name in (*PEOPLE, SAMPLE)
                    if f"people_{name}" in dataset
                },
                "persons": tuple(map(str, dataset["person"].to_numpy())),
            }
        if "people_probability" in dataset:
            by_people["people_probability"] = dataset["people_probability"].to_numpy()
        return cls(
            score=score.to_numpy(),
            labels={str(dim): tuple(map(str, dataset[dim].to_numpy())) for dim in score.dims},
            prompt_columns=read_prompt_columns(dataset),
            numbers=unpack_numbers(dataset),
            unasked=dataset["unasked"].to_numpy().astype(bool) if "unasked" in dataset else None,
            **by_people,
        )


def read_prompt_columns(dataset: "xr.Dataset") -> dict[str, NDArray[np.str_]]:
    """Return the columns of prompts that a dataset holds as coordinates."""
    return {
        decode_column(str(name)): column.to_numpy().astype(str)
        for name, column in dataset.coords.items()
        if column.dims == ("prompt",) and name != "prompt"
    }
