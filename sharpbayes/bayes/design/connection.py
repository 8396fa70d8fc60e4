"""Blocks of a design that share nothing, so that what is in one cannot be compared with another."""

from collections.abc import Sequence

import numpy as np

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.data.ratings import Factor
from sharpbayes.errors import format_list

# Blocks, and labels of each, that a text names.
MAX_BLOCKS, MAX_LABELS = 2, 3
Block = tuple[tuple[str, ...], tuple[str, ...]]


def list_blocks(first: Factor, second: Factor) -> list[Block]:
    """Return the labels of two factors by block, largest block first.

    Two labels are in one block where a chain of ratings joins them, each of which has a label of
    both factors. Ratings and labels without a partner are left out.

    Source: connected components of a bipartite graph; disconnected subsets as in Linacre 1989.

    >>> raters, items = Factor(("r", "s"), np.array([0, 0, 1])), Factor("ijk", np.array([0, 1, 2]))
    >>> list_blocks(raters, items)
    [(('r',), ('i', 'j')), (('s',), ('k',))]
    """
    both = (first.codes >= 0) & (second.codes >= 0)
    rows, columns = first.codes[both], second.codes[both] + len(first.labels)
    block = _connect(rows, columns, size=len(first.labels) + len(second.labels))
    used = np.union1d(rows, columns)
    labels = (*first.labels, *second.labels)
    blocks = []
    for number in np.unique(block[used]):
        nodes = used[block[used] == number]
        left = tuple(labels[node] for node in nodes if node < len(first.labels))
        right = tuple(labels[node] for node in nodes if node >= len(first.labels))
        blocks.append((left, right))
    return sorted(blocks, key=lambda pair: -len(pair[0]) - len(pair[1]))


def _connect(rows: Index, columns: Index, *, size: int) -> Index:
    """Return the lowest node that edges join to each node, by NumPy: `check` loads no SciPy."""
    block = np.arange(size)
    while True:
        lowest = np.minimum(block[rows], block[columns])
        joined = block.copy()
        np.minimum.at(joined, rows, lowest)
        np.minimum.at(joined, columns, lowest)
        joined = joined[joined]  # a node's block is that of the node which it is joined to
        if np.array_equal(joined, block):
            return block
        block = joined


def describe_blocks(blocks: Sequence[Block], first: str, second: str) -> str:
    """Return which blocks there are, in words.

    >>> describe_blocks([(("r", "s"), ("i", "j")), (("t",), ("k",))], "rater", "item")
    '2 blocks share no item: raters r, s on items i, j; rater t on item k'
    """
    texts = [
        f"{_name(first, left)} on {_name(second, right)}" for left, right in blocks[:MAX_BLOCKS]
    ]
    more = len(blocks) - MAX_BLOCKS
    texts += [f"and {more} more"] if more > 0 else []
    return f"{len(blocks)} blocks share no {second}: {'; '.join(texts)}"


def _name(noun: str, labels: Sequence[str]) -> str:
    """Labels with their noun."""
    return f"{noun}{'s' * (len(labels) > 1)} {format_list(labels, limit=MAX_LABELS)}"
