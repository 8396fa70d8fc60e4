"""How often 90% intervals of posterior metrics cover the truth; writes ``coverage_posterior.csv``.

    taskset -c 3 python -m tests.references.coverage_posterior --studies 400

Each study draws its own models, prompts and judges, or items and raters, from populations that stay
the same. It simulates ratings, fits the model that they come from, and measures
replicated ratings.
The interval of each source of uncertainty is compared with the truth that it is about:

- ``ratings``: the metric of ratings replicated for the same cells (``replicated``), and the mean of
  that metric over many replicates (``expected``).
- ``prompts``, ``items``: the metric of a population of 20,000 prompts or items, rated by the same
  judges or raters (``population``).
- ``judges``, ``raters``: the metric of ratings of the same prompts or items by as many new judges
  or raters (``replicated``).

Panels have 40 or 200 prompts with normal effects, as the model says, or prompts ``of two kinds``:
one prompt in ten is far more severe, and the fit does not know it. Judges have an sd of 0.5, or of
1 where they are ``far apart``. Crowds have labels of items or of experts, outside and inside of the
model. Finished studies are stored in ``--raw`` and are not made again. Several processes can take
an ``--only``, or a range from ``--first``, and a ``--raw`` of their own each; the files joined
under one header give the table with ``--studies 0``. ``--page`` prints the table of
docs/benchmarks/coverage.md.
"""

import argparse
import csv
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.crowd_counts import count_crowd, measure_responsiveness
from sharpbayes.analysis.profile_plan import build_profile_plan, tabulate_replicates
from sharpbayes.analysis.study import CrowdStudy, read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import posterior_predictive, thin
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.crowd import CrowdData, melt_crowd
from sharpbayes.data.ratings import Factor, PanelRatings
from sharpbayes.library import find
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler, Study
from tests.panels import files_of, frame, reweighted
from tests.references.provenance import record_run

SEED = 20260121
LEVEL = 0.9
SAMPLER = Sampler(chains=2, tune=300, draws=300, target_accept=0.85)
KEPT = 200
CUTS = np.array([-1.5, -0.5, 0.5, 1.5])
MODELS, JUDGES, ITEMS, RATERS, REPLICATES = 3, 6, 50, 12, 40
SIZES, POPULATION = (40, 200), 20_000
# Of two kinds of prompts: the share of severe ones and how much more severe they are.
SEVERE, GAP = 0.1, 2.8
SD = {"model": 0.7, "prompt": 1.0, "model:prompt": 0.5, "judge": 0.5, "indicator": 0.3}
ALPHAS = (0.8, 0.95)


@dataclass(frozen=True)
class PanelDesign:
    """How many prompts, of one or of two kinds, how far judges are apart, and what is asked."""

    prompts: int
    stream: int = 1
    kinds: bool = False
    judge_sd: float = SD["judge"]
    sources: tuple[str, ...] = ("ratings", "prompts", "judges")


PANELS = {
    "40 prompts": PanelDesign(40),
    "200 prompts": PanelDesign(200),
    "200 prompts of two kinds": PanelDesign(200, stream=4, kinds=True),
    "200 prompts, judges far apart": PanelDesign(200, stream=5, judge_sd=1.0, sources=("judges",)),
}
HERE = Path(__file__).parent
HEADER = ("design", "metric", "source", "truth", "studies", "coverage", "error", "width", "bias")


def scores_of(rng, eta):
    """Levels 0 to 4 of ratings with these severities."""
    return np.digitize(eta + rng.logistic(size=eta.shape), CUTS).astype(np.int16)


def severities(rng, prompts, *, kinds):
    """Effects of prompts, and of prompts on models; over (model, prompt, judge, indicator)."""
    if kinds:  # of the same mean and sd
        severe = rng.random(prompts) < SEVERE
        remaining_variance = SD["prompt"] ** 2 - SEVERE * (1 - SEVERE) * GAP**2
        main = (severe - SEVERE) * GAP + rng.normal(0, np.sqrt(remaining_variance), prompts)
    else:
        main = rng.normal(0, SD["prompt"], prompts)
    of_prompt = rng.normal(0, SD["model:prompt"], (MODELS, prompts, 1, 1))
    return main[:, None, None] + of_prompt


def judges(rng, sd):
    return rng.normal(0, sd, (1, 1, JUDGES, 1))


