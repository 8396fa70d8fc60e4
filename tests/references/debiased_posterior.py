"""People alone, PPI++ and the posterior of the same small studies; writes its ``.csv``.

    OPENBLAS_NUM_THREADS=1 python -m tests.references.debiased_posterior --studies 250

Studies are drawn by :mod:`tests.references.coverage_debiased`, in small: three models, three
judges, two people on each labelled answer. Each is written to a folder, read, fitted and compared
with the truth of 400,000 prompts. All three columns, and the test of PPI++ against the posterior,
are those of ``/debiased``. Cases of the same studies share what they can: the fit does not see
the probabilities of labels, and ``people_alone.toml`` is ``judges_and_people`` without shared
errors. Chains are sampled anew with three times the draws while metrics of people's replicated
scores have not converged; a study that has not at the last length has no answer from the
posterior, and no test. Coordinates are chosen by the trial run of one more study: they change no
posterior.

Finished studies are stored in ``--raw`` and are not made again. ``--until`` is the hour (HH:MM) at
which no study begins any more. ``--studies 0`` only writes the table, ``--page`` prints it.
``--labels`` draws and measures the same studies without fits: what the posterior says, and whether
it disagrees, is taken from the table that there is.
"""

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from sharpbayes.analysis.debiased import debiased_group
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import PanelStudy, read_study
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.bayes.sampling.convergence import rhat_and_ess, stack_parameters
from sharpbayes.bayes.sampling.geometry import choose_weights, set_weights
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.posterior.debiased import join_posterior, posterior_column
from sharpbayes.posterior.judge_bias import human_draws
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import load_study
from tests.references.coverage_debiased import METRICS, WORLDS, draw_scores, truths
from tests.references.provenance import record_run

HERE = Path(__file__).parent
OUT = HERE / "debiased_posterior.csv"
SEED, NUMBER, PEOPLE, ALPHA = 20261123, 2, 6, 0.9
PROMPTS, LABELLED = 60, 30
SHARED, FOLLOWING = list(WORLDS)[2:4]
# World, whether probabilities of labels are told, and the fitted model.
CASES = {
    "biased judges": ("biased judges", False, "judges_and_people"),
    "noisy judges who share errors": (SHARED, False, "judges_and_people"),
    "the same, the fit knows no shared error": (SHARED, False, "./people_alone.toml"),
    "labels where judges see harm, told": (FOLLOWING, True, "judges_and_people"),
    "labels where judges see harm, not told": (FOLLOWING, False, "judges_and_people"),
}
LENGTHS, CHECKED, PREDICTIVE = (400, 1200, 3600), 800, 200
MAX_RHAT, MIN_ESS = 1.03, 100
SOURCES = ("ratings", "prompts")
FAMILYWISE, MAX_STUDIES = 0.05, 100_000
ESTIMATORS = ("people", "ppi", "posterior")
SHOWN = ("CVaR", "mean", "policy score", "difference of mean")
RAW = ("case", "study", "estimator", "metric", "errors", "covered", "widths", "intervals")
RAW += ("disagree", "sample_fails", "draws", "rhat")
HEADER = ("case", "estimator", "metric", "studies", "no_answer", "intervals", "coverage")
HEADER += ("coverage_error", "mean_error", "mean_error_error", "mean_width", "disagree")
HEADER += ("disagree_error", "sample_fails", "sample_fails_error")
DIMENSIONS = ("one", "two")
STUDY = """schema = "sharpbayes/study/2"
title = "People, judges and a fit"
seed = 1
weights = "./weights.toml"
uncertainty = ["ratings", "prompts"]

[panel]
data = "judges.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", indicator = "indicator", \
score = "score" }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ one = "severity", two = "severity" }}
dimensions = [{{ name = "one", rms = ["one"] }}, {{ name = "two", rms = ["two"] }}]
fit = "{fit}"

[panel.people]
data = "people.csv"
roles = {{ model = "model", prompt = "prompt", rater = "rater", indicator = "indicator", \
score = "score"{told} }}

[bootstrap]
level = 0.9

[sampler]
chains = 2
tune = 200
"""
WEIGHTS = f"""schema = "sharpbayes/weights/2"
title = "Weights of a study of coverage"
rationale = "Those of the generator."
source = "tests/references/coverage_debiased.py"

[tail]
alpha = {ALPHA}

[policy]
one = 0.7
two = 0.3
"""


def tabulate(scores: np.ndarray, who: str) -> pd.DataFrame:
    """A row for each score (model, prompt, who, dimension)."""
    sizes = zip(("m", "p", who[0]), scores.shape, strict=False)
    labels = [[f"{letter}{n}" for n in range(size)] for letter, size in sizes]
    names = ["model", "prompt", who, "indicator"]
    index = pd.MultiIndex.from_product([*labels, DIMENSIONS], names=names)
    return pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()


