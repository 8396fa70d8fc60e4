"""The kernel against PyMC's graph over every pair of things that a model file can say.

A table of choices for each part of the language; a row a model, so that every two choices of
different parts meet in one row at least.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from tests.bayes.conftest import model_from, panel_ratings
from tests.bayes.kernel.test_kernel import assert_same

HALF_T = {"kind": "half_student_t", "df": 3, "scale": 1.0}
PARTS = {
    "law": [
        ("cumulative", "logit"),
        ("cumulative", "probit"),
        ("adjacent", "logit"),
        ("continuation", "logit"),
        ("continuation", "probit"),
    ],
    "location": ["crossed", "correlated", "zero-sum", "nested"],
    "thresholds": [(), ("judge",), ("indicator",), ("indicator", "judge")],
    "discrimination": [(), ("judge",), ("indicator", ("model", "dimension"))],
    "sd": [
        0.7,
        {"kind": "half_normal", "scale": 1.2},
        {"kind": "exponential", "mean": 0.8},
        HALF_T,
    ],
    "power": [None, 0.0, 0.4, 1.0],
    "levels": ["all used", "ends unused", "middle unused"],
}
LOCATIONS = {
    "crossed": [("model",), ("prompt", "dimension"), ("judge",)],
    "correlated": [("model",), ("prompt", "dimension"), ("judge", "indicator")],
    "zero-sum": [("model",), ("prompt", "dimension"), ("judge",)],
    "nested": [("model",), ("model", "prompt"), ("indicator",), ("scale", "judge")],
}


def possible(row):
    """Correlated effects need an sd with a prior of its own."""
    return row["location"] != "correlated" or not isinstance(row["sd"], float)


def pairs_of(row):
    """Pairs of choices, by position, that a row holds."""
    positions = {part: PARTS[part].index(choice) for part, choice in row.items()}
    return set(combinations(sorted(positions.items()), 2))


def every_pair():
    """Pairs of choices of different parts."""
    places = {part: range(len(choices)) for part, choices in PARTS.items()}
    pairs = set()
    for one, other in combinations(sorted(PARTS), 2):
        pairs |= {((one, a), (other, b)) for a, b in product(places[one], places[other])}
    return pairs - {(("location", 1), ("sd", 0))}


def rows():
    """Rows that hold every pair: of 1,000 drawn at random, each time the one with most new ones."""
    rng, missing, chosen = np.random.default_rng(1), every_pair(), []
    while missing:
        drawn = [
            {part: choices[rng.integers(len(choices))] for part, choices in PARTS.items()}
            for _ in range(1000)
        ]
        best = max(filter(possible, drawn), key=lambda row: len(pairs_of(row) & missing))
        if pairs_of(best) & missing:
            chosen.append(best)
            missing -= pairs_of(best)
    return chosen


# What ``rows`` gives, which takes two seconds: the place of each choice in ``PARTS``.
PLACES = (
    *("2232002", "4112310", "0000011", "3221220", "1301332", "0310122", "3122131", "2030230"),
    *("4311201", "1032321", "0131100", "4021012", "2102222", "1220300", "2201111", "3331010"),
    *("0212032", "3000300", "4200022", "1130211", "2322310", "4030130", "1011011", "0121220"),
    *("3211202", "0120300", "1031110", "2210221"),
)
ROWS = [
    {part: choices[int(place)] for (part, choices), place in zip(PARTS.items(), row, strict=True)}
    for row in PLACES
]


def term(by, row):
    """A location term of a row."""
    written = {"by": list(by), "prior": {"kind": "normal", "sd": row["sd"]}}
    if row["location"] == "correlated" and len(by) > 1:
        written["correlated_over"] = by[1]
    if row["location"] == "zero-sum":
        written["zero_sum"] = by != ("judge",)
    return written


def model_of_row(row):
    likelihood, link = row["law"]
    factors = [[by] if isinstance(by, str) else list(by) for by in row["discrimination"]]
    return model_from(
        [term(by, row) for by in LOCATIONS[row["location"]]],
        likelihood=likelihood,
        link=link,
        thresholds={"by": ["scale", *row["thresholds"]]},
        discrimination=[{"by": by} for by in factors],
    )


def ratings_of_row(row, rng):
    """Scales of 2, 4 and 10 levels, of which some may not be used."""
    ratings = panel_ratings(rng, models=2, prompts=4, judges=3)
    ten = ratings.factors["scale"].codes == 2
    unused = {"ends unused": (0, 8, 9), "middle unused": (3, 4, 7)}.get(row["levels"], ())
    level = ratings.score.copy()
    level[ten & np.isin(level, unused)] = 6
    return replace(ratings, score=level)


def test_every_pair_of_choices_meets_in_a_row():
    met = set().union(*map(pairs_of, ROWS))
    assert met == every_pair()
    assert len(ROWS) < 30


@pytest.mark.slow
def test_rows_are_those_that_are_chosen():
    assert rows() == ROWS


# A few rows in every run; the others, a minute of processor time, are slow tests.
EVERY_RUN = 5


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(row, marks=[] if row < EVERY_RUN else [pytest.mark.slow])
        for row in range(len(ROWS))
    ],
)
def test_kernel_has_the_density_of_the_graph(number):
    row, rng = ROWS[number], np.random.default_rng(number)
    spec, ratings = model_of_row(row), ratings_of_row(row, rng)
    design = build_design(ratings, spec)
    if row["power"] is not None:
        design = build_design(
            ratings,
            spec,
            non_centring={design_term.name: row["power"] for design_term in design.terms},
        )
    assert_same(design, seed=number)
