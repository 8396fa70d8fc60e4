"""Means of terms that another term holds: sampled by their sum and by what each has of it.

Indicators of a dimension hold the means, over models or prompts, of the effects in that dimension:
ratings show only the sum. With effects x_i of the holder that include these means, sd s of its own
effects, and means m_k ~ N(0, v_k), term by term,

    R_k = sum_i A_ki x_i - sum_l E_kl m_l,     what earlier terms leave of the sum,
    B_k = s^2 sum_i A_ki^2 + sum_l L_kl v_l,   variance of what later terms and the holder have,
    m_k = v_k / (v_k + B_k) R_k + sqrt(v_k B_k / (v_k + B_k)) u_k,

the units u_k ~ N(0, 1) are independent of everything that ratings show, and are sampled in place of
the means. The mean of all x_i, which cutpoints absorb, is sampled in units of its prior sd T,
T^2 = s^2 + sum_k C_k v_k for the coordinate of the mean.
"""

from dataclasses import dataclass

import numpy as np

from sharpbayes.bayes.design.design import Design, Floats, Term


@dataclass(frozen=True)
class HeldMean:
    """The mean of one group of a term's effects."""

    term: Term
    first: int  # its coordinate among those of the term
    effects: int  # number of effects in the group
    level: int  # of the sd, where the term has several

    @property
    def power(self) -> float:
        """Power of the sd that the term's coordinates are divided by."""
        if self.term.correlation:
            return float(not self.term.centred)
        return self.term.non_centring


@dataclass(frozen=True)
class HeldMeans:
    """The holder, the means that it holds, and the matrices A, E, L and C of the module."""

    holder: Term
    means: tuple[HeldMean, ...]  # term by term
    average: Floats  # A, (mean, effect of the holder)
    earlier: Floats  # E, (mean, mean)
    later: Floats  # L, (mean, mean)
    of_sum: Floats  # C, (mean group of the holder, mean)
    first: tuple[int, ...]  # coordinate of the mean of each mean group of the holder


def find_held_means(design: Design) -> HeldMeans | None:
    """Return the means that a term of a design holds, None where none does."""
    for holder in design.terms:
        parents = [parent for parent in design.parents(holder) if parent.by_mean]
        if parents and not any(parent.term.zero_sum for parent in parents):
            return _relate_means(holder, [(parent.term, parent.position) for parent in parents])
    return None


def _relate_means(holder: Term, parents: list[tuple[Term, np.ndarray]]) -> HeldMeans:
    """Return the matrices of a holder and of the terms whose means it holds."""
    means, members, order = [], [], []
    for number, (term, position) in enumerate(parents):
        for group in np.unique(position[position >= 0]):
            inside = np.flatnonzero(term.mean_group == group)
            level = int(inside[0]) % term.shape[-1] if term.correlation else 0
            means.append(HeldMean(term, int(inside[0]), len(inside), level))
            members.append(position == group)
            order.append(number)
    inside, position = np.array(members, dtype=float), np.array(order)
    average = inside / inside.sum(axis=1, keepdims=True)
    shared = average @ inside.T
    groups = [holder.mean_group == group for group in range(holder.n_mean_groups)]
    return HeldMeans(
        holder=holder,
        means=tuple(means),
        average=average,
        earlier=np.where(position < position[:, None], shared, 0.0),
        later=np.where(position > position[:, None], shared, 0.0),
        # The mean of n effects, times the root of n, has the squares of its members' numbers.
        of_sum=np.array([inside[:, group].sum(axis=1) ** 2 / group.sum() for group in groups]),
        first=tuple(int(np.flatnonzero(group)[0]) for group in groups),
    )
