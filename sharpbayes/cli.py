"""The command line: with :mod:`sharpbayes.terminal` the only place that prints and exits."""

import json
from pathlib import Path
from typing import Annotated

import typer

from sharpbayes.errors import Fault, SpecError, did_you_mean
from sharpbayes.terminal import (
    announcer,
    chain_progress,
    exit_if_unsure,
    finish,
    guarded,
    keep_measured,
    pairs,
    print_results,
    read_study,
    results_path,
    say,
    show_tables,
    write_page,
    write_report,
)

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
Page = Annotated[Path | None, typer.Option("--out", help="HTML file; <results>.html by default.")]
Text = Annotated[bool, typer.Option("--text", help="Print every table; write no HTML.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="key=value over the study file.")]
Seed = Annotated[int | None, typer.Option(help="Seed, in place of the study's.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Debug = Annotated[bool, typer.Option(help="Show the traceback of an error.")]


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="Ratings: CSV, Parquet or JSON lines.")],
    out: Annotated[Path | None, typer.Option(help="Study file; <data>.toml by default.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="role=column, in place of a guess.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Look at a data file and write a commented study for it."""
    with guarded(debug=debug):
        from sharpbayes.starter import write_study  # noqa: PLC0415

        target = out or Path(f"{data.stem}.toml")
        unsure = write_study(data, target, roles=pairs(role or []))
        for text in unsure:
            say(f"to check: {text}")
        say(f"study written to {target}; next: sharpbayes check {target}")


@app.command()
def check(study: Study, set_: Set = None, debug: Debug = False) -> None:
    """Validate a study and its data without computing, and print what was understood."""
    with guarded(debug=debug):
        from sharpbayes.report.understood import understood_tables  # noqa: PLC0415
        from sharpbayes.run import check as check_study  # noqa: PLC0415

        files = read_study(study, set_, None)
        show_tables(understood_tables(check_study(files)))
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
    with guarded(debug=debug):
        from sharpbayes.run import measure as measure_study  # noqa: PLC0415

        files = read_study(study, set_, seed)
        target = results_path(study, out)
        finish(
            measure_study(files, step=announcer(quiet=quiet)), target, quiet=quiet, as_json=as_json
        )


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
    with guarded(debug=debug):
        from sharpbayes.run import fit as fit_study  # noqa: PLC0415
        from sharpbayes.run import measure as measure_study  # noqa: PLC0415
        from sharpbayes.run import read  # noqa: PLC0415

        files, step = read_study(study, set_, seed), announcer(quiet=quiet)
        target = results_path(study, out)
        loaded = read(files)
        measured = measure_study(files, loaded=loaded, step=step)
        try:
            with chain_progress(quiet=quiet) as progress:
                results = fit_study(
                    files, loaded=loaded, measured=measured, step=step, progress=progress
                )
        except KeyboardInterrupt:
            keep_measured(measured, target)
            raise
        finish(results, target, quiet=quiet, as_json=as_json)
        exit_if_unsure(results)


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
    with guarded(debug=debug):
        from sharpbayes.simulate import save_simulated  # noqa: PLC0415
        from sharpbayes.simulate import simulate as simulate_study  # noqa: PLC0415

        made = simulate_study(read_study(study, set_, seed), pattern=pattern)
        written = save_simulated(made, out or Path(f"{study.stem}.simulated"))
        say(f"{len(made.ratings)} ratings with known truth; run sharpbayes measure {written}")


@app.command()
def report(
    results: ResultsFile,
    out: Page = None,
    tables: Tables = None,
    figures: Figures = None,
    text: Text = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one HTML file beside the results, or print or write their tables and figures."""
    with guarded(debug=debug):
        from sharpbayes.report.write import every_table  # noqa: PLC0415
        from sharpbayes.results import open_results  # noqa: PLC0415

        opened = open_results(results)
        write_report(opened, tables, figures)
        if out is not None or not (text or as_json or tables or figures):
            write_page(opened, out or results.with_suffix(".html"))
        if as_json:
            print_results(opened, as_json=True)
        elif text:
            show_tables(every_table(opened))


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="A shipped study, weights or model.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="JSON Schema of study, weights or model files.")
    ] = None,
    debug: Debug = False,
) -> None:
    """List what is shipped, print one file of it, or print a JSON Schema."""
    with guarded(debug=debug):
        if schema is not None:
            typer.echo(_schema(schema))
        elif name is None:
            typer.echo(_shipped())
        else:
            typer.echo(_text_of(name), nl=False)


def main() -> None:
    """Run the command line."""
    app(prog_name="sharpbayes")


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