def studied(folder, prompts):
    """Study, observed scores and plans of a panel of a size."""
    labels = [f"j{n}" for n in range(JUDGES)]
    table = frame(models=MODELS, prompts=prompts, judges=labels)
    for name in ("bias_a", "bias_b", "truth"):
        table[name] = table[name] % 5
    changed = ['panel.indicators.truth="severity"', "panel.scales.severity.max=4"]
    files = files_of(folder, table, overrides=changed)
    study = read_study(files)
    panel_data, plan = study.scores, build_profile_plan(study)
    plans = [
        reweighted(plan, tail=plan.weights.tail.model_copy(update={"alpha": alpha}))
        for alpha in ALPHAS
    ]
    return study, panel_data, plans


def fit_draws(ratings, model, seed):
    """Posterior draws and ratings replicated from them."""
    design = build_design(ratings, model)
    posterior = sample_kernel(design, SAMPLER, seed=seed)["posterior"]
    kept = thin(posterior.to_dataset(), draws=KEPT)
    return ReplicateDraws(kept, posterior_predictive(kept, design, seed=seed + 1), design, seed)


def mean_and_cvar(profiles):
    """The mean, and CVaR at cvar alpha, of profiles under cvar plan."""
    cvars = zip(ALPHAS, (profile["cvar"] for profile in profiles), strict=True)
    return {"mean": profiles[0]["mean"]} | {f"cvar {alpha}": cvar for alpha, cvar in cvars}


def measure_profiles(plans, panel_data, scores):
    """Mean and CVaR of scores over (..., model, prompt, judge, indicator)."""
    lead = [f"lead{n}" for n in range(scores.ndim - 4)]
    dims = (*lead, "model", "prompt", "judge", "indicator")
    rated = panel_data.transpose("model", "prompt", "judge", "indicator").assign(
        score=(dims, scores)
    )
    tables = tabulate_replicates(plans, rated)
    pairs = zip(plans, tables, strict=True)
    metrics = mean_and_cvar([replace(plan, table=table).profile() for plan, table in pairs])
    return {name: values.transpose(..., "model").to_numpy() for name, values in metrics.items()}


def panel_study(seed, design_name, panels):
    """Intervals and truths of the mean and CVaR of one study."""
    design = PANELS[design_name]
    prompts, kinds = design.prompts, design.kinds
    rng = np.random.default_rng([SEED, seed, design.stream, prompts])
    study, panel_data, plans = panels[prompts]
    large = panels[POPULATION]
    model = rng.normal(0, SD["model"], (MODELS, 1, 1, 1))
    indicator = rng.normal(0, SD["indicator"], (1, 1, 1, 3))
    judge, prompt = judges(rng, design.judge_sd), severities(rng, prompts, kinds=kinds)
    eta = model + prompt + indicator + judge
    shape = ("model", "prompt", "judge", "indicator")
    observed = panel_data.transpose(*shape).assign(score=(shape, scores_of(rng, eta)))
    study = replace(study, data=PanelRatings.from_dataset(observed))
    draws = fit_draws(study.ratings, load(find("models", "judge_severity"), Model).spec, seed)
    replicated = measure_profiles(
        plans, panel_data, scores_of(rng, np.broadcast_to(eta, (REPLICATES, *eta.shape)))
    )
    population = severities(rng, POPULATION, kinds=kinds)
    of_population = measure_profiles(
        *large[2:0:-1], scores_of(rng, model + population + indicator + judge)
    )
    of_new_judges = measure_profiles(
        plans, panel_data, scores_of(rng, model + prompt + indicator + judges(rng, design.judge_sd))
    )
    truths = {
        "ratings": {
            "replicated": {name: values[0] for name, values in replicated.items()},
            "expected": {name: values.mean(0) for name, values in replicated.items()},
        },
        "prompts": {"population": of_population},
        "judges": {"replicated": of_new_judges},
    }
    metrics = PanelMetrics(plans, rating_positions(study))
    for source in design.sources:
        meanings = truths[source]
        sources = ["ratings"] if source == "ratings" else ["ratings", source]
        profiles = mean_and_cvar(metrics.measure(draws, sources))
        for row in coverage_rows(profiles, source, meanings, "model"):
            yield design_name, *row


