"""How many statements of a stated probability are right; writes ``reliability.csv``.

    python -m tests.references.reliability --fits /tmp/fits --studies 24 --larger 10

Each study draws four models, three judges and 40 or 100 prompts in one of six worlds and is fitted
with ``judge_panel``. What its decision states is compared with the truth: SHARP's CVaR of 400,000
prompts of the same world, rated once by the same judges. Generator and truth are NumPy alone.

Statements are stated twice: with prompts among the sources of uncertainty, which is the default of
a panel, and with the ratings alone. Fits are kept in ``--fits`` and are not made again. A fit that
misses the limits of the study is left out and counted. ``--page`` prints the tables of
docs/benchmarks/reliability.md, ``--figure`` draws its figure.
"""

import argparse
import json
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import sharpbayes
from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.posterior.lowest import is_disputed, likely_lowest, probability_of_lowest
from sharpbayes.report.panel_answer import PanelAnswer
from sharpbayes.report.tables.declaration import View
from tests.references.provenance import record_run

SEED = 20260122
MODELS, JUDGES, DIMENSIONS, INDICATORS = 4, 3, 2, 2
TEMPERATURE, EPSILON, ALPHA = 0.2, 1e-6, 0.95
POPULATION, BLOCK = 400_000, 50_000


@dataclass(frozen=True)
class World:
    """How severe prompts are, and how scores follow from severity.

    Attributes:
        law: Law of the effects of prompts, of mean 0 and sd 1: ``normal``, ``t`` (3 degrees of
            freedom) or ``kinds`` (one prompt in ten is 2.5 sd more severe than the others).
        prompt: Sd of prompts.
        own: Sd of prompts within models.
        model: Sd of models.
        cuts: Cutpoints of the scale.
        tolerance: Largest CVaR of an admissible model, near that of a model of average severity.
    """

    law: str = "normal"
    prompt: float = 0.9
    own: float = 0.5
    model: float = 0.35
    cuts: tuple[float, ...] = (-1.0, 0.75, 2.5, 4.5)
    tolerance: float = 3.0


WORLDS = {
    "light tail": World(prompt=0.7, tolerance=2.4),
    "heavy tail": World(law="t", tolerance=3.6),
    "two kinds": World(law="kinds", tolerance=4.2),
    "saturated": World(cuts=(-2.0, -1.0, 0.0, 1.0), tolerance=17.0),
    "discrete": World(cuts=(0.5, 3.0), tolerance=4.6),
    "correlated": World(prompt=1.1, own=0.2, model=0.25, tolerance=3.1),
}


def effects(rng, law, shape):
    """Effects of prompts, of mean 0 and sd 1."""
    if law == "normal":
        return rng.normal(size=shape)
    if law == "t":
        return rng.standard_t(3, size=shape) / np.sqrt(3)
    severe, gap = rng.random(shape) < 0.1, 2.5
    return (severe - 0.1) * gap + rng.normal(size=shape) * np.sqrt(1 - 0.09 * gap**2)


@dataclass(frozen=True)
class Panel:
    """Effects of the models, judges and indicators of a study; over (model, 1, judge, dim, ind)."""

    world: World
    severity: np.ndarray
    slope: np.ndarray

    def scores(self, rng, prompts):
        """Scores of new prompts over (model, prompt, judge, dimension, indicator), from 0."""
        world, shape = self.world, (1, prompts, 1, DIMENSIONS, 1)
        main = world.prompt * common(rng, world.law, shape)
        of_dimension = world.own * common(rng, world.law, (MODELS, *shape[1:]))
        severity = self.severity + main + of_dimension
        noise = rng.logistic(size=(MODELS, prompts, JUDGES, DIMENSIONS, INDICATORS))
        return np.digitize(self.slope * severity + noise, world.cuts).astype(np.int8)


