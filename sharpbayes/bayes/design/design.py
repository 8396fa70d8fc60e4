"""What a fit needs: terms, scales and labels, as index arrays; no PyMC, so tested exactly."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sharpbayes.bayes.design.crossing import Index, parent_of
from sharpbayes.spec.model import (
    LKJ,
    Effects,
    Likelihood,
    StudentT,
    ThresholdPrior,
)

TermKind = Literal["location", "gap", "discrimination"]


# Up to this power effects are sampled about the effects that they are nested in.
CENTRED_BELOW = 0.75


@dataclass(frozen=True)
class Term:
    """Effects of one kind: one for each level of a column, or of a crossing of columns.

    Attributes:
        name: Variable: ``location_item``, ``gap_score_gender``, ``discrimination_judge``.
        kind: What the effects act on: severity, gaps between thresholds, or discrimination.
        dims: Dimension names of the effects.
        shape: Number of levels along each dimension.
        index: For each rating the flat position of its effect, -1 for none; of a spacing the
            level of its column; shape (rating,).
        prior: Prior of the effects.
        non_centring: Effects are sampled divided by their sd to this power: 0 where ratings say much of
            each, 1 where they say little.
        zero_sum: Whether effects add up to 0 along every dimension.
        correlation: Prior of the correlations over the last dimension, or None.
        mean_group: For each effect the block whose mean is split from it, -1 for none; shape (size,).
        swept_mean: For each scale the block whose mean its thresholds hold, -1 for none.
        mean_holder: Name of the term whose effects hold the means in place of thresholds, or None.
        child_term: Name of the finer term whose effects are centred at this term's, or None.
        scale: Position of the scale of a spacing, else -1.
    """

    name: str
    kind: TermKind
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    index: Index
    prior: Effects
    non_centring: float
    mean_group: Index
    swept_mean: tuple[int, ...]
    zero_sum: bool = False
    correlation: LKJ | None = None
    mean_holder: str | None = None
    child_term: str | None = None
    scale: int = -1

    @property
    def size(self) -> int:
        """Number of effects."""
        return int(np.prod(self.shape))

    @property
    def centred(self) -> bool:
        """Whether effects are sampled about what they are nested in, rather than by themselves."""
        return self.non_centring < CENTRED_BELOW

    @property
    def stem(self) -> str:
        """Name without the part, for ``sd_<stem>``: ``item``, ``gap_score_gender``."""
        return self.name.removeprefix("location_")

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
    def n_coordinates(self) -> int:
        """Number of free effects."""
        sizes = [size - 1 for size in self.shape] if self.zero_sum else self.shape
        return int(np.prod(sizes))

    @property
    def log_suffix(self) -> str:
        """What the name of its coordinates ends with: those of factors are logarithms."""
        return "_log" if self.kind == "discrimination" else ""

    @property
    def n_mean_groups(self) -> int:
        """Number of blocks; one for each gap of a spacing, also where no effect is in it."""
        gaps = self.shape[-1] if self.kind == "gap" else 0
        return max(int(self.mean_group.max()) + 1, gaps)


@dataclass(frozen=True)
class ScaleRatings:
    """The ratings that are on one scale.

    Attributes:
        name: Name of the scale.
        labels: Labels of its levels, lowest first.
        rows: Positions of its ratings; shape (n,).
        category: Their categories, from 0; shape (n,).
    """

    name: str
    labels: tuple[str, ...]
    rows: Index
    category: Index

    @property
    def cutpoint_dim(self) -> str:
        """Name of the dimension of the thresholds."""
        return f"{self.name}_cutpoint"

    @property
    def gap_dim(self) -> str:
        """Name of the dimension of the gaps between thresholds: the inner levels."""
        return f"{self.name}_gap"

    @property
    def cutpoint_labels(self) -> tuple[str, ...]:
        """Labels of the thresholds, ``low|high`` after the levels they part."""
        return tuple(
            f"{low}|{high}" for low, high in zip(self.labels, self.labels[1:], strict=False)
        )

    @property
    def n_cutpoints(self) -> int:
        """Number of thresholds, K - 1."""
        return len(self.labels) - 1

    @property
    def reference_cutpoint(self) -> int:
        """Position of the threshold that stretching the gaps leaves where it is: the middle."""
        return (self.n_cutpoints - 1) // 2

    @property
    def median_cutpoint(self) -> int:
        """Position of the threshold nearest the median rating."""
        share = np.cumsum(np.bincount(self.category, minlength=len(self.labels)))[:-1]
        return int(np.argmin(np.abs(share / len(self.category) - 0.5)))


@dataclass(frozen=True)
class Design:
    """What a fit needs: terms, scales, priors, and the labels of every dimension.

    Attributes:
        terms: Terms, those of the location first, in the order of the model file; terms with one
            level are left out.
        scales: Ratings by scale.
        thresholds: Prior of the thresholds.
        likelihood: Which levels a threshold parts.
        link: ``logit`` or ``probit``.
        coords: Labels of each dimension.
        n_ratings: Number of ratings.
        omitted_terms: Names of the terms with one level, which thresholds already hold.
    """

    terms: tuple[Term, ...]
    scales: tuple[ScaleRatings, ...]
    thresholds: ThresholdPrior
    likelihood: Likelihood
    link: Literal["logit", "probit"]
    coords: dict[str, tuple[str, ...]]
    n_ratings: int
    omitted_terms: tuple[str, ...]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        effects = sum(term.n_coordinates + term.n_sds + term.n_correlations for term in self.terms)
        return effects + sum(scale.n_cutpoints for scale in self.scales)

    @property
    def ordered_cutpoints(self) -> bool:
        """Whether thresholds grow; else they stand in any order."""
        return self.likelihood == "cumulative"

    @property
    def unsupported_by_kernel(self) -> tuple[str, ...]:
        """Names of the terms whose prior only PyMC's own path can sample."""
        return tuple(term.name for term in self.terms if isinstance(term.prior, StudentT))

    def terms_of(self, kind: TermKind) -> tuple[Term, ...]:
        """Return the terms that act on one part."""
        return tuple(term for term in self.terms if term.kind == kind)

    def sources(self, term: Term) -> list[tuple[Term, bool, Index]]:
        """Return the terms that a term's effects are centred at.

        Each with whether it is its effects (True) or their block means that are the centre, and
        for each effect of ``term`` the position of its centre among those, -1 for none.
        """
        found = []
        for other in self.terms:
            for named, whole in ((other.child_term, True), (other.mean_holder, False)):
                if named == term.name:
                    position = other.index if whole else _taken(other.mean_group, other.index)
                    parent = parent_of(term.index, position, size=term.size)
                    if parent is None:
                        raise ValueError(f"{term.name} is not nested in {other.name}")
                    found.append((other, whole, parent))
        return found

    def location_of(self, scale: ScaleRatings, dim: str) -> tuple[str, int | None] | None:
        """Return the location term of a column alone, and its row if it is crossed with scales."""
        for term in self.terms_of("location"):
            if term.dims == (dim,):
                return term.name, None
            if term.dims == ("scale", dim):
                return term.name, self.coords["scale"].index(scale.name)
        return None

    @property
    def parents_first(self) -> tuple[Term, ...]:
        """Terms with those that others are centred at first."""
        placed: list[Term] = []
        while len(placed) < len(self.terms):
            names = {term.name for term in placed}
            placed += [
                term
                for term in self.terms
                if term.name not in names
                and all(other.name in names for other, _, _ in self.sources(term))
            ]
        return tuple(placed)


def dim_name(column: str) -> str:
    """Return the dimension that holds the levels of a column.

    >>> dim_name("group:gender")
    'gender'
    """
    return column.removeprefix("group:")


def rating_dim(scale: str) -> str:
    """Return the dimension of the ratings on one scale.

    >>> rating_dim("severity")
    'severity_rating'
    """
    return f"{scale}_rating"


def _taken(values: Index, index: Index) -> Index:
    """Values at an index, -1 where the index is."""
    return np.where(index >= 0, values[index], -1)
