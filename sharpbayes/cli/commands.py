"""The commands: arguments in, text and exit status out."""

import atexit
import gc
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import sharpbayes
from sharpbayes import library
from sharpbayes.cli import console, outputs
from sharpbayes.cli.calibrate import calibrate
from sharpbayes.cli.gate import gate
from sharpbayes.cli.next_ratings import next_ratings
from sharpbayes.cli.options import (
    STUDY,
    Draws,
    Figures,
    Full,
    Items,
    Json,
    NoScript,
    OnCluster,
    Out,
    Page,
    Preview,
    Quiet,
    Records,
    ResultsFile,
    Resume,
    Retry,
    Seed,
    Set,
    Study,
    Tables,
    Text,
)
from sharpbayes.cli.preview import refuse_others, save_preview
from sharpbayes.cli.progress import FIT_PHASES, MEASURE_PHASES, show_progress
from sharpbayes.cli.shipped import shipped_text
from sharpbayes.cli.simulate import simulate
from sharpbayes.cli.startup import load_arviz, prepare_process
from sharpbayes.cli.streams import prepare_streams, print_as_file, print_json, print_text, say
from sharpbayes.cli.targets import (
    refuse_fit,
    refuse_folders,
    refuse_name,
    refuse_unwritable,
    results_path,
)
from sharpbayes.cli.usage import Commands
from sharpbayes.errors import SpecError, StorageError, did_you_mean
from sharpbayes.execution.progress import Phase

# Tables that say what weights decide: limits of the evidence, and choices.
DECIDING_TABLES = 2
# How often --retry samples again; every attempt is twice as long as the one before.
MAX_RETRIES = 3
# New objects until the next search for garbage; a short run gains from few searches.
GARBAGE_THRESHOLD = 50_000

# Names of commands that Python has for something else.
NAMES = {"next_ratings": "next"}

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Risk profiles of AI models from ratings, with their uncertainty.",
    epilog="Exit: 0 done, 1 internal error, 2 spec or call, 3 data, 4 not converged or calibrated, "
    "5 files, 6 not as safe, 7 not decided, 130 interrupted.",
)


