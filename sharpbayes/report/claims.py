"""What the evidence lets a report state of a panel: tails, means, a recommendation."""

import xarray as xr

from sharpbayes.analysis.unequal_judges import JUDGES, TRIALS
from sharpbayes.posterior.claims import find_inequalities

NO_RECOMMENDATION = "The evidence does not carry this choice: it is no recommendation."
UNEQUAL_VALUES = (
    "The values of each model {}, and the tables have them; no model is called lowest, by the "
    "posterior or by the bootstrap."
)
# What is in the values of models that were judged unequally.
OWN_VALUES = {
    (JUDGES,): "are those of its own judges",
    (TRIALS,): "have the noise that its own trials leave",
    (JUDGES, TRIALS): "are those of its own judges, with the noise that its own trials leave",
}


def describe_own_values(results: xr.DataTree) -> str:
    """Return what the values of models that were not judged alike are."""
    return UNEQUAL_VALUES.format(OWN_VALUES[find_inequalities(results)])


# On what an order by tails depends where the lowest model shows no answer at the end of the scale.
IF_NO_MORE_ENDS = (
    "only if answers at the end of the scale, of which it shows none, are no more frequent for it"
)
IF_SCORES_TELL = (
    "if answers at the end of the scale, of which it shows none, are as frequent as its other "
    "scores let expect"
)
