"""Coverage of ``judges_and_people`` where judges share an error; writes ``shared_errors.csv``.

Run it again with ``python -m tests.references.shared_errors`` (ten seconds of processor time a
study; ``--studies`` is their number, ``--first`` the first). Finished studies are stored in
``--raw`` and are not made again. The truth is drawn by :func:`draw_truth` and :func:`rate` below
and measured by :func:`tests.references.worlds.panel.profile`, by NumPy alone.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.design.judge_errors import error_column
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.posterior.judge_bias import human_draws, judge_bias
from sharpbayes.posterior.judge_errors import judge_errors
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.load import load_study
from tests.peopled import STUDY
from tests.references.provenance import record_run
from tests.references.worlds.panel import CUTS, DIMENSION_OF, INDICATORS, profile

SEED, LEVEL = 20261122, 0.9
MODELS, PROMPTS, JUDGES, PEOPLE, A_CELL = 4, 30, 3, 5, 2
WORLDS = {"errors of sd 1.2 shared": 1.2, "no shared error": 0.0}
HERE = Path(__file__).parent
RAW = ("world", "number", "terms", "quantity", "truth", "lower", "upper", "converged", "rhat")
HEADER = ("world", "terms", "quantity", "studies", "truths", "covered", "coverage_90")
HEADER += ("standard_error", "mean_width", "not_converged", "rhat_above_1.05")


def draw_truth(rng, shared_sd):
    """What people see (model, prompt, dimension), what judges and people add, what judges see."""
    severity = rng.normal(0, 0.7, (MODELS, 1, 2)) + rng.normal(0, 0.8, (1, PROMPTS, 2))
    severity = severity + rng.normal(0, 0.5, (MODELS, PROMPTS, 2))
    judge = rng.normal(0, 0.7, (JUDGES, 2))
    factor = np.exp(rng.normal(0, 0.4, JUDGES))
    person = rng.normal(0, 0.3, PEOPLE)
    shared = rng.normal(0, shared_sd, severity.shape)
    perceived = (severity + shared)[:, :, None] + judge
    return severity, perceived, judge, factor, person - person.mean()


def rate(rng, perceived, factor=1.0):
    """Scores 0 to 4 of what is seen of each dimension, by the indicators of the dimension."""
    by_indicator = perceived[..., DIMENSION_OF]
    return np.digitize(by_indicator + rng.logistic(size=by_indicator.shape) / factor, CUTS)


def tabulate(scores, who, letter):
    """A row for each score (model, prompt, who, indicator)."""
    letters = ("m", "p", letter)
    labels = [[f"{x}{n}" for n in range(s)] for x, s in zip(letters, scores.shape, strict=False)]
    names = ["model", "prompt", who, "indicator"]
    index = pd.MultiIndex.from_product([*labels, INDICATORS], names=names)
    return pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()


def write_study(folder, seed, shared_sd):
    """Write a study and return its truths by quantity."""
    rng = np.random.default_rng(seed)
    severity, perceived, judge, factor, person = draw_truth(rng, shared_sd)
    by_judges = rate(rng, perceived, factor[:, None])
    by_people = rate(rng, severity[:, :, None] + person[:, None])
    chosen = rng.random((MODELS, PROMPTS, PEOPLE)).argsort(axis=2) < A_CELL
    chosen &= (np.arange(PROMPTS) < PROMPTS / 2)[:, None]
    folder.mkdir(parents=True)
    tabulate(by_judges, "judge", "j").to_csv(folder / "judges.csv", index=False)
    table = tabulate(by_people, "rater", "h")
    kept = np.repeat(chosen.ravel(), len(INDICATORS))
    table[kept].to_csv(folder / "people.csv", index=False)
    text = STUDY.format(seed=seed, families="", draws=500, predictive=200)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    panel = profile(by_people[:, :, rng.permutation(PEOPLE)[:JUDGES]])
    return {
        "severity": judge.mean(axis=1),
        "differential_severity": judge[:, 0] - judge.mean(axis=1),
        "discrimination": factor,
        "human_cvar": [panel[f"cvar m{m}"] for m in range(MODELS)],
        "shared_sd": [shared_sd],
    }


def fit_study(folder, seed, *, error_terms):
    """Return bounds by quantity (n, bound), whether the fit converged, and its largest R-hat."""
    files = load_study(folder / "study.toml")
    panel, sampler = read_study(files), files.study.spec.sampler
    model, ratings = files.model.spec, panel.ratings
    if not error_terms:
        kept = tuple(term for term in model.location if error_column(term.by) is None)
        model = model.model_copy(update={"location": kept})
    design = tune_design(build_design(ratings, model), ratings, model, seed=seed)
    trace = sample_kernel(design, sampler, seed=seed)
    diagnostics = check_convergence(trace, sampler)
    posterior = trace["posterior"].to_dataset()
    bias = judge_bias(posterior, design, ratings, level=LEVEL)
    bounds = {
        "severity": bias["severity_interval"].to_numpy(),
        "differential_severity": bias["differential_severity_interval"].to_numpy()[:, 0],
        "discrimination": bias["discrimination_interval"].to_numpy(),
    }
    if error_terms:
        errors = judge_errors(posterior, design, ratings, level=LEVEL)
        bounds["shared_sd"] = errors["shared_sd_interval"].to_numpy()[None]
    kept = thin(posterior, draws=200)
    nothing = kept.drop_vars(list(kept.data_vars))
    people = human_draws(ReplicateDraws(kept, nothing, design, seed), ratings)
    metrics = PanelMetrics([build_profile_plan(panel)], rating_positions(panel))
    [human] = metrics.measure(people, ["ratings"])
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    bounds["human_cvar"] = human["cvar"].quantile(tails, ["chain", "draw"]).to_numpy().T
    return bounds, int(diagnostics["converged"]), float(diagnostics["rhat"].max())


def study_rows(folder, world, number):
    """Yield the rows of one study: every truth, with the bounds of both fits."""
    truths = write_study(folder, SEED + number, WORLDS[world])
    for error_terms in (False, True):
        bounds, *facts = fit_study(folder, SEED + number, error_terms=error_terms)
        for name, both in bounds.items():
            for truth, (low, high) in zip(truths[name], both, strict=True):
                terms = "with" if error_terms else "without"
                yield world, number, terms, name, truth, low, high, *facts


def main():
    """Make the studies that are missing, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--raw", type=Path, default=Path("shared_errors_raw.csv"))
    parser.add_argument("--out", type=Path, default=HERE / "shared_errors.csv")
    options = parser.parse_args()
    if not options.raw.exists():
        options.raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    done = set(pd.read_csv(options.raw)[["world", "number"]].itertuples(index=False, name=None))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.first, options.studies):
            for world in (name for name in options.worlds if (name, number) not in done):
                path = Path(folder) / f"{number}-{WORLDS[world]}"
                rows = list(study_rows(path, world, number))
                with options.raw.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)
                print(world, number, flush=True)
    write_table(pd.read_csv(options.raw), options.out)
    record_run(options.out)


