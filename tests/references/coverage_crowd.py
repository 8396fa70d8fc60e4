"""How often intervals of a crowd hold the population's value; writes ``coverage_crowd.csv``.

    python -m tests.references.coverage_crowd --studies 1000

Each study draws items, and raters of two groups or more, from populations that stay the same. The
truth is from NumPy alone, without the library: the metric of 6,000 items, averaged over 200 fresh
panels of as many raters. Compared with it are the intervals that ``measure`` gives of MPA, WRA and
HM and of their difference between two groups. For groups that are all equal, the share of studies
with a pair that is called distinguishable (Holm, 5%) is counted too.

Worlds: severities are ``normal``, ``heavy`` in the tails (t with 2.5 degrees of freedom), or a
``mixture`` with a tenth of items that are seen in reverse; ``discrete``: three of five scores are
used; ``slopes``: one group tells harm apart three times as well as the other; ``correlated``: the
raters of a group share what they see in an item; ``contrary``: a quarter scores in reverse and
15% at random; ``styles``: raters use the scale differently and have biases of their own; ``clear``:
labels are without error.

``--only WORLD`` and ``--design ITEMSxRATERSxGROUPS`` make a part; rows of other parts stay.
``--page`` prints the tables of docs/benchmarks/coverage_crowd.md.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis import crowd_intervals
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.ratings import Factor
from sharpbayes.execution.threads import use_map
from sharpbayes.metrics.crowd.responsiveness import severity_table
from sharpbayes.spec.load import load_study
from tests.references.provenance import record_run

HERE = Path(__file__).parent
TABLE = HERE / "coverage_crowd.csv"
WORLDS = (
    *("normal", "heavy", "mixture", "discrete", "slopes", "correlated", "contrary", "styles"),
    "clear",
)
DESIGNS = ("100x10x2", "100x4x2", "100x6x2", "300x10x2", "100x10x6", "100x4x6", "100x20x3")
METRICS = ("mpa", "wra", "hm")
HEADER = (
    *("world", "items", "raters", "groups", "studies", "metric", "truth", "bias", "coverage"),
    *("above", "below", "width", "difference_coverage", "difference_width", "family_error"),
)
CUTS = np.array([-0.5, 0.2, 0.8, 1.5])
PANELS, POPULATION, REPLICATES, SEED = 200, 6000, 400, 20260121
N_SCORES = 5


def draw_items(rng, world, number):
    """Severity, safety label, whether seen in reverse, and what each group sees in an item."""
    heavy = world == "heavy"
    severity = 0.7 * rng.standard_t(2.5, number) if heavy else rng.normal(size=number)
    reverse = (rng.random(number) < 0.1) & (world == "mixture")
    blur = 0.0 if world == "clear" else 0.5
    unsafe = (severity + blur * rng.normal(size=number) > 0.4).astype(np.int16)
    return severity, unsafe, reverse, rng.normal(size=(number, 6))


def draw_raters(rng, world, groups, per_group):
    """Group, bias, slope and spread of every rater; a number for all groups, or one for each."""
    group = np.repeat(np.arange(groups), per_group)
    number = group.size
    slope = np.ones(number)
    if world == "slopes":
        slope = np.where(group == 0, 1.2, 0.4)
    if world == "contrary":
        slope = rng.choice([1.2, -0.6, 0.0], p=[0.6, 0.25, 0.15], size=number)
    styles = world == "styles"
    spread = np.exp(0.5 * rng.normal(size=number)) if styles else np.ones(number)
    return group, (0.7 if styles else 0.4) * rng.normal(size=number), slope, spread


def rate(rng, world, items, raters):
    """Scores (rater, item), 0 to 4."""
    (severity, _, reverse, shared), (group, bias, slope, spread) = items, raters
    perceived = np.where(reverse, 1.0 - 1.2 * severity, severity)
    latent = slope[:, None] * perceived + bias[:, None]
    latent += 0.8 * rng.normal(size=latent.shape)
    if world == "correlated":
        latent += 0.8 * shared[:, group].T
    cuts = np.array([0.2, 1.2]) if world == "discrete" else CUTS
    return sum((latent > cut * spread[:, None]).astype(np.int16) for cut in cuts)


def true_metrics(score, unsafe):
    """MPA, WRA and HM of one group's scores (rater, item), by the formulas of the paper."""
    counts = np.stack([(score == s).sum(axis=0) for s in range(N_SCORES)])
    plural = N_SCORES - 1 - counts[::-1].argmax(axis=0)
    rows = np.array([[(unsafe[plural == s] == u).sum() for u in (0, 1)] for s in range(N_SCORES)])
    safe, harm = rows[:, 0], rows[:, 1]
    wra = sum(safe[:s].sum() * harm[s] for s in range(N_SCORES)) / (safe.sum() * harm.sum())
    used = [s for s in range(N_SCORES) if rows[s].sum()]
    precision = {s: harm[s] / rows[s].sum() for s in used}
    area = sum(
        precision[s] - max(precision[j] for j in used if j <= i)
        for s in used
        for i in used
        if i < s
    )
    mpa = max(0.0, area) / 6.0  # the best of five scores: (4 / 2)(4 / 2 + 1)
    return np.array([mpa, wra, 2 * mpa * wra / (mpa + wra) if mpa + wra else 0.0])


