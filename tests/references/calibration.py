"""Calibration of the shipped models at small designs; writes ``calibration.csv`` beside this file.

``python -m tests.references.calibration`` runs all again (some minutes a model), ``--only`` names
models and leaves the rows of others as they are. The table is written anew after every 25
simulations, and with ``--keep FOLDER`` a run that was cut goes on where it was. For one model it is
what ``sharpbayes calibrate tests/references/small_panel.toml --set panel.fit=judge_severity``
prints.
"""

import argparse
import csv
import time
from pathlib import Path

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import calibrate, summarise_calibration
from sharpbayes.execution.tasks import Execution, NoStore
from sharpbayes.posterior.groups import study_metrics
from sharpbayes.posterior.replicates import calibrated_metrics
from sharpbayes.report.figures.catalogue import write_figures
from sharpbayes.spec.load import load_study
from sharpbayes.storage.checkpoint import Checkpoint
from sharpbayes.workflows.context import join_groups
from tests.references.provenance import record_run

HEADER = (
    "model",
    "simulations",
    "fits_converged",
    "fits_ranked",
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
    "crowd_and_labels": "crowd",
    "crowd_severity": "crowd",
    "crowd_adjacent": "crowd",
    "crowd_continuation": "crowd",
    "rater_thresholds": "crowd",
    "crowd_thresholds": "crowd",
    "judge_severity": "panel",
    "judges_and_people": "panel",
}
PEOPLE = """panel.people={data="small_people.csv", roles={rater="person", model="model", \
prompt="prompt", indicator="indicator", score="score"}}"""
# Half of the parameters of judge_panel are told by few ratings: shorter steps for no divergence.
CHANGED = {
    "judge_panel": ["sampler.target_accept=0.99"],
    "crowd_and_labels": ['crowd.labels={from="item", column="gold_unsafe"}'],
    "judges_and_people": [
        PEOPLE,
        'panel.families={one={models=["alpha"], judges=["one"]}}',
    ],
}
HERE = Path(__file__).parent
WRITTEN_EVERY = 25


def study_of(name):
    """The small study of a shipped model."""
    kind = KINDS[name]
    changed = [f"{kind}.fit={name}", *CHANGED.get(name, [])]
    return load_study(HERE / f"small_{kind}.toml", overrides=changed)


class Kept:
    """What each fit gave: in memory, in a folder if one is given, and told now and then."""

    def __init__(self, folder, tell):
        self.made, self.tell = {}, tell
        self.folder = Checkpoint(folder) if folder else NoStore()

    def get(self, name):
        found = self.folder.get(name)
        return self.made.setdefault(name, found) if found else None

    def put(self, name, part):
        self.made[name] = part
        self.folder.put(name, part)
        if len(self.made) % WRITTEN_EVERY == 0:
            self.tell(list(self.made.values()))


def calibrated(name, simulations, keep, tell):
    """Calibrate a model; ``tell`` is called with what is known of it now and then."""
    files = study_of(name)
    loaded, study = read_study(files), files.study.spec
    folder = keep / f"{name}-{simulations}" if keep else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    design = build_design(loaded.ratings, files.model.spec)
    return calibrate(
        design,
        loaded.ratings,
        files.model.spec,
        study.sampler,
        simulations=simulations,
        seed=study.seed,
        metrics=calibrated_metrics(study_metrics(loaded), design),
        execution=Execution(
            store=Kept(folder, lambda made: tell(summarise_calibration(made, seed=study.seed))),
            progress=lambda message, _chains=(): print(message),
        ),
    )


def rows_of(name, found):
    for quantity in found["quantity"].to_numpy():
        one = found.sel(quantity=quantity)
        yield (
            name,
            found.sizes["simulation"],
            int(found["fit_converged"].sum()),
            int(found["fit_ranked"].sum()),
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
    write_figures(join_groups({"calibration": found}, attrs), folder / name)


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

        def tell(found, name=name, start=start):
            replace_rows(chosen.out, name, rows_of(name, found))
            print(f"{name}: {found.sizes['simulation']}, {time.monotonic() - start:.0f} s")

        found = calibrated(name, chosen.simulations, chosen.keep, tell)
        tell(found)
        record_run(chosen.out)
        if chosen.figures:
            draw(name, found, chosen.figures)


if __name__ == "__main__":
    main()
