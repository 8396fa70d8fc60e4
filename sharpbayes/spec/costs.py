"""What more data cost: prices of the things that a larger study buys."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from sharpbayes.spec.base import Spec

# With larger prices sums of them are no longer finite.
Price = Annotated[float, Field(ge=0, le=1e15)]

# Names of prices by the table of a study.
PRICES = {
    "panel": ("prompt", "generation", "judge", "trial", "person"),
    "crowd": ("rating", "rater", "item"),
}


class Costs(Spec):
    """Prices in any one unit, such as euros or minutes; a purchase without a price is not offered.

    A new prompt needs answers and judgements, a new answer needs judgements: their prices are part
    of its own.
    """

    prompt: Price | None = None
    """One more prompt, without its answers."""
    generation: Price | None = None
    """One more answer of a model to a prompt, without its judgements."""
    judge: Price | None = None
    """A first judgement of an answer by a judge, all indicators together."""
    trial: Price | None = None
    """A further judgement of the same answer by the same judge. Default: that of `judge`."""
    person: Price | None = None
    """One rating of an answer by a person."""
    rating: Price | None = None
    """Of a crowd: one rating of an item by a rater."""
    rater: Price | None = None
    """Of a crowd: one more rater, without ratings."""
    item: Price | None = None
    """Of a crowd: one more item with its labels, without ratings."""

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if self.judge is None and self.trial is None and self.rating is None:
            raise ValueError(
                "the price of `judge` or of `trial`, of a crowd of `rating`, is needed"
            )
        return self

    @property
    def full_rating(self) -> float:
        """Price of a rating by a rater of a crowd."""
        return self.rating or 0.0

    @property
    def full_trial(self) -> float:
        """Price of a trial."""
        return self.trial if self.trial is not None else self.judge or 0.0

    @property
    def full_judge(self) -> float:
        """Price of a first judgement."""
        return self.judge if self.judge is not None else self.full_trial
