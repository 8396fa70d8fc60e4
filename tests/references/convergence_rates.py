"""How often fits of made panels converge by default: shipped models, no option set.

Panels have 2 to 12 models, 20 to 200 prompts, 1 to 6 judges, with or without people who scored
some answers. Scores of five steps are plain, saturated (most at the top) or sparse (a third of the
cells). Each fit is that of ``sharpbayes fit``: coordinates from a trial run, chains until they have
converged, smaller steps where divergences fail it. A panel that has converged by 1,000 draws of the
first attempt is one that four chains of 1,000 draws, the default before, would fit too.

``python -m tests.references.convergence_rates --out rates.csv --panels 200`` goes on where it was
stopped; ``--table`` prints the rates.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.bayes.sampling.retries import sample_until_converged
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.progress import silent
from sharpbayes.execution.tasks import IN_PROCESS
from sharpbayes.library import find
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import column, names, with_people

SEED, BEFORE = 20260122, 1000
MODELS = ("judge_severity", "judge_panel", "judges_and_people")
# Mean of the severity before its cutpoints, and the share of cells that are scored.
KINDS = {"plain": (0.0, 1.0), "saturated": (4.0, 1.0), "sparse": (0.0, 0.35)}
CUTPOINTS, INDICATORS = (-2.0, -0.7, 0.7, 2.0), 3
FIELDS = (
    *("panel", "fit", "kind", "models", "prompts", "judges", "people", "ratings"),
    *("converged", "draws", "attempts", "divergences", "rhat", "ess", "issues"),
)


def make_panel(number, most_prompts):
    """Facts of a panel, and its ratings."""
    rng = np.random.default_rng([SEED, number])
    kind = list(KINDS)[number % len(KINDS)]
    people = bool(rng.random() < 2 / 3)
    sizes = {
        "models": int(rng.integers(2, 13)),
        "prompts": int(rng.integers(20, most_prompts + 1)),
        "judges": int(rng.integers(1, 7)),
    }
    shape = (*sizes.values(), INDICATORS)
    mean, share = KINDS[kind]
    model, prompt, judge, indicator = (index.ravel() for index in np.indices(shape))
    severity = mean + sum(
        rng.normal(0.0, sd, shape[:last] if last else shape[first])[index]
        for sd, first, last, index in (
            (0.5, 0, 0, model),
            (1.0, 1, 0, prompt),
            (0.7, 2, 0, judge),
            (0.5, 3, 0, indicator),
            (0.6, 0, 2, (model, prompt)),
        )
    )
    score = np.digitize(severity + rng.logistic(size=severity.size), CUTPOINTS)
    kept = np.flatnonzero(rng.random(score.size) < share)
    codes = {"model": model, "prompt": prompt, "judge": judge, "indicator": indicator}
    columns = {
        name: column(names(name[0], size), codes[name][kept])
        for name, size in zip(codes, shape, strict=True)
    }
    columns["dimension"] = column(["harm"], np.zeros(kept.size))
    columns["scale"] = column(["five"], np.zeros(kept.size))
    scales = {"five": tuple(str(n) for n in range(len(CUTPOINTS) + 1))}
    ratings = Ratings(score[kept].astype(np.int16), columns, scales)
    facts = {"panel": number, "kind": kind, **sizes, "people": int(people)}
    return facts, with_people(ratings, rng) if people else ratings


def fit(ratings, name, seed):
    """What a fit by default comes to."""
    model = load(find("models", name), Model).spec
    design = build_design(ratings, model)
    tuned = tune_design(design, ratings, model, seed=seed, execution=IN_PROCESS)
    _, table = sample_until_converged(
        lambda sampler, chain_seed: sample_posterior(tuned, sampler, seed=chain_seed),
        Sampler(),
        seed=seed,
        retries=0,
        progress=silent,
    )
    return {
        "ratings": design.n_ratings,
        "converged": int(table["converged"]),
        "draws": table.attrs["draws"],
        "attempts": table.attrs["attempts"],
        "divergences": int(table["divergences"]),
        "rhat": round(float(table["rhat"].max()), 4),
        "ess": round(float(np.fmin(table["ess_bulk"], table["ess_tail"]).min())),
        "issues": table.attrs["convergence_issues"],
    }


def read(path):
    """The rows so far."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def run(path, panels, most_prompts):
    """Fit the panels that are not in the file yet."""
    known = {(row["panel"], row["fit"]) for row in read(path)}
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for number in range(panels):
            facts, ratings = make_panel(number, most_prompts)
            for name in chosen_models(facts):
                if (str(number), name) not in known:
                    writer.writerow({**facts, "fit": name, **fit(ratings, name, number)})
                    file.flush()


def chosen_models(facts):
    """The models that a panel is fitted with: one that knows people only where there are some."""
    return ("judge_severity", "judges_and_people" if facts["people"] else "judge_panel")


def print_table(rows):
    """Print the rates of convergence by model."""
    print("| model | fits | converged by 1,000 draws | by default | draws, median (most) |")
    print("| --- | --- | --- | --- | --- |")
    for name in MODELS:
        fits = [row for row in rows if row["fit"] == name]
        if not fits:
            continue
        good = [row for row in fits if row["converged"] == "1"]
        early = [x for x in good if int(x["draws"]) <= BEFORE and x["attempts"] == "1"]
        draws = [int(row["draws"]) for row in fits]
        counts = " | ".join(map(str, (len(fits), len(early), len(good))))
        print(f"| `{name}` | {counts} | {np.median(draws):.0f} ({max(draws)}) |")


def main():
    """Fit panels, or print the table of what was fitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--most-prompts", type=int, default=200)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        run(options.out, options.panels, options.most_prompts)
    print_table(read(options.out))


if __name__ == "__main__":
    main()