def write_tables(folder: Path, world: str, study: int) -> None:
    """Draw a study into a folder. Two of the people, at random, score each labelled answer."""
    rng = np.random.default_rng([SEED, list(WORLDS).index(world), study])
    judges, people, chance = draw_scores(rng, world, NUMBER, (PROMPTS, LABELLED))
    labelled = rng.random(PROMPTS) < chance
    tabulate(judges, "judge").to_csv(folder / "judges.csv", index=False)
    table = tabulate(people, "rater")
    raters = rng.random((*people.shape[:2], PEOPLE)).argsort(axis=2)[..., :NUMBER]
    table["rater"] = np.char.add("h", np.repeat(raters.ravel(), len(DIMENSIONS)).astype(str))
    answers = len(DIMENSIONS) * NUMBER
    table["chance"] = np.tile(np.repeat(chance, answers), len(people))
    kept = np.tile(np.repeat(labelled, answers), len(people))
    table[kept].to_csv(folder / "people.csv", index=False)
    (folder / "weights.toml").write_text(WEIGHTS, encoding="utf-8")


def open_study(folder: Path, fit: str, *, told: bool) -> tuple[StudyFiles, PanelStudy]:
    """Write a study of the tables in a folder, and read it."""
    fit = str(HERE / "worlds" / fit) if fit.endswith(".toml") else fit
    text = STUDY.format(fit=fit, told=', probability = "chance"' if told else "")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    files = load_study(folder / "study.toml")
    return files, read_study(files)


def choose_coordinates(world: str, fit: str) -> dict[str, float]:
    """Return the non-centring weights of a study that is not compared."""
    with tempfile.TemporaryDirectory() as name:
        write_tables(Path(name), world, MAX_STUDIES)
        files, panel = open_study(Path(name), fit, told=False)
        return choose_weights(build_design(panel.ratings, files.model.spec), seed=SEED)


def people_draws(
    posterior: xr.Dataset, number: int, design: Design, ratings: Ratings, seed: int
) -> ReplicateDraws:
    """Return some draws in which people score every cell."""
    kept = thin(posterior, draws=number)
    nothing = kept.drop_vars(list(kept.data_vars))
    return human_draws(ReplicateDraws(kept, nothing, design, seed), ratings)


def fit_column(
    folder: Path, fit: str, coordinates: dict[str, float], seed: int
) -> tuple[xr.Dataset | None, int, float]:
    """Return the column of the posterior, how many draws it took, and R-hat; None for none."""
    files, panel = open_study(folder, fit, told=False)
    plan, model, ratings = build_profile_plan(panel), files.model.spec, panel.ratings
    metrics = PanelMetrics([plan], rating_positions(panel))
    design = set_weights(build_design(ratings, model), ratings, model, coordinates)
    for length in LENGTHS:
        sampler = files.study.spec.sampler.model_copy(update={"draws": length})
        posterior = sample_kernel(design, sampler, seed=seed)["posterior"].to_dataset()
        draws = people_draws(posterior, CHECKED, design, ratings, seed)
        [profile] = metrics.measure(draws, ["ratings"])
        _, values = stack_parameters(profile[["mean", "cvar", "policy_score"]])
        rhat, bulk, tail = rhat_and_ess(values)
        if rhat.max() < MAX_RHAT and np.minimum(bulk, tail).min() > MIN_ESS:
            table = debiased_group(plan)["debiased"]
            draws = people_draws(posterior, PREDICTIVE, design, ratings, seed)
            column = posterior_column(table, metrics, draws, sources=SOURCES, number=0)
            return column, length, float(rhat.max())
    return None, 0, float(rhat.max())


def compare(table: xr.Dataset, truth: np.ndarray) -> Iterator[tuple[object, ...]]:
    """Rows of errors, covered intervals, widths and intervals: of models, and of differences."""
    right = xr.DataArray(truth, {"metric": table["metric"], "model": table["model"]})
    first, second = np.triu_indices(len(table["model"]), 1)
    pairs = {"model": xr.DataArray(first, dims="pair"), "other": xr.DataArray(second, dims="pair")}
    for kind, names, cells in (
        ("", ("estimate", "interval"), {}),
        ("difference of ", ("difference", "difference_interval"), pairs),
    ):
        true = pairwise_difference(right, "model") if kind else right
        estimate, interval = (table[name] for name in names)
        low, high = interval.transpose("bound", ...)
        known = interval.notnull().all("bound")  # noqa: PD004 - xarray
        covered = (low <= true) & (true <= high)
        parts = [part.isel(cells) for part in (estimate - true, covered, high - low, known)]
        for estimator in table["estimator"].to_numpy():
            for metric, name in zip(table["metric"].to_numpy(), METRICS, strict=True):
                cell = {"estimator": estimator, "metric": metric}
                yield estimator, kind + name, *(float(part.sel(cell).sum()) for part in parts)


