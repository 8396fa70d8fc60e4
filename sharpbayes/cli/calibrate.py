"""The command ``calibrate``: known truth at a study's design."""

from pathlib import Path
from typing import Annotated

from typer import Option

from sharpbayes.cli import console, outputs
from sharpbayes.cli.options import (
    Json,
    OnCluster,
    Posterior,
    Quiet,
    Resume,
    Seed,
    Set,
    Study,
    Tables,
)
from sharpbayes.cli.streams import print_json
from sharpbayes.cli.targets import refuse_folders, results_path
from sharpbayes.errors import SpecError


def calibrate(
    study: Study,
    simulations: Annotated[
        int, Option(min=20, help="Number of fits, or of studies under several looks.")
    ] = 300,
    posterior: Posterior = False,
    peek: Annotated[
        int | None,
        Option(min=2, max=50, help="Fit nothing; decide at so many looks while prompts are added."),
    ] = None,
    out: Annotated[Path | None, Option(help="Results file of the ranks of true values.")] = None,
    tables: Tables = None,
    figures: Annotated[Path | None, Option(help="Folder for the ECDF differences.")] = None,
    set_: Set = None,
    seed: Seed = None,
    resume: Resume = False,
    cluster: OnCluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit ratings with known truth at this design, and test whether fits are calibrated."""
    from sharpbayes.report.document import group_document  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.calibrate import calibrate as calibrate_study  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.calibrate import simulate_looks  # noqa: PLC0415 - start-up

    files = console.load_files(study, set_, seed)
    refuse_folders({"tables": tables, "figures": figures})
    target = results_path(study, out or Path(f"{study.stem}.calibration.nc"))
    if peek is not None and posterior:
        raise SpecError.at("--peek", "fits nothing, so that there is no posterior; leave one out")
    looks = "" if peek is None else f" --peek {peek}"
    call = f"calibrate {simulations}{' --posterior' * posterior}{looks}"
    with console.run_context(
        files, target, resume=resume, address=cluster, quiet=quiet, call=call
    ) as context:
        if peek is not None:
            results = simulate_looks(context, looks=peek, simulations=simulations)
        else:
            results = calibrate_study(context, simulations=simulations, posterior=posterior)
        saved_to = target if out else None
        paths = outputs.save_outputs(results, saved_to, tables=tables, figures=figures)
    if as_json:
        group = "calibration" if peek is None else "peeking"
        print_json(group_document(results, group, without="simulation", files=paths))
    else:
        outputs.show_answer(results, tables=1 if quiet else None)
    outputs.exit_if_not_converged(results)
