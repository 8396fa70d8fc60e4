"""What commands share: errors as sentences, the context of a run, results to files and tables."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sharpbayes.cli.progress import say, show_progress
from sharpbayes.errors import SharpbayesError, SpecError, StorageError, format_list

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.report.tables.table import Table
    from sharpbayes.spec.files import StudyFiles
    from sharpbayes.workflows.context import RunContext

NOT_CONVERGED, INTERRUPTED = 4, 130
# A quantity is not calibrated if its p value, corrected for their number, is below this.
SIGNIFICANT = 0.05
PLAIN_WIDTH = 80


@contextmanager
def handle_errors(*, debug: bool) -> Iterator[None]:
    """Turn errors into sentences on stderr and a documented exit status."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, typer.Exit) or debug:
            raise
        message, status = (
            f"internal error: {type(error).__name__}: {error} (--debug shows where)",
            1,
        )
        if isinstance(error, KeyboardInterrupt):
            message, status = "interrupted", INTERRUPTED
        elif isinstance(error, SharpbayesError):
            message, status = str(error), error.exit_status
        say(message)
        raise typer.Exit(status) from None


def load_files(study: Path, set_: list[str] | None, seed: int | None) -> "StudyFiles":
    """Read a study, with the overrides of the command line."""
    from sharpbayes.spec.load import load_study  # noqa: PLC0415 - start-up

    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    return load_study(study, overrides=tuple(overrides))


def load_files_of(
    study: Path | None, results: Path | None, set_: list[str] | None, seed: int | None
) -> "tuple[StudyFiles, Path]":
    """Read the study that is named, or the study of results, and return it with its name."""
    if (study is None) == (results is None):
        raise SpecError.at("fit", "needs either a study or --from RESULTS")
    if study is not None:
        return load_files(study, set_, seed), study
    if set_ or seed is not None:
        message = "runs the same study once more; --set and --seed would make it another"
        raise SpecError.at("--from", message)
    from sharpbayes.storage.results import open_results  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.context import reload_study_files  # noqa: PLC0415 - start-up

    files = reload_study_files(open_results(results or ""))
    return files, files.study.path


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """Return columns by role from texts such as ``rater=who``."""
    for text in texts:
        if "=" not in text:
            raise SpecError.at("--role", "must be role=column", key=text)
    return dict(text.split("=", 1) for text in texts)


def results_path(study: Path, out: Path | None) -> Path:
    """Return where results go; refuse a place that cannot be written before work begins."""
    target = out or Path(f"{study.stem}.results.nc")
    folder = target.parent
    if not folder.is_dir():
        raise StorageError(f"{target}: cannot write results: no folder {folder}")
    if target.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(f"{target}: cannot write results here")
    return target


def named_files(paths: Sequence[Path]) -> dict[str, Path]:
    """Return results files by their stems; refuse fewer than two, and two of one name."""
    named = {path.name.removesuffix(".nc").removesuffix(".results"): path for path in paths}
    if len(named) < len(paths) or len(named) < 2:  # noqa: PLR2004 - a comparison is of two
        raise SpecError.at("compare", "two or more results files with names of their own")
    return named


@contextmanager
def run_context(
    files: "StudyFiles",
    target: Path,
    *,
    resume: bool,
    address: str | None,
    quiet: bool,
    call: str = "",
) -> "Iterator[RunContext]":
    """Store finished parts alongside the results, and compute on a cluster if one is named.

    ``call`` is what else the command was asked for, so that other calls have other parts.
    """
    from sharpbayes.execution.tasks import Execution  # noqa: PLC0415 - start-up
    from sharpbayes.execution.threads import thread_map, use_map  # noqa: PLC0415 - start-up
    from sharpbayes.storage.checkpoint import checkpoint  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.context import RunContext, digest_run  # noqa: PLC0415 - start-up

    run = digest_run(files) + call
    with checkpoint(target, run=run, resume=resume) as store, ExitStack() as stack:
        map_function = None
        if address is not None:
            from sharpbayes.execution.cluster import cluster  # noqa: PLC0415 - an optional extra

            map_function = stack.enter_context(cluster(address)).map
        blocks = map_function or thread_map
        stack.enter_context(use_map(blocks, resamples=store.resample_map(blocks)))
        progress = stack.enter_context(show_progress(quiet=quiet))
        yield RunContext(files, Execution(map_function, store, progress))


def save(results: "xr.DataTree", target: Path, *, quiet: bool, as_json: bool) -> None:
    """Write results, print them, and tell where they are."""
    from sharpbayes.storage.results import save_results  # noqa: PLC0415 - start-up

    save_results(results, target)
    if as_json:
        from sharpbayes.report.document import document  # noqa: PLC0415 - start-up

        print_json(document(results, path=target, files=[target]))
    elif not quiet:
        from sharpbayes.report.tables.catalogue import tables_after_run  # noqa: PLC0415 - start-up

        show_tables(tables_after_run(results))
    if not quiet:
        from sharpbayes.report.summary import answer, verdict  # noqa: PLC0415 - start-up

        say("\n" + " ".join(answer(results)))
        say(verdict(results))
        say(f"{results.attrs['status']}; results written to {target}")


def save_outputs(
    results: "xr.DataTree", target: Path | None, tables: Path | None, figures: Path | None = None
) -> list[Path]:
    """Write results, their tables and their figures, each if it was asked for."""
    written: list[Path] = []
    if target is not None:
        from sharpbayes.storage.results import save_results  # noqa: PLC0415 - start-up

        save_results(results, target)
        say(f"{results.attrs['status']}; results written to {target}")
        written.append(target)
    if tables is not None:
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
        from sharpbayes.report.tables.renderer import write_tables  # noqa: PLC0415 - start-up

        files = write_tables(report_tables(results), tables)
        say(f"{len(files)} files of tables in {tables}")
        written += files
    if figures is not None:
        from sharpbayes.report.figures.catalogue import write_figures  # noqa: PLC0415 - start-up

        files = write_figures(results, figures)
        say(f"{len(files)} files of figures in {figures}")
        written += files
    return written


def exit_if_interrupted(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that was cut short; its checkpoint stays."""
    if results.attrs["status"] == "interrupted":
        sizes = results["posterior"].sizes
        say(f"sampling was interrupted: {sizes['chain']} chains of {sizes['draw']} draws are kept")
        raise typer.Exit(INTERRUPTED)


def exit_if_not_converged(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that did not converge, or of fits that are not calibrated."""
    if results.attrs["status"] == "not converged":
        diagnostics = results["diagnostics"].attrs
        say(f"not converged: {diagnostics['convergence_issues']}\n{diagnostics['suggestions']}")
        raise typer.Exit(NOT_CONVERGED)
    if results.attrs["status"] == "not calibrated":
        table = results["calibration"].to_dataset()
        wrong = table["quantity"].to_numpy()[(table["p_holm"] < SIGNIFICANT).to_numpy()]
        say(f"not calibrated: {format_list(wrong)}")
        raise typer.Exit(NOT_CONVERGED)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(value, allow_nan=False))


def show_tables(tables: "Sequence[Table]") -> None:
    """Print tables, as wide as the terminal, or 80 columns without one.

    A wider table is printed in parts, each with the first column.
    """
    from sharpbayes.report.tables.renderer import as_text  # noqa: PLC0415 - start-up

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH
    for table in tables:
        typer.echo(as_text(table, width=width), nl=False)
