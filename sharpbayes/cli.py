"""The command line: the only place that prints and exits."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sharpbayes.errors import Fault, SharpbayesError, SpecError, StorageError, did_you_mean

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.report.tables import Table
    from sharpbayes.spec.load import StudyFiles

NOT_CONVERGED, INTERRUPTED, INTERNAL = 4, 130, 1
PLAIN_FIRST_SECONDS, PLAIN_EVERY_SECONDS = 2.0, 10.0

app = typer.Typer(
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Risk profiles of AI models from ratings, with their uncertainty.",
    epilog="Exit: 0 done, 2 spec or call, 3 data, 4 not converged, 5 files, 130 interrupted.",
)

Study = Annotated[Path, typer.Argument(help="A study file (TOML), or the name of a shipped one.")]
ResultsFile = Annotated[Path, typer.Argument(help="A results file written by fit or measure.")]
Tables = Annotated[
    Path | None, typer.Option(help="Folder for every table as CSV, Markdown and LaTeX.")
]
Figures = Annotated[
    Path | None, typer.Option(help="Folder for Figures 1 to 4 as PNG, SVG and PDF; a panel only.")
]
Out = Annotated[Path | None, typer.Option(help="Results file; <study>.results.nc by default.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="key=value over the study file.")]
Seed = Annotated[int | None, typer.Option(help="Seed, in place of the study's.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Debug = Annotated[bool, typer.Option(help="Show the traceback of an error.")]


@app.command()
def check(study: Study, set_: Set = None, debug: Debug = False) -> None:
    """Validate a study and its data without computing, and print what was understood."""
    with _guarded(debug=debug):
        from sharpbayes.report.understood import understood_tables  # noqa: PLC0415
        from sharpbayes.run import check as check_study  # noqa: PLC0415

        files = _load(study, set_, None)
        _show(understood_tables(check_study(files)))
        typer.echo(f"{study}: no fault found")


@app.command()
def measure(
    study: Study,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the deterministic metrics and their bootstrap intervals."""
    with _guarded(debug=debug):
        from sharpbayes.run import measure as measure_study  # noqa: PLC0415

        files = _load(study, set_, seed)
        target = _target(study, out)
        _finish(measure_study(files, step=_step(quiet=quiet)), target, quiet=quiet, as_json=as_json)


@app.command()
def fit(
    study: Study,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure, fit the model, check convergence and write everything to one file."""
    with _guarded(debug=debug):
        from sharpbayes.run import fit as fit_study  # noqa: PLC0415
        from sharpbayes.run import measure as measure_study  # noqa: PLC0415
        from sharpbayes.run import read  # noqa: PLC0415

        files, step = _load(study, set_, seed), _step(quiet=quiet)
        target = _target(study, out)
        loaded = read(files)
        measured = measure_study(files, loaded=loaded, step=step)
        try:
            with _chains(quiet=quiet) as progress:
                results = fit_study(
                    files, loaded=loaded, measured=measured, step=step, progress=progress
                )
        except KeyboardInterrupt:
            _keep_measured(measured, target)
            raise
        _finish(results, target, quiet=quiet, as_json=as_json)
        _judge(results)


@app.command()
def simulate(
    study: Study,
    pattern: Annotated[
        str, typer.Option(help="normal, shift, conservative, or all for raters of each.")
    ] = "normal",
    out: Annotated[Path | None, typer.Option(help="Folder; <study>.simulated by default.")] = None,
    seed: Seed = None,
    set_: Set = None,
    debug: Debug = False,
) -> None:
    """Simulate a crowd with known truth, and write a study that measures it."""
    with _guarded(debug=debug):
        from sharpbayes.simulate import save_simulated  # noqa: PLC0415
        from sharpbayes.simulate import simulate as simulate_study  # noqa: PLC0415

        made = simulate_study(_load(study, set_, seed), pattern=pattern)
        written = save_simulated(made, out or Path(f"{study.stem}.simulated"))
        _say(f"{len(made.ratings)} ratings with known truth; run sharpbayes measure {written}")


@app.command()
def report(
    results: ResultsFile,
    tables: Tables = None,
    figures: Figures = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Print every table of a results file, or write its tables and figures."""
    with _guarded(debug=debug):
        from sharpbayes.report.write import every_table  # noqa: PLC0415
        from sharpbayes.results import open_results  # noqa: PLC0415

        opened = open_results(results)
        if tables is not None or figures is not None:
            _write_report(opened, tables, figures)
        if as_json:
            _print_results(opened, as_json=True)
        elif tables is None and figures is None:
            _show(every_table(opened))


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="A shipped study, weights or model.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="JSON Schema of study, weights or model files.")
    ] = None,
    debug: Debug = False,
) -> None:
    """List what is shipped, print one file of it, or print a JSON Schema."""
    with _guarded(debug=debug):
        if schema is not None:
            typer.echo(_schema(schema))
        elif name is None:
            typer.echo(_shipped())
        else:
            typer.echo(_text_of(name), nl=False)


