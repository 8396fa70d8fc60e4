"""What contradicts a fit, in sentences."""

from collections.abc import Iterable

from sharpbayes.posterior.contradictions import Contradiction, find_contradictions
from sharpbayes.report.disagreement import disagreement_sentences
from sharpbayes.report.panel_answer import PanelAnswer
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import misfit_reasons

MISFIT = "{}: probabilities, losses and gains rest on it."


def list_contradictions(view: View) -> list[str]:
    """Return what contradicts the choice of a fit, in sentences; empty where nothing does."""
    return [text for kind in find_contradictions(view) for text in _sentences_of(kind, view)]


def _sentences_of(kind: Contradiction, view: View) -> Iterable[str]:
    """What is said of one contradiction."""
    if kind == Contradiction.MISFIT:
        return (MISFIT.format(text[0].upper() + text[1:]) for text in misfit_reasons(view))
    answer = PanelAnswer(view)
    if kind == Contradiction.PEOPLE:
        return answer.by_people()
    return disagreement_sentences(view, answer.models)