def common(rng, law, shape):
    """Effects that dimensions share in part: correlation 0.6."""
    if law == "kinds":
        severe = effects(rng, law, (*shape[:3], 1, 1))
        return np.broadcast_to(severe, shape)
    shared = effects(rng, law, (*shape[:3], 1, 1))
    return np.sqrt(0.6) * shared + np.sqrt(0.4) * effects(rng, law, shape)


def draw_panel(rng, world):
    """Effects of a new study."""
    model = rng.normal(0, world.model, (MODELS, 1, 1, 1, 1))
    by_dimension = rng.normal(0, world.model / 2, (MODELS, 1, 1, DIMENSIONS, 1))
    judge = rng.normal(0, 0.5, (1, 1, JUDGES, DIMENSIONS, 1))
    indicator = rng.normal(0, 0.3, (1, 1, 1, DIMENSIONS, INDICATORS))
    slope = np.exp(rng.normal(0.4, 0.15, (1, 1, 1, DIMENSIONS, INDICATORS)))
    return Panel(world, model + by_dimension + judge + indicator, slope)


def log_risk(scores, top):
    """SHARP's cumulative log-risk of each prompt, (model, prompt)."""
    sub_index = np.sqrt(np.mean((scores / top) ** 2, axis=-1))
    pooled = TEMPERATURE * np.log(np.mean(np.exp(sub_index / TEMPERATURE), axis=2))
    return -np.log(1 - pooled.clip(max=1) + EPSILON).sum(-1)


def cvar(risk):
    """Mean of the values at and above the 95% quantile, over the last axis."""
    quantile = np.quantile(risk, ALPHA, axis=-1, method="inverted_cdf", keepdims=True)
    return np.nanmean(np.where(risk >= quantile, risk, np.nan), axis=-1)