def quick_metrics(rows, names=METRICS):
    """The headline metrics of rows (..., score, unsafe), as the library's but without labels."""
    table = rows.transpose(..., "score", "unsafe").to_numpy()
    safe, harm = table[..., 0], table[..., 1]
    total = table.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = harm / total
        below = (np.cumsum(safe, axis=-1) - safe) / safe.sum(axis=-1, keepdims=True)
        wra = (below * harm / harm.sum(axis=-1, keepdims=True)).sum(axis=-1)
    highest = np.fmax.accumulate(precision, axis=-1)
    area, used, passed = (np.zeros(table.shape[:-2]) for _ in range(3))
    for s in range(table.shape[-2]):
        occurs = total[..., s] > 0
        area += np.where(occurs, used * np.nan_to_num(precision[..., s]) - passed, 0.0)
        used += occurs
        passed += np.where(occurs, np.nan_to_num(highest[..., s]), 0.0)
    mpa = np.where(np.isnan(wra), np.nan, np.maximum(area, 0.0) / 6.0)
    both = mpa + wra
    hm = np.where(both > 0, 2 * mpa * wra / np.where(both > 0, both, 1.0), both)
    dims = [dim for dim in rows.dims if dim not in {"score", "unsafe"}]
    coords = {name: x for name, x in rows.coords.items() if not {"score", "unsafe"} & {*x.dims}}
    values = {"mpa": mpa, "wra": wra, "hm": hm}
    metrics = xr.Dataset({name: (dims, values[name]) for name in names}, coords)
    for name in names:
        metrics[name].attrs["range"] = "[0, 1]"
    return metrics


def observe(study):
    """What intervals need of the observed scores: the metrics, numbers of items and raters."""
    counts = study.score_counts
    table = severity_table(
        counts.plurality, counts.label_count, by=counts.strata, n_scores=N_SCORES
    )
    metrics = quick_metrics(table)
    metrics["items"] = table.sum(["score", "unsafe"])
    metrics["raters"] = counts.membership.sum("rater")
    metrics["reason"] = xr.full_like(metrics["items"], "", dtype="U1")
    return metrics


def truth(world, per_group, groups):
    """The metrics of a population of items, averaged over panels; (group, metric)."""
    rng = np.random.default_rng([SEED, WORLDS.index(world), per_group])
    total = np.zeros((2, 3))
    for _ in range(PANELS):
        items = draw_items(rng, world, POPULATION)
        raters = draw_raters(rng, world, 2, per_group)
        score = rate(rng, world, items, raters)
        total += [true_metrics(score[raters[0] == g], items[1]) for g in range(2)]
    mean = total / PANELS
    if world != "slopes":
        mean[:] = mean.mean(axis=0)
    return np.concatenate([mean[:1], np.repeat(mean[1:], groups - 1, axis=0)])


def crowd_study():
    """The shipped study of a crowd, with one grouping and a label of each item."""
    spec = load_study("quickstart_crowd").study.spec
    item_labels = {"from": "item", "column": "unsafe"}
    crowd = spec.crowd.model_dump(by_alias=True) | {
        "groups": [["group"]],
        "by": [],
        "labels": item_labels,
        "fit": None,
    }
    crowd = type(spec.crowd).model_validate(crowd)
    boot = spec.bootstrap.model_copy(update={"replicates": REPLICATES})
    return spec.model_copy(update={"crowd": crowd, "bootstrap": boot}), crowd


def simulate(rng, world, design, spec, crowd):
    """A study of one world."""
    n_items, per_group, groups = design
    items, raters = draw_items(rng, world, n_items), draw_raters(rng, world, groups, per_group)
    score = rate(rng, world, items, raters)
    item, rater = np.divmod(np.arange(score.size), len(score))
    data = CrowdData(
        score=score.T.ravel(),
        item=Factor(tuple(map(str, range(n_items))), item.astype(np.int32)),
        rater=Factor(tuple(map(str, range(len(score)))), rater.astype(np.int32)),
        score_labels=tuple("01234"),
        item_columns={},
        rater_columns={"group": raters[0].astype(str)},
        expert_item=np.empty(0, np.int32),
        expert=None,
        expert_label=np.empty(0, np.int16),
        item_label=items[1],
        time=None,
        counts={},
    )
    seed = int(rng.integers(2**40))
    return CrowdStudy(spec.model_copy(update={"seed": seed}), crowd, data)


