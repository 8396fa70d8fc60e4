"""Calibration of the shipped models at small designs; writes ``calibration.csv`` beside this file.

``python -m tests.references.calibration`` runs all again (some minutes a model), ``--only`` names
models and leaves the rows of others as they are. The table is written anew after every 25
simulations, and with ``--keep FOLDER`` a run that was cut goes on where it was. For one model it is
what ``sharpbayes calibrate tests/references/small_panel.toml --set panel.model=judge_panel``
prints.
"""

import argparse
import csv
import json
import time
from pathlib import Path

from sharpbayes.bayes.calibrate import described, places_of
from sharpbayes.report.calibration import write_calibration_figure
from sharpbayes.run import _tree, metrics_of, read
from sharpbayes.spec.load import load_study

HEADER = (
    "model",
    "simulations",
    "fits_converged",
    "quantity",
    "coverage_50",
    "coverage_90",
    "coverage_95",
    "outside_band",
    "p_holm",
)
KINDS = {
    "judge_panel": "panel",
    "crowd_and_experts": "crowd",
    "crowd_severity": "crowd",
    "rater_thresholds": "crowd",
    "crowd_thresholds": "crowd",
    "judge_severity": "panel",
}
HERE = Path(__file__).parent
WRITTEN_EVERY = 25


def study_of(name):
    """The small study of a shipped model."""
    kind = KINDS[name]
    return load_study(HERE / f"small_{kind}.toml", overrides=[f"{kind}.model={name}"])


def calibrated(name, simulations, keep):
    """Yield what is known of a model's calibration, now and then; each line kept is a fit."""
    files = study_of(name)
    loaded, study = read(files), files.study.spec
    kept = keep / f"{name}-{simulations}.jsonl" if keep else None
    done = kept.read_text(encoding="utf-8").splitlines() if kept and kept.exists() else []
    held = [json.loads(line) for line in done]
    for places in places_of(
        loaded.ratings,
        files.model.spec,
        study.sampler,
        simulations=simulations,
        seed=study.seed,
        step=print,
        metrics=metrics_of(files, loaded),
        first=len(held),
    ):
        held.append(places)
        if kept:
            with kept.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(places)}\n")
        if len(held) % WRITTEN_EVERY == 0:
            yield described(held, seed=study.seed)


def rows_of(name, found):
    for quantity in found["quantity"].to_numpy():
        one = found.sel(quantity=quantity)
        yield (
            name,
            found.sizes["simulation"],
            int(found["fit_converged"].sum()),
            quantity,
            *(f"{float(one['coverage'].sel(level=level)):.3f}" for level in (0.5, 0.9, 0.95)),
            int(one["outside"]),
            f"{float(one['p_holm']):.4f}",
        )


def replace_rows(path, name, rows):
    """Put rows of a model in place of those of a table."""
    kept = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            kept = [tuple(row) for row in csv.reader(file)][1:]
    with path.open("w", newline="", encoding="utf-8") as file:
        others = [row for row in kept if row[0] != name]
        csv.writer(file, lineterminator="\n").writerows([HEADER, *others, *rows])


def draw(name, found, folder):
    """Draw the places of a model."""
    attrs = {"title": name, "status": f"{found.sizes['simulation']} simulations"}
    write_calibration_figure(_tree({"calibration": found}, attrs), folder / name)


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--simulations", type=int, default=300)
    asked.add_argument("--only", nargs="*", default=list(KINDS))
    asked.add_argument("--out", type=Path, default=HERE / "calibration.csv")
    asked.add_argument("--keep", type=Path, help="Folder for what each fit gave.")
    asked.add_argument("--figures", type=Path, help="Folder for a figure of each model.")
    chosen = asked.parse_args()
    for name in chosen.only:
        start = time.monotonic()
        for found in calibrated(name, chosen.simulations, chosen.keep):
            replace_rows(chosen.out, name, rows_of(name, found))
            print(
                f"{name}: {found.sizes['simulation']}, {time.monotonic() - start:.0f} s", flush=True
            )
            if chosen.figures:
                draw(name, found, chosen.figures)


if __name__ == "__main__":
    main()
