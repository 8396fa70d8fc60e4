"""Posterior twins: replicated ratings through the very functions that measure observed ones.

Ratings of each posterior draw are put where the observed ones lie, and measured in blocks of draws,
so that memory stays bounded whatever the number of draws.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, rating_dim
from sharpbayes.bayes.predict.categories import draw_categories
from sharpbayes.bayes.predict.new_levels import draw_new_levels
from sharpbayes.bayes.predict.replication import latent_ratings
from sharpbayes.execution.threads import current_map

Levels = dict[str, NDArray[np.integer]]
Floats = NDArray[np.float64]

# Ratings measured at once by one thread: some 40 bytes each while they are.
BLOCK_RATINGS = 20_000_000
BETWEEN = " | "
# Set apart the streams of units, of new judges or raters, and of replication itself.
UNITS, MEMBERS = 0x51AB, 0x9D3E
# Where units stand for a population every draw has so many makings of its ratings that a unit of a
# model has this many, within the bounds: the metric of a population has no noise of one making.
PER_UNIT, FEWEST, MOST = 400, 2, 32
POPULATIONS = {"prompts", "items"}
# The column of those who are drawn anew, by source.
DRAWN = {"judges": "judge", "raters": "rater"}

CONTAINS = {
    "ratings": "ratings replicated for the observed cells under the fitted model",
    "prompts": "which prompts there are (Bayesian bootstrap, the same weights for every model)",
    "items": "which items there are (Bayesian bootstrap, the same weights for every group)",
    "judges": "which judges there are (effects drawn anew from their population)",
    "raters": "which raters there are (effects drawn anew from their population)",
}


@dataclass(frozen=True)
class Draws:
    """Posterior draws of ratings, for the observed cells.

    Attributes:
        posterior: The draws that ratings were replicated from, over (chain, draw, ...).
        predictive: Replicated levels of each scale over (chain, draw, rating); without them
            ratings are replicated block by block.
        design: Terms of the model, indexed by the observed ratings.
        seed: Seed of everything that is drawn here.
        drawn: The column of those who are drawn anew, by source.
        stream: Number of the stream of their effects and ratings.
        makings: How many makings of the ratings there are of every draw.
    """

    posterior: xr.Dataset
    predictive: xr.Dataset
    design: Design
    seed: int
    drawn: Mapping[str, str] = field(default_factory=lambda: DRAWN)
    stream: int = MEMBERS
    makings: int = 1

    @property
    def coords(self) -> dict[str, xr.DataArray]:
        """Labels of chains and draws."""
        return {name: self.predictive[name] for name in ("chain", "draw")}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains and of draws."""
        return self.predictive.sizes["chain"], self.predictive.sizes["draw"]

    def about(self, sources: Collection[str], units: int) -> "Draws":
        """Return the draws with as many makings as what the sources are about asks for.

        Args:
            sources: What varies from draw to draw.
            units: Number of prompts of all models, or of items.
        """
        if POPULATIONS.isdisjoint(sources):
            return replace(self, makings=1)
        wanted = -(-PER_UNIT * units // max(self.design.n_ratings, 1))
        return replace(self, makings=min(max(wanted, FEWEST), MOST))

    def blocks(self, *, copies: int = 1) -> Iterator["Block"]:
        """Cut the draws into blocks of bounded size, chain by chain."""
        chains, draws = self.shape
        step = max(1, BLOCK_RATINGS // max(self.design.n_ratings * copies * self.makings, 1))
        for chain in range(chains):
            for start in range(0, draws, step):
                yield Block(self, chain, start, min(start + step, draws))


@dataclass(frozen=True)
class Block:
    """Successive draws of one chain."""

    draws: Draws
    chain: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of draws."""
        return self.stop - self.start

    def levels(self, sources: Sequence[str], *, copy: int = 0) -> Levels:
        """Return replicated levels of each scale, (draw, rating).

        With ``judges`` or ``raters`` among the sources they are those of new ones, drawn from
        streams of their own; ``copy`` numbers independent sets of them.
        """
        column = self._drawn_anew(sources)
        if column is None and self.draws.predictive.data_vars:
            held = self.draws.predictive
            return {
                scale.name: held[f"rating_{scale.name}"]
                .isel(chain=self.chain, draw=slice(self.start, self.stop))
                .transpose("draw", rating_dim(scale.name))
                .to_numpy()
                for scale in self.draws.design.scales
            }
        return self._made(sources, 1, copy=copy)

    def makings(self, sources: Sequence[str]) -> Levels:
        """Return all makings of the ratings, (making x draw, rating), one after the other.

        Several for a population of prompts or items, all by the same judges or raters.
        """
        number = self.draws.makings
        return self.levels(sources) if number == 1 else self._made(sources, number)

    def _made(self, sources: Sequence[str], number: int, *, copy: int = 0) -> Levels:
        """Levels of each scale, (making x draw, rating), all makings from the same latents."""
        column, rng = self._drawn_anew(sources), self.rng(self.draws.stream, self.start, copy)
        fresh = self.draws.posterior.isel(chain=[self.chain], draw=slice(self.start, self.stop))
        if column is not None:
            fresh = draw_new_levels(fresh, self.draws.design, column, rng=rng)
        found: Levels = {}
        for scale in self.draws.design.scales:
            latent = latent_ratings(fresh, self.draws.design, scale)
            found[scale.name] = np.concatenate(
                [draw_categories(latent, rng) for _ in range(number)]
            )
        return found

    def _drawn_anew(self, sources: Sequence[str]) -> str | None:
        """The column of those who are drawn anew."""
        member = self.draws.drawn
        return next((member[each] for each in sources if each in member), None)

    def unit_weights(self, units: xr.DataArray, dim: str) -> xr.DataArray:
        """Return Bayesian bootstrap weights over (draw, ``dim``): n Dirichlet(1, ..., 1)."""
        size = units.sizes[dim]
        found = np.empty((self.size, size))
        for row, draw in enumerate(range(self.start, self.stop)):
            gamma = self.rng(UNITS, draw).gamma(1.0, size=size)
            found[row] = gamma / gamma.mean()
        labels = {dim: units[dim]} if dim in units.coords else {}
        return xr.DataArray(found, labels, ("draw", dim))

    def population_weights(
        self, units: xr.DataArray, dim: str, sources: Sequence[str]
    ) -> xr.DataArray | None:
        """Return weights of the units of all makings, (draw, ``dim``); None: each counts once.

        Those of one unit in all makings add up to its weight in one.
        """
        if f"{dim}s" not in sources:
            return None
        number = self.draws.makings
        weights = self.unit_weights(units, dim) / number
        return weights if number == 1 else side_by_side([weights] * number, dim)

    def rng(self, *stream: int) -> np.random.Generator:
        """A stream of its own for this chain."""
        return np.random.default_rng([self.draws.seed, self.chain, *stream])


def measured_draws(
    draws: Draws, statistic: Callable[[Block], Sequence[xr.Dataset]], *, copies: int = 1
) -> list[xr.Dataset]:
    """Return statistics of every draw over (chain, draw, ...), computed block by block.

    Args:
        draws: Replicated ratings.
        statistic: Several datasets over (draw, ...) of a block; the same ones of every block.
        copies: How many times as large as the observed ratings each replicate is.
    """
    blocks = list(draws.blocks(copies=copies))

    def part(number: int) -> xr.Dataset:
        return _together(statistic(blocks[number]))

    parts = [_apart(made) for made in current_map()(part, range(len(blocks)))]
    return [_joined(each, draws) for each in zip(*parts, strict=True)]


def _together(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Several datasets of the same labels as one."""
    return xr.merge(
        [
            part.rename({name: f"{number}{BETWEEN}{name}" for name in part.data_vars})
            for number, part in enumerate(parts)
        ],
        compat="identical",
        join="exact",
        combine_attrs="drop",
    )


def _apart(made: xr.Dataset) -> list[xr.Dataset]:
    """The datasets that stand side by side in one."""
    names: dict[str, dict[Hashable, str]] = {}
    for name in made.data_vars:
        number, own = str(name).split(BETWEEN, 1)
        names.setdefault(number, {})[name] = own
    return [made[list(own)].rename(own) for own in names.values()]


def _joined(parts: Sequence[xr.Dataset], draws: Draws) -> xr.Dataset:
    """Blocks of draws as (chain, draw, ...)."""
    variables = {}
    for name, first in parts[0].data_vars.items():
        rest = tuple(dim for dim in first.dims if dim != "draw")
        values = [part[name].transpose("draw", *rest).to_numpy() for part in parts]
        whole = np.concatenate(values).reshape(*draws.shape, *values[0].shape[1:])
        variables[name] = (("chain", "draw", *rest), whole, first.attrs)
    coords = {name: held for name, held in parts[0].coords.items() if "draw" not in held.dims}
    return xr.Dataset(variables, coords | draws.coords)


def side_by_side[Held: (xr.Dataset, xr.DataArray)](parts: Sequence[Held], dim: str) -> Held:
    """Return several one after the other along units, which then have no labels.

    >>> once = xr.DataArray([1.0, 2.0], {"item": ["a", "b"]})
    >>> side_by_side([once, once + 2], "item").values
    array([1., 2., 3., 4.])
    """
    bare = [each.drop_vars(dim, errors="ignore") for each in parts]
    if isinstance(bare[0], xr.DataArray):
        return xr.concat(bare, dim, coords="minimal", compat="override")
    return xr.concat(bare, dim, data_vars="minimal", coords="minimal", compat="override")


def together[Held: (xr.Dataset, xr.DataArray)](held: Held, makings: int, dim: str) -> Held:
    """Return all makings of a draw side by side along its units.

    Units stand for a population, whose metric has no noise of the few ratings of a unit. Were a
    draw one making, its noise would be counted on top of that of the observed ratings, which the
    posterior and the choice of units hold already.

    Args:
        held: Over (making x draw, ``dim``, ...), or the same for all of them.
        makings: How many there are.
        dim: The units.

    >>> made = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("draw", "item"))
    >>> together(made, 2, "item").values
    array([[1., 2., 3., 4.]])
    """
    if makings == 1:
        return held
    if "draw" not in held.dims:
        return side_by_side([held] * makings, dim)
    size = held.sizes["draw"] // makings
    parts = [held.isel(draw=slice(at * size, (at + 1) * size)) for at in range(makings)]
    return side_by_side(parts, dim)


def draws_of(levels: Levels, design: Design) -> Draws:
    """Levels of each scale, (draw, rating), as draws of one chain."""
    held = {
        f"rating_{name}": (("chain", "draw", rating_dim(name)), values[None])
        for name, values in levels.items()
    }
    return Draws(xr.Dataset(), xr.Dataset(held), design, seed=0)


def texts_of(labels: xr.DataArray) -> list[str]:
    """Labels as text."""
    return [str(label) for label in labels.to_numpy()]


def contains(sources: Sequence[str], *, level: float) -> str:
    """Say what the intervals of a posterior twin contain.

    >>> contains(["ratings"], level=0.9)[:64]
    '90% posterior intervals; they contain ratings replicated for the'
    """
    held = "; ".join(CONTAINS[name] for name in sources)
    return f"{level:.0%} posterior intervals; they contain {held}."
