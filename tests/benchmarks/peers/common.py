"""What the Python peers share: arguments, data, clock, summary of the draws, the JSON they write.

Imported inside a peer's own environment, so it uses nothing of this project.
"""

import argparse
import json
import os
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

SD_SCALE, EFFECT_SD, THRESHOLD_SD = 1.5, 1.0, 5.0
POPULATIONS = ("gender", "race")
WORST = 3
# Fewer draws of a chain than these say nothing of ESS and R-hat.
FEWEST = 8
# JAX reports these as it compiles. Tracing is left out: traces nest and would count twice.
COMPILING = ("/jax/core/compile/jaxpr_to_mlir_module", "/jax/core/compile/backend_compile")


def process_seconds():
    """Seconds since this process began: Linux keeps the start in field 22 of its stat, in ticks."""
    after_name = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    begun = int(after_name[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - begun


@dataclass
class Laps:
    """Seconds of each stage; the first lap counts from the start of the process."""

    seconds: dict[str, float] = field(default_factory=dict)

    def lap(self, name):
        """End a stage here."""
        self.seconds[name] = process_seconds() - sum(self.seconds.values())

    def move(self, seconds, *, out_of, into):
        """Count time of one stage to another, where a library does both in one call."""
        self.seconds[out_of] -= seconds
        self.seconds[into] = self.seconds.get(into, 0.0) + seconds


def watch_compiling():
    """A list that gathers JAX's own compile times from now on."""
    import jax

    gathered = []

    def listen(event, duration, **_):
        if event.startswith(COMPILING):
            gathered.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return gathered


def parser():
    """The arguments of every peer."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("data", type=Path)
    arguments.add_argument("out", type=Path)
    for name in ("chains", "tune", "draws", "seed"):
        arguments.add_argument(f"--{name}", type=int, required=True)
    arguments.add_argument("--limit", type=float, default=600, help="seconds that the driver waits")
    return arguments


@dataclass(frozen=True)
class Ratings:
    """Integer codes from 0, one entry a rating, and how many codes each column has."""

    codes: dict[str, np.ndarray]
    size: dict[str, int]

    @property
    def populations(self):
        """The columns of raters' populations: both or none."""
        return [name for name in POPULATIONS if name in self.codes]


def read(path):
    """The ratings of a file with columns item, rater and level, and gender and race or none."""
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    codes = {name: table[name].to_numpy("int64") for name in table}
    return Ratings(codes, {name: int(column.max()) + 1 for name, column in codes.items()})


def first_thresholds(levels):
    """Where thresholds start: apart, since equal ones have no place on the ordered scale."""
    return np.linspace(-2, 2, levels - 1)


def parameters(draws):
    """Parameters as sampled, by name: those whose ESS and R-hat are reported."""
    named = {name: draws[name] for name in ("sd_item", "sd_rater")}
    for name in draws.keys() & {"thresholds", *POPULATIONS}:
        named |= {f"{name}[{k}]": draws[name][..., k] for k in range(draws[name].shape[-1])}
    return named


def compared(draws):
    """Quantities that mean the same under every coding of the groups.

    A program with a reference level shifts all thresholds and all effects of a column by one
    number. So effects are compared as differences to the first level, and thresholds both as
    differences to the first and as seen by a rater of the average group (``threshold_at_mean``):
    threshold minus the plain mean of the gender effects minus that of the race effects.
    """
    threshold = draws["thresholds"]
    populations = {name: draws[name] for name in POPULATIONS if name in draws}
    shift = sum(x.mean(-1) for x in populations.values())
    named = {name: draws[name] for name in ("sd_item", "sd_rater")}
    for name, x in {"threshold": threshold, **populations}.items():
        named |= {f"{name}[{k}]-{name}[0]": x[..., k] - x[..., 0] for k in range(1, x.shape[-1])}
    places = range(threshold.shape[-1])
    return named | {f"threshold_at_mean[{k}]": threshold[..., k] - shift for k in places}


def diagnostics(named):
    """Bulk ESS and R-hat of every named array of (chain, draw)."""
    import arviz as az

    draws = np.stack(list(named.values()), axis=-1)
    bulk = az.ess(draws, method="bulk", chain_axis=0, draw_axis=1)
    rhat = az.rhat(draws, chain_axis=0, draw_axis=1)
    return pd.DataFrame({"ess_bulk": bulk, "rhat": rhat}, index=list(named))


def posterior(named):
    """Mean, sd, bulk ESS and R-hat of the compared quantities."""
    table = diagnostics(named)
    table.insert(0, "mean", [x.mean() for x in named.values()])
    table.insert(1, "sd", [x.std() for x in named.values()])
    return table.to_dict("index")


def summary(draws):
    """The part of the JSON that comes from the draws, arrays of (chain, draw, ...) by name."""
    sampled = diagnostics(parameters(draws))
    by_ess = sampled["ess_bulk"].sort_values().head(WORST)
    by_rhat = sampled["rhat"].sort_values(ascending=False).head(WORST)
    return {
        "ess_bulk_min": by_ess.iloc[0],
        "rhat_max": by_rhat.iloc[0],
        "worst": {"ess_bulk": by_ess.to_dict(), "rhat": by_rhat.to_dict()},
        "posterior": posterior(compared(draws)),
    }


def settings(arguments, ratings):
    """What was run on what."""
    asked = {key: x for key, x in vars(arguments).items() if not isinstance(x, Path)}
    return asked | {"ratings": len(ratings.codes["level"])} | ratings.size


def report(peer, arguments, ratings, packages):
    """The head of the JSON."""
    versions = {name: version(name) for name in packages}
    return {"peer": peer, "settings": settings(arguments, ratings), "versions": versions}


def stopped(draws, arguments):
    """Draws that a chain kept, and whether the limit stopped it."""
    kept = len(draws["sd_item"][0])
    return {"draws": kept, "stopped": kept < arguments.draws}


def rates(statistics, seconds):
    """Smallest bulk ESS by second of sampling and of the whole process."""
    return {part: statistics["ess_bulk_min"] / seconds[part] for part in ("sampling", "process")}


def finish(head, draws, laps, *, divergences, differs, out):
    """Summarise, stop the clock and write the JSON of a sampled peer, if it has enough draws."""
    if len(draws["sd_item"][0]) < FEWEST:
        return write(head | {"seconds": laps.seconds, "differs": differs}, out)
    statistics = summary(draws)
    laps.lap("summary")
    seconds = laps.seconds | {"process": sum(laps.seconds.values())}
    statistics |= {"seconds": seconds, "divergences": int(divergences), "differs": differs}
    return write(head | statistics | {"ess_per_second": rates(statistics, seconds)}, out)


def write(results, out):
    """One JSON file."""
    out.write_text(json.dumps(results, indent=1, default=float) + "\n", encoding="utf-8")