def run_study(
    cases: list[str], study: int, coordinates: dict[str, float] | None, truth: np.ndarray
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a study in each of the cases, which share a world and a fit.

    Without coordinates it is not fitted.
    """
    world, _, fit = CASES[cases[0]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, world, study)
        column, draws, rhat = None, 0, 0.0
        if coordinates is not None:
            column, draws, rhat = fit_column(folder, fit, coordinates, SEED + study)
        for case in cases:
            _, panel = open_study(folder, fit, told=CASES[case][1])
            table = debiased_group(build_profile_plan(panel))["debiased"]
            disagree: int | str = ""
            if column is not None:
                familywise = panel.panel.validation.familywise
                table = join_posterior(table, column, familywise=familywise)
                disagree = int(table["disagree"].any())
            gaps = table.get("labelled_gap_p_holm")
            fails = "" if gaps is None else int((gaps < FAMILYWISE).any())
            for row in compare(table, truth):
                yield case, study, *row, disagree, fails, draws, round(rhat, 4)


def summarise(raw: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    """Rows of the table."""
    for case in CASES:
        of_case = raw[raw["case"] == case]
        studies = of_case["study"].nunique()
        for (estimator, metric), part in of_case.groupby(["estimator", "metric"], sort=False):
            count = part["intervals"].sum()
            share = part["covered"] / part["intervals"].where(part["intervals"] > 0)
            errors = part["errors"] / 3
            numbers = [
                part["covered"].sum() / count,
                # Intervals of one study are not independent: the error is that of studies.
                share.std() / share.count() ** 0.5,
                errors.mean(),
                errors.std() / len(part) ** 0.5,
                part["widths"].sum() / count,
            ]
            for name in ("disagree", "sample_fails"):
                values = part[name].dropna()
                mean = values.mean()
                error = (mean * (1 - mean) / len(values)) ** 0.5 if len(values) else np.nan
                numbers += [mean, error]
            rounded = ["" if np.isnan(x) else f"{x:.4f}" for x in numbers]
            yield case, estimator, metric, studies, studies - len(part), int(count), *rounded


def page(table: pd.DataFrame) -> Iterator[str]:
    """Lines of the page: percent, with Monte Carlo errors."""
    header = ["case", "studies", "metric", *ESTIMATORS, "no answer", "disagree", "no random sample"]
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join(['---'] * len(header))} |"
    for (case, metric), rows in table.groupby(["case", "metric"], sort=False):
        if metric not in SHOWN:
            continue
        by_estimator = rows.set_index("estimator")
        last = by_estimator.iloc[-1]
        cells = [
            percent(by_estimator.loc[name], "coverage") if name in by_estimator.index else ""
            for name in ESTIMATORS
        ]
        checks = [percent(last, name) for name in ("disagree", "sample_fails")]
        cells = [case, str(last["studies"]), metric, *cells, str(last["no_answer"]), *checks]
        yield f"| {' | '.join(cells)} |"


def percent(row: pd.Series, name: str) -> str:
    """A share in percent with its error; nothing for none."""
    if np.isnan(row[name]):
        return ""
    return f"{100 * row[name]:.0f} ± {100 * row[f'{name}_error']:.0f}"


def run_missing(raw: Path, studies: int, until: str, *, fitted: bool) -> None:
    """Run studies that are not stored yet, so that all cases grow alike, until an hour."""
    if not raw.exists():
        raw.write_text(",".join(RAW) + "\n", encoding="utf-8")
    stored = pd.read_csv(raw)
    finished = set(zip(stored["case"], stored["study"], strict=True))
    groups: dict[tuple[str, str], list[str]] = {}
    for case, (world, _, fit) in CASES.items():
        groups.setdefault((world, fit), []).append(case)
    truth = truths(NUMBER, ALPHA)
    coordinates: dict[tuple[str, str], dict[str, float] | None] = {}
    for study, (key, cases) in product(range(studies), groups.items()):
        if until and f"{datetime.now():%H:%M}" >= until:
            return
        if all((case, study) in finished for case in cases):
            continue
        if key not in coordinates:
            coordinates[key] = choose_coordinates(*key) if fitted else None
        start = time.process_time()
        rows = list(run_study(cases, study, coordinates[key], truth))
        with raw.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        print(f"{study}, {cases[0]}: {time.process_time() - start:.1f} s", flush=True)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=250)
    parser.add_argument("--until", default="")
    parser.add_argument("--raw", type=Path, default=Path("/tmp/debiased_posterior_raw.csv"))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    if options.page:
        print("\n".join(page(pd.read_csv(OUT))))
        return
    run_missing(options.raw, options.studies, options.until, fitted=not options.labels)
    table = pd.DataFrame(summarise(pd.read_csv(options.raw)), columns=list(HEADER))
    if options.labels:
        table = join_fits(table, pd.read_csv(OUT, dtype=str))
    table.to_csv(OUT, index=False)
    record_run(OUT)


def join_fits(table: pd.DataFrame, fitted: pd.DataFrame) -> pd.DataFrame:
    """Return a table of studies without fits, with what another table has from the same, fitted."""
    keys = ["case", "estimator", "metric"]
    rows, table = fitted.set_index(keys), table.set_index(keys).astype(str).replace("nan", "")
    of_labels = [name for name in HEADER[3:] if not name.startswith("disagree")]
    rows.loc[table.index, of_labels] = table[of_labels]
    sample = ["sample_fails", "sample_fails_error"]
    by_case = table.groupby("case")[sample].first()
    rows[sample] = by_case.loc[rows.index.get_level_values("case")].to_numpy()
    return rows.reset_index()


if __name__ == "__main__":
    main()
