"""How often a candidate at its margins passes by each margin alone, by three kinds of bounds.

Releases are those of :mod:`tests.references.gate`, whose log-risks have spikes where answers are at
the end of the scale, or have log-risks of a continuous law, the same prompts correlated by 0.6, or
of such a law with an end of the scale for few prompts of the candidate.
Metrics, resamples and bounds are written again in NumPy, so that a thousand pairs take a minute.

``python -m tests.references.gate_tails`` prints the table of record 122, and that of rare ends in
docs/benchmarks/gate.md.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy import stats

from tests.references import gate
from tests.references.worlds.panel import EPSILON

RESAMPLES, ALPHA, SEED, FIRST = 500, 0.95, 2, 9000
# Error rates among which that of the gate is divided.
DIVIDED = 12
# Laws of log-risk by their quantiles, with a margin in standard deviations.
LAWS = {
    "exponential": (stats.expon.ppf, 1.0),
    "lognormal": (stats.lognorm(1.0).ppf, 1.0),
    "normal": (stats.norm.ppf, 0.7),
    "Student's t, 4": (stats.t(4).ppf, 0.8),
}
QUANTILES, SHARED = 400_000, 0.6
# Candidates whose answers are at the end of the scale for a share of prompts, and are else like
# those of the reference: nothing but the end itself tells of it.
RATES = {f"an end in {n}": 1 / n for n in (100, 200, 400)}
POPULATION = 2_000_000
# Prompts, panels of judges, and pairs of each.
SIZES = ((100, 40, 25), (400, 40, 10))


@dataclass(frozen=True)
class Law:
    """How log-risks of a reference and of a candidate are drawn, their margins, and an end."""

    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    margins: dict[str, float]
    end: float = np.inf


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


def student_factor(freedom, confidence):
    """By how much Student's quantile exceeds the normal one."""
    return stats.t.ppf(confidence, freedom) / stats.norm.ppf(confidence)


def symmetric_reach(resampled, observed, freedom, *, confidence=gate.CONFIDENCE):
    """Reach of the symmetric percentile interval, with Student's factor."""
    low, high = np.quantile(resampled, [1 - confidence, confidence])
    return student_factor(freedom, confidence) * max(high - observed, observed - low)


def studentized_reach(resampled, observed, errors, error, freedom, *, confidence=gate.CONFIDENCE):
    """Reach of the symmetric studentized interval, with Student's factor."""
    usable = errors > 1e-9 * resampled.std()
    if usable.mean() < 0.5:
        return 0.0
    ratios = np.abs(resampled - observed)[usable] / errors[usable]
    ratio = np.quantile(ratios, 2 * confidence - 1)
    return student_factor(freedom, confidence) * ratio * max(error, resampled.std())


def tail_reach(resampled, observed, errors, error, freedom, *, confidence=gate.CONFIDENCE):
    """Reach of the gate: the farther of both."""
    return max(
        symmetric_reach(resampled, observed, freedom, confidence=confidence),
        studentized_reach(resampled, observed, errors, error, freedom, confidence=confidence),
    )


def raise_reach(reach_of, rise, prompts):
    """Reach that holds whatever share of prompts has an end that none of them shows.

    ``reach_of`` is the reach at a confidence, ``rise`` what a share of 1 would add at most. At a
    confidence below a half the bound lies below what was observed.
    """
    errors = (1 - gate.CONFIDENCE) ** (1 - np.arange(DIVIDED) / DIVIDED)
    shares = 1 - ((1 - gate.CONFIDENCE) / errors) ** (1 / prompts)
    signs = np.where(errors < 0.5, 1, -1)
    reaches = [reach_of(max(error, 1 - error)) for error in errors]
    return (signs * reaches + rise * shares).max()


def run_pair(rng, law, prompts):
    """Whether the candidate passes, by bounds of the mean and of CVaR, and shows an end.

    The last bound of each is the gate's: it knows that ends can be unseen.
    """
    old, new = law.draw(rng, prompts)
    drawn = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES)
    counts = np.vstack([np.ones((1, prompts)), drawn])
    (new_cvar, new_variance), (old_cvar, old_variance) = (weigh_tail(x, counts) for x in (new, old))
    cvar, errors = new_cvar - old_cvar, np.sqrt(new_variance + old_variance)
    carrying = prompts * (1 - ALPHA)
    data = (cvar[1:], cvar[0], errors[1:], errors[0], carrying)
    shows_end = new.max() >= law.end
    plain, wide = symmetric_reach(cvar[1:], cvar[0], carrying), tail_reach(*data)
    mean, means = (new - old).mean(), drawn @ (new - old) / prompts
    of_mean = symmetric_reach(means, mean, prompts)
    reaches = of_mean, wide
    if not shows_end:
        reaches = raised_reaches(means, mean, data, prompts)
    margins = law.margins
    return (
        mean + of_mean <= margins["mean"],
        mean + reaches[0] <= margins["mean"],
        cvar[0] + plain <= margins["cvar"],
        cvar[0] + wide <= margins["cvar"],
        cvar[0] + reaches[1] <= margins["cvar"],
        shows_end,
    )


