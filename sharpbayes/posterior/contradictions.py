"""What contradicts a fit: its ratings, the bootstrap, or people's scoring."""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from sharpbayes.analysis.results_view import ResultsView
from sharpbayes.posterior.claims import COMPARED, failed_statistics
from sharpbayes.posterior.human_scoring import contradicts_selection
from sharpbayes.posterior.lowest import (
    excluded_models,
    is_disputed,
    likely_lowest,
    observed_lowest,
)
from sharpbayes.posterior.panel_reading import PanelReading


class Contradiction(Enum):
    """What contradicts the choice of a fit."""

    MISFIT = auto()
    PEOPLE = auto()
    BOOTSTRAP = auto()


def find_contradictions(view: ResultsView) -> Iterator[Contradiction]:
    """Yield what contradicts the choice of a fit; nothing where nothing does."""
    if failed_statistics(view):
        yield Contradiction.MISFIT
    if "profile" not in view:
        return
    reading = PanelReading(view)
    if contradicts_selection(view) and (
        reading.contradicted_metrics or reading.contradicted_models
    ):
        yield Contradiction.PEOPLE
    is_compared = reading.criterion in COMPARED and is_disputed(view, reading.criterion)
    if is_compared and (has_other_lowest(view, reading.models) or excluded_models(view, "cvar")):
        yield Contradiction.BOOTSTRAP


def has_other_lowest(view: ResultsView, models: Sequence[str]) -> bool:
    """Return whether posterior and bootstrap name different ones of several models lowest."""
    observed, likely = observed_lowest(view, "cvar"), likely_lowest(view, "cvar")
    return len(models) > 1 and not {*observed} & {*likely}
