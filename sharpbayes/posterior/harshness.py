"""Which group of a crowd scores more harshly: differences of latent locations."""

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.predict.replication import flatten_draws
from sharpbayes.errors import format_percent
from sharpbayes.metrics.crowd.contrasts import pairs_of_groups
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.model import dim_name

# Number of the random stream of the raters' weights.
RATER_WEIGHTS = 0x41D7
LONG_NAMES = {
    "latent_difference": "posterior median of the difference of mean locations",
    "latent_difference_interval": "posterior interval of that difference",
    "prob_higher": "probability that the first group scores higher",
}
NOTE = (
    "Latent: {level} posterior intervals of the difference of mean locations, in {link}s of "
    "the latent severity; they contain {contained}."
)


def latent_harshness(study: CrowdStudy, draws: ReplicateDraws) -> xr.Dataset | None:
    """Return how much more harshly each group scores than another on the latent scale.

    The location of a rater is the sum of the mean effects, over their ratings, of all location
    terms about raters or groups of raters; that of a group is the mean over its raters. Where
    raters are a source of uncertainty, their weights are Bayesian bootstrap weights, scaled so that
    the variance of a mean is s^2 / m.

    Over (group, other): ``latent_difference``, ``latent_difference_interval`` (..., bound) and
    ``prob_higher``; missing where the observed difference of mean scores is not defined. None where
    the model has no such term.
    """
    location = _rater_locations(study, draws)
    if location is None:
        return None
    new_raters, level = "raters" in study.spec.uncertainties[0], study.spec.bootstrap.level
    membership = study.score_counts.membership
    member = membership.transpose("group", "rater").to_numpy().astype(float)
    size = member.sum(axis=1, keepdims=True)
    mean = location @ (member / size).T
    if new_raters:
        mean = mean + _rater_noise(location, mean, member, seed=draws.seed)
    enough = size[:, 0] >= max(study.crowd.min_raters, 2)
    shape = (len(member), len(member))
    median, higher = (np.full(shape, np.nan) for _ in range(2))
    bounds = np.full((*shape, 2), np.nan)
    for first, second in pairs_of_groups(membership["grouping"].to_numpy()):
        known = enough[first] & enough[second]
        for a, b in zip(first[known], second[known], strict=True):
            gap = mean[:, a] - mean[:, b]
            interval = central_interval(xr.DataArray(gap, dims="draw"), level=level, dim="draw")
            median[a, b] = np.median(gap)
            median[b, a] = -median[a, b]
            bounds[a, b] = interval
            bounds[b, a] = -bounds[a, b, ::-1]
            higher[a, b] = (gap > 0).mean()
            higher[b, a] = 1.0 - higher[a, b]
    labels = membership["group"].to_numpy()
    dims = ("group", "other")
    table = xr.Dataset(
        {
            "latent_difference": (dims, median),
            "latent_difference_interval": ((*dims, "bound"), bounds),
            "prob_higher": (dims, higher),
        },
        {"group": labels, "other": labels, "bound": ["lower", "upper"]},
    )
    contained = "the posterior and which raters there are" if new_raters else "the posterior"
    note = NOTE.format(level=format_percent(level), link=draws.design.link, contained=contained)
    return name_variables(table, LONG_NAMES).assign_attrs(latent_note=note)


def _rater_locations(study: CrowdStudy, draws: ReplicateDraws) -> Floats | None:
    """Location of every rater of the crowd, (sample, rater)."""
    rater, n_raters = study.data.rater.codes, len(study.data.rater.labels)
    ratings = np.maximum(np.bincount(rater, minlength=n_raters), 1)
    groups = {dim_name(name) for name in study.ratings.factors if name.startswith("group:")}
    terms = [
        term
        for term in draws.design.terms_of("location")
        if not groups.isdisjoint(term.dims) or "rater" in term.dims
    ]
    if not terms:
        return None
    total: float | Floats = 0.0
    for term in terms:
        index = term.index[: rater.size]
        used = index >= 0
        share = csr_array(
            (1.0 / ratings[rater[used]], (index[used], rater[used])), shape=(term.size, n_raters)
        )
        total = total + flatten_draws(draws.posterior[term.name], *term.dims) @ share
    return np.asarray(total)


def _rater_noise(location: Floats, mean: Floats, member: Floats, *, seed: int) -> Floats:
    """What the choice of raters adds to the mean of each group, (sample, group)."""
    rng = np.random.default_rng([seed, RATER_WEIGHTS])
    noise = np.zeros_like(mean)
    for group, inside in enumerate(member > 0):
        m = int(inside.sum())
        if m > 1:
            weights = rng.dirichlet(np.ones(m), size=len(location))
            gap = location[:, inside] - mean[:, [group]]
            noise[:, group] = (weights * gap).sum(axis=1) * np.sqrt((m + 1.0) / (m - 1.0))
    return noise
