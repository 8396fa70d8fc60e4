"""What commands share: errors as sentences, results to files and tables, progress of chains."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sharpbayes.errors import (
    Diagnostic,
    SharpbayesError,
    SpecError,
    StorageError,
    format_list,
    printable,
)

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.execution.progress import ChainStatus, ProgressCallback
    from sharpbayes.report.tables.table import Table
    from sharpbayes.spec.files import StudyFiles
    from sharpbayes.workflows.context import RunContext

NOT_CONVERGED, INTERRUPTED, INTERNAL = 4, 130, 1
# A quantity fails whose p value, corrected for their number, is below this.
WRONG = 0.05
PLAIN_WIDTH = 80
PLAIN_FIRST_SECONDS, PLAIN_EVERY_SECONDS = 2.0, 10.0


@contextmanager
def guarded(*, debug: bool) -> Iterator[None]:
    """Turn errors into sentences on stderr and a documented exit status."""
    try:
        yield
    except (SharpbayesError, KeyboardInterrupt, Exception) as error:
        if isinstance(error, typer.Exit) or debug:
            raise
        if isinstance(error, KeyboardInterrupt):
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        if isinstance(error, SharpbayesError):
            say(str(error))
            raise typer.Exit(error.exit_status) from None
        say(f"a fault of the program: {type(error).__name__}: {error} (--debug shows where)")
        raise typer.Exit(INTERNAL) from None


def read_study(study: Path, set_: list[str] | None, seed: int | None) -> "StudyFiles":
    """Read the study with what the command line puts over it."""
    from sharpbayes.spec.load import load_study  # noqa: PLC0415

    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    return load_study(study, overrides=tuple(overrides))


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """Return ``name=value`` texts by name.

    >>> pairs(["rater=who", "score=a=b"])
    {'rater': 'who', 'score': 'a=b'}
    """
    without = [text for text in texts if "=" not in text]
    if without:
        raise SpecError([Diagnostic("--role", 0, without[0], "must be role=column")])
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def results_path(study: Path, out: Path | None) -> Path:
    """Return where results go, refusing a place that cannot be written before work begins."""
    target = out or Path(f"{study.stem}.results.nc")
    folder = target.parent
    if not folder.is_dir():
        raise StorageError(f"{target}: cannot write results: no folder {folder}")
    if target.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(f"{target}: cannot write results here")
    return target


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
    """Keep finished parts beside the results, and compute on a cluster where one is named.

    Args:
        files: The study.
        target: The results file.
        resume: Whether to go on from what is kept.
        address: The cluster.
        quiet: Whether progress is not shown.
        call: What the command was asked for beside the study.
    """
    from sharpbayes.execution.tasks import Execution  # noqa: PLC0415 - start-up
    from sharpbayes.execution.threads import thread_map, use_map  # noqa: PLC0415 - start-up
    from sharpbayes.storage.checkpoint import checkpoint  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.context import RunContext, digest_run  # noqa: PLC0415 - start-up

    run = digest_run(files) + call
    with checkpoint(target, run=run, resume=resume) as store, ExitStack() as stack:
        map_function = None
        if address is not None:
            from sharpbayes.execution.cluster import cluster  # noqa: PLC0415

            map_function = stack.enter_context(cluster(address)).map
        blocks = map_function or thread_map
        stack.enter_context(use_map(blocks, resamples=store.resample_map(blocks)))
        progress = stack.enter_context(show_progress(quiet=quiet))
        yield RunContext(files, Execution(map_function, store, progress))


def study_of(
    study: Path | None, results: Path | None, set_: list[str] | None, seed: int | None
) -> "tuple[StudyFiles, Path]":
    """Read the study that is named, or the one that results were made from, and its name."""
    from sharpbayes.errors import Diagnostic, SpecError  # noqa: PLC0415

    if (study is None) == (results is None):
        raise SpecError([Diagnostic("fit", 0, "", "needs either a study or --from RESULTS")])
    if study is not None:
        return read_study(study, set_, seed), study
    if set_ or seed is not None:
        message = "runs the same study once more; --set and --seed would make it another"
        raise SpecError([Diagnostic("--from", 0, "", message)])
    from sharpbayes.storage.results import open_results  # noqa: PLC0415
    from sharpbayes.workflows.context import reload_study_files  # noqa: PLC0415

    files = reload_study_files(open_results(results or ""))
    return files, files.study.path


def finish(results: "xr.DataTree", target: Path, *, quiet: bool, as_json: bool) -> None:
    """Write results, print them, and say where they are."""
    from sharpbayes.storage.results import save_results  # noqa: PLC0415

    save_results(results, target)
    if as_json:
        print_json(results, target, [target])
    elif not quiet:
        from sharpbayes.report.tables.catalogue import tables_after_run  # noqa: PLC0415

        show_tables(tables_after_run(results))
    if not quiet:
        say_found(results)
        say(f"{results.attrs['status']}; results written to {target}")


def say_found(results: "xr.DataTree") -> None:
    """Say what was found and whether to trust it."""
    from sharpbayes.report.summary import answer, verdict  # noqa: PLC0415

    say("\n" + " ".join(answer(results)))
    say(verdict(results))


def exit_if_interrupted(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that was cut short; its checkpoint stays."""
    if results.attrs["status"] == "interrupted":
        kept = results["posterior"].sizes
        say(f"sampling was interrupted: {kept['chain']} chains of {kept['draw']} draws are kept")
        raise typer.Exit(INTERRUPTED)


