"""The command ``next``: stop or go on, and what to rate."""

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

ENDINGS = (".csv", ".jsonl")
# The first columns of a list, in either; a file without them is never replaced. A column of the
# user may have one of the names.
MARKS = ("rank,what,", "rank,next_what,", 'rank": 1, "what": ', 'rank": 1, "next_what": ')
# Exit status where the verdict is open.
EXIT_UNDECIDED = 7


def next_ratings(
    results: Annotated[Path, Argument(help="A results file written by fit.")],
    weights: Annotated[
        str | None, Option(help="Weights that decide; those of the results by default.")
    ] = None,
    cost: Annotated[
        list[str] | None,
        Option(
            help="name=price, over `costs` of the study. Of a panel: prompt, generation, judge, "
            "trial, person. Of a crowd: rating, rater, item."
        ),
    ] = None,
    count: Annotated[int, Option(min=1, max=5000, help="Most purchases to list.")] = 100,
    out: Annotated[Path | None, Option(help="The list for a platform: .csv or .jsonl.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say if more ratings are worth their price, and which to buy: exit 0, or 7 cannot tell."""
    from sharpbayes.posterior.purchase_lists import UNDECIDED  # noqa: PLC0415 - start-up
    from sharpbayes.report.next_ratings import (  # noqa: PLC0415 - start-up
        next_answer,
        next_document,
        next_file,
        next_table,
    )
    from sharpbayes.report.screen import wrap_texts  # noqa: PLC0415 - start-up
    from sharpbayes.spec.load import load_weights  # noqa: PLC0415 - start-up
    from sharpbayes.storage.schema import explain_missing  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.next import plan_next  # noqa: PLC0415 - start-up

    if out is not None:
        if out.suffix not in ENDINGS:
            raise SpecError.at("--out", f"must end in {' or '.join(ENDINGS)}", key=str(out))
        refuse_text(out, [results], MARKS)
    weights_file = load_weights(weights) if weights is not None else None
    opened = sharpbayes.open_results(results, whole=False)
    with explain_missing(opened):
        plan = plan_next(opened, weights=weights_file, costs=_read_prices(cost or []), number=count)
    if out is not None:
        save_text(out, next_file(plan, as_csv=out.suffix == ".csv"))
    if as_json:
        print_json(next_document(plan) | {"files": [str(out)] if out else []})
    else:
        print_text(wrap_texts(next_answer(plan), terminal_width()))
        if not quiet and plan["next"].attrs["best_size"]:
            print_text("\n")
            outputs.show_tables([next_table(plan)])
    raise typer.Exit(EXIT_UNDECIDED * (plan["next"].attrs["verdict"] == UNDECIDED))


def _read_prices(texts: list[str]) -> dict[str, float]:
    """Read prices that are written as name=price."""
    from sharpbayes.data.cells import parse_number  # noqa: PLC0415 - start-up

    prices = {}
    for text in texts:
        name, sign, value = text.partition("=")
        price = parse_number(value)
        if price is None:
            problem = f"no number {value!r}" if sign else "no price"
            message = f"{problem}, must be name=price, such as judge=0.05"
            raise SpecError.at("--cost", message, key=name)
        prices[name.strip()] = price
    return prices
