"""Simulate: ratings with known truth, from a model or from a scoring pattern."""

from dataclasses import replace

from sharpbayes.simulation.scoring_patterns import MODEL, SimulatedStudy, simulate_pattern
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context


def simulate(study: StudyFiles | RunContext, *, pattern: str | None = None) -> SimulatedStudy:
    """Simulate ratings with known truth.

    With ``model`` parameters come from the prior of the study's model, and ratings are at the
    study's own design, whose cells need no scores; else the pattern is a scoring pattern of the
    responsiveness paper. Without one it is ``model`` of a panel and ``normal`` of a crowd.
    """
    context = replace(open_context(study), as_design=True)
    if pattern is None:
        pattern = "normal" if context.files.study.spec.panel is None else MODEL
    if pattern != MODEL:
        return simulate_pattern(context.files, pattern=pattern)
    from sharpbayes.simulation.from_model import simulate_model  # noqa: PLC0415 - PyMC

    context.require_model()
    return simulate_model(context.files, context.study, context.design)