def true_values(rng, panel):
    """CVaR and mean of each model over the population of prompts."""
    top = len(panel.world.cuts)
    blocks = [log_risk(panel.scores(rng, BLOCK), top) for _ in range(POPULATION // BLOCK)]
    risk = np.concatenate(blocks, axis=1)
    return {"cvar": cvar(risk), "mean": risk.mean(axis=1)}


STUDY = """schema = "sharpbayes/study/2"
title = "Reliability"
weights = "weights.toml"
seed = {seed}
[panel]
data = "scores.csv"
layout = "wide"
roles = {{ model = "model", prompt = "prompt", judge = "judge" }}
fit = "judge_panel"
[panel.scales]
severity = {{ kind = "ordinal", min = 0, max = {top} }}
[panel.indicators]
x_0 = "severity"
x_1 = "severity"
y_0 = "severity"
y_1 = "severity"
[[panel.dimensions]]
name = "x"
rms = ["x_0", "x_1"]
[[panel.dimensions]]
name = "y"
rms = ["y_0", "y_1"]
[bootstrap]
replicates = 500
[sampler]
chains = 2
predictive_draws = 400
max_rhat = 1.05
target_ess = 100
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "SHARP with a tolerance"
rationale = "Temperature, epsilon and alpha of SHARP."
[judges]
temperature = {temperature}
[risk]
epsilon = {epsilon}
[tail]
alpha = {alpha}
[policy]
x = 0.5
y = 0.5
[tolerance]
cvar = {tolerance}
"""
STORED = ("posterior", "posterior_predictive", "ratings", "diagnostics")


def write_study(folder, scores, world, seed):
    """Write a study of scores over (model, prompt, judge, dimension, indicator)."""
    folder.mkdir(parents=True, exist_ok=True)
    index = np.indices(scores.shape[:3]).reshape(3, -1)
    names = zip(("model", "prompt", "judge"), index, strict=True)
    table = pd.DataFrame({name: [f"{name}_{n:03d}" for n in codes] for name, codes in names})
    flat = scores.reshape(len(table), -1)
    table[["x_0", "x_1", "y_0", "y_1"]] = flat
    table.to_csv(folder / "scores.csv", index=False)
    constants = {"temperature": TEMPERATURE, "epsilon": EPSILON, "alpha": ALPHA}
    weights = WEIGHTS.format(**constants, tolerance=world.tolerance)
    (folder / "weights.toml").write_text(weights, encoding="utf-8")
    study = STUDY.format(seed=seed, top=len(world.cuts))
    (folder / "study.toml").write_text(study, encoding="utf-8")
    return folder / "study.toml"


def fit_study(folder, name, prompts, seed):
    """Fit a study of a world, and store the fit with its answer and the true CVaR."""
    stored = folder / f"{name.replace(' ', '_')}-{prompts}-{seed}.nc"
    if stored.exists():
        return stored
    rng = np.random.default_rng([SEED, list(WORLDS).index(name), prompts, seed])
    panel = draw_panel(rng, WORLDS[name])
    path = write_study(stored.with_suffix(""), panel.scores(rng, prompts), WORLDS[name], seed)
    results = sharpbayes.fit(sharpbayes.load_study(path))
    tree = xr.DataTree.from_dict({group: results[group].to_dataset() for group in STORED})
    tree.attrs = results.attrs
    truth = true_values(rng, panel)
    tree["truth"] = xr.DataTree(xr.Dataset({"cvar": ("model", truth["cvar"])}))
    tree.attrs["answer"] = json.dumps(list(read_answer(results, truth)))
    tree.to_netcdf(stored)
    return stored


def read_answer(results, truth):
    """What the answer says: whether it is limited or disputed, and claims with their truth."""
    answer = PanelAnswer(View(results))
    if not is_fitted(answer.view):
        return
    limited = "lowest" not in answer.carried
    yield "limited", 1.0, limited
    for metric in answer.substitutes if limited else ["cvar"]:
        disputed = is_disputed(answer.view, metric)
        yield f"disputed {metric}", 1.0, bool(disputed)
        if not disputed and metric in truth:
            first = likely_lowest(answer.view, metric)[0]
            stated = probability_of_lowest(answer.view, metric)
            number = list(results["profile"]["model"].to_numpy()).index(first)
            right = bool(truth[metric][number] == truth[metric].min())
            yield f"answer_{metric}", float(stated.max()), right


STATEMENTS = {"prob_best": "lowest", "prob_less": "lower", "prob_admissible": "admissible"}
SOURCES = (("ratings", "prompts"), ("ratings",))
ANSWERS = {"answer_mean": "the answer: lowest mean", "answer_cvar": "the answer: lowest CVaR"}
# What an answer says that is no statement on a model: how often it does.
COUNTED = ("limited", "disputed mean", "disputed policy_score", "disputed cvar")
KEY, RAW = ("prompts", "world", "study"), ("sources", "statement", "stated", "right")
BINS = np.array([0.5, 0.65, 0.75, 0.85, 0.95, 1.0])
HEADER = (
    *("prompts", "sources", "world", "statement", "bin"),
    *("n", "studies", "stated", "right", "error"),
)
ALL, DEFAULT = "all worlds", "ratings+prompts"
HERE = Path(__file__).parent
PICTURE = HERE.parents[1] / "docs" / "benchmarks" / "reliability.svg"


def statements(decision, truth, tolerance):
    """Stated probability and whether it is true, of all models and pairs of models."""
    for name, x in enumerate(decision["prob_best"].to_numpy()):
        yield "prob_best", x, truth[name] == truth.min()
    for name, x in enumerate(decision["prob_admissible"].to_numpy()):
        yield "prob_admissible", x, truth[name] <= tolerance
    for a, b in combinations(range(MODELS), 2):
        yield "prob_less", float(decision["prob_less"][a, b]), truth[a] < truth[b]


def state(path, world):
    """Rows of one stored fit: its sources, statements, their probabilities and whether true."""
    tree = xr.open_datatree(path).load()
    truth, rows = tree["truth"]["cvar"].to_numpy(), []
    if not bool(tree["diagnostics"]["converged"]):
        return [("", "", np.nan, False)]
    predictive = tree["posterior_predictive"].to_dataset().isel(draw=slice(None, None, 2))
    tree["posterior_predictive"] = xr.DataTree(predictive)
    weights = {"sharp": sharpbayes.load_weights(str(path.with_suffix("") / "weights.toml"))}
    # At this level every pair is resolved, and no table of sample sizes is computed.
    overrides = [f"uncertainty={json.dumps(SOURCES)}", "bootstrap.level=0.001"]
    tree.attrs["overrides"] = json.dumps(overrides)
    groups = sharpbayes.weigh(tree, weights)["sharp"]
    alone = shares(groups["posterior_profile_ratings"]["cvar"], world.tolerance)
    for sources, decision in zip(SOURCES, (groups["decision"], alone), strict=True):
        stated = statements(decision, truth, world.tolerance)
        rows += [("+".join(sources), name, x, bool(true)) for name, x, true in stated]
    answers = json.loads(tree.attrs["answer"])
    return rows + [("+".join(SOURCES[0]), name, x, right) for name, x, right in answers]


def shares(cvar, tolerance):
    """What a decision states, from draws of CVaR."""
    draws = cvar.transpose("model", "chain", "draw").to_numpy().reshape(MODELS, -1)
    return {
        "prob_best": xr.DataArray((draws == draws.min(0)).mean(1)),
        "prob_admissible": xr.DataArray((draws <= tolerance).mean(1)),
        "prob_less": (draws[:, None] < draws[None]).mean(-1),
    }


def tabulate(raw):
    """Fits left out, and the share of right statements by bin, of those of 0.5 or more.

    A statement of less than 0.5 is read as its opposite, except that a model is the lowest: among
    four that is no statement. Standard errors are over studies, whose statements are dependent.
    """
    for key, rows in raw.groupby(["prompts", "world"]):
        left_out = rows["statement"].isna().sum()
        yield (key[0], "", key[1], "left out", "", left_out, rows["study"].nunique(), "", "", "")
    raw = raw[raw["statement"].notna()].copy()
    counted = raw["statement"].isin(COUNTED)
    for key, rows in raw[counted].groupby(["prompts", "world", "statement"]):
        yield (key[0], "", key[1], key[2], "", rows["right"].sum(), len(rows), "", "", "")
    raw = raw[~counted]
    flipped = (raw["stated"] < 0.5) & raw["statement"].isin(["prob_less", "prob_admissible"])
    raw["right"] = raw["right"] ^ flipped
    raw["stated"] = raw["stated"].where(~flipped, 1 - raw["stated"])
    raw = raw[raw["stated"] >= 0.5]
    raw["bin"] = np.digitize(raw["stated"], BINS[1:-1])
    raw["cluster"] = raw["world"] + raw["study"].astype(str)
    raw = pd.concat([raw, raw.assign(world=ALL)])
    for key, rows in raw.groupby(list(HEADER[:5]), sort=True):
        yield (*key[:4], f"{BINS[key[4]]:.2f}-{BINS[key[4] + 1]:.2f}", *share(rows))


def share(rows):
    """Number of statements and of studies, mean stated, share right and its standard error."""
    right = rows["right"].mean()
    excess = (rows["right"] - right).groupby(rows["cluster"]).sum()
    error = np.sqrt((excess**2).sum()) / len(rows)
    # Where all are right the error is that of one wrong statement more.
    error = max(error, np.sqrt(right * (1 - right) / len(rows)), 1 / (len(rows) + 2))
    numbers = (rows["stated"].mean(), right, error)
    return len(rows), rows["cluster"].nunique(), *(f"{number:.3f}" for number in numbers)


def page(path):
    """Rows of the page: percent right by bin, with the standard error and the number."""
    table = pd.read_csv(path).dropna(subset="bin")
    shown = (table["world"] == ALL) | (table["sources"].eq(DEFAULT) & table["prompts"].eq(40))
    table, bins = table[shown], sorted(table["bin"].unique())
    for key, rows in table.groupby(["prompts", "sources", "statement", "world"], sort=True):
        by_bin = rows.set_index("bin")
        cells = [
            f"{100 * row.right:.0f} ± {100 * row.error:.0f} ({row.n:.0f})"
            if (row := by_bin.loc[name] if name in by_bin.index else None) is not None
            else ""
            for name in bins
        ]
        prompts, sources, statement, world = key
        named = sources.replace("+", ", ")
        yield f"| {prompts} | {named} | `{statement}` | {world} | {' | '.join(cells)} |"


def draw(path, picture):
    """Draw the share of right statements against what was stated, with two standard errors."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    table = pd.read_csv(path)
    table = table[table["world"] == ALL].set_index(["prompts", "sources", "statement"])
    sizes = sorted(table.index.unique("prompts"))
    figure = Figure(figsize=(9, 3.2 * len(sizes)), layout="constrained")
    grid = figure.subplots(len(sizes), len(STATEMENTS), sharex=True, sharey=True, squeeze=False)
    colours = {DEFAULT: "#1f4e79", "ratings": "#b3392f"}
    for row, prompts in zip(grid, sizes, strict=True):
        for axes, (statement, label) in zip(row, STATEMENTS.items(), strict=True):
            axes.plot([0.5, 1], [0.5, 1], color="grey", linewidth=0.6)
            for number, (sources, colour) in enumerate(colours.items()):
                part = table.loc[(prompts, sources, statement)]
                error = 2 * part["error"]
                lower, upper = error.clip(upper=part["right"]), error.clip(upper=1 - part["right"])
                style = {"fmt": "o-", "color": colour, "markersize": 3, "linewidth": 1}
                axes.errorbar(
                    part["stated"] + 0.004 * number,
                    part["right"],
                    yerr=[lower, upper],
                    label=sources.replace("+", " and "),
                    **style,
                )
            axes.set_title(f"{label}, {prompts} prompts", fontsize=9)
            axes.tick_params(labelsize=8)
            axes.set_ylim(0.2, 1.02)
    grid[0, 0].legend(fontsize=7, loc="lower right")
    figure.supxlabel("stated probability", fontsize=9)
    figure.supylabel("share that is true", fontsize=9)
    figure.savefig(picture, metadata={"Date": None})


def collect(options):
    """Make or read every fit, and write the probability and truth of every statement."""
    done = set()
    if options.raw.exists():
        done = {tuple(row) for row in pd.read_csv(options.raw)[list(KEY)].to_numpy().tolist()}
    else:
        options.raw.write_text(",".join((*KEY, *RAW)) + "\n", encoding="utf-8")
    sizes = {40: options.studies, 100: options.larger}
    for seed in range(max(sizes.values())):
        for prompts in (size for size, number in sizes.items() if seed < number):
            for name in (name for name in WORLDS if (prompts, name, seed) not in done):
                start = time.monotonic()
                rows = state(fit_study(options.fits, name, prompts, seed), WORLDS[name])
                table = pd.DataFrame(rows, columns=RAW)
                table.insert(0, "prompts", prompts)
                table.insert(1, "world", name)
                table.insert(2, "study", seed)
                table.to_csv(options.raw, mode="a", header=False, index=False)
                print(f"{name}, {prompts}, {seed}: {time.monotonic() - start:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=24, help="Of each world with 40 prompts.")
    parser.add_argument("--larger", type=int, default=10, help="Of each world with 100 prompts.")
    parser.add_argument("--fits", type=Path, default=Path("reliability"))
    parser.add_argument("--raw", type=Path, default=Path("reliability_raw.csv"))
    parser.add_argument("--out", type=Path, default=HERE / "reliability.csv")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--figure", action="store_true")
    options = parser.parse_args()
    if options.page:
        print("\n".join(page(options.out)))
    elif options.figure:
        draw(options.out, PICTURE)
    else:
        collect(options)
        rows = pd.DataFrame(tabulate(pd.read_csv(options.raw)), columns=HEADER)
        rows.to_csv(options.out, index=False)
        record_run(options.out)


if __name__ == "__main__":
    main()
