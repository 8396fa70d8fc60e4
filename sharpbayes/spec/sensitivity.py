"""What is fitted again, to see how much the answer hangs on one judge, on priors or on weights."""

from typing import Annotated, Literal

from pydantic import Field

from sharpbayes.spec.base import Name, Positive, Spec


class Sensitivity(Spec):
    """Fits beside the study's own, each of the whole model.

    Attributes:
        leave_out: ``"judge"``: a fit without each of the pooled judges.
        priors: A fit for each factor, with every prior that many times as wide.
        weights: Weights files beside the study's own, put over every one of these fits.
    """

    leave_out: Annotated[tuple[Literal["judge"], ...], Field(max_length=1, strict=False)] = ()
    priors: Annotated[tuple[Positive, ...], Field(strict=False)] = ()
    weights: Annotated[tuple[Name, ...], Field(strict=False)] = ()

    @property
    def asked(self) -> bool:
        """Whether anything is."""
        return bool(self.leave_out or self.priors or self.weights)
