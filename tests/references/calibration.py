"""Calibration of the shipped models at small designs; writes ``calibration.csv``.

``python -m tests.references.calibration`` runs all again (some minutes a model), ``--only`` names
models and leaves the rows of others as they are. The table is written again after every 25
simulations. With ``--keep FOLDER`` an interrupted run goes on where it was. For one model it is
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
from sharpbayes.posterior.study_metrics import calibrated_metrics, study_metrics
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
    "crowd_careless": "crowd",
    "crowd_severity": "crowd",
    "crowd_adjacent": "crowd",
    "crowd_continuation": "crowd",
    "rater_thresholds": "crowd",
    "crowd_thresholds": "crowd",
    "judge_severity": "panel",
    "judge_trials": "panel",
    "judges_and_people": "panel",
}
PEOPLE = """panel.people={data="small_people.csv", roles={rater="person", model="model", \
prompt="prompt", indicator="indicator", score="score"}}"""
# Few ratings identify half of the parameters of judge_panel: shorter steps for no divergence.
CHANGED = {
    "judge_panel": ["sampler.target_accept=0.99"],
    "crowd_and_labels": ['crowd.labels={from="item", column="gold_unsafe"}'],
    "judge_trials": ['panel.data="small_trials.csv"', 'panel.roles.trial="trial"'],
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


class ReportingStore:
    """Stores what each fit gave, in memory and in a folder if there is one, and reports it."""

    def __init__(self, folder, report):
        self.parts, self.report = {}, report
        self.folder = Checkpoint(folder) if folder else NoStore()

    def get(self, name):
        stored = self.folder.get(name)
        return self.parts.setdefault(name, stored) if stored else None

    def put(self, name, part):
        self.parts[name] = part
        self.folder.put(name, part)
        if len(self.parts) % WRITTEN_EVERY == 0:
            self.report(list(self.parts.values()))


def calibrate_model(name, simulations, store, report):
    """Calibrate a model; ``report`` gets the table after every 25 simulations."""
    files = study_of(name)
    data, study = read_study(files), files.study.spec
    folder = store / f"{name}-{simulations}" if store else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    design = build_design(data.ratings, files.model.spec)
    return calibrate(
        design,
        data.ratings,
        files.model.spec,
        study.sampler,
        simulations=simulations,
        seed=study.seed,
        metrics=calibrated_metrics(study_metrics(data), design),
        execution=Execution(
            store=ReportingStore(
                folder, lambda parts: report(summarise_calibration(parts, seed=study.seed))
            ),
            progress=lambda message, _chains=(): print(message),
        ),
    )


def rows_of(name, table):
    for quantity in table["quantity"].to_numpy():
        row = table.sel(quantity=quantity)
        yield (
            name,
            table.sizes["simulation"],
            int(table["fit_converged"].sum()),
            int(table["fit_ranked"].sum()),
            quantity,
            *(f"{float(row['coverage'].sel(level=level)):.3f}" for level in (0.5, 0.9, 0.95)),
            int(row["outside"]),
            f"{float(row['p_holm']):.4f}",
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


def draw(name, table, folder):
    """Draw the ranks of a model."""
    attrs = {"title": name, "status": f"{table.sizes['simulation']} simulations"}
    write_figures(join_groups({"calibration": table}, attrs), folder / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    parser.add_argument("--out", type=Path, default=HERE / "calibration.csv")
    parser.add_argument("--keep", type=Path, help="Folder for what each fit gave.")
    parser.add_argument("--figures", type=Path, help="Folder for a figure of each model.")
    options = parser.parse_args()
    for name in options.only:
        start = time.monotonic()

        def report(table, name=name, start=start):
            replace_rows(options.out, name, rows_of(name, table))
            print(f"{name}: {table.sizes['simulation']}, {time.monotonic() - start:.0f} s")

        table = calibrate_model(name, options.simulations, options.keep, report)
        report(table)
        record_run(options.out)
        if options.figures:
            draw(name, table, options.figures)


if __name__ == "__main__":
    main()
