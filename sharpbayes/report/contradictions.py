"""What contradicts a fit: its ratings, the bootstrap, or people's scoring."""

from sharpbayes.report.claims import COMPARED
from sharpbayes.report.disagreement import disagreement_sentences
from sharpbayes.report.human_scoring import contradicts_selection
from sharpbayes.report.lowest import is_disputed
from sharpbayes.report.panel_answer import PanelAnswer
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import misfit_reasons

MISFIT = "{}: probabilities, losses and gains rest on it."


def list_contradictions(view: View) -> list[str]:
    """Return what contradicts the choice of a fit, in sentences; empty where nothing does."""
    texts = [MISFIT.format(reason[0].upper() + reason[1:]) for reason in misfit_reasons(view)]
    if "profile" not in view:
        return texts
    answer = PanelAnswer(view)
    if contradicts_selection(view):
        texts += answer.by_people()
    if answer.criterion in COMPARED and is_disputed(view, answer.criterion):
        texts += disagreement_sentences(view, answer.models)
    return texts
