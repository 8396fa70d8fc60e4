"""Labels that are compared once and left out of the arithmetic.

Every operation of xarray compares labels, which takes as long as all else where data are small.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import xarray as xr


def without_labels[Data: (xr.Dataset, xr.DataArray)](data: Data) -> Data:
    """Return data without coordinates.

    >>> list(without_labels(xr.DataArray([1.0], {"prompt": ["a"]})).coords)
    []
    """
    return data.drop_vars(list(data.coords))


def without_attributes(data: xr.Dataset) -> xr.Dataset:
    """Return data whose variables and labels have no attributes; the values are not copied.

    ``drop_attrs`` compares all labels again for every variable, which takes milliseconds.

    >>> x = xr.Dataset({"mean": ("model", [1.0], {"units": "nats"})}, attrs={"alpha": 0.95})
    >>> without_attributes(x).attrs, without_attributes(x)["mean"].attrs, x["mean"].attrs
    ({}, {}, {'units': 'nats'})
    """
    copy = data.copy()
    copy.attrs = {}
    for variable in copy.variables.values():
        variable.attrs = {}
    return copy


def attach_labels(result: xr.Dataset, labels: Mapping[Hashable, xr.DataArray]) -> xr.Dataset:
    """Return a result with the coordinates whose dimensions it has.

    >>> labels = xr.DataArray([[1.0]], {"model": ["m"], "prompt": ["p"]}).coords
    >>> list(attach_labels(xr.Dataset({"mean": ("model", [1.0])}), labels).coords)
    ['model']
    """
    return result.assign_coords(
        {name: label for name, label in labels.items() if {*label.dims} <= {*result.dims}}
    )


def label_values(values: xr.Variable, *sources: xr.DataArray) -> xr.DataArray:
    """Return values with the coordinates of the arrays that they were made of, as far as they fit.

    Labels of the sources are those of the values: nothing compares them.

    >>> x = xr.DataArray([[1.0, 2.0]], {"model": ["m"], "prompt": ["p", "q"]}, ("model", "prompt"))
    >>> list(label_values(x.variable.mean("prompt"), x).coords)
    ['model']
    """
    coords = {
        name: coord
        for source in sources
        for name, coord in source.coords.items()
        if {*coord.dims} <= {*values.dims}
    }
    return xr.DataArray(values, coords)


def stack_arrays(arrays: Sequence[xr.DataArray], dim: str, labels: object) -> xr.DataArray:
    """Return arrays of the same dimensions and labels along a new first dimension.

    Labels and attributes are those of the first: nothing compares them.

    >>> x = xr.DataArray([1.0, 2.0], {"model": ["a", "b"]})
    >>> stack_arrays([x, -x], "bound", ["upper", "lower"]).sel(bound="lower").values
    array([-1., -2.])
    """
    first, *others = arrays
    values = [first.to_numpy(), *(other.transpose(*first.dims).to_numpy() for other in others)]
    stacked = xr.Variable((dim, *first.dims), np.stack(values), first.attrs)
    return label_values(stacked, first).assign_coords({dim: labels})


def labels_where(flag: xr.DataArray) -> list[str]:
    """Return the labels of its one dimension that have a flag."""
    (dim,) = flag.dims
    return [str(label) for label in flag[dim].to_numpy()[flag.to_numpy().astype(bool)]]