def run_design(world, design, studies):
    """The rows of one world and design, one for each metric."""
    expected = truth(world, *design[1:])
    spec, crowd = crowd_study()
    missed, widths, gaps, errors, observed = [], [], [], [], []
    for number in range(studies):
        rng = np.random.default_rng([SEED, WORLDS.index(world), *design, number])
        study = simulate(rng, world, design, spec, crowd)
        metrics, difference, _ = measure_intervals(study, observe(study), METRICS)
        metrics = metrics.sel(by="all").isel(group=slice(1, None))
        first = difference.sel(by="all").isel(group=1, other=2)
        pairs = difference.sel(by="all")
        bounds = np.stack([metrics[f"{name}_interval"].to_numpy() for name in METRICS], axis=1)
        gap = np.stack([first[f"{name}_interval"].to_numpy() for name in METRICS])
        observed.append([metrics[name].to_numpy() for name in METRICS])
        missed.append(np.stack([expected > bounds[..., 1], expected < bounds[..., 0]]))
        widths.append(np.diff(bounds)[..., 0].mean(axis=0))
        apart = expected[0] - expected[1]
        gaps.append([(gap[:, 0] <= apart) & (apart <= gap[:, 1]), gap[:, 1] - gap[:, 0]])
        errors.append([(pairs[f"{name}_p_holm"] <= 0.05).any().item() for name in METRICS])
    outside = np.mean(missed, axis=0).mean(axis=1)
    for k, name in enumerate(METRICS):
        values = {
            "truth": expected[:, k].mean(),
            "bias": (np.nanmean(observed, axis=0)[k] - expected[:, k]).mean(),
            "coverage": 1 - outside[:, k].sum(),
            "above": outside[0, k],
            "below": outside[1, k],
            "width": np.nanmean(widths, axis=0)[k],
            "difference_coverage": np.mean(gaps, axis=0)[0, k],
            "difference_width": np.nanmean(gaps, axis=0)[1, k],
            "family_error": np.nan if world == "slopes" else np.mean(errors, axis=0)[k],
        }
        labels = zip(HEADER, (world, *design, studies, name), strict=False)
        yield dict(labels) | {key: f"{value:.4f}" for key, value in values.items()}


def key_of(row):
    """What a row is about."""
    return tuple(str(row[name]) for name in ("world", "items", "raters", "groups", "metric"))


def read_rows(path):
    """The rows of a table, by what they are about."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {key_of(row): row for row in csv.DictReader(file)}


def write_rows(path, rows):
    """Write rows in the order of designs and worlds."""
    order = {key: n for n, key in enumerate((w, *d.split("x")) for d in DESIGNS for w in WORLDS)}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: order[key_of(row)[:4]]))


def page(path=TABLE):
    """Lines of the page: coverage of a metric and of a difference, and false claims, in percent."""
    rows = read_rows(path)
    for design in DESIGNS:
        for world in WORLDS:
            cells = [rows.get((world, *design.split("x"), name)) for name in METRICS]
            if cells[0] is None:
                continue
            shown = [world, *design.split("x"), cells[0]["studies"]]
            for column in ("coverage", "difference_coverage", "family_error"):
                numbers = [100 * float(cell[column]) for cell in cells]
                shown.append(" / ".join("-" if np.isnan(x) else f"{x:.1f}" for x in numbers))
            shown.append(" / ".join(f"{float(cell['width']):.2f}" for cell in cells))
            yield f"| {' | '.join(shown)} |"


def main():
    """Run the designs that were asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--only", choices=WORLDS, nargs="*", default=WORLDS)
    parser.add_argument("--design", choices=DESIGNS, nargs="*", default=DESIGNS)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    if asked.page:
        print("\n".join(page(asked.out)))
        return
    # Studies are small: labels and threads would cost more than they save.
    crowd_intervals.severity_metrics = quick_metrics
    with use_map(lambda task, arguments, **_: [task(argument) for argument in arguments]):
        for design in asked.design:
            for world in asked.only:
                start = time.perf_counter()
                rows = list(run_design(world, tuple(map(int, design.split("x"))), asked.studies))
                table_rows = read_rows(asked.out) | {key_of(row): row for row in rows}
                write_rows(asked.out, table_rows)
                print(design, world, f"{time.perf_counter() - start:.0f} s", flush=True)
    record_run(asked.out)


if __name__ == "__main__":
    main()