def print_version(wanted: bool) -> None:  # noqa: FBT001 - typer passes it by position
    """Print the version and stop, where it was asked for."""
    if wanted:
        print_text(f"sharpbayes {sharpbayes.__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Risk profiles of AI models from ratings, with their uncertainty."""


def init(
    data: Annotated[
        list[Path],
        Argument(
            help="Ratings, and tables of raters or items: CSV, Excel, Parquet, JSON; or logs."
        ),
    ],
    out: Annotated[Path | None, Option(help="Study file; <data>.toml by default.")] = None,
    role: Annotated[list[str] | None, Option(help="role=column, in place of a guess.")] = None,
) -> None:
    """Look at a data file and write a commented study for it; several files are joined."""
    from sharpbayes.report.tables.table import Table  # noqa: PLC0415 - start-up
    from sharpbayes.scaffold.logs import name_study  # noqa: PLC0415 - start-up
    from sharpbayes.scaffold.study_file import write_study  # noqa: PLC0415 - start-up

    roles: dict[str, str] = {}
    for text in role or []:
        name, equals, column = text.partition("=")
        if not equals:
            raise SpecError.at("--role", "must be role=column", key=text)
        if name in roles:
            raise SpecError.at("--role", f"{name} is given twice; it has one column", key=text)
        roles[name] = column
    for file in data:
        refuse_name(file, f"{file}: cannot be named in a study")
    first, *others = data
    target = out or Path(name_study(first))
    refuse_unwritable(target, f"{target}: cannot write study")
    draft = write_study(first, target, roles=roles, others=others)
    for file, rows in groupby(draft.ledger, key=lambda row: row.file):
        cells = tuple((row.column, row.role, row.content) for row in rows)
        outputs.show_tables([Table(f"Columns of {file}", ("column", "role", "values"), cells)])
    for text in draft.assumptions:
        say(f"to check: {text}")
    say(f"study written to {target}; next: sharpbayes check {target}")


def check(study: Study, set_: Set = None, as_json: Json = False) -> None:
    """Validate a study and its data without computing, and print what a fit would be."""
    from sharpbayes.report.tables import check as summaries  # noqa: PLC0415 - start-up
    from sharpbayes.spec.files import describe_open_checks  # noqa: PLC0415 - start-up

    summary = sharpbayes.check(console.load_files(study, set_, None))
    if as_json:
        print_json(summaries.study_summary_document(summary))
    else:
        outputs.show_tables(summaries.study_summary_tables(summary))
        print_text(f"{study}: no error found\n")
        if summary.open_checks:
            print_text(f"{describe_open_checks(summary.open_checks)}\n")


def measure(
    study: Study,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Compute the deterministic metrics and their bootstrap intervals."""
    files = console.load_files(study, set_, seed)
    target = results_path(files.study.path, out, refuse=refuse_fit)
    with console.run_context(
        files, target, resume=resume, address=cluster, quiet=quiet, phases=MEASURE_PHASES
    ) as context:
        console.expect_phases(context, fitted=False)
        results = sharpbayes.measure(context)
        progress = context.execution.progress
        outputs.save(results, target, progress, quiet=quiet, full=full, as_json=as_json)


def fit(
    study: Annotated[Path | None, STUDY] = None,
    from_: Annotated[
        Path | None,
        Option("--from", help="Run the study of a results file once more, into another file."),
    ] = None,
    update: Annotated[
        Path | None,
        Option(help="Results of this study before ratings were added: go on from them."),
    ] = None,
    out: Out = None,
    set_: Set = None,
    seed: Seed = None,
    preview: Preview = False,
    retry: Retry = False,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Measure, fit the model, check convergence and write everything to one file."""
    files = console.load_files(study, set_, seed, results=from_)
    inputs = [path for path in (from_, update) if path is not None]
    load_arviz()
    if preview:
        refuse_others({"--retry": retry, "--update": update})
        display = {"quiet": quiet, "full": full, "as_json": as_json}
        return save_preview(files, out, inputs, resume=resume, cluster=cluster, **display)
    target = results_path(files.study.path, out, inputs)
    earlier, call = console.open_earlier(update)
    with console.run_context(
        files, target, resume=resume, address=cluster, quiet=quiet, phases=FIT_PHASES, call=call
    ) as context:
        context.require_model()
        console.expect_phases(context, fitted=True)
        if earlier is not None:  # refused, if at all, before anything is computed
            from sharpbayes.workflows.update import read_earlier_fit  # noqa: PLC0415 - start-up

            read_earlier_fit(earlier, context)
        measured = sharpbayes.measure(context)
        try:
            results = sharpbayes.fit(
                context, measured=measured, retries=retry * MAX_RETRIES, update=earlier
            )
        except KeyboardInterrupt:
            context.execution.progress(Phase.DONE)
            measured.attrs["status"] = "interrupted"
            written = outputs.interrupted_path(target)
            sharpbayes.save_results(measured, written)
            say(f"interrupted before the fit was finished; the measured half is in {written}")
            outputs.say_what_stays(written, target)
            raise
        progress = context.execution.progress
        written = outputs.save(results, target, progress, quiet=quiet, full=full, as_json=as_json)
        if results.attrs["status"] == "interrupted":
            draws = "{chain} chains of {draw} draws".format_map(results["posterior"].sizes)
            say(f"sampling was interrupted: {draws} are in {written}")
            outputs.say_what_stays(written, target)
            raise KeyboardInterrupt
    return outputs.exit_if_not_converged(results)


def compare(
    results: Annotated[list[Path], Argument(help="Two or more files written by fit.")],
    leave_out: Annotated[
        str, Option(help="What is left out: rating, item, rater, prompt, ...")
    ] = "rating",
    refits: Annotated[
        int, Option(min=0, help="Exact refits a model, of units with a bad Pareto k.")
    ] = 10,
    out: Annotated[Path | None, Option(help="Results file of the comparison.")] = None,
    tables: Tables = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare models of the same ratings by how well they predict what was left out."""
    from sharpbayes.cli.releases import name_fits  # noqa: PLC0415 - start-up
    from sharpbayes.report.document import group_document  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.compare import compare as compare_results  # noqa: PLC0415 - start-up

    paths = name_fits(results)
    refuse_folders({"tables": tables})
    target = out and results_path(out, out, results)
    with show_progress(quiet=quiet) as progress:
        comparison = compare_results(paths, by=leave_out, refits=refits, progress=progress)
    files = outputs.save_outputs(comparison, target, tables=tables)
    if as_json:
        print_json(group_document(comparison, "comparison", without="unit", files=files))
    else:
        outputs.show_answer(comparison, tables=1 if quiet else None)


def weigh(
    results: ResultsFile,
    weights: Annotated[
        list[str], Option(help="A shipped weights file or a path; several are compared.")
    ],
    out: Annotated[Path | None, Option(help="File for the groups of every weights.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Put other weights over stored results, without the data and without a new fit."""
    from sharpbayes.report.document import weighed_document  # noqa: PLC0415 - start-up
    from sharpbayes.storage.schema import explain_missing  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.weigh import named_weights  # noqa: PLC0415 - start-up

    target = out and results_path(results, out, [results])
    opened = sharpbayes.open_results(results, whole=False)
    if "prior_sensitivity" in opened:
        load_arviz()
    files = named_weights(weights)
    with explain_missing(opened):
        weighed = sharpbayes.weigh(opened, files)
    status = weighed.attrs["status"]
    if not quiet and status not in ("fitted", "measured"):
        say(f"{results}: status is {status}; do not decide by these numbers")
    if target is not None:
        sharpbayes.save_results(weighed, target)
    if as_json:
        print_json(weighed_document(weighed) | {"files": [str(target)] if target else []})
    else:
        outputs.show_answer(weighed, tables=DECIDING_TABLES if quiet else None)


def report(
    results: Annotated[
        list[Path], Argument(help="A results file; several are shown as releases, in this order.")
    ],
    out: Page = None,
    tables: Tables = None,
    figures: Figures = None,
    draws: Draws = None,
    records: Records = None,
    item: Items = None,
    text: Text = False,
    no_script: NoScript = False,
    as_json: Json = False,
) -> None:
    """Write one HTML file of results, or of several releases; or print or write what they hold."""
    from sharpbayes.cli.releases import open_releases, page_path, refuse_page  # noqa: PLC0415 - start-up
    from sharpbayes.report.document import document  # noqa: PLC0415 - start-up
    from sharpbayes.report.items import choose_items  # noqa: PLC0415 - start-up
    from sharpbayes.storage.schema import explain_missing  # noqa: PLC0415 - start-up

    options = {"--item": item, "--draws": draws, "--records": records}
    folders = {"tables": tables, "figures": figures, "draws": draws, "records": records}
    refuse_folders(folders)
    writes_page = out is not None or not (text or as_json or any(folders.values()))
    opened = open_releases(results, one_alone=[name for name, value in options.items() if value])
    page = out or page_path(results)
    if writes_page:
        refuse_page(page, results, folders.values())
    with explain_missing(opened):
        chosen = choose_items(opened, item or [])
        files = outputs.save_outputs(chosen, **folders)
        if writes_page:
            from sharpbayes.report.page import write_html  # noqa: PLC0415 - start-up

            files.append(write_html(chosen, page, script=not no_script))
            say(f"report written to {files[-1]}")
        if as_json:
            print_json(document(chosen, path=results[-1], files=files))
        elif text:
            outputs.show_report(chosen)


def show(
    name: Annotated[str | None, Argument(help="A shipped study, weights or model.")] = None,
    schema: Annotated[
        str | None, Option(help="JSON Schema of study, weights or model files.")
    ] = None,
    migrate: Annotated[
        Path | None,
        Option(
            help="Print a study, weights or model file of schema 1, or the study of results of "
            "schema 1, as schema 2."
        ),
    ] = None,
) -> None:
    """List what is shipped, print one file of it, or print a JSON Schema."""
    print_as_file()
    if migrate is not None:
        from sharpbayes.workflows.migrate import migrate_file  # noqa: PLC0415 - start-up

        print_text(migrate_file(migrate))
    elif schema is not None:
        from sharpbayes.spec.schema import KINDS, json_schema  # noqa: PLC0415 - start-up

        if schema not in KINDS:
            message = f"no schema {schema!r}, there are {', '.join(KINDS)}"
            raise SpecError.at("show --schema", message + did_you_mean(schema, KINDS))
        print_text(f"{json.dumps(json_schema(schema), indent=2)}\n")
    elif name is None:
        for kind in library.KINDS:
            print_text(f"{kind}: {', '.join(library.names(kind))}\n")
    else:
        print_text(shipped_text(name))


COMPUTING = (measure, fit, calibrate, compare, weigh, gate, next_ratings)
DECIDING = (weigh, gate, next_ratings)
for command in (init, check, measure, fit, simulate, calibrate, compare, *DECIDING, report, show):
    offered = console.offer_portable(command) if command in COMPUTING else command
    app.command(NAMES.get(command.__name__))(console.handle_errors(offered))


def main() -> None:
    """Run the command line; imported modules are neither searched for garbage nor freed."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)
    prepare_streams()
    prepare_process()
    try:
        app(prog_name="sharpbayes")
    except StorageError as error:  # of the version; a command has said its own
        say(str(error))
        sys.exit(error.exit_status)
