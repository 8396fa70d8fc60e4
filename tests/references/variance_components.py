"""How often intervals of variance components hold the truth; writes ``variance_components.csv``.

    python -m tests.references.variance_components --studies 400 --fits 30 --kept /tmp/trials

Studies of the worlds of :mod:`tests.references.worlds.trials`, drawn by plain NumPy. ``measured``
are the components of the sub-index with 90% intervals by the jackknife over prompts, ``fitted``
those of the latent severity with 90% intervals of the posterior of ``judge_trials``. A fit that
misses the limits of the study is left out and counted. What was fitted is kept in ``--kept`` and is
not fitted again.
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

import sharpbayes
from sharpbayes.metrics.panel.variance_components import variance_components
from sharpbayes.metrics.stats.intervals import jackknife_interval
from sharpbayes.metrics.stats.resampling import jackknife
from tests.references.provenance import record_run
from tests.references.worlds.trials import COMPONENTS, WORLDS, TrialWorld

HERE = Path(__file__).parent
SEED, LEVEL = 20260123, 0.9
TOP = 4
KEYS = ["model", "prompt", "sample", "judge", "trial"]
STUDY = """schema = "sharpbayes/study/2"
title = "Repeated judgements"
seed = {seed}

[panel]
data = "ratings.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", score = "score", {repeats} }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ score = "severity" }}
dimensions = [{{ name = "harm", mean = ["score"] }}]
fit = "judge_trials"

[bootstrap]
replicates = 20
level = 0.9

[sampler]
chains = 2
tune = 600
draws = 600
predictive_draws = 400
target_ess = 100
max_rhat = 1.03
"""
# Estimate, lower and upper bound and truth of every component of a study.
Estimates = np.ndarray


def measure_study(world: TrialWorld, rng: np.random.Generator) -> Estimates:
    """Components of the sub-index of one study."""
    table, truth = world.simulate(rng)
    x = table.set_index(KEYS)["score"].to_xarray().astype(float) / TOP
    left_out = jackknife(
        lambda kept: xr.Dataset({"v": variance_components(x, weights=kept)}),
        x["prompt"],
        dim="prompt",
        block=64,
    )["v"]
    variance = variance_components(x)
    bounds = jackknife_interval(variance, left_out, level=LEVEL).clip(min=0.0)
    return np.stack([variance, *bounds.transpose("bound", "component"), truth["observed"]])


def write_study(world: TrialWorld, folder: Path, seed: int) -> tuple[Path, dict[str, np.ndarray]]:
    """Write one study of a world; return its path and its truth."""
    table, truth = world.simulate(np.random.default_rng([SEED, seed]))
    table.to_csv(folder / "ratings.csv", index=False)
    repeats = 'trial = "trial"' + (', sample = "sample"' if world.answers > 1 else "")
    path = folder / "study.toml"
    path.write_text(STUDY.format(seed=seed, repeats=repeats), encoding="utf-8")
    return path, truth


def fit_once(name: str, seed: int, kept: Path) -> Estimates | None:
    """Components of the latent severity of one study, from the folder if it was fitted before."""
    path = kept / f"{list(WORLDS).index(name)}-{seed}.npy"
    if not path.exists():
        estimates = fit_study(WORLDS[name], seed)
        np.save(path, np.empty(0) if estimates is None else estimates)
    stored = np.load(path)
    return stored if stored.size else None


def fit_study(world: TrialWorld, seed: int) -> Estimates | None:
    """Components of the latent severity of one study; None where the fit has not converged."""
    with tempfile.TemporaryDirectory() as folder:
        path, truth = write_study(world, Path(folder), seed)
        results = sharpbayes.fit(sharpbayes.load_study(path))
    if not bool(results["diagnostics"]["converged"]):
        return None
    components = results["variance_components"].to_dataset().sel(dimension="harm")
    bounds = components["latent_variance_interval"].transpose("bound", "component")
    return np.stack([components["latent_variance"], *bounds, truth["latent"]])


def summarise(name: str, half: str, studies: list[Estimates | None]) -> Iterator[dict[str, object]]:
    """A row for each component that the world has."""
    kept = np.stack([study for study in studies if study is not None])
    estimate, low, high, truth = kept.transpose(1, 0, 2)
    covered = (low <= truth) & (truth <= high)
    for position, component in enumerate(COMPONENTS):
        if WORLDS[name].present[position] and (half, component) != ("fitted", "trial"):
            yield {
                "world": name,
                "half": half,
                "component": component,
                "studies": len(kept),
                "left_out": len(studies) - len(kept),
                "truth": f"{truth[:, position].mean():.4f}",
                "estimate": f"{estimate[:, position].mean():.4f}",
                "covered": f"{covered[:, position].mean():.3f}",
            }


def markdown() -> str:
    """The committed table as Markdown, for docs/benchmarks/variance-components.md."""
    with (HERE / "variance_components.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [
        "| world | half | component | studies | true variance | estimate | 90% intervals hold |"
    ]
    lines.append("|" + " --- |" * 7)
    for row in rows:
        coverage = f"{float(row['covered']):.1%}"
        cells = [row[n] for n in ("world", "half", "component", "studies", "truth", "estimate")]
        lines.append(f"| {' | '.join([*cells, coverage])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the studies and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--kept", type=Path, default=Path("/tmp/trials"))
    given = parser.parse_args()
    given.kept.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, world in WORLDS.items():
        rng = np.random.default_rng(SEED)
        rows += summarise(
            name, "measured", [measure_study(world, rng) for _ in range(given.studies)]
        )
        if given.fits:
            fitted = [fit_once(name, number, given.kept) for number in range(given.fits)]
            rows += summarise(name, "fitted", fitted)
    path = HERE / "variance_components.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    record_run(path)


if __name__ == "__main__":
    main()
    print(markdown())
