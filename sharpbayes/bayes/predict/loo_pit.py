"""Leave-one-out PIT of ordinal ratings: where each falls in the prediction from all others.

    u_n = P(Y_n < y_n | y without n) + v_n P(Y_n = y_n | y without n),  v_n uniform on (0, 1),

is uniform if the model describes how ratings vary. Both probabilities are exact for each draw, and
their means are under PSIS weights, so that no rating is replicated and no model fitted again.

Source: Gelfand, Dey and Chang 1992; Czado, Gneiting and Held 2009 (randomised for counts);
Vehtari, Gelman and Gabry 2017.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings
from sharpbayes.bayes.predict.psis import psis_pit
from sharpbayes.bayes.predict.replication import latent_ratings
from sharpbayes.execution.threads import thread_map

# Probabilities in the memory of a thread, 8 bytes each; temporary arrays take ten times that.
BLOCK_VALUES = 1_000_000
# A PIT of 0 or 1, which rounding may give, would have a p value of 0 by itself.
LEAST = 1e-12


def loo_pit(
    posterior: xr.Dataset, design: Design, rows: Index, *, seed: int
) -> tuple[Floats, Floats]:
    """Return the randomised PIT of some ratings, and Pareto k of the weights of each.

    ``rows`` are positions among all ratings, each once. The model has no careless raters: the
    ratings of such a rater depend on each other.
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    blocks = list(_blocks(design, rows, size=max(1, BLOCK_VALUES // draws)))

    def probabilities(block: tuple[Index, ScaleRatings]) -> tuple[Floats, Floats, Floats]:
        latent = latent_ratings(posterior, design, block[1])
        return psis_pit(latent.log_probability(), latent.below_probability())

    lower, equal, pareto_k = np.empty((3, len(rows)))
    for (position, _), values in zip(blocks, thread_map(probabilities, blocks), strict=True):
        lower[position], equal[position], pareto_k[position] = values
    uniform = np.random.default_rng(seed).random(len(rows))
    return np.clip(lower + uniform * equal, LEAST, 1.0 - LEAST), pareto_k


def _blocks(design: Design, rows: Index, *, size: int) -> Iterator[tuple[Index, ScaleRatings]]:
    """Yield positions among ``rows`` and the ratings there, scale by scale, at most ``size``."""
    for scale in design.scales:
        position = np.full(design.n_ratings, -1, dtype=np.int64)
        position[scale.rows] = np.arange(len(scale.rows))
        inside = np.flatnonzero(position[rows] >= 0)
        for start in range(0, len(inside), size):
            part = inside[start : start + size]
            of_scale = position[rows[part]]
            yield (
                part,
                replace(scale, rows=scale.rows[of_scale], category=scale.category[of_scale]),
            )
