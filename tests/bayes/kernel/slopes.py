"""Ratings and model files with slopes of numeric columns, by what the columns are about."""

from tests.bayes.conftest import crowd_ratings, model_from, panel_ratings, with_numbers, with_people

SLOPES = {
    "slope of the answers, which judges have otherwise than people": lambda rng: (
        with_numbers(with_people(panel_ratings(rng), rng), rng, size=("model", "prompt")),
        model_from([{"by": ["model"]}], slope=[{"column": "size", "by": ["machine"]}]),
    ),
    "slope of the answers by judge, and of the prompts": lambda rng: (
        with_numbers(panel_ratings(rng), rng, answer=("model", "prompt"), prompt=("prompt",)),
        model_from(
            [{"by": ["model"]}, {"by": ["model", "prompt", "dimension"]}],
            thresholds={"by": ["scale", "indicator"]},
            discrimination=[{"by": ["judge"]}],
            slope=[
                {"column": "answer", "by": ["judge"], "transform": "log"},
                {"column": "prompt", "prior": {"sd": 0.7}},
            ],
        ),
    ),
    "slope of the ratings, by raters and groups": lambda rng: (
        with_numbers(
            crowd_ratings(rng, items=12, raters=6), rng, time=("item", "rater"), age=("rater",)
        ),
        model_from(
            [{"by": ["item"]}, {"by": ["rater"]}],
            slope=[
                {
                    "column": "time",
                    "by": ["rater"],
                    "deviation": {"sd": {"kind": "half_normal", "scale": 0.3}},
                },
                {"column": "time", "by": ["group:gender"], "deviation": {"sd": 0.2}},
                {"column": "age"},
            ],
        ),
    ),
    "slope where a rating may have no number": lambda rng: (
        with_numbers(with_people(panel_ratings(rng), rng), rng, place=("model", "prompt", "judge")),
        model_from(
            [{"by": ["prompt"]}, {"by": ["judge"]}, {"by": ["rater"]}],
            slope=[{"column": "place", "by": ["model"]}],
        ),
    ),
}