def coverage_rows(metrics, source, meanings, dim):
    """Rows of one source: whether each interval covers the truth, its width and its error."""
    bounds = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    for meaning, truth in meanings.items():
        for name, draws in metrics.items():
            # Of n draws the k-th lies above a new one in k / (n + 1) of cases: exact for few draws.
            interval = draws.quantile(bounds, ["chain", "draw"], method="weibull")
            low, high = interval.transpose("quantile", dim).values
            covered = (low <= truth[name]) & (truth[name] <= high)
            bias = draws.mean(["chain", "draw"]).to_numpy() - truth[name]
            yield name, source, meaning, covered.mean(), (high - low).mean(), bias.mean()


CROWD = Study.model_validate(
    {
        "schema": "sharpbayes/study/2",
        "title": "crowd",
        "seed": 1,
        "crowd": {
            "data": "none.csv",
            "roles": {"item": "item", "rater": "rater", "score": "score"},
            "scale": {"kind": "ordinal", "min": 0, "max": 4},
            "groups": [["gender"]],
            "labels": {"from": "item", "column": "unsafe"},
            "fit": "crowd_severity",
        },
    }
)
CROWD_SD = {"item": 1.5, "rater": 0.6}
LABELS = {"from": "experts", "data": "none.csv"}
CROWD_EXPERTS = Study.model_validate(
    CROWD.model_dump(by_alias=True, exclude_none=True)
    | {"crowd": CROWD.crowd.model_dump(by_alias=True, exclude_none=True) | {"labels": LABELS}}
)
# Labels that the model knows nothing of, or that it has: as a column, or as ratings by experts.
ITEM, RATER = {"by": ["item"]}, {"by": ["rater"]}
LABEL = {"by": ["item_label"], "prior": {"kind": "normal", "sd": 2.0}}
KNOWN = {
    "labels outside": {"location": [ITEM, RATER]},
    "labels inside": {"location": [ITEM, LABEL, RATER]},
    "experts outside": {"location": [ITEM, RATER]},
    "experts inside": {"location": [ITEM, RATER], "experts": True},
}
MODELS_OF = {
    name: Model.model_validate({"schema": "sharpbayes/model/2", "title": "crowd"} | known)
    for name, known in KNOWN.items()
}


def crowd_data(rng, severity, rater, label):
    """A full crossing of items and raters of two genders, with labels of items or of experts."""
    labelled, who_labels = np.indices(label.shape).reshape(2, -1) if label.ndim > 1 else ([], [])
    items, raters = len(severity), len(rater)
    item, who = np.repeat(np.arange(items), raters), np.tile(np.arange(raters), items)
    return CrowdData(
        score=scores_of(rng, severity[item] + rater[who]),
        item=Factor(tuple(f"i{n}" for n in range(items)), item.astype(np.int32)),
        rater=Factor(tuple(f"r{n}" for n in range(raters)), who.astype(np.int32)),
        score_labels=tuple("01234"),
        item_columns={},
        rater_columns={"gender": np.array(["Man", "Woman"])[np.arange(raters) % 2]},
        expert_item=np.asarray(labelled, np.int32),
        expert=Factor(("e0", "e1", "e2"), np.asarray(who_labels, np.int32)),
        expert_label=(label.ravel() if label.ndim > 1 else np.empty(0)).astype(np.int16),
        item_label=(np.empty(0) if label.ndim > 1 else label).astype(np.int16),
        time=None,
        counts={},
    )


def measure_crowd(study, data, level=None):
    """MPA and WRA of every group, of the ratings or of others over (replicate, rating)."""
    counts = count_crowd(study.crowd, data, level)
    metrics = measure_responsiveness(study.crowd, counts).sel(by="all").transpose(..., "group")
    return {name: metrics[name].to_numpy() for name in ("mpa", "wra")}


def drawn_items(rng, number, experts):
    """Severities and labels of items: one of each item, or one of each of three experts."""
    severity = rng.normal(0, CROWD_SD["item"], number)
    if experts:
        return severity, severity[:, None] + rng.logistic(size=(number, 3)) > 0
    return severity, rng.random(number) < 1 / (1 + np.exp(-2 * severity))


