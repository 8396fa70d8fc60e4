"""Scales with more scores than the items of a crowd can show the precision of."""

# Of up to five scores and 20 items and more, intervals of HM held the truth in 87% and more of
# simulated crowds.
FEW_SCORES = 5
# Of m scores the precision of neighbours differs by about 1 / m, and that of n / m items has a
# standard error near sqrt(m / n): n = m^3 / 5 keeps the error small beside the difference
# (docs/adr/0107-limits-of-a-crowd.md).
CUBES = 5
REMEDY = "cut the scale into about five scores"


def is_too_long(*, items: int, scores: int) -> bool:
    """Return whether so many labelled items show too little of a scale of so many scores.

    >>> is_too_long(items=80, scores=5), is_too_long(items=80, scores=21)
    (False, True)
    """
    return scores > FEW_SCORES and CUBES * items < scores**3


def describe_long_scale(*, items: int, scores: int) -> str:
    """Return what so few items do to the metrics of a long scale.

    >>> describe_long_scale(items=80, scores=21).partition(":")[0]
    '80 items for 21 scores'
    """
    counts = f"{items} items for {scores} scores"
    too_low = "MPA and HM come out too low, and intervals of them and of differences may miss"
    return f"{counts}: {too_low}"
