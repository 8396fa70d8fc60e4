"""What a fit needs of ratings and a model file: terms, scales and labels as index arrays.

Rating n on a scale with K categories comes from

    eta_n = sum_t x_t[n] effect_t[index_t[n]],      severity,
    log a_n = sum_u effect_u[index_u[n]],    discrimination,
    c_{n,k} = c_{k} with gaps changed by the gap effects of the rating's levels,

where t runs over the location terms, with x = 1, and the slopes, and u over the discrimination
terms; index -1 is no effect.
Five facts about terms make sampling quicker and leave the posterior as it is: ratings show only
the sum of a mean effect and a cutpoint, so the mean of a group of effects is swept into the
cutpoints, and sampled in units of the sd (*unit mean*), or into a finer term (*mean groups*); a
term is the centre of the effects of a finer, well-informed term that is nested in it (*parents*);
effects are sampled as effect / sd^w, w between 0 (centred) and 1 (*non-centring weight*); of two
terms of the same levels, of which one acts on some ratings of the other alone, the sum is sampled
(*sum term*); so is that of means that a term holds for others
(:mod:`sharpbayes.bayes.design.held_means`).

Source: Gelfand, Sahu and Carlin 1995; Papaspiliopoulos, Roberts and Skold 2007.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.careless import CarelessClass
from sharpbayes.bayes.design.crossing import Index, find_combinations, parent_of
from sharpbayes.bayes.design.likelihoods import TRAITS, LikelihoodTraits
from sharpbayes.spec.model import LKJ, Effects, Likelihood, StudentT, ThresholdPrior

Floats = NDArray[np.float64]
TermKind = Literal["location", "slope", "gap", "discrimination"]
# How the effects of a term are distributed together; the kernel has machine code for these.
Structure = Literal["independent", "zero_sum", "correlated"]
KERNEL_STRUCTURES: tuple[Structure, ...] = get_args(Structure)
# Below this non-centring weight effects are sampled about the effects of their parents.
CENTRED_BELOW = 0.75
# An effect with this many ratings or more is sampled centred: its ratings say more than its prior.
CENTRED_FROM = 8
# Variance of the noise of a rating with discrimination 1, on the scale of severity.
NOISE_VARIANCE = {"logit": np.pi**2 / 3, "probit": 1.0}


@dataclass(frozen=True)
class Term:
    """Effects of one kind: one for each level of a factor, or of a crossing of factors."""

    name: str  # variable: ``location_item``, ``gap_score_gender``, ``discrimination_judge``
    # What the effects act on: severity, severity by sd of a column, gaps, discrimination.
    kind: TermKind
    dims: tuple[str, ...]
    shape: tuple[int, ...]  # number of levels along each dimension
    # For each rating the flat position of its effect (of a gap term: its level), -1 for none.
    index: Index
    prior: Effects
    non_centring: float  # weight w: effects are sampled divided by sd^w
    mean_group: Index  # for each effect the group whose mean is sampled apart, -1 for none
    # For each scale the group whose mean its cutpoints absorb, -1 for none.
    swept_mean: tuple[int, ...] = ()
    structure: Structure = "independent"
    correlation: LKJ | None = None  # prior of the correlations over the last dimension
    mean_holder: str | None = None  # finer term that absorbs the means in place of cutpoints
    holds_means: bool = False  # whether it does so for other terms
    child_term: str | None = None  # finer term whose effects are centred at these
    sum_term: str | None = None  # term that is sampled as the sum of its effects and these
    scale: int = -1  # position of the scale of a gap term
    covariate: Floats | None = None  # of a slope: the scaled number of each rating
    column: str = ""  # of a slope: its numeric column

    def of(self, rows: Index) -> "Term":
        """Return the term of some of the ratings, with all its effects."""
        covariate = None if self.covariate is None else self.covariate[rows]
        return replace(self, index=self.index[rows], covariate=covariate)

    @property
    def size(self) -> int:
        """Number of effects."""
        return int(np.prod(self.shape))

    @property
    def centred(self) -> bool:
        """Whether effects are sampled about their parents, rather than about 0."""
        return self.non_centring < CENTRED_BELOW

    @property
    def stem(self) -> str:
        """Name without the kind of location, for ``sd_<stem>``: ``item``, ``gap_score_gender``."""
        return self.name.removeprefix("location_")

    @property
    def zero_sum(self) -> bool:
        """Whether effects add up to 0 along every dimension."""
        return self.structure == "zero_sum"

    @property
    def on_log_scale(self) -> bool:
        """Whether results hold factors and the effects are their logarithms."""
        return self.kind == "discrimination"

    def to_results(self, effects: Floats) -> Floats:
        """Return effects as results hold them."""
        return np.exp(effects) if self.on_log_scale else effects

    def to_effects(self, values: Floats) -> Floats:
        """Return the effects that values of results stand for."""
        return np.log(values) if self.on_log_scale else values

    @property
    def n_sds(self) -> int:
        """Number of sds with a prior of their own."""
        if isinstance(self.prior.sd, float):
            return 0
        return self.shape[-1] if self.correlation else 1

    @property
    def n_correlations(self) -> int:
        """Number of free correlations."""
        return self.shape[-1] * (self.shape[-1] - 1) // 2 if self.correlation else 0

    @property
    def lkj_eta(self) -> float:
        """Parameter eta of the prior of the correlations."""
        return self.correlation.eta if self.correlation else 1.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t effects, 0 for normal ones."""
        return self.prior.df if isinstance(self.prior, StudentT) else 0.0

    @property
    def coordinate_shape(self) -> tuple[int, ...]:
        """Shape of the free effects."""
        return tuple(size - 1 for size in self.shape) if self.zero_sum else self.shape

    @property
    def n_coordinates(self) -> int:
        """Number of free effects."""
        return int(np.prod(self.coordinate_shape))

    @property
    def used_levels(self) -> Index:
        """Levels that have a rating, lowest first."""
        return np.unique(self.index[self.index >= 0])

    @property
    def unit_means(self) -> Index:
        """Coordinates of group means that cutpoints absorb, sampled in units of the sd.

        Ratings tell such a mean only in a sum with cutpoints, so that it keeps its prior.
        """
        inside = np.flatnonzero(self.mean_group >= 0)
        if self.mean_holder or self.holds_means or self.structure != "independent":
            return inside[:0]
        return inside[np.unique(self.mean_group[inside], return_index=True)[1]]

    @property
    def powers(self) -> Floats:
        """Power of the sd that each coordinate is divided by: the weight, and 1 of a unit mean."""
        powers = np.full(self.size, self.non_centring)
        powers[self.unit_means] = 1.0
        return powers

    @property
    def n_mean_groups(self) -> int:
        """Number of mean groups; one for each gap of a gap term, also where no effect is in it."""
        gaps = self.shape[-1] if self.kind == "gap" else 0
        return max(int(self.mean_group.max()) + 1, gaps)


