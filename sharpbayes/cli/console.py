"""What commands share: options, errors as sentences, and the context of a run."""

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
from sharpbayes.cli.streams import print_json, say
from sharpbayes.cli.targets import refuse_name
from sharpbayes.errors import (
    MEMORY_OPTION,
    MEMORY_VARIABLE,
    ClusterError,
    SharpbayesError,
    SpecError,
    format_count,
)
from sharpbayes.execution.progress import Phase, ProgressCallback

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.execution.tasks import MapFunction, StartActors
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
# A byte in gigabytes.
BYTE = 1e-9


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
        number = "both were given" if study is not None else "neither was given"
        message = f"needs a study or --from RESULTS, one of the two; {number}"
        raise SpecError.at("fit", message)
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
