"""Numbers of units, such as the length of each answer, and of the ratings about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.variable_names import decode_column, encode_column

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]
Rows = NDArray[np.integer] | NDArray[np.bool_]
# Variables of stored ratings that hold numbers of a column.
STORED = "number:"
# What has a number, by the dimensions of its table.
UNIT_NAMES = {
    ("model", "prompt"): "answer",
    ("model", "prompt", "sample"): "answer",
    ("model", "prompt", "judge"): "judgement",
}


@dataclass(frozen=True)
class Covariate:
    """A column of numbers of a table of ratings.

    Attributes:
        unit: What has one number each: ``prompt``, ``answer``, ``item``, ``rater``, ``rating``, ...
        values: The number of each unit; NaN where it has none.
        codes: Position of each rating's unit; -1 where the rating has no number.
    """

    unit: str
    values: Floats
    codes: NDArray[np.int64]

    def of(self, rows: Rows) -> "Covariate":
        """Return the numbers of some of the ratings, with all units."""
        return Covariate(self.unit, self.values, self.codes[rows])


class UnitNumbers(NamedTuple):
    """The numbers of a column over the dimensions of their units; NaN where a unit has none."""

    dims: tuple[str, ...]
    values: Floats

    @property
    def unit(self) -> str:
        """What has one number each: ``prompt``, ``answer``, ``rater``, ``rating``, ..."""
        if len(self.dims) == 1:
            return self.dims[0]
        return UNIT_NAMES.get(self.dims, "rating")

    def take(self, dim: str, positions: Sequence[int]) -> "UnitNumbers":
        """Return the numbers at some positions of a dimension; all of them where it is absent."""
        if dim not in self.dims:
            return self
        return UnitNumbers(self.dims, self.values.take(positions, axis=self.dims.index(dim)))


def spread_numbers(
    numbers: UnitNumbers, codes: Mapping[str, NDArray[np.integer]], *, count: int
) -> Covariate:
    """Spread numbers of units over ``count`` ratings with a code of each dimension.

    A rating without a code, or with a unit that has no number, has none.
    """
    of_rating = np.full(count, -1, dtype=np.int64)
    if all(dim in codes for dim in numbers.dims):
        columns = [codes[dim] for dim in numbers.dims]
        applies = np.all([column >= 0 for column in columns], axis=0)
        cells = [column[applies] for column in columns]
        of_rating[applies] = np.ravel_multi_index(cells, numbers.values.shape)
    flat = numbers.values.ravel()
    of_rating[np.isnan(np.append(flat, np.nan)[of_rating])] = -1
    return Covariate(numbers.unit, flat, of_rating)


def pack_numbers(numbers: Mapping[str, UnitNumbers]) -> dict[str, tuple[tuple[str, ...], Floats]]:
    """Return the variables of stored ratings that hold numbers."""
    return {STORED + encode_column(name): (x.dims, x.values) for name, x in numbers.items()}


def unpack_numbers(dataset: "xr.Dataset") -> dict[str, UnitNumbers]:
    """Return the numbers that :func:`pack_numbers` put into a dataset."""
    variables: dict[str, Any] = {str(name): dataset[name] for name in dataset.data_vars}
    return {
        decode_column(name.removeprefix(STORED)): UnitNumbers(
            tuple(map(str, x.dims)), x.to_numpy().astype(float)
        )
        for name, x in variables.items()
        if name.startswith(STORED)
    }
