"""Careless raters of a crowd: who may be one, in which groups, and what metrics are without them.

Nobody is deleted: all other results contain every rater. Metrics are computed with three weights
of each rater: 1; 1 or 0 by the flag; and 1 - P(careless), rounded to hundredths.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import CrowdCounts
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.analysis.target_population import (
    population_counts,
    population_responsiveness,
    reweight_raters,
)
from sharpbayes.bayes.design.careless import RATER
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.predict.replication import rater_probability
from sharpbayes.metrics.crowd.reading import reading
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.posterior.crowd import replicate_scores, unknown_labels_note
from sharpbayes.posterior.replicates import Block, ReplicateDraws, interval_note, measure_draws
from sharpbayes.spec.model import Model

# A rater is flagged from this probability of being careless.
FLAGGED_FROM = 0.5
WITHOUT, WEIGHTED = "without careless", "weighted"
LONG_NAMES = {
    "prob_careless": "posterior probability that the rater is careless",
    "prob_careless_error": "Monte Carlo standard error of that probability",
    "flagged": "whether that probability is above 0.5",
    "ratings": "number of ratings of the rater",
    "peer_correlation": "correlation of a flagged rater's scores with those of other flagged ones",
    "crowd_correlation": "correlation of a flagged rater's scores with those of unflagged raters",
    "reading_p": "p value of a flagged rater's scores having nothing to do with the items",
    "raters": "number of raters of the group",
    "flagged_raters": "number of flagged raters of the group",
    "flagged_share": "share of flagged raters of the group",
    "flagged_share_interval": "Wilson interval of that share",
    "mean_prob_careless": "mean posterior probability over the raters of the group",
}
NOTE = (
    "Flagged: posterior probability above {limit:.0%} that the scores do not depend on the item. "
    "The model cannot say why: a rater who reads the scale the other way round, or orders items as "
    "few others do, looks alike. p of no reading, of flagged raters: p value of scores that have "
    "nothing to do with the items. Where it is small, the scores follow the items as other raters "
    "or other flagged ones see them: the rater may read, and see them otherwise; of those who do "
    "not read one in twenty has a p of 0.05 or less. Nobody is left out of any other result."
)


def careless_groups(
    study: CrowdStudy, draws: ReplicateDraws, model: Model
) -> dict[str, xr.Dataset]:
    """Return ``careless`` and responsiveness by three weights of raters, observed and posterior.

    Empty where the model has no careless raters.
    """
    if draws.design.careless is None:
        return {}
    table = careless_raters_table(study, draws)
    sources, level = study.spec.uncertainties[0], study.spec.bootstrap.level
    populations = {
        WITHOUT: 1.0 - table["flagged"].to_numpy(),
        WEIGHTED: np.round(1.0 - table["prob_careless"].to_numpy(), 2),
    }
    names, items = ["sample", *populations], study.score_counts.plurality["item"]

    def measure_block(block: Block) -> list[xr.Dataset]:
        counts = _count_populations(study, populations, replicate_scores(block, sources))
        weights = block.replicate_weights(items, "item", sources)
        return [population_responsiveness(study, counts, names=names, weights=weights)]

    kinds = sum(len(np.unique(weights)) for weights in populations.values())
    copies = -(-items.size * len(study.data.score_labels) * kinds * 4 // len(study.data.score))
    replicated = draws.replicated_for(sources, items.size)
    [posterior] = measure_draws(replicated, measure_block, copies=copies)
    observed = xr.DataArray(study.data.score, dims="rating")
    counts = _count_populations(study, populations, observed)
    return {
        "careless": table,
        "responsiveness_careless": population_responsiveness(study, counts, names=names),
        "posterior_responsiveness_careless": posterior.assign_attrs(
            remark=unknown_labels_note(study.crowd, model),
            interval_note=interval_note(sources, level=level),
            sources=list(sources),
            level=level,
        ),
    }


def _count_populations(
    study: CrowdStudy, populations: Mapping[str, Floats], scores: xr.DataArray
) -> list[CrowdCounts]:
    """Counts of the sample, then with each of the weights of raters."""
    weights = list(populations.values())
    sample, first = population_counts(study, weights[0], scores)
    others = (reweight_raters(study.data, sample, scores, rater) for rater in weights[1:])
    return [sample, first, *others]


def careless_raters_table(study: CrowdStudy, draws: ReplicateDraws) -> xr.Dataset:
    """Return P(careless) of every rater, and how flags fall over the groups of raters.

    Over ``rater``: ``prob_careless``, ``prob_careless_error``, ``flagged``, ``ratings`` and, of
    flagged raters, :func:`sharpbayes.metrics.crowd.reading.reading`; over
    ``group``: ``raters``, ``flagged_raters``, ``flagged_share`` with its Wilson interval, which
    takes the raters as a sample, and ``mean_prob_careless``.
    """
    probability = _probabilities(study, draws)
    mean = probability.mean(axis=(0, 1))
    flagged = mean > FLAGGED_FROM
    member = study.score_counts.membership.transpose("group", "rater")
    inside = member.to_numpy().astype(float)
    raters, level = inside.sum(axis=1), study.spec.bootstrap.level
    count = inside @ flagged
    bounds = [_wilson(int(k), int(n), level=level) for k, n in zip(count, raters, strict=True)]
    with np.errstate(invalid="ignore"):
        share, mean_of_group = count / raters, inside @ mean / raters
    data = study.data
    table = xr.Dataset(
        {
            **_read_flagged(study, flagged).data_vars,
            "prob_careless": ("rater", mean),
            "prob_careless_error": ("rater", _monte_carlo_error(probability)),
            "flagged": ("rater", flagged.astype(np.int8)),
            "ratings": ("rater", np.bincount(data.rater.codes, minlength=len(mean))),
            "raters": ("group", raters.astype(np.int64)),
            "flagged_raters": ("group", count.astype(np.int64)),
            "flagged_share": ("group", share),
            "flagged_share_interval": (("group", "bound"), np.array(bounds)),
            "mean_prob_careless": ("group", mean_of_group),
        },
        {
            "rater": list(data.rater.labels),
            "group": member["group"].to_numpy(),
            "grouping": ("group", member["grouping"].to_numpy()),
            "bound": ["lower", "upper"],
            **data.group_coords,
        },
    )
    note = NOTE.format(limit=FLAGGED_FROM)
    return name_variables(table, LONG_NAMES).assign_attrs(careless_note=note, level=level)


def _read_flagged(study: CrowdStudy, flagged: NDArray[np.bool_]) -> xr.Dataset:
    """Whether the scores of flagged raters follow the items, over ``rater``."""
    data = study.data
    item, rater = data.item.codes, data.rater.codes
    return reading(data.score, item=item, rater=rater, suspect=flagged, seed=study.spec.seed)


def _probabilities(study: CrowdStudy, draws: ReplicateDraws) -> Floats:
    """P(careless | ratings, draw) of the raters of the crowd, (chain, draw, rater)."""
    values = rater_probability(draws.posterior, draws.design)
    position = {label: n for n, label in enumerate(draws.design.coords[RATER])}
    columns = [position[label] for label in study.data.rater.labels]
    return values[:, columns].reshape(*draws.shape, -1)


def _monte_carlo_error(probability: Floats) -> Floats:
    """Standard error of the mean over draws, (chain, draw, rater); 0 without a spread."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]  # noqa: PLC0415 - slow to load

    error: Floats = array_stats.mcse(probability, chain_axis=0, draw_axis=1, method="mean")
    return error


def _wilson(count: int, total: int, *, level: float) -> tuple[float, float]:
    """Wilson's interval of a share; missing of nobody."""
    if total == 0:
        return np.nan, np.nan
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to load

    interval = binomtest(count, total).proportion_ci(level, "wilson")
    return float(interval.low), float(interval.high)
