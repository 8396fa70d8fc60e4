"""How far divergences tell the bias of a sampler: a funnel whose truth is known by quadrature.

``python -m tests.references.divergences`` prints the table of record 7; some 20 seconds.
"""

import numpy as np

from sharpbayes.bayes.sampling.convergence import shift_by_divergences

EFFECTS = np.array([28, 8, -3, 7, -1, 1, 18, 12]) / 10
SDS = np.array([15, 10, 16, 11, 9, 11, 10, 18]) / 10
STEP_SIZES = (0.05, 0.08, 0.12, 0.16, 0.25, 0.5)
FITS, CHAINS, DRAWS, WARM_UP, LENGTH = 20, 4, 1000, 300, 2.5
# An energy error beyond this is a divergence, as in Stan.
DIVERGED = 1000.0


def log_density(q):
    """Eight effects with a common mean and a log sd, both standard normal; (chain, 2 + 8)."""
    mean, log_sd, effects = q[:, 0], q[:, 1], q[:, 2:]
    z = (effects - mean[:, None]) * np.exp(-log_sd)[:, None]
    prior = -0.5 * (mean**2 + log_sd**2) - EFFECTS.size * log_sd - 0.5 * (z**2).sum(1)
    return prior - 0.5 * (((EFFECTS - effects) / SDS) ** 2).sum(1)


def gradient(q):
    """The gradient of the log density."""
    mean, log_sd, effects = q[:, 0], q[:, 1], q[:, 2:]
    precision, distance = np.exp(-2 * log_sd), effects - mean[:, None]
    slopes = np.empty_like(q)
    slopes[:, 0] = -mean + (distance * precision[:, None]).sum(1)
    slopes[:, 1] = -log_sd - EFFECTS.size + precision * (distance**2).sum(1)
    slopes[:, 2:] = -distance * precision[:, None] + (EFFECTS - effects) / SDS**2
    return slopes


def truth():
    """Mean and sd of the log sd, by quadrature over it and the common mean."""
    log_sd, mean = np.linspace(-6, 4, 4001), np.linspace(-4, 4, 401)
    variance = np.exp(2 * log_sd)[:, None, None] + SDS**2
    fit = -0.5 * (np.log(variance) + (EFFECTS - mean[None, :, None]) ** 2 / variance).sum(-1)
    log_weights = fit - 0.5 * log_sd[:, None] ** 2 - 0.5 * mean**2
    weights = np.exp(log_weights - log_weights.max()).sum(1)
    weights /= weights.sum()
    centre = (weights * log_sd).sum()
    return centre, np.sqrt((weights * (log_sd - centre) ** 2).sum())


def sample(step_size, rng):
    """Hamiltonian Monte Carlo of all chains at once: draws of the log sd, and who diverged."""
    q = 0.5 * rng.normal(size=(FITS * CHAINS, 2 + EFFECTS.size))
    draws = np.empty((len(q), DRAWS))
    diverging = np.zeros(draws.shape, dtype=bool)
    for number in range(-WARM_UP, DRAWS):
        momentum = rng.normal(size=q.shape)
        energy = 0.5 * (momentum**2).sum(1) - log_density(q)
        position = q.copy()
        with np.errstate(all="ignore"):  # what diverges overflows
            momentum += 0.5 * step_size * gradient(position)
            for _ in range(max(1, int(rng.uniform(0.5, 1) * LENGTH / step_size))):
                position += step_size * momentum
                slopes = gradient(position)
                momentum += step_size * slopes
            momentum -= 0.5 * step_size * slopes
            error = 0.5 * (momentum**2).sum(1) - log_density(position) - energy
        kept = error < DIVERGED
        accepted = kept & (np.log(rng.random(len(q))) < -np.where(kept, error, 0.0))
        q[accepted] = position[accepted]
        if number >= 0:
            draws[:, number], diverging[:, number] = q[:, 1], ~kept
    return draws.reshape(FITS, CHAINS, DRAWS), diverging.reshape(FITS, CHAINS, DRAWS)


def main():
    """Print the table."""
    centre, sd = truth()
    rng = np.random.default_rng(1)
    for step_size in STEP_SIZES:
        draws, diverging = sample(step_size, rng)
        pairs = zip(draws, diverging, strict=True)
        shift = np.mean([shift_by_divergences(fit[None], where)[0] for fit, where in pairs])
        bias = (draws.mean() - centre) / sd
        print(f"| {diverging.mean():.1%} | {shift:.3f} | {bias:.3f} |")


if __name__ == "__main__":
    main()