def write_table(raw, path):
    """Write the table of what was found."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for key, rows in raw.groupby(["world", "terms", "quantity"], sort=False):
            covered = rows["truth"].between(rows["lower"], rows["upper"])
            # Truths of one study share its people: only studies are independent.
            shares = covered.groupby(rows["number"]).mean()
            fits = rows.groupby("number").first()
            numbers = (covered.mean(), shares.std() / np.sqrt(len(shares)))
            width = (rows["upper"] - rows["lower"]).mean()
            facts = (int((fits["converged"] == 0).sum()), int((fits["rhat"] > 1.05).sum()))
            counts = (len(shares), len(rows), int(covered.sum()))
            writer.writerow((*key, *counts, *(f"{x:.3f}" for x in (*numbers, width)), *facts))


def page(path):
    """Yield the rows of the page: a quantity, without and with the terms."""
    table = pd.read_csv(path)
    for (world, name), rows in table.groupby(["world", "quantity"], sort=False):
        cells = {row["terms"]: row for _, row in rows.iterrows()}
        shown = [_cell(cells[terms]) if terms in cells else "" for terms in ("without", "with")]
        yield f"| {world} | {name.replace('_', ' ')} | {shown[0]} | {shown[1]} |"


def _cell(row):
    """Coverage with its standard error, and the mean width of the intervals."""
    return f"{row['coverage_90']:.0%} ({row['standard_error']:.0%}), {row['mean_width']:.2f}"


if __name__ == "__main__":
    main()
