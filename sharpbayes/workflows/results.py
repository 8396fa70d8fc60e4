"""Results as a tree that shows its answer, and from which other weights and a report follow."""

import os
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.errors import require_type
from sharpbayes.report.layout import UNKNOWN, results_kind
from sharpbayes.report.summary import summary
from sharpbayes.storage import results as storage


class Results(xr.DataTree):
    """Results of a study: an ``xarray.DataTree`` that shows its answer first.

    Groups, dimensions and labels are those of a results file, and ArviZ takes the tree as it is. A
    notebook shows the answer, whether to trust it, a figure, tables and the groups. A selection of
    results, or what is computed from them, is a plain ``DataTree``: it has no answer of its own.

    Examples:
        >>> import pandas as pd
        >>> import sharpbayes
        >>> cells = [(m, p, j) for m in ("aster", "fir") for p in "pq" for j in ("ann", "bo")]
        >>> ratings = pd.DataFrame(cells, columns=["model", "prompt", "judge"])
        >>> study = sharpbayes.study(ratings.assign(harm=[1, 1, 2, 1, 3, 2, 2, 3]))
        >>> results = study.measure()
        >>> results["profile"]["mean"].to_series().round(2).to_dict()
        {'aster': 0.24, 'fir': 2.1}
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     results.save(f"{folder}/mine.results.nc")
        ...     opened = sharpbayes.open_results(f"{folder}/mine.results.nc")
        ...     [page] = opened.report(f"{folder}/mine.html")
        ...     print(page.name, opened.attrs["status"])
        mine.html measured
    """

    @classmethod
    def from_tree(cls, tree: xr.DataTree) -> "Results":
        """Return a whole tree of results, with the files that it reads from."""
        results = cls(tree.to_dataset(inherit=False), dict(tree.children))
        results.set_close(tree.close)
        return results

    @classmethod
    def from_dict(cls, *data: Any, **options: Any) -> xr.DataTree:  # type: ignore[override]
        """Return a plain tree, as xarray does where it computes one from these results."""
        return xr.DataTree.from_dict(*data, **options)

    def __repr__(self) -> str:  # type: ignore[override]
        """Return the answer in lines, and the names of the groups."""
        if results_kind(self) == UNKNOWN:
            return super().__repr__()
        return f"{summary(self)!r}\nGroups: {', '.join(map(str, self.children))}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the answer, a figure, tables and the groups, for a notebook."""
        groups = str(super()._repr_html_())
        if results_kind(self) == UNKNOWN:
            return groups
        folded = f"<details><summary>Groups</summary>{groups}</details>"
        return f"{summary(self)._repr_html_()}{folded}"

    def weigh(self, *weights: str) -> "Results":
        """Return the results under other weights, without a refit or source data.

        Args:
            weights: Names of shipped weights files, or paths; see :func:`sharpbayes.weigh`.

        Returns:
            A child for each weights file, by its name.

        Raises:
            StorageError: The results hold no ratings.
            SpecError: Errors in a weights file, or weights that do not suit the study.
        """
        from sharpbayes.workflows.weigh import named_weights, weigh  # noqa: PLC0415 - start-up

        return Results.from_tree(weigh(self, named_weights(weights)))

    def report(
        self,
        page: str | Path | None = None,
        *,
        tables: str | Path | None = None,
        figures: str | Path | None = None,
    ) -> list[Path]:
        """Write a page, tables or figures of the results, each if it is asked for.

        Args:
            page: One HTML file that needs nothing else.
            tables: Folder for every table as CSV, Markdown and LaTeX.
            figures: Folder for the figures as PNG, SVG and PDF.

        Returns:
            The files that were written.

        Raises:
            StorageError: A file cannot be written.
        """
        written: list[Path] = []
        for name, path in (("page", page), ("tables", tables), ("figures", figures)):
            require_type(path, str | os.PathLike | None, name, "the path of a file or folder")
        if page is not None:
            from sharpbayes.report.page import write_html  # noqa: PLC0415 - start-up

            written.append(write_html(self, Path(page)))
        if tables is not None:
            from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
            from sharpbayes.report.tables.renderer import write_tables  # noqa: PLC0415 - start-up

            written += write_tables(report_tables(self), Path(tables))
        if figures is not None:
            from sharpbayes.report.figures.catalogue import write_figures  # noqa: PLC0415 - start-up

            written += write_figures(self, Path(figures))
        return written

    def save(self, path: str | Path) -> None:
        """Write the results to one file, which :func:`sharpbayes.open_results` and commands read.

        Args:
            path: The file, usually ``<study>.results.nc``; one of this name is replaced.

        Raises:
            StorageError: The file cannot be written.
        """
        storage.save_results(self, path)


def open_results(path: str | Path, *, whole: bool = True) -> Results:
    """Open a results file.

    Args:
        path: A file that ``sharpbayes fit`` or ``sharpbayes measure`` wrote, or
            :meth:`Results.save`.
        whole: Whether every group is read into memory; if not, each variable on its first use.

    Returns:
        The results; ``results.attrs`` holds the provenance, each child is a group.

    Raises:
        StorageError: The file does not exist, is damaged, or was written by something else.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> import sharpbayes
        >>> files = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=20",))
        >>> with TemporaryDirectory() as folder:
        ...     path = f"{folder}/mine.results.nc"
        ...     sharpbayes.save_results(sharpbayes.measure(files), path)
        ...     sharpbayes.open_results(path).attrs["status"]
        'measured'
    """
    return Results.from_tree(storage.open_results(path, whole=whole))