def exit_if_unsure(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that has not converged."""
    if results.attrs["status"] == "not converged":
        diagnostics = results["diagnostics"].attrs
        say(f"not converged: {diagnostics['convergence_issues']}")
        say(diagnostics["suggestions"])
        raise typer.Exit(NOT_CONVERGED)
    _exit_if_not_calibrated(results)


def _exit_if_not_calibrated(results: "xr.DataTree") -> None:
    """Exit with the status of fits that miss their truths."""
    if results.attrs["status"] == "not calibrated":
        found = results["calibration"].to_dataset()
        wrong = found["quantity"].to_numpy()[(found["p_holm"] < WRONG).to_numpy()]
        say(f"not calibrated: {format_list(wrong)}")
        raise typer.Exit(NOT_CONVERGED)


def keep_measured(measured: "xr.DataTree", target: Path) -> None:
    """Write the measured half of a fit that was interrupted before any draws were kept."""
    from sharpbayes.storage.results import save_results  # noqa: PLC0415

    measured.attrs["status"] = "interrupted"
    save_results(measured, target)
    say(f"interrupted before any draws were kept; the measured half is in {target}")


def keep_calibration(
    found: "xr.DataTree", target: Path | None, tables: Path | None, figures: Path | None
) -> list[Path]:
    """Write the places of truths, their tables and figures, each where it was asked for."""
    from sharpbayes.report.figures.catalogue import write_figures  # noqa: PLC0415
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415

    written = keep_tables(report_tables(found), found, target, tables)
    if figures is not None:
        written += said(write_figures(found, figures), "figures", figures)
    return written


def keep_tables(
    made: "Sequence[Table]", found: "xr.DataTree", target: Path | None, folder: Path | None
) -> list[Path]:
    """Write what was found and its tables, each where it was asked for."""
    written = []
    if target is not None:
        from sharpbayes.storage.results import save_results  # noqa: PLC0415

        save_results(found, target)
        say(f"{found.attrs['status']}; results written to {target}")
        written.append(target)
    if folder is not None:
        from sharpbayes.report.tables.renderer import write_tables  # noqa: PLC0415

        written += said(write_tables(made, folder), "tables", folder)
    return written


def said(written: list[Path], what: str, folder: Path) -> list[Path]:
    """Say how many files were written, and return them."""
    say(f"{len(written)} files of {what} in {folder}")
    return written


def named_files(paths: Sequence[Path]) -> dict[str, Path]:
    """Name results files by their stems, refusing fewer than two and two of one name."""
    named = {path.name.removesuffix(".nc").removesuffix(".results"): path for path in paths}
    if len(named) < len(paths) or len(named) < 2:  # noqa: PLR2004
        message = "two or more results files with names of their own"
        raise SpecError([Diagnostic("compare", 0, "", message)])
    return named


def print_json(results: "xr.DataTree", path: Path, files: Sequence[Path]) -> None:
    """Print results as one JSON document."""
    from sharpbayes.report.document import document  # noqa: PLC0415

    echo_json(document(results, path=path, files=files))


def echo_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(value, allow_nan=False))


def write_report(results: "xr.DataTree", tables: Path | None, figures: Path | None) -> list[Path]:
    """Write tables and figures, each into its folder, and say so."""
    written = []
    if tables is not None:
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415
        from sharpbayes.report.tables.renderer import write_tables  # noqa: PLC0415

        written += said(write_tables(report_tables(results), tables), "tables", tables)
    if figures is not None:
        from sharpbayes.report.figures.catalogue import write_figures  # noqa: PLC0415

        written += said(write_figures(results, figures), "figures", figures)
    return written


def write_page(results: "xr.DataTree", path: Path) -> Path:
    """Write the HTML report and say so."""
    from sharpbayes.report.page import write_html  # noqa: PLC0415

    say(f"report written to {write_html(results, path)}")
    return path


def show_tables(tables: "Sequence[Table]") -> None:
    """Print tables, as wide as the terminal or 80 columns where there is none.

    A table that is wider is printed in parts, each with the first column.
    """
    from sharpbayes.report.tables.renderer import as_text  # noqa: PLC0415

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH
    for table in tables:
        typer.echo(as_text(table, width=width), nl=False)


def say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(printable(text), err=True)


@contextmanager
def show_progress(*, quiet: bool) -> "Iterator[ProgressCallback]":
    """Show steps as lines, and chains as a live line on a terminal, as plain lines elsewhere."""
    from sharpbayes.execution.progress import silent  # noqa: PLC0415 - start-up

    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _terminal_progress() as update:
            yield update
    else:
        yield _plain_progress()


@contextmanager
def _terminal_progress() -> "Iterator[ProgressCallback]":
    """Redraw one line while chains run."""
    from rich.console import Console  # noqa: PLC0415 - start-up
    from rich.status import Status  # noqa: PLC0415 - start-up

    from sharpbayes.cli.progress import summarise  # noqa: PLC0415 - start-up

    start, status = time.monotonic(), Status("sampling", console=Console(stderr=True))

    def update(message: str, chains: "Sequence[ChainStatus]" = (), /) -> None:
        if chains:
            status.update(summarise(chains, elapsed=time.monotonic() - start).line())
            status.start()
        else:
            status.stop()
            say(f"{message} ...")

    try:
        yield update
    finally:
        status.stop()


def _plain_progress() -> "ProgressCallback":
    """Return a callback that prints steps, and a line about the chains now and then."""
    from sharpbayes.cli.progress import summarise  # noqa: PLC0415 - start-up

    start = time.monotonic()
    last = start - PLAIN_EVERY_SECONDS + PLAIN_FIRST_SECONDS

    def update(message: str, chains: "Sequence[ChainStatus]" = (), /) -> None:
        nonlocal last
        now = time.monotonic()
        if not chains:
            say(f"{message} ...")
        elif now - last >= PLAIN_EVERY_SECONDS:
            last = now
            say(summarise(chains, elapsed=now - start).line())

    return update
