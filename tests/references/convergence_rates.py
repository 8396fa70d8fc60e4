"""How often fits of simulated panels converge by default: shipped models, no option set.

Panels are those of ``tests.references.made_panels``: 2 to 12 models, 20 to 200 prompts, 1 to 6
judges, one or two dimensions, people who scored none, some or all answers, some with repeated
judgements; scores are plain, saturated (most at the top), sparse (a third of the cells) or yes or
no. ``seconds`` are of processors. Each fit is that of ``sharpbayes fit``: coordinates from a trial
run, chains until they have converged, smaller steps where divergences fail it. A panel that has
converged by 1,000 draws of the first attempt is one that four chains of 1,000 draws, the default
before, would fit too.

``python -m tests.references.convergence_rates --out rates.csv --panels 200`` goes on where it was
stopped; ``--first`` leaves out panels of lower numbers, ``--table`` prints the rates.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.convergence import ESS_FACTOR, LARGE_TERM
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.bayes.sampling.retries import sample_until_converged
from sharpbayes.execution.progress import silent
from sharpbayes.execution.tasks import IN_PROCESS
from sharpbayes.library import find
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from tests.references.made_panels import make_panel

BEFORE = 1000
MODELS = ("judge_severity", "judge_panel", "judge_trials", "judges_and_people")
FIELDS = (
    *("panel", "fit", "kind", "people", "models", "prompts", "judges", "dimensions", "indicators"),
    *("persons", "trials", "ratings", "seconds"),
    *("converged", "draws", "attempts", "divergences", "rhat", "ess", "steps", "worst", "issues"),
)


def fit(ratings, name, seed):
    """What a fit by default comes to."""
    start = time.process_time()
    design, trace, table = sample_by_default(ratings, name, seed)
    return {
        "ratings": design.n_ratings,
        "seconds": round(time.process_time() - start, 1),
        "converged": int(table["converged"]),
        "draws": table.attrs["draws"],
        "attempts": table.attrs["attempts"],
        "divergences": int(table["divergences"]),
        "rhat": round(float(table["rhat"].max()), 4),
        "ess": round(float(np.fmin(table["ess_bulk"], table["ess_tail"]).min())),
        "steps": round(float(trace["sample_stats"]["n_steps"].mean()), 1),
        "worst": find_slowest(table),
        "issues": table.attrs["convergence_issues"],
    }


def sample_by_default(ratings, name, seed):
    """The design of a shipped model, and trace and diagnostics of its fit with no option set."""
    model = load(find("models", name), Model).spec
    design = build_design(ratings, model)
    tuned = tune_design(design, ratings, model, seed=seed, execution=IN_PROCESS)
    trace, table = sample_until_converged(
        lambda sampler, chain_seed: sample_posterior(tuned, sampler, seed=chain_seed),
        Sampler(),
        seed=seed,
        retries=0,
        progress=silent,
    )
    return design, trace, table


def find_slowest(table):
    """The parameter with the smallest ESS relative to its limit."""
    labels = table["parameter"].to_numpy()
    names = [label.split("[")[0] for label in labels]
    large = np.array([names.count(name) > LARGE_TERM for name in names])
    ess = np.fmin(table["ess_bulk"].to_numpy(), table["ess_tail"].to_numpy())
    return str(labels[np.nanargmin(ess / np.where(large, ESS_FACTOR, 1.0))])


def read(path):
    """The rows so far."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run(path, options):
    """Fit the panels that are not in the file yet, but for those of more ratings than asked for."""
    known = {(row["panel"], row["fit"]) for row in read(path)}
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for number in range(options.first, options.panels):
            facts, ratings = make_panel(number, options.most_prompts)
            if len(ratings.score) > options.most_ratings:
                continue
            for name in chosen_models(facts):
                if (str(number), name) not in known:
                    writer.writerow({**facts, "fit": name, **fit(ratings, name, number)})
                    file.flush()


def chosen_models(facts):
    """The models that a panel is fitted with, by people and repeated judgements."""
    trials = "judge_trials" if facts["trials"] > 1 else "judge_panel"
    return ("judge_severity", trials if facts["people"] == "none" else "judges_and_people")


def print_table(rows):
    """Print the rates of convergence by model."""
    print("| model | fits | by 1,000 draws | by default | draws, median (most) | seconds a fit |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in MODELS:
        fits = [row for row in rows if row["fit"] == name]
        if not fits:
            continue
        good = [row for row in fits if row["converged"] == "1"]
        early = [x for x in good if int(x["draws"]) <= BEFORE and x["attempts"] == "1"]
        draws = [int(row["draws"]) for row in fits]
        counts = " | ".join(map(str, (len(fits), len(early), len(good))))
        seconds = np.mean([float(row["seconds"]) for row in fits])
        print(f"| `{name}` | {counts} | {np.median(draws):.0f} ({max(draws)}) | {seconds:.0f} |")


def main():
    """Fit panels, or print the table of what was fitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--most-prompts", type=int, default=200)
    parser.add_argument("--most-ratings", type=int, default=1_000_000)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        run(options.out, options)
    print_table(read(options.out))


if __name__ == "__main__":
    main()
