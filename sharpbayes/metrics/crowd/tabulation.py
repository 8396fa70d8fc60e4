"""Items of a crowd tabulated by score, label and stratum, in every row of leading dimensions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.kernels import add_items, add_labels

Array = NDArray[Any]
Index = NDArray[np.int64]


def tabulate_labels(
    plurality: xr.DataArray,
    label_count: xr.DataArray,
    by: xr.DataArray,
    weights: xr.DataArray,
    *,
    n_scores: int,
) -> xr.DataArray:
    """Return weighted labels by score over (..., by, score, unsafe).

    Arguments are those of :func:`sharpbayes.metrics.crowd.responsiveness.severity_table`; all have
    the dimension ``item``, and leading dimensions that need not be the same.
    """

    def tabulate(*arrays: Array) -> NDArray[np.float64]:
        shape, position, (scores, labels, strata, times) = _join_rows(arrays, (1, 2, 2, 1))
        table = np.zeros((len(position), strata.shape[1], n_scores, 2))
        add_labels(_codes(scores), _counts(labels), strata, times, position, table)
        return table.reshape(*shape, *table.shape[1:])

    return _apply(
        tabulate,
        (plurality, label_count, by, weights),
        (["item"], ["item", "unsafe"], ["by", "item"], ["item"]),
        sizes={"by": by.sizes["by"], "score": n_scores, "unsafe": 2},
        dtype=np.float64,
    )


def count_items(
    plurality: xr.DataArray, label_count: xr.DataArray, by: xr.DataArray
) -> xr.DataArray:
    """Return how many items have both a score and a label, over (..., by)."""

    def count(*arrays: Array) -> Index:
        shape, position, (scores, labels, strata) = _join_rows(arrays, (1, 2, 2))
        items = np.zeros((len(position), strata.shape[1]), dtype=np.int64)
        add_items(_codes(scores), _counts(labels), strata, position, items)
        return items.reshape(*shape, -1)

    return _apply(
        count,
        (plurality, label_count, by),
        (["item"], ["item", "unsafe"], ["by", "item"]),
        sizes={"by": by.sizes["by"]},
        dtype=np.int64,
    )


def _apply(
    function: Callable[..., Array],
    arrays: Sequence[xr.DataArray],
    cores: Sequence[list[str]],
    *,
    sizes: dict[str, int],
    dtype: type[np.generic],
) -> xr.DataArray:
    """Apply a function of arrays whose last dimensions are ``cores``; results end in ``sizes``."""
    known = {dim for core in cores for dim in core}
    result: xr.DataArray = xr.apply_ufunc(
        function,
        *arrays,
        input_core_dims=cores,
        output_core_dims=[list(sizes)],
        dask="parallelized",
        dask_gufunc_kwargs={
            "allow_rechunk": True,
            "output_sizes": {name: size for name, size in sizes.items() if name not in known},
        },
        output_dtypes=[dtype],
    )
    return result


def _join_rows(
    arrays: Sequence[Array], cores: Sequence[int]
) -> tuple[tuple[int, ...], Index, list[Array]]:
    """Return what leading dimensions broadcast to, and arrays with all of theirs as one.

    ``cores`` are the numbers of last dimensions that stay. The index (row, array) says which of an
    array's are those of a row, so that nothing is repeated in memory.
    """
    leading = [array.shape[: array.ndim - core] for array, core in zip(arrays, cores, strict=True)]
    shape = np.broadcast_shapes(*leading)
    positions = [np.arange(np.prod(sizes, dtype=np.int64)).reshape(sizes) for sizes in leading]
    index = np.stack([np.broadcast_to(position, shape).ravel() for position in positions], axis=-1)
    rows = [
        np.ascontiguousarray(array).reshape(-1, *array.shape[len(sizes) :])
        for array, sizes in zip(arrays, leading, strict=True)
    ]
    return shape, index, rows


def _codes(scores: Array) -> NDArray[np.int16]:
    """Scores as whole numbers; one off the scale stays off it."""
    return scores.astype(np.int16, copy=False)


def _counts(labels: Array) -> Array:
    """Labels as they are counted, or as numbers where they are weighted."""
    return labels if labels.dtype == np.int32 else labels.astype(np.float64, copy=False)
