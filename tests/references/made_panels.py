"""Simulated panels of many sizes and kinds, with ratings as the program indexes them.

The severity of an answer in a dimension is model + prompt + (model x prompt). Judges share an error
about an answer and have a severity each, people have a smaller one, and both score on one scale.
"""

from dataclasses import dataclass

import numpy as np

from sharpbayes.data.ratings import Ratings
from tests.bayes.conftest import column, names

SEED = 20260123
# Steps of a scale, mean severity, and the share of cells that judges score.
KINDS = {
    "plain": (5, 0.0, 1.0),
    "saturated": (5, 4.0, 1.0),
    "sparse": (5, 0.0, 0.35),
    "yes or no": (2, 0.0, 1.0),
}
# Share of answers that people score.
PEOPLE = {"none": 0.0, "some": 0.3, "all": 1.0}
MODEL_SD, PROMPT_SD, CELL_SD, INDICATOR_SD = 0.5, 1.0, 0.6, 0.5
JUDGE_SD, SHARED_SD, PERSON_SD = 0.7, 0.4, 0.4
FIRST_CUT, LAST_CUT = -2.0, 2.0


@dataclass(frozen=True)
class Sizes:
    """How many there are of each, and who scores."""

    models: int
    prompts: int
    judges: int
    dimensions: int
    indicators: int  # of a dimension
    persons: int
    trials: int


def make_panel(number: int, most_prompts: int) -> tuple[dict[str, object], Ratings]:
    """Facts of a panel, and its ratings."""
    rng = np.random.default_rng([SEED, number])
    kind, who = list(KINDS)[number % len(KINDS)], list(PEOPLE)[number // len(KINDS) % len(PEOPLE)]
    sizes = Sizes(
        models=int(rng.integers(2, 13)),
        prompts=int(rng.integers(20, most_prompts + 1)),
        judges=int(rng.integers(1, 7)),
        dimensions=int(rng.integers(1, 3)),
        indicators=int(rng.integers(1, 4)),
        persons=int(rng.integers(1, 5)) if PEOPLE[who] else 0,
        trials=1 + int(rng.random() < 1 / 4),
    )
    ratings = draw_ratings(rng, sizes, kind, PEOPLE[who])
    return {"panel": number, "kind": kind, "people": who, **vars(sizes)}, ratings


def draw_ratings(rng: np.random.Generator, sizes: Sizes, kind: str, share: float) -> Ratings:
    """Scores of judges, and of people on a share of the answers."""
    steps, mean, kept = KINDS[kind]
    dims = (sizes.models, sizes.prompts, sizes.dimensions)
    severity = mean + rng.normal(0, MODEL_SD, (dims[0], 1, dims[2]))
    severity = severity + rng.normal(0, PROMPT_SD, (1, *dims[1:])) + rng.normal(0, CELL_SD, dims)
    shared = rng.normal(0, SHARED_SD, dims)
    of_judge = rng.normal(0, JUDGE_SD, (sizes.judges, sizes.dimensions))
    of_person = rng.normal(0, PERSON_SD, sizes.persons)
    of_indicator = rng.normal(0, INDICATOR_SD, (sizes.dimensions, sizes.indicators))
    cuts = np.linspace(FIRST_CUT, LAST_CUT, steps - 1) if steps > 2 else np.zeros(1)
    of_judges = (*dims, sizes.indicators, sizes.judges, sizes.trials)
    model, prompt, dim, indicator, judge, trial = np.nonzero(rng.random(of_judges) < kept)
    seen = (severity + shared)[model, prompt, dim] + of_judge[judge, dim]
    seen = seen + of_indicator[dim, indicator]
    parts = [(model, prompt, dim, indicator, judge, np.full(model.size, -1), trial, seen)]
    if sizes.persons:
        answers = rng.random(dims[:2]) < share
        asked = np.broadcast_to(answers[:, :, None, None, None], (*of_judges[:4], sizes.persons))
        model, prompt, dim, indicator, person = np.nonzero(asked)
        seen = severity[model, prompt, dim] + of_indicator[dim, indicator] + of_person[person]
        nobody = np.full(model.size, -1)
        parts.append((model, prompt, dim, indicator, nobody, person, nobody, seen))
    model, prompt, dim, indicator, judge, person, trial, seen = map(
        np.concatenate, zip(*parts, strict=True)
    )
    score = np.digitize(seen + rng.logistic(size=seen.size), cuts)
    columns = {
        "model": column(names("m", sizes.models), model),
        "prompt": column(names("p", sizes.prompts), prompt),
        "judge": column(names("j", sizes.judges), judge),
        "dimension": column(names("d", sizes.dimensions), dim),
        "indicator": column(
            names("i", sizes.dimensions * sizes.indicators), dim * sizes.indicators + indicator
        ),
        "scale": column(["steps"], np.zeros(seen.size)),
    }
    if sizes.trials > 1:
        columns["trial"] = column(names("t", sizes.trials), trial)
    if sizes.persons:
        columns["rater"] = column(names("h", sizes.persons), person)
        columns["machine"] = column(["model judge"], np.where(judge >= 0, 0, -1))
    return Ratings(score.astype(np.int16), columns, {"steps": tuple(map(str, range(steps)))})