def main() -> None:
    """Run the command line."""
    app(prog_name="sharpbayes")


@contextmanager
def _guarded(*, debug: bool) -> Iterator[None]:
    """Turn errors into sentences on stderr and a documented exit status."""
    try:
        yield
    except (SharpbayesError, KeyboardInterrupt, Exception) as error:
        if isinstance(error, typer.Exit) or debug:
            raise
        if isinstance(error, KeyboardInterrupt):
            _say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        if isinstance(error, SharpbayesError):
            _say(str(error))
            raise typer.Exit(error.exit_status) from None
        _say(f"a fault of the program: {type(error).__name__}: {error} (--debug shows where)")
        raise typer.Exit(INTERNAL) from None


def _load(study: Path, set_: list[str] | None, seed: int | None) -> "StudyFiles":
    """Read the study with what the command line puts over it."""
    from sharpbayes.spec.load import load_study  # noqa: PLC0415

    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    return load_study(study, overrides=tuple(overrides))


def _target(study: Path, out: Path | None) -> Path:
    """Return where results go, refusing a place that cannot be written before work begins."""
    target = out or Path(f"{study.stem}.results.nc")
    folder = target.parent
    if not folder.is_dir():
        raise StorageError(f"{target}: cannot write results: no folder {folder}")
    if target.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(f"{target}: cannot write results here")
    return target


def _finish(results: "xr.DataTree", target: Path, *, quiet: bool, as_json: bool) -> None:
    """Write results, print them, and say where they are."""
    from sharpbayes.results import save_results  # noqa: PLC0415

    save_results(results, target)
    if as_json or not quiet:
        _print_results(results, as_json=as_json, path=target)
    if not quiet:
        _say(f"{results.attrs['status']}; results written to {target}")


def _judge(results: "xr.DataTree") -> None:
    """Exit with the status of a fit that was cut short or has not converged."""
    if results.attrs["status"] == "interrupted":
        kept = results["posterior"].sizes
        _say(f"sampling was interrupted: {kept['chain']} chains of {kept['draw']} draws are kept")
        raise typer.Exit(INTERRUPTED)
    if results.attrs["status"] == "not converged":
        _say(f"not converged: {results['diagnostics'].attrs['why_not']}")
        raise typer.Exit(NOT_CONVERGED)


def _keep_measured(measured: "xr.DataTree", target: Path) -> None:
    """Write the measured half of a fit that was interrupted."""
    from sharpbayes.results import save_results  # noqa: PLC0415

    measured.attrs["status"] = "interrupted"
    save_results(measured, target)
    _say(f"sampling was interrupted; the measured half is in {target}")


def _print_results(results: "xr.DataTree", *, as_json: bool, path: Path | None = None) -> None:
    """Print results as tables, or as one JSON document."""
    if as_json:
        from sharpbayes.report.document import document  # noqa: PLC0415

        typer.echo(json.dumps(document(results, path=path), allow_nan=False))
    else:
        from sharpbayes.report.tables import tables  # noqa: PLC0415

        _show(tables(results))


