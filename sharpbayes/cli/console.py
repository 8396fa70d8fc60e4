"""What commands share: options, errors as sentences, the context of a run, output."""

import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sharpbayes
from sharpbayes.cli.progress import INTERRUPTED, show_progress
from sharpbayes.cli.streams import print_json, print_text, say, terminal_width
from sharpbayes.cli.targets import refuse_name
from sharpbayes.errors import (
    MEMORY_OPTION,
    MEMORY_VARIABLE,
    ClusterError,
    SharpbayesError,
    SpecError,
    StorageError,
    format_count,
    format_list,
)
from sharpbayes.execution.progress import Phase, ProgressCallback
from sharpbayes.storage.files import name_beside

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.execution.tasks import MapFunction, StartActors
    from sharpbayes.report.tables.table import Table
    from sharpbayes.spec.files import StudyFiles
    from sharpbayes.workflows.context import RunContext

Debug = Annotated[bool, typer.Option(help="Show the traceback of an error.")]
Portable = Annotated[
    bool, typer.Option("--portable", help="The same bytes on other processors of this kind.")
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        metavar="GIGABYTES", help="Memory that reading a table may take, in place of the bound."
    ),
]
NOT_CONVERGED = 4
# A byte in gigabytes.
BYTE = 1e-9
# A quantity is not calibrated if its p value, corrected for their number, is below this.
SIGNIFICANT = 0.05


def handle_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--max-memory`` and ``--debug`` to a command.

    Without ``--debug``, an error is a sentence and an exit status; with ``--json`` it is a document
    too, with every error of the files.
    """

    @wraps(command)
    def run(*, max_memory: float | None, debug: bool, **options: Any) -> None:
        try:
            if max_memory is not None:
                set_max_memory(max_memory)
            command(**options)
        except typer.Exit:
            raise
        except (KeyboardInterrupt, Exception) as error:
            if debug:
                raise
            if isinstance(error, KeyboardInterrupt):
                message, status = "interrupted", INTERRUPTED
            elif isinstance(error, SharpbayesError):
                message, status = str(error), error.exit_status
            else:
                name = type(error).__name__
                message, status = f"internal error: {name}: {error} (--debug shows where)", 1
            say(message)
            if options.get("as_json"):
                print_json(describe_error(error, message, status))
            raise typer.Exit(status) from None

    memory = Parameter("max_memory", Parameter.KEYWORD_ONLY, default=None, annotation=MaxMemory)
    return _add_options(run, command, [memory, _make_flag("debug", Debug)])


def set_max_memory(gigabytes: float) -> None:
    """Set the bound of memory of readers; SpecError where it is no number above 0."""
    if not BYTE <= gigabytes < math.inf:
        message = f"found {gigabytes:g}, must be a number of gigabytes above 0"
        raise SpecError.at(MEMORY_OPTION, message)
    os.environ[MEMORY_VARIABLE] = str(gigabytes)


def offer_portable(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--portable`` to a command that computes."""

    @wraps(command)
    def run(*, portable: bool, **options: Any) -> None:
        if portable:
            from sharpbayes.execution.portability import start_portable  # noqa: PLC0415 - start-up

            start_portable()
        command(**options)

    return _add_options(run, command, [_make_flag("portable", Portable)])


