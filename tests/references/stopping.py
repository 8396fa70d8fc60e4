"""What a rule that stops chains at the first length where they have converged does to intervals.

Chains are exact: stationary autoregressive processes with standard normal margins, so that the
truth is known and a run takes milliseconds. Each run has several parameters, which are checked at
the lengths and by the limits of a fit. Compared with runs of one fixed length are the coverage of
90% intervals, and the error of means beside the Monte Carlo error that the run itself reports.

``python -m tests.references.stopping`` prints the table of record 58.
"""

import argparse

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from sharpbayes.bayes.sampling.convergence import rhat_and_ess
from sharpbayes.spec.study import Sampler

# Lag-1 correlations of the parameters of a run.
MIXING = {
    "quick": (-0.3, 0.0, 0.3, 0.5, 0.6),
    "middling": (0.0, 0.3, 0.6, 0.8, 0.9),
    "slow": (0.0, 0.3, 0.6, 0.9, 0.96),
}
RULE, BATCH, SEED, ENDS = Sampler(), 50, 20260121, (0.05, 0.95)


def chains(correlations, runs, rng):
    """Draws of all runs, (run, parameter, chain, draw)."""
    size = (runs, len(correlations), RULE.chains, RULE.lengths[-1])
    noise, draws = rng.normal(size=size), np.empty(size)
    for number, keep in enumerate(correlations):
        scale = np.sqrt(1 - keep**2)
        first = noise[:, number, :, :1]
        steps = np.concatenate([first, scale * noise[:, number, :, 1:]], axis=-1)
        draws[:, number] = lfilter([1.0], [1.0, -keep], steps)
    return draws


def assess(draws):
    """Of (run, parameter, chain, draw): who has converged, coverage, error in reported errors."""
    runs, parameters = draws.shape[:2]
    rhat, bulk, tail = rhat_and_ess(draws.reshape(-1, *draws.shape[2:]))
    converged = (rhat < RULE.max_rhat) & (np.minimum(bulk, tail) >= RULE.target_ess)
    flat = draws.reshape(runs, parameters, -1)
    low, high = np.quantile(flat, ENDS, axis=-1)
    errors = flat.mean(-1) / (flat.std(-1) / np.sqrt(bulk.reshape(runs, parameters)))
    return converged.reshape(runs, -1).all(1), ndtr(high) - ndtr(low), errors


def study(correlations, runs, rng):
    """Results of the rule, and of every fixed length, (run, parameter); lengths of the rule."""
    fixed = {length: ([], []) for length in RULE.lengths}
    chosen, lengths = ([], []), []
    for _ in range(0, runs, BATCH):
        draws, open_runs = chains(correlations, BATCH, rng), np.ones(BATCH, dtype=bool)
        kept = np.empty((2, BATCH, len(correlations)))
        length_of = np.zeros(BATCH, dtype=int)
        for length in RULE.lengths:
            converged, *numbers = assess(draws[..., :length])
            for kind, values in zip(fixed[length], numbers, strict=True):
                kind.append(values)
            ends = open_runs & (converged | (length == RULE.lengths[-1]))
            kept[:, ends] = np.array(numbers)[:, ends]
            length_of[ends] = length
            open_runs &= ~ends
            if not open_runs.any():
                break
        for kind, values in zip(chosen, kept, strict=True):
            kind.append(values)
        lengths.append(length_of)
    return [np.concatenate(x) for x in chosen], fixed, np.concatenate(lengths)


def describe(coverage, errors):
    """Coverage of all parameters and of the slowest, and the rms of errors in reported errors."""
    rms = np.sqrt((errors**2).mean(axis=0))
    return (
        f"{coverage.mean():.4f} | {coverage[:, -1].mean():.4f} | "
        f"{np.sqrt((errors**2).mean()):.3f} | {rms[-1]:.3f}"
    )


def main():
    """Print a row for the rule and for the fixed length that it chose most often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--mixing", nargs="*", default=list(MIXING), choices=MIXING)
    options = parser.parse_args()
    print("| mixing | length | coverage of 90% | of the slowest | error / MCSE | of the slowest |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.mixing:
        rng = np.random.default_rng(SEED)
        chosen, fixed, lengths = study(MIXING[name], options.runs, rng)
        shares = {n: (lengths == n).mean() for n in RULE.lengths}
        stops = ", ".join(f"{n}: {share:.0%}" for n, share in shares.items() if share > 0)
        print(f"| {name} | by the rule ({stops}) | {describe(*chosen)} |", flush=True)
        usual = max(shares, key=shares.__getitem__)
        numbers = (np.concatenate(x) for x in fixed[usual])
        print(f"| {name} | {usual}, fixed | {describe(*numbers)} |", flush=True)


if __name__ == "__main__":
    main()