@dataclass(frozen=True)
class ScaleRatings:
    """The ratings that are on one scale."""

    name: str
    labels: tuple[str, ...]  # of its categories, lowest first
    rows: Index  # positions of its ratings; shape (n,)
    category: Index  # their categories, from 0; shape (n,)

    @property
    def cutpoint_dim(self) -> str:
        """Name of the dimension of the cutpoints."""
        return f"{self.name}_cutpoint"

    @property
    def gap_dim(self) -> str:
        """Name of the dimension of the gaps between cutpoints: the inner categories."""
        return f"{self.name}_gap"

    @property
    def cutpoint_labels(self) -> tuple[str, ...]:
        """Labels of the cutpoints, ``low|high`` after the categories on either side."""
        pairs = zip(self.labels, self.labels[1:], strict=False)
        return tuple(f"{low}|{high}" for low, high in pairs)

    @property
    def n_cutpoints(self) -> int:
        """Number of cutpoints, K - 1."""
        return len(self.labels) - 1

    @property
    def category_type(self) -> type[np.integer]:
        """The smallest type of its categories: a byte for all scales but the longest."""
        return np.int8 if self.n_cutpoints <= np.iinfo(np.int8).max else np.int16

    @property
    def reference_cutpoint(self) -> int:
        """Position of the cutpoint that gap effects leave in its place: the middle one."""
        return (self.n_cutpoints - 1) // 2

    @property
    def median_cutpoint(self) -> int:
        """Position of the cutpoint nearest the median rating; sampled with the gaps about it."""
        share = np.cumsum(np.bincount(self.category, minlength=len(self.labels)))[:-1]
        return int(np.argmin(np.abs(share / len(self.category) - 0.5)))


@dataclass(frozen=True)
class ScaledCovariate:
    """A numeric column of slopes, with the constants that centre and scale it."""

    column: str
    unit: str  # what has one number each, such as ``answer``
    transform: str  # ``none`` or ``log``
    centre: float  # mean over the units, after the transform
    scale: float  # sd over the units, after the transform
    lowest: float  # smallest and largest number, as they were read
    highest: float
    n_units: int


class Parent(NamedTuple):
    """A term that another term's effects are centred at."""

    term: Term
    by_mean: bool  # whether the means of its groups are the centres, rather than its effects
    position: Index  # for each effect of the other term its centre among those, -1 for none


