"""How two effects mix of which most ratings show the sum, sampled apart and by their sum.

Of each answer there are the mean of judges' scores, m ~ N(c + h, e), and that of people's,
x ~ N(c, f), with c ~ N(0, s), h ~ N(0, r) and half t(3, 2.5) priors of s and r: the geometry of
severity and of errors that all judges share (docs/adr/0082), without a scale of scores. Both are
sampled by nutpie, 4 chains of 1,000 draws after 400, with a density in NumPy that is compared with
its differences first.

``python -m tests.references.sums [WORLD ...]``; some 10 s of processor time a world.
"""

import sys
import time
from dataclasses import dataclass

import numpy as np
import nutpie
from nutpie.compiled_pyfunc import from_pyfunc

from sharpbayes.bayes.sampling.convergence import rhat_and_ess
from sharpbayes.bayes.sampling.geometry import WEIGHT_PER_SHARE

DF, SCALE, STEP = 3.0, 2.5, 1e-5


@dataclass(frozen=True)
class World:
    """Answers, errors of both means, sds of severity and of the error of judges."""

    answers: int
    of_judges: float
    of_people: float
    severity: float
    error: float
    seed: int


WORLDS = {
    "one person a score, five judges": World(276, 0.81, 1.8, 0.55, 0.25, 1),
    "the same, other draws": World(276, 0.81, 1.8, 0.55, 0.25, 2),
    "people say little": World(276, 0.81, 4.0, 0.6, 0.4, 3),
    "one judge": World(90, 1.8, 1.8, 0.6, 0.4, 4),
    "many judges and people": World(276, 0.5, 0.5, 0.6, 0.4, 5),
    "people say most": World(276, 0.4, 0.25, 0.6, 0.4, 6),
}


class Density:
    """Log density and gradient of a world in either coordinates."""

    def __init__(self, world):
        """Draw the means."""
        self.world, self.rng = world, np.random.default_rng(world.seed)
        size, normal = world.answers, self.rng.normal
        severity, error = world.severity * normal(size=size), world.error * normal(size=size)
        self.judges = severity + error + world.of_judges * normal(size=size)
        self.people = severity + world.of_people * normal(size=size)
        variance, noise = world.severity**2 + world.error**2, world.of_judges**2
        self.weight = min(1.0, WEIGHT_PER_SHARE * noise / (variance + noise))

    def likelihood(self, severity, error):
        """Log-likelihood and its derivatives by both effects."""
        judges = (self.judges - severity - error) / self.world.of_judges**2
        people = (self.people - severity) / self.world.of_people**2
        value = (judges**2).sum() * self.world.of_judges**2
        value += (people**2).sum() * self.world.of_people**2
        return -0.5 * value, judges + people, judges

    def apart(self, z):
        """Both log sds, and unit effects."""
        (log_s, log_r), (a, b) = z[:2], np.split(z[2:], 2)
        s, r = np.exp(log_s), np.exp(log_r)
        value, d_c, d_h = self.likelihood(s * a, r * b)
        (prior_s, slope_s), (prior_r, slope_r) = log_prior(log_s), log_prior(log_r)
        value += prior_s + prior_r - 0.5 * (z[2:] ** 2).sum()
        sds = [slope_s + s * (d_c @ a), slope_r + r * (d_h @ b)]
        return value, np.concatenate([sds, s * d_c - a, r * d_h - b])

    def by_sum(self, z):
        """Log total and log ratio of the sds, weighted sums, and unit effects given them."""
        (log_total, ratio), (v, u), w = z[:2], np.split(z[2:], 2), self.weight
        total, share = np.exp(log_total), 1.0 / (1.0 + np.exp(-2.0 * ratio))
        spread = total * np.sqrt(share * (1.0 - share))
        y = total**w * v
        error = share * y + spread * u
        value, d_c, d_h = self.likelihood(y - error, error)
        log_s, log_r = to_log_sds(z)
        (prior_s, slope_s), (prior_r, slope_r) = log_prior(log_s), log_prior(log_r)
        inside, jacobian = (y @ y) / total**2, len(y) * (1.0 - w)
        value += prior_s + prior_r - 0.5 * inside - jacobian * log_total - 0.5 * (u @ u)
        d_error = d_h - d_c
        d_y, d_spread = d_c + share * d_error - y / total**2, spread * (d_error @ u)
        d_total = slope_s + slope_r + w * (d_y @ y) + inside - jacobian + d_spread
        d_ratio = (1.0 - share) * slope_r - share * slope_s + (1.0 - 2.0 * share) * d_spread
        d_ratio += 2.0 * share * (1.0 - share) * (d_error @ y)
        return value, np.concatenate([[d_total, d_ratio], total**w * d_y, spread * d_error - u])


def log_prior(log_sd):
    """Log density of a log sd up to a constant, and its derivative."""
    ratio = np.exp(2.0 * log_sd) / (DF * SCALE**2)
    value = log_sd - 0.5 * (DF + 1.0) * np.log1p(ratio)
    return value, 1.0 - (DF + 1.0) * ratio / (1.0 + ratio)


def to_log_sds(z):
    """Both log sds of log total and log ratio."""
    return z[0] - 0.5 * np.log1p(np.exp(np.array([2.0, -2.0]) * z[1]))


def check_gradient(density, size, rng):
    """Compare some derivatives with differences."""
    z = 0.3 * rng.normal(size=size)
    gradient = density(z)[1]
    for position in (0, 1, 5, size - 3):
        step = STEP * np.eye(size)[position]
        difference = (density(z + step)[0] - density(z - step)[0]) / (2.0 * STEP)
        np.testing.assert_allclose(gradient[position], difference, rtol=1e-4, atol=1e-4)


def measure(density, to_sds, size, seed):
    """R-hat, smallest bulk and tail ESS of both log sds, gradients a draw, processor time."""
    model = from_pyfunc(
        size,
        lambda: density,
        lambda *_: lambda z: {"sds": np.array(to_sds(z))},
        expanded_dtypes=[np.dtype("float64")],
        expanded_shapes=[(2,)],
        expanded_names=["sds"],
        make_initial_point_fn=lambda start: np.random.default_rng(start).normal(0.0, 0.1, size),
    )
    start = time.process_time()
    settings = {"draws": 1000, "tune": 400, "chains": 4, "cores": 1, "seed": seed}
    trace = nutpie.sample(model, progress_bar=False, save_warmup=False, **settings)
    seconds = time.process_time() - start
    rhat, bulk, tail = rhat_and_ess(np.moveaxis(trace.posterior["sds"].to_numpy(), -1, 0))
    steps = float(trace.sample_stats["n_steps"].mean())
    return rhat.max(), bulk.min(), tail.min(), steps, seconds


def main():
    """Print the table."""
    print("| world | sampled | R-hat | bulk ESS | tail ESS | gradients a draw | seconds |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for name in sys.argv[1:] or WORLDS:
        world = WORLDS[name]
        of_world = Density(world)
        size = 2 + 2 * world.answers
        forms = {
            "apart": (of_world.apart, lambda z: z[:2]),
            "by sum": (of_world.by_sum, to_log_sds),
        }
        for form, (density, to_sds) in forms.items():
            check_gradient(density, size, of_world.rng)
            rhat, bulk, tail, steps, seconds = measure(density, to_sds, size, world.seed)
            numbers = f"{rhat:.3f} | {bulk:.0f} | {tail:.0f} | {steps:.0f} | {seconds:.1f}"
            print(f"| {name} | {form} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
