"""Results, read by the paths of their variables."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import xarray as xr

from sharpbayes.storage.attributes import has_converged


class ResultsView:
    """Results at some labels, of which groups and variables are read once.

    A path is ``group/variable``. ``view["profile/cvar"]`` is the variable at those labels that it
    has as dimensions. A path without a group is a value that was computed.

    Attributes:
        results: The results.
        labels: Label by dimension; also values that a row of a table computed.
    """

    def __init__(
        self,
        results: xr.DataTree,
        labels: Mapping[str, Any] | None = None,
        groups: dict[str, xr.Dataset] | None = None,
        arrays: dict[str, xr.DataArray] | None = None,
    ) -> None:
        """Look at results, all of them unless labels are given."""
        self.results = results
        self.labels = dict(labels or {})
        self._groups = {} if groups is None else groups
        self._arrays = {} if arrays is None else arrays

    def __contains__(self, path: str) -> bool:
        """Whether the results have a group or a variable."""
        group, _, variable = path.partition("/")
        return group in self.results.children and (
            not variable or variable in self.group(group).variables
        )

    def __getitem__(self, path: str) -> xr.DataArray:
        """Return a variable at the labels with the attributes of its group, or a computed value."""
        group, _, variable = path.partition("/")
        if not variable:
            return xr.DataArray(self.labels[group])
        if path not in self._arrays:
            data = self.group(group)
            self._arrays[path] = data[variable].assign_attrs(data.attrs)
        array = self._arrays[path]
        return array.sel({dim: label for dim, label in self.labels.items() if dim in array.dims})

    def select(self, labels: Mapping[str, Any]) -> Self:
        """Return the results at further labels."""
        return type(self)(self.results, {**self.labels, **labels}, self._groups, self._arrays)

    def group(self, name: str) -> xr.Dataset:
        """Return a whole group."""
        if name not in self._groups:
            self._groups[name] = self.results[name].to_dataset()
        return self._groups[name]

    def coordinate(self, path: str, order: str = "") -> list[Any]:
        """Return the labels of ``group/dimension``, ordered by a variable if one is given.

        A minus sign before the variable sorts by falling values.
        """
        array = self[path]
        if order:
            positions = np.lexsort((self[order.removeprefix("-")].to_numpy(),))
            array = array[positions[:: -1 if order.startswith("-") else 1]]
        return list(array.to_numpy())


def is_fitted(view: ResultsView) -> bool:
    """Return whether results hold the posterior of a fit that may be used."""
    return has_converged(view.results) and "joint/posterior_median" in view
