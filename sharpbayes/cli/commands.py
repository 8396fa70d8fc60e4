"""The commands: arguments in, text and exit status out."""

import atexit
import gc
import json
from pathlib import Path
from typing import Annotated

import typer

from sharpbayes.cli.console import (
    exit_if_interrupted,
    exit_if_not_converged,
    handle_errors,
    load_files,
    load_files_of,
    named_files,
    parse_roles,
    print_json,
    results_path,
    run_context,
    save,
    save_outputs,
    show_tables,
)
from sharpbayes.cli.progress import say, show_progress
from sharpbayes.errors import SpecError, did_you_mean

# How often --retry samples again; every attempt is twice as long as the one before.
MAX_RETRIES = 3
# New objects until the next search for garbage; a short run gains from few searches.
GARBAGE_THRESHOLD = 50_000

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
Retry = Annotated[
    bool,
    typer.Option("--retry", help="Sample again, twice as long, until converged; 3 times at most."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from what a killed run finished.")]
OnCluster = Annotated[
    str | None, typer.Option("--cluster", help="local:N processes, or a scheduler, tcp://...")
]
Debug = Annotated[bool, typer.Option(help="Show the traceback of an error.")]


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="Ratings: CSV, Parquet, JSON lines, or logs.")],
    out: Annotated[Path | None, typer.Option(help="Study file; <data>.toml by default.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="role=column, in place of a guess.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Look at a data file and write a commented study for it."""
    with handle_errors(debug=debug):
        from sharpbayes.scaffold.logs import name_study  # noqa: PLC0415 - start-up
        from sharpbayes.scaffold.study_file import write_study  # noqa: PLC0415 - start-up

        target = out or Path(name_study(data))
        for text in write_study(data, target, roles=parse_roles(role or [])):
            say(f"to check: {text}")
        say(f"study written to {target}; next: sharpbayes check {target}")


@app.command()
def check(study: Study, set_: Set = None, as_json: Json = False, debug: Debug = False) -> None:
    """Validate a study and its data without computing, and print what a fit would be."""
    with handle_errors(debug=debug):
        from sharpbayes.report.tables.check import (  # noqa: PLC0415 - start-up
            study_summary_document,
            study_summary_tables,
        )
        from sharpbayes.workflows.check import check as check_study  # noqa: PLC0415 - start-up

        summary = check_study(load_files(study, set_, None))
        if as_json:
            print_json(study_summary_document(summary))
            return
        show_tables(study_summary_tables(summary))
        typer.echo(f"{study}: no error found")


@app.command()
def measure(
    study: Study,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute the deterministic metrics and their bootstrap intervals."""
    with handle_errors(debug=debug):
        from sharpbayes.workflows.measure import measure as measure_study  # noqa: PLC0415 - start-up

        files = load_files(study, set_, seed)
        target = results_path(study, out)
        with run_context(files, target, resume=resume, address=cluster, quiet=quiet) as context:
            results = measure_study(context)
            save(results, target, quiet=quiet, as_json=as_json)


@app.command()
def fit(
    study: Annotated[
        Path | None, typer.Argument(help="A study file (TOML), or the name of a shipped one.")
    ] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Run the study of a results file once more.")
    ] = None,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    retry: Retry = False,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure, fit the model, check convergence and write everything to one file."""
    with handle_errors(debug=debug):
        from sharpbayes.storage.results import save_results  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.fit import fit as fit_study  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.measure import measure as measure_study  # noqa: PLC0415 - start-up

        files, name = load_files_of(study, from_, set_, seed)
        target, retries = results_path(name, out), MAX_RETRIES if retry else 0
        with run_context(files, target, resume=resume, address=cluster, quiet=quiet) as context:
            context.require_model()
            measured = measure_study(context)
            try:
                results = fit_study(context, measured=measured, retries=retries)
            except KeyboardInterrupt:
                measured.attrs["status"] = "interrupted"
                save_results(measured, target)
                say(f"interrupted before any draws were kept; the measured half is in {target}")
                raise
            save(results, target, quiet=quiet, as_json=as_json)
            exit_if_interrupted(results)
        exit_if_not_converged(results)


@app.command()
def simulate(
    study: Study,
    pattern: Annotated[
        str,
        typer.Option(
            help="normal, shift, conservative, all for raters of each; model: from its model file."
        ),
    ] = "normal",
    out: Annotated[Path | None, typer.Option(help="Folder; <study>.simulated by default.")] = None,
    seed: Seed = None,
    set_: Set = None,
    debug: Debug = False,
) -> None:
    """Simulate ratings with known truth, and write a study that measures them."""
    with handle_errors(debug=debug):
        from sharpbayes.simulation.scoring_patterns import save_simulation  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.simulate import simulate as simulate_study  # noqa: PLC0415 - start-up

        simulated = simulate_study(load_files(study, set_, seed), pattern=pattern)
        written = save_simulation(simulated, out or Path(f"{study.stem}.simulated"))
        count = len(simulated.tables["ratings"])
        say(f"{count} ratings with known truth; run sharpbayes measure {written}")


@app.command()
def calibrate(
    study: Study,
    simulations: Annotated[int, typer.Option(min=20, help="Number of fits.")] = 300,
    out: Annotated[
        Path | None, typer.Option(help="Results file of the ranks of true values.")
    ] = None,
    tables: Tables = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for the ECDF differences.")] = None,
    set_: Set = None,
    seed: Seed = None,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit ratings with known truth at this design, and test whether fits are calibrated."""
    with handle_errors(debug=debug):
        from sharpbayes.report.document import group_document  # noqa: PLC0415 - start-up
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.calibrate import calibrate as calibrate_study  # noqa: PLC0415 - start-up

        files = load_files(study, set_, seed)
        target = results_path(study, out or Path(f"{study.stem}.calibration.nc"))
        call = f" calibrate {simulations}"
        with run_context(
            files, target, resume=resume, address=cluster, quiet=quiet, call=call
        ) as context:
            table = calibrate_study(context, simulations=simulations)
            written = save_outputs(table, target if out else None, tables, figures)
        if as_json:
            print_json(group_document(table, "calibration", without="simulation", files=written))
        elif not quiet:
            show_tables(report_tables(table))
        exit_if_not_converged(table)


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Two or more files written by fit.")],
    leave_out: Annotated[
        str, typer.Option(help="What is left out: rating, item, rater, prompt, ...")
    ] = "rating",
    refits: Annotated[
        int, typer.Option(min=0, help="Exact refits a model, of units with a bad Pareto k.")
    ] = 10,
    out: Annotated[Path | None, typer.Option(help="Results file of the comparison.")] = None,
    tables: Tables = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare models of the same ratings by how well they predict what was left out."""
    with handle_errors(debug=debug):
        from sharpbayes.report.document import group_document  # noqa: PLC0415 - start-up
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.compare import compare as compare_results  # noqa: PLC0415 - start-up

        named = named_files(results)
        target = None if out is None else results_path(out, out)
        with show_progress(quiet=quiet) as progress:
            table = compare_results(named, by=leave_out, refits=refits, progress=progress)
        files = save_outputs(table, target, tables)
        if as_json:
            print_json(group_document(table, "comparison", without="unit", files=files))
        elif not quiet:
            show_tables(report_tables(table))


@app.command()
def weigh(
    results: ResultsFile,
    weights: Annotated[
        list[str], typer.Option(help="A shipped weights file or a path; several are compared.")
    ],
    out: Annotated[Path | None, typer.Option(help="File for the groups of every weights.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Put other weights over a stored fit, without the data and without a new fit."""
    with handle_errors(debug=debug):
        from sharpbayes.report.document import weighed_document  # noqa: PLC0415 - start-up
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
        from sharpbayes.storage.results import open_results, save_results  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.weigh import named_weights  # noqa: PLC0415 - start-up
        from sharpbayes.workflows.weigh import weigh as weigh_results  # noqa: PLC0415 - start-up

        target = None if out is None else results_path(results, out)
        weighed = weigh_results(open_results(results, whole=False), named_weights(weights))
        if not quiet and weighed.attrs["status"] != "fitted":
            say(f"{results}: status is {weighed.attrs['status']}; do not decide by these numbers")
        if target is not None:
            save_results(weighed, target)
        if as_json:
            print_json(weighed_document(weighed) | {"files": [str(target)] if target else []})
        elif not quiet:
            show_tables(report_tables(weighed))


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
    """Write one HTML file alongside the results, or print or write their tables and figures."""
    with handle_errors(debug=debug):
        from sharpbayes.report.document import document  # noqa: PLC0415 - start-up
        from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
        from sharpbayes.storage.results import open_results  # noqa: PLC0415 - start-up

        opened = open_results(results)
        files = save_outputs(opened, None, tables, figures)
        if out is not None or not (text or as_json or tables or figures):
            from sharpbayes.report.page import write_html  # noqa: PLC0415 - start-up

            files.append(write_html(opened, out or results.with_suffix(".html")))
            say(f"report written to {files[-1]}")
        if as_json:
            print_json(document(opened, path=results, files=files))
        elif text:
            show_tables(report_tables(opened))


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="A shipped study, weights or model.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="JSON Schema of study, weights or model files.")
    ] = None,
    debug: Debug = False,
) -> None:
    """List what is shipped, print one file of it, or print a JSON Schema."""
    with handle_errors(debug=debug):
        if schema is not None:
            typer.echo(_schema(schema))
        elif name is None:
            from sharpbayes.library import KINDS, names  # noqa: PLC0415 - start-up

            typer.echo("\n".join(f"{kind}: {', '.join(names(kind))}" for kind in KINDS))
        else:
            typer.echo(_shipped_text(name), nl=False)


