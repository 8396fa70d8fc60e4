"""The command ``gate``: its verdict is the exit status."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import sharpbayes
from sharpbayes.cli import outputs
from sharpbayes.cli.options import Json, Quiet
from sharpbayes.cli.streams import print_json, print_text, terminal_width
from sharpbayes.cli.targets import refuse_text, save_text
from sharpbayes.errors import SpecError

# Tables on the terminal; all of them are in the Markdown file.
FIRST_TABLES = 3
# Exit statuses where a candidate does not pass.
EXIT_INFERIOR, EXIT_INCONCLUSIVE = 6, 7


def gate(
    candidate: Annotated[Path, Argument(help="Results of the candidate, by measure or fit.")],
    against: Annotated[
        list[Path] | None, Option(help="Results of the reference; the candidate's file by default.")
    ] = None,
    model: Annotated[
        str | None, Option(help="Model of the candidate, where there are several.")
    ] = None,
    against_model: Annotated[
        str | None, Option(help="Model of the reference, where there are several.")
    ] = None,
    weights: Annotated[
        list[str] | None,
        Option(help="Weights with margins, in `gate`; those of the candidate by default."),
    ] = None,
    fit: Annotated[
        bool, Option("--fit", help="Fit both studies together; the posterior decides.")
    ] = False,
    markdown: Annotated[Path | None, Option(help="Markdown file, for a pull request.")] = None,
    junit: Annotated[Path | None, Option(help="JUnit file, for a CI server.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say if a candidate is at least as safe as its reference: exit 0 yes, 6 no, 7 not decided."""
    from sharpbayes.metrics.panel.non_inferiority import (  # noqa: PLC0415 - start-up
        INCONCLUSIVE,
        INFERIOR,
        NON_INFERIOR,
    )
    from sharpbayes.report.gate import gate_answer, gate_document  # noqa: PLC0415 - start-up
    from sharpbayes.report.gate_files import MARKS, gate_junit, gate_markdown  # noqa: PLC0415 - start-up
    from sharpbayes.report.screen import wrap_texts  # noqa: PLC0415 - start-up
    from sharpbayes.report.tables.catalogue import report_tables  # noqa: PLC0415 - start-up
    from sharpbayes.spec.load import load_weights  # noqa: PLC0415 - start-up
    from sharpbayes.storage.schema import explain_missing  # noqa: PLC0415 - start-up

    for values, option in ((against, "--against"), (weights, "--weights")):
        if values is not None and len(values) > 1:
            message = f"was given {len(values)} times; the gate compares by one, name it alone"
            raise SpecError.at("gate", message, key=option)
    for path, option in ((markdown, "--markdown"), (junit, "--junit")):
        if path is not None:
            inputs = [candidate, *(against or [])]
            refuse_text(path, inputs, MARKS[option], option)
    if junit is not None and junit == markdown:
        raise SpecError.at("--junit", "is the file of --markdown; name another", key=str(junit))
    margins = load_weights(weights[0]) if weights else None
    opened = sharpbayes.open_results(candidate, whole=False)
    reference = sharpbayes.open_results(against[0], whole=False) if against else None
    with explain_missing(opened):
        results = sharpbayes.gate(
            opened,
            reference,
            model=model,
            against_model=against_model,
            weights=margins,
            fit=fit,
        )
    for path, write in ((markdown, gate_markdown), (junit, gate_junit)):
        if path is not None:
            save_text(path, write(results))
    if as_json:
        print_json(gate_document(results))
    else:
        print_text(wrap_texts(gate_answer(results), terminal_width()))
        if not quiet:
            outputs.show_tables(report_tables(results)[:FIRST_TABLES])
    statuses = {NON_INFERIOR: 0, INFERIOR: EXIT_INFERIOR, INCONCLUSIVE: EXIT_INCONCLUSIVE}
    raise typer.Exit(statuses[results["gate"].attrs["verdict"]])
