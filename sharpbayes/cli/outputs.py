"""Output of commands: results, tables and figures as files and on stdout, and the exit status."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import sharpbayes
from sharpbayes.cli.streams import is_terminal, print_json, print_text, say, terminal_width
from sharpbayes.cli.targets import read_attributes
from sharpbayes.errors import format_count, format_list
from sharpbayes.execution.progress import Phase, ProgressCallback
from sharpbayes.storage.files import name_beside

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.report.tables.table import Table

# Exit status of a fit that has not converged, and of fits that are not calibrated.
NOT_CONVERGED = 4
BASE_NOT_CONVERGED = "the fit of the observed ratings has not converged"


def interrupted_path(target: Path) -> Path:
    """Return where an interrupted result goes: beside a file of this name that is whole."""
    if not target.exists() or _is_interrupted(target):
        return target
    stem = target.name.removesuffix(target.suffix).removesuffix(".results")
    ending = f".interrupted{target.name[len(stem) :]}"
    return interrupted_path(name_beside(target.with_name(stem), suffix=ending))


def say_what_stays(written: Path, target: Path) -> None:
    """Say that an earlier file stays, where an interrupted result went to another one."""
    if written != target:
        say(f"{target} stays as it was: it holds earlier results")


def _is_interrupted(path: Path) -> bool:
    """Whether a file holds what an interrupted run left; what cannot be read may be anything."""
    return read_attributes(path).get("status") == "interrupted"


def save(
    results: "xr.DataTree",
    target: Path,
    progress: ProgressCallback,
    *,
    quiet: bool,
    full: bool,
    as_json: bool,
) -> Path:
    """Write results, end the display of progress, and print one screen of them on stdout.

    ``quiet`` prints the answer alone and ``full`` every table. Beside one JSON document the answer
    goes to stderr. The file is returned: that of an interrupted run replaces no whole one.
    """
    from sharpbayes.report.document import document  # noqa: PLC0415 - start-up
    from sharpbayes.report.screen import MAX_LINES, answer_text, screen_text  # noqa: PLC0415 - start-up

    progress(Phase.WRITING)
    if results.attrs["status"] == "interrupted":
        target = interrupted_path(target)
    sharpbayes.save_results(results, target)
    progress(Phase.DONE)
    width = terminal_width()
    if as_json:
        print_json(document(results, path=target, files=[target]))
        if not quiet:
            say(answer_text(results, width=width))
            say(f"{results.attrs['status']}; results written to {target}")
    elif quiet:
        print_text(answer_text(results, width=width))
    elif full:
        show_report(results)
    else:
        height = MAX_LINES if is_terminal() else inf
        print_text(screen_text(results, path=target, width=width, height=height))
    return target


def show_report(results: "xr.DataTree") -> None:
    """Print the answer and every table."""
    from sharpbayes.report.screen import answer_text  # noqa: PLC0415 - start-up
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up

    print_text(f"{answer_text(results, width=terminal_width())}\n")
    show_tables(report_tables(results))


def show_answer(results: "xr.DataTree", *, tables: int | None) -> None:
    """Print the answer of ``weigh``, ``compare`` or ``calibrate`` and the first of its tables."""
    from sharpbayes.report.screen import plain_text  # noqa: PLC0415 - start-up
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up

    print_text(f"{plain_text(results, width=terminal_width())}\n")
    show_tables(report_tables(results)[:tables])


def save_outputs(
    results: "xr.DataTree",
    target: Path | None = None,
    *,
    tables: Path | None = None,
    figures: Path | None = None,
    draws: Path | None = None,
    records: Path | None = None,
) -> list[Path]:
    """Write results, their tables, figures, draws and records, each if it was asked for."""
    written: list[Path] = []
    if target is not None:
        sharpbayes.save_results(results, target)
        say(f"{results.attrs['status']}; results written to {target}")
        written.append(target)
    folders = {"tables": tables, "figures": figures, "draws": draws, "records": records}
    for name, folder in folders.items():
        if folder is not None:
            files = _write_files(name, results, folder)
            say(f"{format_count(len(files), 'file')} of {name} in {folder}")
            written += files
    return written


def _write_files(name: str, results: "xr.DataTree", folder: Path) -> list[Path]:
    """Write tables, figures, draws or records."""
    if name == "figures":
        from sharpbayes.report.figures.catalogue import write_figures  # noqa: PLC0415 - start-up

        return write_figures(results, folder)
    if name == "draws":
        from sharpbayes.report.draws import write_draws  # noqa: PLC0415 - start-up

        return write_draws(results, folder)
    if name == "records":
        from sharpbayes.report.records import write_records  # noqa: PLC0415 - start-up

        return write_records(results, folder)
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
    from sharpbayes.report.tables.renderer import write_tables  # noqa: PLC0415 - start-up

    return write_tables(report_tables(results), folder)


def exit_if_not_converged(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that did not converge, or of fits that are not calibrated."""
    status = results.attrs["status"]
    if status == "not converged":
        diagnostics = results["diagnostics"].attrs
        explanation = f"{diagnostics['convergence_issues']}\n{diagnostics['suggestions']}"
    elif status == "not calibrated":
        explanation = explain_not_calibrated(results["calibration"].to_dataset())
    else:
        return
    say(f"{status}: {explanation}")
    raise typer.Exit(NOT_CONVERGED)


def explain_not_calibrated(calibration: "xr.Dataset") -> str:
    """Return that the fit of the observed ratings has not converged, and which ranks failed."""
    converged = bool(calibration.attrs.get("base_converged", True))
    rejected = format_list(calibration["quantity"].values[calibration["rejected"].values])
    return "; ".join(filter(None, ["" if converged else BASE_NOT_CONVERGED, rejected]))


def show_tables(tables: "Sequence[Table]") -> None:
    """Print tables as wide as the terminal, or 80 columns; wider ones in parts."""
    from sharpbayes.report.tables.renderer import tables_as_text  # noqa: PLC0415 - start-up

    print_text(tables_as_text(tables, width=terminal_width()))