@dataclass(frozen=True)
class Design:
    """Terms, scales, priors, and the labels of every dimension."""

    # Location terms as in the model file, slopes, gap terms, discrimination terms.
    terms: tuple[Term, ...]
    scales: tuple[ScaleRatings, ...]
    thresholds: ThresholdPrior
    likelihood: Likelihood
    link: Literal["logit", "probit"]
    ordered_cutpoints: bool
    coords: dict[str, tuple[str, ...]]
    n_ratings: int
    omitted_terms: tuple[str, ...]  # stems of terms with one level: cutpoints hold their effect
    covariates: tuple[ScaledCovariate, ...] = ()  # numeric columns of the slopes
    # Stems of terms of repeats that the ratings do not separate from others, and why.
    inseparable_terms: tuple[tuple[str, str], ...] = ()
    # Stems of omitted terms of errors that the ratings do not identify, and why.
    unidentified: tuple[tuple[str, str], ...] = ()
    careless: CarelessClass | None = None  # raters who may not follow the ordinal model

    def of(self, rows: Index) -> "Design":
        """Return the design of some of the ratings of every scale, the terms as they are."""
        scales = []
        for scale in self.scales:
            category = scale.category[np.isin(scale.rows, rows)]
            scale_rows = np.flatnonzero(np.isin(rows, scale.rows))
            scales.append(replace(scale, rows=scale_rows, category=category))
        careless = self.careless and replace(self.careless, index=self.careless.index[rows])
        terms = tuple(term.of(rows) for term in self.terms)
        return replace(
            self, terms=terms, scales=tuple(scales), n_ratings=len(rows), careless=careless
        )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        effects = sum(term.n_coordinates + term.n_sds + term.n_correlations for term in self.terms)
        cutpoints = sum(scale.n_cutpoints for scale in self.scales)
        return effects + cutpoints + int(self.careless is not None)

    @property
    def noise_variance(self) -> float:
        """Variance of the noise of a rating with discrimination 1, on the scale of severity."""
        return NOISE_VARIANCE[self.link]

    def label_effect(self, term: Term, position: int) -> str:
        """Return the labels of an effect, such as ``aster x p01``."""
        codes = np.unravel_index(position, term.shape)
        labels = (self.coords[dim][code] for dim, code in zip(term.dims, codes, strict=True))
        return " x ".join(labels)

    @property
    def traits(self) -> LikelihoodTraits:
        """What distinguishes the likelihood."""
        return TRAITS[self.likelihood]

    @property
    def unsupported_by_kernel(self) -> tuple[str, ...]:
        """Names of what only PyMC's own graph can sample: terms, the likelihood."""
        terms = tuple(term.name for term in self.terms if term.structure not in KERNEL_STRUCTURES)
        return terms if self.traits.kernel else (*terms, self.likelihood)

    @property
    def parents_first(self) -> tuple[Term, ...]:
        """Terms in an order in which each follows its parents."""
        ready: list[Term] = []
        while len(ready) < len(self.terms):
            names = {term.name for term in ready}
            ready += [
                term
                for term in self.terms
                if term.name not in names
                and all(parent.term.name in names for parent in self.parents(term))
                and (term.sum_term is None or term.sum_term in names)
            ]
        return tuple(ready)

    def terms_of(self, kind: TermKind) -> tuple[Term, ...]:
        """Return the terms of one kind."""
        return tuple(term for term in self.terms if term.kind == kind)

    @property
    def severity_terms(self) -> tuple[Term, ...]:
        """Return the terms that add up to the severity: location terms and slopes."""
        return self.terms_of("location") + self.terms_of("slope")

    def parents(self, term: Term) -> list[Parent]:
        """Return the terms that a term's effects are centred at."""
        parents = []
        for other in self.terms:
            for child, by_mean in ((other.child_term, False), (other.mean_holder, True)):
                if child == term.name:
                    centre = other.index
                    if by_mean:
                        centre = np.where(other.index >= 0, other.mean_group[other.index], -1)
                    position = parent_of(term.index, centre, size=term.size)
                    if position is None:
                        raise ValueError(f"{term.name} is not nested in {other.name}")
                    parents.append(Parent(other, by_mean, position))
        return parents

    def sum_of(self, term: Term) -> tuple[Term, Term] | None:
        """Return the two terms that are sampled by their sum, if a term is one of them.

        The first is the one in whose place the sum is.
        """
        pairs = ((t, u) for u in self.terms for t in self.terms if u.sum_term == t.name)
        return next((pair for pair in pairs if term.name in {t.name for t in pair}), None)

    def gap_terms(self, scale: ScaleRatings) -> list[Term]:
        """Return the terms that change the gaps between the cutpoints of a scale."""
        return [t for t in self.terms_of("gap") if self.scales[t.scale].name == scale.name]

    def cutpoint_sets(self, scale: ScaleRatings) -> tuple[Index, Index]:
        """Return the set of cutpoints of each rating, and the level of each gap term in each set.

        Levels have shape (set, gap term), -1 for none; one column of zeros without a gap term.
        """
        none = [np.zeros(len(scale.rows), dtype=np.int64)]
        return find_combinations([t.index[scale.rows] for t in self.gap_terms(scale)] or none)

    def location_of(self, scale: ScaleRatings, dim: str) -> tuple[str, int | None] | None:
        """Return the location term of a factor alone, and its row if it is crossed with scales."""
        for term in self.terms_of("location"):
            if term.dims == (dim,):
                return term.name, None
            if term.dims == ("scale", dim):
                return term.name, self.coords["scale"].index(scale.name)
        return None


def rating_dim(scale: str) -> str:
    """Return the dimension of the ratings on one scale."""
    return f"{scale}_rating"
