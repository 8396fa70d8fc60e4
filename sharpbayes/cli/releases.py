"""Results files of ``report``: one, or several that are shown as releases."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sharpbayes
from sharpbayes.cli.targets import refuse_inputs, refuse_other_text, refuse_unwritable
from sharpbayes.errors import SpecError
from sharpbayes.storage.schema import explain_missing

if TYPE_CHECKING:
    import xarray as xr

# What every page has in its head; a file without it is never replaced.
PAGE_MARKS = ('<meta name="generator" content="sharpbayes',)


def open_releases(paths: Sequence[Path], *, one_alone: Sequence[str] = ()) -> "xr.DataTree":
    """Open one results file, or several as a history; ``one_alone`` are options that need one."""
    if len(paths) == 1:
        return sharpbayes.open_results(paths[0])
    if one_alone:
        raise SpecError.at("report", "is for one results file", key=one_alone[0])
    named = {name_release(path): path for path in paths}
    if len(named) < len(paths):
        raise SpecError.at(
            "report", "results files need names of their own, they name the releases"
        )
    from sharpbayes.workflows.history import build_history  # noqa: PLC0415 - start-up

    opened = {name: sharpbayes.open_results(path, whole=False) for name, path in named.items()}
    for name, results in opened.items():
        with explain_missing(results):
            # What it needs is missing in this file, if in any.
            build_history({str(named[name]): results})
    return build_history(opened)


def name_release(path: Path) -> str:
    """Return the name of a release: that of its file without endings."""
    return path.name.removesuffix(".nc").removesuffix(".results")


def name_fits(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the files that are compared by the names of their fits.

    Raises:
        SpecError: Fewer than two files, or two of one name.
    """
    if len(paths) < 2:  # noqa: PLR2004 - a comparison
        raise SpecError.at("compare", "needs two results files or more; one was given")
    names = [name_release(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            message = f"two results files have the name {name!r}, which names a fit; rename one"
            raise SpecError.at("compare", message)
    return dict(zip(names, paths, strict=True))


def page_path(paths: Sequence[Path]) -> Path:
    """Return the page of one results file, or of a history, beside the newest file."""
    return paths[0].with_suffix(".html") if len(paths) == 1 else paths[-1].with_name("history.html")


def refuse_page(page: Path, results: Sequence[Path], folders: Iterable[Path | None]) -> None:
    """Refuse a page over something else, or where none can be written; ``folders`` will be made."""
    if page.parent not in folders:
        refuse_unwritable(page, f"{page}: cannot write report")
    refuse_inputs(page, results)
    refuse_other_text(page, PAGE_MARKS)
