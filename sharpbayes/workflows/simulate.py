"""Simulate: ratings with known truth, from a model or from a scoring pattern."""

from typing import TYPE_CHECKING

from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context

if TYPE_CHECKING:
    from sharpbayes.simulation.scoring_patterns import SimulatedStudy


def simulate(study: StudyFiles | RunContext, *, pattern: str) -> "SimulatedStudy":
    """Simulate ratings with known truth.

    Args:
        study: From :func:`sharpbayes.load_study`.
        pattern: ``model``: parameters from the prior of the study's model, and ratings at the
            study's own design; else a scoring pattern of the responsiveness paper.

    Returns:
        See :func:`sharpbayes.simulation.from_model.simulate_model` and
        :func:`sharpbayes.simulation.scoring_patterns.simulate_pattern`.

    Raises:
        SpecError: The study names no model, or one that cannot simulate labels; or it has no
            crowd, or there is no such pattern.
        DataError: Errors in the data.
    """
    context = open_context(study)
    if pattern != "model":
        from sharpbayes.simulation.scoring_patterns import simulate_pattern  # noqa: PLC0415 - start-up

        return simulate_pattern(context.files, pattern=pattern)
    from sharpbayes.simulation.from_model import simulate_model  # noqa: PLC0415 - PyMC

    context.require_model()
    return simulate_model(context.files, context.study, context.design)
