"""What a slope of length is worth where judges favour long answers; writes ``coverage_slopes.csv``.

    nice -n 10 python -m tests.references.coverage_slopes --studies 400

The studies are those of the world ``length_preference`` without people: judges find an answer 0.8
logits less harmful for each sd of its log length, and each model writes half an sd longer than the
one before. The truth is that of answers of equal length, the mean length of the study: differences
of the severities of models, and mean log-risk and CVaR of 20,000 prompts. Each study is fitted by
``judge_panel``, which does not know lengths, and by the same model with a slope. Counted are 90%
intervals that hold the truth, and how far the middle of the posterior is from it on average.

Finished studies are kept in ``--raw`` and are not made again. ``--page`` prints the table of
docs/benchmarks/slopes.md.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import posterior_predictive, thin
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.library import find
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.slopes import equal_draws, slopes_table
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from tests.references.provenance import record_run
from tests.references.worlds.files import write_study
from tests.references.worlds.length_preference import JUDGED, SLOPE
from tests.references.worlds.panel import (
    MODELS,
    POPULATION,
    draw_panel,
    draw_severity,
    profile,
    score,
    seen_by_judges,
)

HERE = Path(__file__).parent
SEED, LEVEL, SOURCES = 20260121, 0.9, ("ratings", "prompts")
SAMPLER = Sampler(chains=2, tune=300, draws=300, target_accept=0.85)
KEPT = 200
MODELS_OF_FITS = {
    "without a slope": find("models", "judge_panel"),
    "with a slope": HERE / "worlds" / "judge_panel_length.toml",
}
RAW = ("study", "fit", "quantity", "truth", "estimate", "lower", "upper", "rhat")
HEADER = ("quantity", "fit", "studies", "intervals", "coverage", "error", "bias", "width", "mixed")


def equal_truth(seed, centre):
    """Mean and CVaR of the population where every answer has the mean length of the study."""
    panel, rng = draw_panel(np.random.default_rng(seed)), np.random.default_rng([seed, 1])
    severity = draw_severity(rng, panel, POPULATION) + SLOPE * centre
    return profile(score(rng, seen_by_judges(panel, severity)))


def study(number):
    """Rows of one study: truth, estimate and interval of every quantity under both fits."""
    seed = SEED + number
    with tempfile.TemporaryDirectory() as folder:
        path = str(MODELS_OF_FITS["with a slope"])
        files, truth = write_study(JUDGED, Path(folder), seed=seed, fit=path)
        loaded = read_study(files)
        lengths = pd.read_csv(Path(folder) / "ratings.csv")["length"]
    truth = {name: value for name, value in truth.items() if name.startswith("difference")}
    equal = equal_truth(seed, lengths.mean())
    for fit, path in MODELS_OF_FITS.items():
        design = build_design(loaded.ratings, load(path, Model).spec)
        trace = sample_kernel(design, SAMPLER, seed=seed)
        rhat = float(check_convergence(trace, SAMPLER)["rhat"].max())
        posterior = trace["posterior"].to_dataset()
        values = dict(severities(posterior)) | dict(profiles(loaded, design, posterior, seed))
        known = truth | {f"{name}, equal": value for name, value in equal.items()}
        known |= {
            f"{name} less m0, equal": known[f"{name}, equal"] - known[f"{name[:-1]}0, equal"]
            for name in equal
            if name[-1] != "0"
        }
        if design.covariates:
            known["slope of length"] = SLOPE * design.covariates[0].scale
            common = slopes_table(posterior, design, level=LEVEL)["slope"][0].item()
            values["slope of length"] = posterior[f"slope_{common}"].to_numpy().ravel()
        for name, draws in values.items():
            low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            yield number, fit, name, known[name], np.median(draws), low, high, rhat


def severities(posterior):
    """Differences of the severities of models against the first, in each dimension."""
    location = posterior["location_model_dimension"]
    for model in location["model"].to_numpy()[1:]:
        for dimension in location["dimension"].to_numpy():
            pair = [location.sel(model=m, dimension=dimension) for m in (model, "m0")]
            yield f"difference {model} {dimension}", (pair[0] - pair[1]).to_numpy().ravel()


def profiles(loaded, design, posterior, seed):
    """Mean and CVaR of every model at equal length, and their differences from the first."""
    draws = thin(posterior, draws=KEPT)
    predictive = posterior_predictive(draws, design, seed=seed)
    replicates = ReplicateDraws(draws, predictive, design, seed)
    metrics = PanelMetrics([build_profile_plan(loaded)], rating_positions(loaded))
    [table] = metrics.measure(equal_draws(replicates) if design.covariates else replicates, SOURCES)
    for metric in ("mean", "cvar"):
        for model in range(MODELS):
            values = of_model(table, metric, f"m{model}")
            yield f"{metric} m{model}, equal", values
            if model:
                yield f"{metric} m{model} less m0, equal", values - of_model(table, metric, "m0")


def of_model(table: xr.Dataset, metric, model):
    """Draws of a metric of a model."""
    return table[metric].sel(model=model).to_numpy().ravel()


KINDS = {
    "difference": "difference of severities, logits",
    "slope": "slope of length, logits by sd",
    "mean m1 less": "difference of mean log-risk at equal length",
    "cvar m1 less": "difference of CVaR at equal length",
    "mean m": "mean log-risk of a model at equal length",
    "cvar m": "CVaR of a model at equal length",
}


def kind_of(quantity):
    """What a quantity is, whichever model it is about."""
    generic = quantity.replace("m2 less", "m1 less").replace("m3 less", "m1 less")
    return next(kind for start, kind in KINDS.items() if generic.startswith(start))


def summarise(raw):
    """Rows of the table: coverage with its Monte Carlo error over studies, and mean error."""
    table = pd.read_csv(raw)
    table["kind"] = table["quantity"].map(kind_of)
    table["held"] = (table["lower"] <= table["truth"]) & (table["truth"] <= table["upper"])
    table["away"] = table["estimate"] - table["truth"]
    table["wide"] = table["upper"] - table["lower"]
    for kind in KINDS.values():
        for fit in MODELS_OF_FITS:
            rows = table[(table["kind"] == kind) & (table["fit"] == fit)]
            if len(rows):
                by_study = rows.groupby("study")["held"].mean()
                spread = by_study.std(ddof=1) / np.sqrt(len(by_study)) if len(by_study) > 1 else 0.0
                mixed = (rows.groupby("study")["rhat"].first() < 1.05).mean()
                numbers = (100 * rows["held"].mean(), 100 * spread)
                numbers += (rows["away"].mean(), rows["wide"].median(), 100 * mixed)
                yield kind, fit, len(by_study), len(rows), *(f"{x:.3f}" for x in numbers)


def page(path):
    """Lines of the table in docs/benchmarks/slopes.md."""
    yield "| quantity | fit | studies | in the 90% interval | mean error | median width |"
    yield "| --- | --- | --- | --- | --- | --- |"
    with Path(path).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            share = f"{float(row['coverage']):.1f} ± {float(row['error']):.1f}%"
            bias, width = (f"{float(row[name]):.2f}" for name in ("bias", "width"))
            yield (
                f"| {row['quantity']} | {row['fit']} | {row['studies']} | {share} | {bias} | "
                f"{width} |"
            )


def main():
    """Make the studies that are missing, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.references.coverage_slopes")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--raw", type=Path, default=Path("coverage_slopes.raw.csv"))
    parser.add_argument("--out", type=Path, default=HERE / "coverage_slopes.csv")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        print("\n".join(page(given.out)))
        return
    if not given.raw.exists():
        given.raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    done = set(pd.read_csv(given.raw)["study"])
    for number in range(given.first, given.first + given.studies):
        if number not in done:
            start = time.perf_counter()
            rows = list(study(number))
            with given.raw.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
            print(f"study {number}: {time.perf_counter() - start:.1f} s", flush=True)
    with given.out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *summarise(given.raw)])
    record_run(given.out)


if __name__ == "__main__":
    main()