def _write_report(results: "xr.DataTree", tables: Path | None, figures: Path | None) -> None:
    """Write tables and figures, each into its folder, and say so."""
    if tables is not None:
        from sharpbayes.report.write import every_table, write_tables  # noqa: PLC0415

        _say(f"{len(write_tables(every_table(results), tables))} files of tables in {tables}")
    if figures is not None:
        from sharpbayes.report.figures import write_figures  # noqa: PLC0415

        _say(f"{len(write_figures(results, figures))} files of figures in {figures}")


def _show(tables: "Sequence[Table]") -> None:
    """Print tables, as wide as the terminal or 80 columns where there is none."""
    from rich.box import SIMPLE  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415

    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    for table in tables:
        grid = RichTable(
            title=escape(table.title), title_justify="left", caption_justify="left", box=SIMPLE
        )
        for position, name in enumerate(table.header):
            grid.add_column(
                escape(name), justify="left" if position == 0 else "right", overflow="fold"
            )
        for row in table.rows:
            grid.add_row(*(escape(text) for text in row))
        grid.caption = escape(table.note)
        console.print(grid)


def _say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(text, err=True)


def _step(*, quiet: bool) -> Callable[[str], None]:
    """Return what announces the steps of a run."""
    return (lambda _: None) if quiet else (lambda text: _say(f"{text} ..."))


@contextmanager
def _chains(*, quiet: bool) -> Iterator[Callable[[Sequence[Any]], None] | None]:
    """Show the progress of chains: a live line on a terminal, plain lines elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _live_line() as update:
            yield update
    else:
        yield _plain_lines()


@contextmanager
def _live_line() -> Iterator[Callable[[Sequence[Any]], None]]:
    """Redraw one line as sampling goes on."""
    from rich.console import Console  # noqa: PLC0415
    from rich.status import Status  # noqa: PLC0415

    from sharpbayes.report.progress import summarise  # noqa: PLC0415

    start = time.monotonic()
    with Status("sampling: compiling the model", console=Console(stderr=True)) as status:
        yield lambda chains: status.update(
            summarise(chains, elapsed=time.monotonic() - start).line()
        )


def _plain_lines() -> Callable[[Sequence[Any]], None]:
    """Return a callback that prints a line now and then."""
    from sharpbayes.report.progress import summarise  # noqa: PLC0415

    start = time.monotonic()
    last = start - PLAIN_EVERY_SECONDS + PLAIN_FIRST_SECONDS

    def update(chains: Sequence[Any]) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_EVERY_SECONDS:
            last = now
            _say(summarise(chains, elapsed=now - start).line())

    return update


def _shipped() -> str:
    """List the shipped files by kind."""
    from sharpbayes.library import KINDS, names  # noqa: PLC0415

    return "\n".join(f"{kind}: {', '.join(names(kind))}" for kind in KINDS)


def _text_of(name: str) -> str:
    """Return the text of a shipped file."""
    from sharpbayes.library import KINDS, find, names  # noqa: PLC0415

    for kind in KINDS:
        if name in names(kind):
            return find(kind, name).read_text(encoding="utf-8")
    known = [known for kind in KINDS for known in names(kind)]
    message = f"no shipped file {name!r}, there are {', '.join(known)}"
    raise SpecError([Fault("show", 0, "", message + did_you_mean(name, known))])


def _schema(kind: str) -> str:
    """Return the JSON Schema of one kind of file."""
    from sharpbayes.spec.schema import KINDS, json_schema  # noqa: PLC0415

    if kind not in KINDS:
        message = f"no schema {kind!r}, there are {', '.join(KINDS)}{did_you_mean(kind, KINDS)}"
        raise SpecError([Fault("show --schema", 0, "", message)])
    return json.dumps(json_schema(kind), indent=2)