def crowd_study(seed, *, experts):
    """Intervals and truths of MPA and WRA of one crowd, with labels outside and inside."""
    study = CROWD_EXPERTS if experts else CROWD
    rng = np.random.default_rng([SEED, seed, 3 if experts else 2])
    severity, label = drawn_items(rng, ITEMS, experts)
    rater = rng.normal(0, CROWD_SD["rater"], RATERS)
    data = crowd_data(rng, severity, rater, label)
    replicates = [crowd_data(rng, severity, rater, label).score for _ in range(REPLICATES)]
    replicated = measure_crowd(
        study, data, xr.DataArray(np.stack(replicates), dims=("replicate", "rating"))
    )
    population = drawn_items(rng, POPULATION, experts)
    new = rng.normal(0, CROWD_SD["rater"], RATERS)
    truths = {
        "ratings": {
            "replicated": {name: values[0] for name, values in replicated.items()},
            "expected": {name: values.mean(0) for name, values in replicated.items()},
        },
        "items": {
            "population": measure_crowd(study, crowd_data(rng, population[0], rater, population[1]))
        },
        "raters": {"replicated": measure_crowd(study, crowd_data(rng, severity, new, label))},
    }
    for where in ("outside", "inside"):
        design_name = f"{'experts' if experts else 'labels'} {where}"
        model = MODELS_OF[design_name]
        ratings = melt_crowd(data, study.crowd, experts=model.experts)
        draws = fit_draws(ratings, model, seed)
        for source, meanings in truths.items():
            sources = ["ratings"] if source == "ratings" else ["ratings", source]
            crowd = CrowdMetrics(CrowdStudy(study, study.crowd, data))
            posterior = crowd.measure(draws, sources)[0].sel(by="all")
            metrics = {name: posterior[name] for name in ("mpa", "wra")}
            for row in coverage_rows(metrics, source, meanings, "group"):
                yield design_name, *row


def summary(raw):
    """Coverage with its Monte Carlo error, mean width and mean error of the centre, by row."""
    table = pd.read_csv(raw)
    for key, rows in table.groupby(list(HEADER[:4]), sort=True):
        error = rows["inside"].std() / np.sqrt(len(rows))
        numbers = (rows["inside"].mean(), error, rows["width"].mean(), rows["bias"].mean())
        yield (*key, len(rows), *(f"{number:.3f}" for number in numbers))


def page(path):
    """Rows of the page: percent, with the Monte Carlo error."""
    table = pd.read_csv(path).fillna("")
    for (design, metric), rows in table.groupby(["design", "metric"], sort=True):
        by_source = rows.set_index(["source", "truth"])
        units = ("prompts", "judges") if "prompts" in design else ("items", "raters")
        columns = [("ratings", "replicated"), ("ratings", "expected")]
        columns += [(units[0], "population"), (units[1], "replicated")]
        cells = [
            f"{100 * by_source.loc[key, 'coverage']:.1f} ± {100 * by_source.loc[key, 'error']:.1f}"
            if key in by_source.index
            else ""
            for key in columns
        ]
        name = metric.upper().replace("CVAR", "CVaR, alpha").replace("MEAN", "mean")
        studies = rows["studies"].iloc[0]
        yield f"| {name}, {design} | {studies} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    kinds = [*PANELS, "crowd", "experts"]
    parser.add_argument("--only", nargs="*", default=kinds, choices=kinds)
    parser.add_argument("--raw", type=Path, default=Path("coverage_posterior_raw.csv"))
    parser.add_argument("--out", type=Path, default=HERE / "coverage_posterior.csv")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        print("\n".join(page(options.out)))
        return
    header = ("study", *HEADER[:4], "inside", "width", "bias")
    done = set()
    if options.raw.exists():
        done = set(pd.read_csv(options.raw)["study"])
    else:
        options.raw.write_text(",".join(header) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        panels = {n: studied(Path(name) / str(n), n) for n in (*SIZES, POPULATION)}
        for seed in (n for n in range(options.first, options.studies) if n not in done):
            start = time.monotonic()
            rows = [
                (seed, *row)
                for kind in options.only
                for row in (
                    panel_study(seed, kind, panels)
                    if kind in PANELS
                    else crowd_study(seed, experts=kind == "experts")
                )
            ]
            with options.raw.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
            print(f"study {seed}: {time.monotonic() - start:.1f} s", flush=True)
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(summary(options.raw))
    record_run(options.out)


if __name__ == "__main__":
    main()
