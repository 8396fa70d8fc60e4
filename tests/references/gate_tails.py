"""How often a candidate at its margins passes by each margin alone, by bounds before and since.

The law of releases is that of :mod:`tests.references.gate`. Metrics, resamples and both kinds of
bounds are written again in NumPy, so that a thousand pairs take seconds.

``python -m tests.references.gate_tails`` prints the table of record 81.
"""

import argparse

import numpy as np
from scipy import stats

from tests.references import gate

RESAMPLES, ALPHA, SEED, FIRST = 500, 0.95, 2, 9000
NORMAL = stats.norm.ppf(gate.CONFIDENCE)
# Prompts, shift, panels of judges and pairs of each.
DESIGNS = {
    "at the margins": (100, gate.MARGIN, 40, 25),
    "no change": (100, 0.0, 40, 25),
    "at the margins, 400 prompts": (400, gate.MARGIN, 20, 15),
}


def weigh_tail(risk, counts):
    """CVaR of each resample, with its standard error by the influence of each value."""
    order = np.argsort(risk)
    ordered, weights = risk[order], counts[:, order] / len(risk)
    first = (np.cumsum(weights, axis=1) >= ALPHA - 1e-12).argmax(axis=1)
    bound = ordered[first][:, None]
    inside = ordered[None] >= bound
    mass = (weights * inside).sum(axis=1)
    cvar = (weights * inside * ordered).sum(axis=1) / mass
    influence = np.maximum(ordered[None] - bound, 0) / mass[:, None]
    mean = (weights * influence).sum(axis=1)
    variance = (weights * influence**2).sum(axis=1) - mean**2
    return cvar, np.maximum(variance, 0) / len(risk)


def symmetric_reach(resampled, observed, freedom):
    """Reach of the symmetric percentile interval, with Student's factor."""
    low, high = np.quantile(resampled, [1 - gate.CONFIDENCE, gate.CONFIDENCE])
    factor = stats.t.ppf(gate.CONFIDENCE, freedom) / NORMAL
    return factor * max(high - observed, observed - low)


def studentized_reach(resampled, observed, errors, error, freedom):
    """Reach of the symmetric studentized interval, with Student's factor."""
    usable = errors > 1e-9 * resampled.std()
    if usable.mean() < 0.5:
        return 0.0
    ratio = np.quantile(
        np.abs(resampled - observed)[usable] / errors[usable], 2 * gate.CONFIDENCE - 1
    )
    factor = stats.t.ppf(gate.CONFIDENCE, freedom) / NORMAL
    return factor * ratio * max(error, resampled.std())


def run_pair(rng, judges, margins, prompts, shift):
    """Whether the candidate passes: by the mean, by CVaR before and since."""
    severity = gate.draw_answers(rng, prompts, np.full(2, shift))
    old, new = (gate.log_risk(gate.judged(rng, severity[n : n + 1], judges)[0]) for n in (0, 1))
    drawn = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES)
    counts = np.vstack([np.ones((1, prompts)), drawn])
    (new_cvar, new_variance), (old_cvar, old_variance) = (weigh_tail(x, counts) for x in (new, old))
    cvar, errors = new_cvar - old_cvar, np.sqrt(new_variance + old_variance)
    carrying = prompts * (1 - ALPHA)
    plain = symmetric_reach(cvar[1:], cvar[0], carrying)
    wide = max(plain, studentized_reach(cvar[1:], cvar[0], errors[1:], errors[0], carrying))
    mean = (new - old).mean()
    reach = symmetric_reach(drawn @ (new - old) / prompts, mean, prompts)
    return (
        mean + reach <= margins["mean"],
        cvar[0] + plain <= margins["cvar"],
        cvar[0] + wide <= margins["cvar"],
    )


def main():
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=DESIGNS)
    options = parser.parse_args()
    print("| candidate | pairs | mean | CVaR, before | CVaR | both, before | both |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.designs:
        prompts, shift, panels, pairs = DESIGNS[name]
        rng, rows = np.random.default_rng(SEED), []
        for panel in range(panels):
            judges, margins = gate.judges_and_margins(FIRST + panel, 0.0)
            rows += [run_pair(rng, judges, margins, prompts, shift) for _ in range(pairs)]
        mean, before, since = np.array(rows).T
        columns = (mean, before, since, mean & before, mean & since)
        shares = " | ".join(f"{100 * passed.mean():.1f}" for passed in columns)
        print(f"| {name} | {len(rows)} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
