"""Replicated ratings of posterior draws, measured by the functions that measure observed ratings.

Draws are measured in blocks, so that memory stays bounded for any number of draws.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, rating_dim
from sharpbayes.bayes.design.size import BLOCK_RATINGS
from sharpbayes.bayes.predict.replication import (
    draw_classes,
    draw_new_levels,
    draw_ratings,
    draw_replicates,
    latent_ratings,
    severity_effects,
    with_effects,
)
from sharpbayes.bayes.predict.smoothed_bootstrap import replace_levels
from sharpbayes.errors import format_percent
from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.stats.clusters import number_clusters
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.posterior.prompt_population import PromptPopulation, one_population

Categories = dict[str, NDArray[np.integer]]

# Numbers of random streams: of units, of new judges or raters with their ratings, and of ratings of
# the observed ones where results do not hold them.
UNIT_STREAM, MEMBER_STREAM, RATING_STREAM = 0x51AB, 0x9D3E, 0x3F27
# All replicates of a draw have this many prompts or more together, so that the tail of new ones is
# smooth.
POPULATION_PROMPTS = 500
# Ratings of a panel that are measured at once. Its metrics have several numbers of each, and in
# larger blocks memory takes more time than arithmetic; ratings of a crowd are counted.
PANEL_BLOCK_RATINGS = 8_000_000
# A metric of a population of units has no noise of single ratings. Each draw is replicated until a
# unit of a model has this many ratings, within the bounds. Replicates of items have the same items,
# so that their ratings are spread evenly and fewer do.
RATINGS_PER_UNIT = {"prompts": 400, "items": 250}
MIN_REPLICATES, MAX_REPLICATES = 2, {"prompts": 32, "items": 20}
# Factor of those who are drawn from their population, by source of uncertainty.
MEMBER_COLUMNS = {"judges": "judge", "raters": "rater"}

SOURCES = {
    "ratings": "ratings replicated for the observed cells under the fitted model",
    "prompts": "which prompts there are (Bayesian bootstrap with new prompts among them, the same "
    "for every model)",
    "items": "which items there are (Bayesian bootstrap, the same weights for every group)",
    "judges": "which judges there are (new effects from their population)",
    "raters": "which raters there are (new effects from their population)",
}


@dataclass(frozen=True)
class ReplicateDraws:
    """Posterior draws of ratings for the observed cells.

    Attributes:
        posterior: The draws that ratings were replicated from, over (chain, draw, ...).
        predictive: Replicated ratings of each scale over (chain, draw, rating); where a scale has
            none, its ratings are replicated block by block.
        design: The model's design for the observed ratings.
        seed: Seed of every random number that is drawn here.
        member_columns: Factor of those who are drawn from their population, by source.
        stream: Number of the random stream of their effects and ratings.
        n_replicates: Number of replicates of the ratings of each draw.
        by_draw: Whether ratings of the observed judges or raters that are replicated block by block
            are the same in blocks of any size. Each draw has a random stream for them then.
        population: What the observed prompts say of their population; by default they are of one
            category, and every model has them.
    """

    posterior: xr.Dataset
    predictive: xr.Dataset
    design: Design
    seed: int
    member_columns: Mapping[str, str] = field(default_factory=lambda: MEMBER_COLUMNS)
    stream: int = MEMBER_STREAM
    n_replicates: int = 1
    by_draw: bool = False
    population: PromptPopulation | None = None

    @property
    def coords(self) -> dict[str, xr.DataArray]:
        """Labels of chains and draws."""
        return {name: self.predictive[name] for name in ("chain", "draw")}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws."""
        return self.predictive.sizes["chain"], self.predictive.sizes["draw"]

    def cluster_units(self, units: xr.DataArray, dim: str) -> Index:
        """Return the number of the cluster of each unit; its own where units are independent."""
        if dim == "prompt" and self.population is not None:
            return self.population.cluster
        return number_clusters(units, dim)

    def replicate_anew(
        self, posterior: xr.Dataset | None = None, *, stream: int, design: Design | None = None
    ) -> "ReplicateDraws":
        """Return the draws of another posterior or design, whose ratings are replicated anew."""
        return replace(
            self,
            posterior=self.posterior if posterior is None else posterior,
            predictive=self.predictive.drop_vars(list(self.predictive.data_vars)),
            design=design or self.design,
            stream=stream,
        )

    def replicated_for(self, sources: Collection[str], units: int) -> "ReplicateDraws":
        """Return the draws with as many replicates as the sources of uncertainty ask for."""
        prompts = self.posterior.sizes.get("prompt", POPULATION_PROMPTS)
        number = count_replicates(
            sources, units=units, ratings=self.design.n_ratings, prompts=prompts
        )
        return replace(self, n_replicates=number)

    def blocks(self, *, copies: int = 1) -> Iterator["Block"]:
        """Cut the draws into blocks of bounded size and nearly equal length, chain by chain."""
        chains, draws = self.shape
        ratings = self.design.n_ratings * copies * self.n_replicates
        max_ratings = PANEL_BLOCK_RATINGS if "prompt" in self.posterior.dims else BLOCK_RATINGS
        number = min(max(-(-draws * ratings // max_ratings), 1), max(draws, 1))
        bounds = [draws * i // number for i in range(number + 1)]
        for chain, (start, stop) in product(range(chains), pairwise(bounds)):
            yield Block(self, chain, start, stop)


@dataclass(frozen=True)
class Block:
    """Successive draws of one chain."""

    draws: ReplicateDraws
    chain: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of draws."""
        return self.stop - self.start

    def ratings(
        self, sources: Sequence[str], *, copy: int = 0, n_replicates: int = 1
    ) -> Categories:
        """Return replicates of the ratings of each scale, (replicate x draw, rating).

        With ``judges`` or ``raters`` among the sources, new judges or raters give them, drawn from
        random streams of their own and the same for all replicates of a draw. ``copy`` numbers
        independent sets of new ones; of several sources that have new levels those of the last
        one differ from copy to copy, and the others are the same in all.
        """
        columns = self.draws.member_columns
        new = [columns[source] for source in sources if source in columns]
        if not new and n_replicates == 1 and self.draws.predictive.data_vars:
            return self._read_replicates()
        if not new and n_replicates == 1 and self.draws.by_draw:
            return self._replicate_by_draw()
        rng = self.rng(self.draws.stream, self.start, copy)
        posterior = self._draw_members(new, rng)
        if "prompts" in sources and "prompt" in posterior.dims:
            return self._replicate_populations(posterior, n_replicates, rng)
        design = self.draws.design
        return {
            scale.name: draw_replicates(
                latent_ratings(posterior, design, scale),
                posterior,
                design,
                rng,
                number=n_replicates,
            )
            for scale in design.scales
        }

    def _read_replicates(self) -> Categories:
        """Return the replicate of the ratings of each scale that the draws hold."""
        predictive, successive = self.draws.predictive, slice(self.start, self.stop)
        return {
            scale.name: predictive[f"rating_{scale.name}"]
            .isel(chain=self.chain, draw=successive)
            .transpose("draw", rating_dim(scale.name))
            .to_numpy()
            for scale in self.draws.design.scales
        }

    def _draw_members(self, columns: Sequence[str], rng: np.random.Generator) -> xr.Dataset:
        """Return the draws with new levels of columns, or with the classes of observed raters."""
        design = self.draws.design
        posterior = self.draws.posterior.isel(chain=[self.chain], draw=slice(self.start, self.stop))
        if not columns:
            return draw_classes(posterior, design, known=True, rng=rng)
        for column in columns:
            # All copies have the same new levels but for those of the last column.
            of_all = rng if column == columns[-1] else self.rng(self.draws.stream, self.start, 0)
            posterior = draw_new_levels(posterior, design, column, rng=of_all)
        return posterior

    def _replicate_by_draw(self) -> Categories:
        """Return a replicate of the ratings of each scale, one draw after the other."""
        design = self.draws.design
        types = {scale.name: (len(scale.rows), scale.category_type) for scale in design.scales}
        ratings: Categories = {
            name: np.empty((self.size, number), kind) for name, (number, kind) in types.items()
        }
        for row, draw in enumerate(range(self.start, self.stop)):
            rng = self.rng(self.draws.stream, RATING_STREAM, draw)
            posterior = self.draws.posterior.isel(chain=[self.chain], draw=[draw])
            posterior = draw_classes(posterior, design, known=True, rng=rng)
            for scale in design.scales:
                latent = latent_ratings(posterior, design, scale)
                ratings[scale.name][row] = draw_ratings(latent, posterior, design, rng)[0]
        return ratings

    def _replicate_populations(
        self, posterior: xr.Dataset, number: int, rng: np.random.Generator
    ) -> Categories:
        """Return replicates of the ratings of each scale, each with new prompts of its own."""
        design, prompts = self.draws.design, posterior["prompt"]
        effects = severity_effects(posterior, design)
        population = self.draws.population or one_population(prompts.size)
        populations = replace_levels(
            effects,
            design,
            "prompt",
            weights=self.unit_weights(prompts, "prompt").to_numpy() / prompts.size,
            strata=population.category,
            share=population.new_share,
            rng=rng,
            number=number,
        )
        ratings: Categories = {}
        for scale in design.scales:
            latent = latent_ratings(posterior, design, scale)
            latents = with_effects(latent, effects, populations, design)
            replicates = [draw_ratings(by_draw, posterior, design, rng) for by_draw in latents]
            ratings[scale.name] = np.concatenate(replicates)
        return ratings

    def replicates(self, sources: Sequence[str]) -> Categories:
        """Return as many replicates of the ratings as the draws ask for."""
        return self.ratings(sources, n_replicates=self.draws.n_replicates)

    def unit_weights(self, units: xr.DataArray, dim: str) -> xr.DataArray:
        """Return Bayesian bootstrap weights over (draw, ``dim``): n Dirichlet(1, ..., 1).

        Units of one cluster have one weight.
        """
        codes = self.draws.cluster_units(units, dim)
        weights = np.empty((self.size, units.sizes[dim]))
        for row, draw in enumerate(range(self.start, self.stop)):
            gamma = self.rng(UNIT_STREAM, draw).gamma(1.0, size=int(codes.max()) + 1)[codes]
            weights[row] = gamma / gamma.mean()
        labels = {dim: units[dim]} if dim in units.coords else {}
        return xr.DataArray(weights, labels, ("draw", dim))

    def population_weights(
        self, units: xr.DataArray, dim: str, sources: Sequence[str]
    ) -> xr.DataArray | None:
        """Return weights of the units of all replicates, (draw, ``dim``); None counts each once."""
        weights, number = self.replicate_weights(units, dim, sources), self.draws.n_replicates
        if weights is None or number == 1:
            return weights
        return concatenate_units([weights] * number, dim)

    def replicate_weights(
        self, units: xr.DataArray, dim: str, sources: Sequence[str]
    ) -> xr.DataArray | None:
        """Return weights of the units of each replicate, (draw, ``dim``); None counts each once.

        The weights of a unit in all replicates add up to its weight in one.
        """
        if f"{dim}s" not in sources:
            return None
        return self.unit_weights(units, dim) / self.draws.n_replicates

    def rng(self, *stream: int) -> np.random.Generator:
        """Return a random stream of this chain."""
        return np.random.default_rng([self.draws.seed, self.chain, *stream])


def count_replicates(sources: Collection[str], *, units: int, ratings: int, prompts: int) -> int:
    """Return the replicates of each draw that sources of uncertainty ask for.

    >>> count_replicates(["ratings", "prompts"], units=120, ratings=3960, prompts=30)
    17
    >>> count_replicates(["ratings"], units=120, ratings=3960, prompts=30)
    1
    >>> count_replicates(["ratings", "items"], units=80, ratings=3200, prompts=1)
    7
    """
    population = next((name for name in RATINGS_PER_UNIT if name in sources), None)
    if population is None:
        return 1
    by_ratings = -(-RATINGS_PER_UNIT[population] * units // max(ratings, 1))
    by_prompts = -(-POPULATION_PROMPTS // prompts) if population == "prompts" else 1
    return min(max(by_ratings, by_prompts, MIN_REPLICATES), MAX_REPLICATES[population])


def measure_draws(
    draws: ReplicateDraws,
    statistic: Callable[[Block], Sequence[xr.Dataset]],
    *,
    copies: int = 1,
) -> list[xr.Dataset]:
    """Return statistics of every draw over (chain, draw, ...), computed block by block.

    The statistic gives as many datasets over (draw, ...) for every block. Each replicate is
    ``copies`` times as large as the observed ratings.
    """
    blocks = list(draws.blocks(copies=copies))
    parts = current_map()(lambda number: statistic(blocks[number]), range(len(blocks)))
    return [_concatenate_blocks(datasets, draws) for datasets in zip(*parts, strict=True)]


def _concatenate_blocks(blocks: Sequence[xr.Dataset], draws: ReplicateDraws) -> xr.Dataset:
    """Concatenate blocks of draws into (chain, draw, ...), without the attributes of variables."""
    first, variables = blocks[0][list(blocks[0])].pipe(without_attributes), {}
    for name, array in first.data_vars.items():
        rest = tuple(dim for dim in array.dims if dim != "draw")
        values = [block[name].transpose("draw", *rest).to_numpy() for block in blocks]
        joined = np.concatenate(values).reshape(*draws.shape, *values[0].shape[1:])
        variables[name] = (("chain", "draw", *rest), joined)
    coords = {name: coord for name, coord in first.coords.items() if "draw" not in coord.dims}
    return xr.Dataset(variables, coords | draws.coords)


def concatenate_units[Data: (xr.Dataset, xr.DataArray)](parts: Sequence[Data], dim: str) -> Data:
    """Concatenate along a dimension, which loses its labels; constants along it stay."""
    bare = [part.drop_vars(dim, errors="ignore") for part in parts]
    if isinstance(bare[0], xr.DataArray):
        return xr.concat(bare, dim, coords="minimal", compat="override")
    return xr.concat(bare, dim, data_vars="minimal", coords="minimal", compat="override")


def pool_replicates[Data: (xr.Dataset, xr.DataArray)](
    data: Data, n_replicates: int, dim: str
) -> Data:
    """Pool the replicates of (replicate x draw, ``dim``, ...) along the units of each draw.

    A metric of a population of units has no noise of the few ratings of a unit. With a single
    replicate that noise would count twice: the posterior and the choice of units contain it.
    """
    if n_replicates == 1:
        return data
    if "draw" not in data.dims:  # the same in every draw
        return concatenate_units([data] * n_replicates, dim)
    size = data.sizes["draw"] // n_replicates
    starts = range(0, n_replicates * size, size)
    return concatenate_units([data.isel(draw=slice(s, s + size)) for s in starts], dim)


def interval_note(sources: Sequence[str], *, level: float) -> str:
    """Return which sources of uncertainty the intervals of posterior metrics contain."""
    described = "; ".join(SOURCES[name] for name in sources)
    return f"{format_percent(level)} posterior intervals; they contain {described}."