def main() -> None:
    """Run the command line.

    Imported modules stay to the end: they are neither searched for garbage on the way nor freed at
    the end of the process.
    """
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)
    app(prog_name="sharpbayes")


def _shipped_text(name: str) -> str:
    """Return the text of a shipped file; with its priors, defaults included, if it is a model."""
    from sharpbayes.library import KINDS, find, names  # noqa: PLC0415 - start-up

    for kind in KINDS:
        if name in names(kind):
            path = find(kind, name)
            return path.read_text(encoding="utf-8") + (_priors(path) if kind == "models" else "")
    known = [file for kind in KINDS for file in names(kind)]
    message = f"no shipped file {name!r}, there are {', '.join(known)}"
    raise SpecError.at("show", message + did_you_mean(name, known))


def _priors(path: Path) -> str:
    """Return the priors of a model file as a comment below its text."""
    from sharpbayes.report.tables.priors import prior_lines  # noqa: PLC0415 - start-up
    from sharpbayes.spec.load import load  # noqa: PLC0415 - start-up
    from sharpbayes.spec.model import Model  # noqa: PLC0415 - start-up

    lines = ["", "# Priors, defaults included (logit scale of severity):"]
    return "\n".join([*lines, *(f"#   {line}" for line in prior_lines(load(path, Model).spec)), ""])


def _schema(kind: str) -> str:
    """Return the JSON Schema of one kind of file."""
    from sharpbayes.spec.schema import KINDS, json_schema  # noqa: PLC0415 - start-up

    if kind not in KINDS:
        message = f"no schema {kind!r}, there are {', '.join(KINDS)}{did_you_mean(kind, KINDS)}"
        raise SpecError.at("show --schema", message)
    return json.dumps(json_schema(kind), indent=2)
