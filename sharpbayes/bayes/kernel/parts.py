"""Ratings in parts that may be on different machines: log-likelihoods and gradients that add up.

The log-likelihood of all ratings is the sum of those of parts, each a function of the same inputs:
effects, cutpoints, gaps, and the offsets of careless raters. A part is sent those inputs that its
ratings depend on, and returns its log-likelihood and as many derivatives. Priors and
transformations stay with the chain. Ratings of one level of the largest term are in one part, so
that most inputs travel to one part only; so are ratings of one rater who may be careless, because
the likelihood of such a rater is no sum over ratings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sharpbayes.bayes.design.crossing import INDEX_TYPE, Index
from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.kernel.blocks import block_arrays
from sharpbayes.bayes.kernel.careless_data import careless_arrays
from sharpbayes.bayes.kernel.data import AT, SIZE, KernelData, find_cutpoint_sets
from sharpbayes.bayes.kernel.layout import ParameterLayout
from sharpbayes.bayes.kernel.machine_code import halves_code, pack, part_code, stored_values

# The log-likelihood of a part, and its derivatives by the inputs of the part.
PartResult = tuple[float, Floats]


@dataclass(frozen=True)
class RatingsPart:
    """A part of the ratings, and what its likelihood is built of."""

    data: KernelData  # of the whole design, without ratings
    design: Design  # of the part
    first_effects: dict[str, int]  # position in ``U`` of each term's first effect
    set_of_rating: Index  # set of cutpoints of each rating
    inputs: Index  # positions of the inputs that the part depends on


class RatingsParts(Sequence[RatingsPart]):
    """Parts of the ratings of a design; each is copied when it is asked for."""

    def __init__(self, layout: ParameterLayout, number: int) -> None:
        """Cut the ratings of a layout without ratings into so many parts, or fewer."""
        design, data = layout.design, layout.kernel_data
        starts = data.terms.term[:, AT.u].tolist()
        self.design, self.data = design, data
        self.first_effects = {t.name: u for t, u in zip(design.parents_first, starts, strict=True)}
        sets, *_ = find_cutpoint_sets(design, self.first_effects)
        self.set_of_rating = sets.astype(INDEX_TYPE)
        self.part_of_rating = number_parts(design, number)
        self.inputs = [self._find_inputs(self._rows(part)) for part in range(len(self))]

    def __len__(self) -> int:
        """Return the number of parts."""
        return int(self.part_of_rating.max()) + 1

    def __getitem__(self, number: int) -> RatingsPart:  # type: ignore[override]
        """Return a part."""
        if number >= len(self):
            raise IndexError(number)
        rows = self._rows(number)
        design = replace(self.design.of(rows), coords={})
        sets, inputs = self.set_of_rating[rows], self.inputs[number]
        return RatingsPart(self.data, design, self.first_effects, sets, inputs)

    def _rows(self, number: int) -> Index:
        """Return the positions of the ratings of a part."""
        return np.flatnonzero(self.part_of_rating == number)

    def _find_inputs(self, rows: Index) -> Index:
        """Return positions of the inputs of the likelihood that some ratings depend on."""
        design, data = self.design, self.data
        vector, n = int(data.sizes[SIZE.vector]), int(data.sizes[SIZE.cutpoints])
        used = [
            self.first_effects[term.name] + find_levels(term.index[rows])
            for term in design.terms
            if term.kind != "gap"
        ]
        for scale, first in data.cutpoint_set[np.unique(self.set_of_rating[rows])]:
            cutpoints = vector + np.arange(first, first + design.scales[scale].n_cutpoints)
            used += [cutpoints, n + cutpoints]
        if design.careless is not None:
            # The share of careless raters is the last effect; the first offset is of no rater.
            raters = find_levels(design.careless.index[rows])
            used += [np.array([vector - 1]), vector + 2 * n + 1 + raters]
        return np.unique(np.concatenate(used))


def find_levels(index: Index) -> Index:
    """Return the levels that have a rating."""
    levels = np.unique(index)
    return levels[levels >= 0].astype(np.int64)


def number_parts(design: Design, parts: int) -> Index:
    """Return the part of each rating: about as many ratings each, levels of one term together."""
    if design.careless is not None:
        level = design.careless.index + 1
    elif design.severity_terms:
        level = max(design.severity_terms, key=lambda term: term.size).index + 1
    else:
        level = np.arange(design.n_ratings)
    ratings = np.bincount(level)
    middle = np.cumsum(ratings) - (ratings + 1) // 2
    part_of_level = (middle * parts) // design.n_ratings
    used = np.unique(part_of_level[ratings > 0])
    return np.searchsorted(used, part_of_level).astype(np.int16)[level]


class PartLikelihood:
    """The log-likelihood of a part, by the inputs that it depends on, wherever the part is."""

    def __init__(self, part: RatingsPart) -> None:
        """Build the arrays of the part."""
        blocks = block_arrays(part.design, part.first_effects, part.set_of_rating)
        self.data = part.data._replace(**careless_arrays(part.design), **blocks)
        self.packed, self.inputs = pack(self.data), part.inputs
        sizes = self.data.sizes
        self.size = sizes[SIZE.vector] + 2 * sizes[SIZE.cutpoints] + len(self.data.rater_block)

    def __call__(self, values: Floats) -> PartResult:
        """Return the log-likelihood and its derivatives by the inputs of the part."""
        x = np.zeros(self.size)
        x[self.inputs] = values
        value, dx = part_code()(self.packed, x)
        return value, dx[self.inputs]


@dataclass(frozen=True)
class PartsDensity:
    """Log density and gradient of a design by the sums over parts of its ratings.

    ``compute`` returns the result of each part from its inputs. Its errors are kept for
    :meth:`check`, because the sampler does not survive one.
    """

    layout: ParameterLayout  # without ratings
    inputs: Sequence[Index]  # of each part
    compute: Callable[[Sequence[Floats]], list[PartResult]]
    errors: list[Exception] = field(default_factory=list, init=False)

    @cached_property
    def packed(self) -> Index:
        """The kernel's data, packed."""
        return pack(self.layout.kernel_data)

    def __call__(self, z: Floats) -> PartResult:
        """Return log density and gradient; where a derivative is not finite the density is missing.

        The sampler turns back there.
        """
        forward, backward = halves_code()
        total, x, state = forward(self.packed, z)
        value, dx = self.likelihood(x)
        density, gradient = backward(self.packed, z, x, dx, state, total + value)
        return (density if np.isfinite(gradient).all() else np.nan), gradient

    def likelihood(self, x: Floats) -> PartResult:
        """Return the log-likelihood of all ratings and its derivatives, added part by part."""
        dx, value = np.zeros_like(x), 0.0
        for inputs, (of_part, derivatives) in zip(self.inputs, self._ask_parts(x), strict=True):
            dx[inputs] += derivatives
            value += of_part
        return value, dx

    def _ask_parts(self, x: Floats) -> list[PartResult]:
        """Return the results of parts; from the first error on those of no ratings."""
        messages = [x[inputs] for inputs in self.inputs]
        if not self.errors:
            try:
                return self.compute(messages)
            except Exception as error:  # noqa: BLE001 - the sampler panics at an error in a chain
                self.errors.append(error)
        return [(0.0, np.zeros_like(message)) for message in messages]

    def check(self) -> None:
        """Raise the first error of a part."""
        if self.errors:
            raise self.errors[0]

    def constrain(self, z: Floats) -> Floats:
        """Return what is stored of a draw."""
        stored = stored_values(self.layout, z)
        if careless := self.layout.design.careless:
            _, x, _ = halves_code()[0](self.packed, z)
            # The last offset is of no rater.
            stored[-careless.n_raters :] = self.likelihood(x)[1][-careless.n_raters - 1 : -1]
        return stored
