"""Time and memory of posterior metrics and of weighing, on a panel of the paper's size.

    taskset -c 2,3 uv run python -m tests.benchmarks.decide --draws 1000

Makes a panel of 11 models, 901 prompts, 3 judges and 18 indicators (535,194 ratings) and replicated
ratings for every draw, measures the profile of all draws, writes what a fit would store, and runs
``sharpbayes weigh`` with three weightings on it in a process of its own. No model is sampled: each
replicated rating is the observed one moved by -1, 0 or 1, and effects, which further replicates are
drawn from, are noise. ``--prompts`` times the profile with prompts among the sources too.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.stored_ratings import ratings_group
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.design import rating_dim
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import provenance, save_results
from tests.benchmarks.simulated import judgements, write_study
from tests.flat import flat

CHAINS = 4
WEIGHTINGS = ("sharp", "equal", "precautionary")


def predictive(design, draws):
    """Replicated levels of each scale over (chain, draw, rating)."""
    rng = np.random.default_rng(1)
    ratings = {}
    for scale in design.scales:
        shape = (CHAINS, draws // CHAINS, len(scale.rows))
        level = np.empty(shape, dtype=np.int16)
        for draw in np.ndindex(shape[:2]):
            moved = scale.category + rng.integers(-1, 2, len(scale.rows))
            level[draw] = np.clip(moved, 0, len(scale.labels) - 1)
        ratings[f"rating_{scale.name}"] = (("chain", "draw", rating_dim(scale.name)), level)
    coords = {"chain": np.arange(CHAINS), "draw": np.arange(draws // CHAINS)}
    return xr.Dataset(ratings, coords)


def posterior(design, draws):
    """Effects near none, over (chain, draw, ...)."""
    rng, parameters = np.random.default_rng(2), flat(design, (CHAINS, draws // CHAINS))
    noise = {
        term.name: parameters[term.name] + rng.normal(0, 0.1, parameters[term.name].shape)
        for term in design.terms
    }
    return parameters.assign(noise)


def busy(who):
    """Processor seconds of this process or its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def peak(who):
    """Largest resident memory of this process or its children, in GiB."""
    return resource.getrusage(who).ru_maxrss / 2**20


def main():
    """Make, measure, write, weigh."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--prompts", action="store_true")
    chosen = parser.parse_args()
    draws = chosen.draws
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        judgements(models=11, prompts=901, judges=3).to_csv(folder / "p.csv", index=False)
        study = write_study(folder, "p.csv", replicates=10_000)
        text = study.read_text().replace("[panel.scales]", 'fit = "judge_panel"\n[panel.scales]')
        study.write_text(text)
        sources = '[["ratings"], ["ratings", "prompts"]]' if chosen.prompts else '["ratings"]'
        files = load_study(study, overrides=[f"uncertainty={sources}"])
        loaded = read_study(files)
        design = build_design(loaded.ratings, files.model.spec)
        stored = {
            "posterior_predictive": predictive(design, draws),
            "posterior": posterior(design, draws),
        }
        plan, groups = profile_panel(loaded)
        before, start = peak(resource.RUSAGE_SELF), time.perf_counter()
        spent = busy(resource.RUSAGE_SELF)
        metrics = PanelMetrics([plan], rating_positions(loaded))
        replicates = replicate_draws(stored, design, loaded)
        results = panel_groups(metrics, replicates, {"sharp": groups})["sharp"]
        took = time.perf_counter() - start
        print(
            f"{draws} draws of {design.n_ratings} ratings through the profile: {took:.1f} s", end=""
        )
        print(f" ({busy(resource.RUSAGE_SELF) - spent:.0f} s of processors)", end="")
        print(f", peak {peak(resource.RUSAGE_SELF):.2f} GiB ({before:.2f} before)", flush=True)
        print(f"pairs still open: {int(results['decision']['unresolved'].sum()) // 2}")
        kept = {"ratings": ratings_group(loaded)} | stored
        tree = xr.DataTree.from_dict({f"/{key}": group for key, group in kept.items()})
        tree.attrs = provenance(files, data={}, status="fitted")
        save_results(tree, folder / "fit.nc")
        size = (folder / "fit.nc").stat().st_size / 2**30
        command = [sys.executable, "-m", "sharpbayes", "weigh", str(folder / "fit.nc"), "--json"]
        command += [part for weighting in WEIGHTINGS for part in ("--weights", weighting)]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - start
        print(
            f"weigh with {len(WEIGHTINGS)} weightings, file of {size:.2f} GiB: {took:.1f} s", end=""
        )
        print(f" ({busy(resource.RUSAGE_CHILDREN):.0f} s of processors)", end="")
        print(f", peak {peak(resource.RUSAGE_CHILDREN):.2f} GiB")


if __name__ == "__main__":
    main()