def _make_flag(name: str, annotation: Any) -> Parameter:
    """Make an option that is there or not."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _add_options(
    run: Callable[..., None], command: Callable[..., None], added: Sequence[Parameter]
) -> Callable[..., None]:
    """Give a function the options of a command and further ones, as Typer reads them."""
    parameters = [*signature(command).parameters.values(), *added]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def describe_error(error: BaseException, message: str, status: int) -> dict[str, Any]:
    """Return an error as a document: its exit status, its text, and each error of the files."""
    diagnostics = [asdict(diagnostic) for diagnostic in getattr(error, "diagnostics", ())]
    return {"error": {"status": status, "message": message, "diagnostics": diagnostics}}


def load_files(
    study: Path | None, set_: list[str] | None, seed: int | None, results: Path | None = None
) -> "StudyFiles":
    """Read a study with the overrides of the command line, or the study of results."""
    if study is not None and results is None:
        from sharpbayes.spec.load import load_study  # noqa: PLC0415 - start-up

        overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
        try:
            return load_study(study, overrides=tuple(overrides))
        except SpecError as error:  # the seed was an option of its own
            option, named = f"--set seed={seed}", f"--seed {seed}"
            problems = error.diagnostics
            raise SpecError(
                replace(x, path=named, key="") if x.path == option else x for x in problems
            ) from None
    if study is not None or results is None:
        raise SpecError.at("fit", "needs either a study or --from RESULTS")
    if set_ or seed is not None:
        message = "runs the same study once more; --set and --seed would make it another"
        raise SpecError.at("--from", message)
    from sharpbayes.execution.identity import computation, describe_differences  # noqa: PLC0415 - start-up
    from sharpbayes.storage.schema import explain_missing  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.context import reload_study_files  # noqa: PLC0415 - start-up

    opened = sharpbayes.open_results(results)
    with explain_missing(opened):
        if named := describe_differences(opened.attrs, computation()):
            say(f"{results}: was computed by another {named}: numbers may differ")
        return reload_study_files(opened)


def open_earlier(path: Path | None) -> "tuple[xr.DataTree | None, str]":
    """Open the results that a fit updates, and return what names this in a checkpoint."""
    if path is None:
        return None, ""
    from sharpbayes.workflows.context import refuse_approximate  # noqa: PLC0415 - start-up

    earlier = sharpbayes.open_results(path)
    refuse_approximate(earlier, "--update")
    return earlier, f"update of {earlier.attrs.get('posterior_sha256', '')}"


def interrupted_path(target: Path) -> Path:
    """Return where an interrupted result goes: beside a file of this name that is whole."""
    if not target.exists() or _is_interrupted(target):
        return target
    stem = target.name.removesuffix(target.suffix).removesuffix(".results")
    ending = f".interrupted{target.name[len(stem) :]}"
    return interrupted_path(name_beside(target.with_name(stem), suffix=ending))


def tell_apart(written: Path, target: Path) -> None:
    """Say that an earlier file stays, where an interrupted result went to another one."""
    if written != target:
        say(f"{target} stays as it was: it holds earlier results")


def _is_interrupted(path: Path) -> bool:
    """Whether a file holds what an interrupted run left; what cannot be read may be anything."""
    try:
        return bool(sharpbayes.open_results(path, whole=False).attrs["status"] == "interrupted")
    except StorageError:
        return False


@contextmanager
def run_context(
    files: "StudyFiles",
    target: Path,
    *,
    resume: bool,
    address: str | None,
    quiet: bool,
    phases: Sequence[Phase] = (),
    call: str = "",
) -> "Iterator[RunContext]":
    """Store finished parts alongside the results, and compute on a cluster if one is named.

    ``call`` is what else the command was asked for, so that other calls have other parts. After
    Ctrl-C, and where a cluster is lost, a line says what is kept.
    """
    from sharpbayes.execution.tasks import Execution  # noqa: PLC0415 - start-up
    from sharpbayes.execution.threads import thread_map, use_map  # noqa: PLC0415 - start-up
    from sharpbayes.storage.checkpoint import checkpoint  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.context import RunContext, identify_run  # noqa: PLC0415 - start-up

    path = files.study.path
    refuse_name(path.resolve(), f"{path}: cannot be named in results")
    run = identify_run(files, call=call)
    with checkpoint(target, run=run, resume=resume) as store, ExitStack() as stack:
        progress = stack.enter_context(show_progress(phases, quiet=quiet))
        try:
            map_function, actors = stack.enter_context(_workers(address, progress))
            blocks = progress.count_blocks(map_function or thread_map)
            stack.enter_context(use_map(blocks, resamples=store.resample_map(blocks)))
            store.progress = progress
            if resume and not store.resumed:
                progress(store.beginning)
            yield RunContext(files, Execution(map_function, store, progress, start_actors=actors))
        except (KeyboardInterrupt, ClusterError) as error:
            progress(Phase.DONE)
            say(describe_kept(store.folder))
            if isinstance(error, ClusterError):
                say(f"to go on, on this cluster, another or without --cluster: {resuming_call()}")
            raise


@contextmanager
def _workers(
    address: str | None, progress: ProgressCallback
) -> "Iterator[tuple[MapFunction | None, StartActors | None]]":
    """Yield what maps tasks over the workers of a cluster, and what starts objects on them.

    None of both where no cluster is named.
    """
    if address is None:
        yield None, None
        return
    from sharpbayes.execution.actors import ClusterActors  # noqa: PLC0415 - an optional extra
    from sharpbayes.execution.cluster import cluster  # noqa: PLC0415 - an optional extra

    with cluster(address) as workers:
        workers.progress = progress
        workers.wait_for_workers()
        yield workers.map, partial(ClusterActors, workers)


def expect_phases(context: "RunContext", *, fitted: bool) -> None:
    """Tell the display of progress how long each phase should take, once the data are read."""
    from sharpbayes.workflows.expected_time import expected_seconds  # noqa: PLC0415 - start-up

    expect = getattr(context.execution.progress, "expect", None)
    if expect is not None:
        expect(expected_seconds(context, fitted=fitted))


def describe_kept(folder: Path) -> str:
    """Describe what an interrupted run leaves in a folder, and how to go on from there."""
    count = len(list(folder.glob("*.npz")))
    if not count:
        return "no part was finished; the same command begins anew"
    parts = format_count(count, "finished part")
    if chains := len(list(folder.glob("chain-*.npz"))):
        parts += f", {format_count(chains, 'chain')} among them,"
    return f"{parts} kept in {folder}; the same command with --resume goes on from there"


def resuming_call() -> str:
    """Return the command line of this process as one that goes on with what is kept."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--resume"]
    return shlex.join(["sharpbayes", *arguments, "--resume"])


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
    from sharpbayes.report.screen import answer_text, screen_text  # noqa: PLC0415 - start-up

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
        print_text(screen_text(results, path=target, width=width))
    return target


def show_report(results: "xr.DataTree") -> None:
    """Print the answer and every table."""
    from sharpbayes.report.screen import answer_text  # noqa: PLC0415 - start-up
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up

    print_text(f"{answer_text(results, width=terminal_width())}\n")
    show_tables(report_tables(results))


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
        table = results["calibration"].to_dataset()
        explanation = format_list(table["quantity"].values[table["p_holm"].values < SIGNIFICANT])
    else:
        return
    say(f"{status}: {explanation}")
    raise typer.Exit(NOT_CONVERGED)


def show_tables(tables: "Sequence[Table]") -> None:
    """Print tables as wide as the terminal, or 80 columns; wider ones in parts."""
    from sharpbayes.report.tables.renderer import tables_as_text  # noqa: PLC0415 - start-up

    print_text(tables_as_text(tables, width=terminal_width()))
