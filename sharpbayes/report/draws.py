"""Draws of a fit as Parquet tables, for R and whatever else reads columns."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.errors import DataError, SpecError
from sharpbayes.report.wording import is_approximate
from sharpbayes.storage.files import make_folder, replace_file
from sharpbayes.storage.schema import APPROXIMATION

SAMPLE = ("chain", "draw")


def write_draws(results: xr.DataTree, folder: Path) -> list[Path]:
    """Write each posterior group as a Parquet file: a row for each draw, a column each parameter.

    Columns are named as R's ``posterior`` names them: ``.chain``, ``.iteration`` and ``.draw``,
    numbered from 1, and ``variable[label,label]``. Values are those of the results; yes and no are
    1 and 0. The folder is made if it is not there; files of the same names are replaced.
    """
    if is_approximate(results):
        message = f"these results are {APPROXIMATION}; a table of draws cannot say so"
        raise SpecError.at("report --draws", message)
    import pyarrow as pa  # noqa: PLC0415 - slow to load
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

    groups = {name: group.to_dataset() for name, group in results.children.items()}
    groups = {
        name: group
        for name, group in groups.items()
        if name.startswith("posterior") and {*SAMPLE} <= {*group.dims} and "predictive" not in name
    }
    if not groups:
        raise DataError.at("report --draws", "these results have no draws, which a fit makes")
    paths = {name: folder / f"{name}.parquet" for name in groups}
    failure = f"{folder}: cannot write draws"
    make_folder(folder, failure)
    for name, path in paths.items():
        with replace_file(path, failure) as temporary:
            pq.write_table(pa.table(dict(_list_columns(groups[name]))), temporary)
    return [*paths.values()]


def _list_columns(group: xr.Dataset) -> Iterator[tuple[str, Any]]:
    """List the columns: chain, iteration and draw, then every number of every variable."""
    chains, draws = (group.sizes[name] for name in SAMPLE)
    yield ".chain", np.repeat(np.arange(1, chains + 1), draws)
    yield ".iteration", np.tile(np.arange(1, draws + 1), chains)
    yield ".draw", np.arange(1, chains * draws + 1)
    for name, variable in group.data_vars.items():
        if {*SAMPLE} <= {*variable.dims} and variable.dtype.kind in "bif":
            labelled = variable.transpose(*SAMPLE, ...)
            values = labelled.to_numpy().reshape(chains * draws, -1)
            values = values.astype(np.int8) if values.dtype == bool else values
            labels = product(*(labelled[dim].values for dim in labelled.dims[len(SAMPLE) :]))
            for column, label in zip(values.T, labels, strict=True):
                brackets = f"[{','.join(map(str, label))}]" if label else ""
                yield f"{name}{brackets}", np.ascontiguousarray(column)