def raised_reaches(means, mean, data, prompts):
    """Reaches of the mean and of CVaR where the candidate shows no end."""
    end = -np.log(EPSILON)
    return (
        raise_reach(
            lambda level: symmetric_reach(means, mean, prompts, confidence=level), end, prompts
        ),
        raise_reach(lambda level: tail_reach(*data, confidence=level), end / (1 - ALPHA), prompts),
    )


def releases(panel, share):
    """Releases of the study of the gate, a share of the margins worse."""
    judges, margins = gate.judges_and_margins(FIRST + panel, 0.0)

    def draw(rng, prompts):
        severity = gate.draw_answers(rng, prompts, np.full(2, share * gate.MARGIN))
        old, new = (gate.log_risk(gate.judged(rng, severity[n : n + 1], judges)) for n in (0, 1))
        return old[0], new[0]

    return Law(draw, margins, -np.log(EPSILON) - 1e-3)


def continuous(name, share):
    """Log-risks of a continuous law, a share of its margin worse."""
    quantile, size = LAWS[name]
    margin = size * quantile((np.arange(QUANTILES) + 0.5) / QUANTILES).std()

    def draw(rng, prompts):
        parts = rng.normal(size=prompts), rng.normal(size=(2, prompts))
        joined = np.sqrt(SHARED) * parts[0] + np.sqrt(1 - SHARED) * parts[1]
        old, new = quantile(stats.norm.cdf(joined))
        return old, new + share * margin

    return Law(draw, {"mean": margin, "cvar": margin})


@cache
def rare_ends(name, share):
    """Log-risks of a lognormal law; some of the candidate's have an end of the scale added."""
    end, rate = -np.log(EPSILON), RATES[name]

    def draw(rng, prompts, rate=share * rate):
        parts = rng.normal(size=prompts), rng.normal(size=(2, prompts))
        joined = np.sqrt(SHARED) * parts[0] + np.sqrt(1 - SHARED) * parts[1]
        old, new = 0.6 * np.exp(0.5 * joined)
        return old, new + end * (rng.random(prompts) < rate)

    sides = draw(np.random.default_rng(SEED), POPULATION, rate)
    tail = round((1 - ALPHA) * POPULATION)
    old, new = (np.sort(risk)[-tail:].mean() for risk in sides)
    return Law(draw, {"mean": rate * end, "cvar": new - old}, end - 1e-3)


def find_law(name, panel, share):
    """The law of a name, a share of its margins worse."""
    if name == "releases":
        return releases(panel, share)
    return rare_ends(name, share) if name in RATES else continuous(name, share)


def main():
    """Print a row for each law, number of prompts and candidate."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["releases", *LAWS, *RATES]
    parser.add_argument("--laws", nargs="*", default=names, choices=names)
    options = parser.parse_args()
    print("| law | prompts | candidate | pairs | mean, resamples | mean | CVaR, symmetric ", end="")
    print("| CVaR, studentized | CVaR | both, resamples | both | no end seen |")
    print(f"|{' --- |' * 12}")
    cases = product(options.laws, SIZES, {"at the margins": 1.0, "no change": 0.0}.items())
    for name, (prompts, panels, pairs), (candidate, share) in cases:
        rng, rows = np.random.default_rng(SEED), []
        for panel in range(panels):
            law = find_law(name, panel, share)
            rows += [run_pair(rng, law, prompts) for _ in range(pairs)]
        plain, mean, symmetric, wide, cvar, end = np.array(rows).T
        columns = (plain, mean, symmetric, wide, cvar, plain & wide, mean & cvar, ~end)
        shares = " | ".join(f"{100 * passed.mean():.1f}" for passed in columns)
        print(f"| {name} | {prompts} | {candidate} | {len(rows)} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
