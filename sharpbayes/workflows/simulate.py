"""Simulate: ratings with known truth, from a model or from a scoring pattern."""

from dataclasses import replace

from sharpbayes.simulation.scoring_patterns import MODEL, SimulatedStudy, simulate_pattern
from sharpbayes.spec.files import StudyFiles
from sharpbayes.workflows.context import RunContext, open_context


def simulate(study: StudyFiles | RunContext, *, pattern: str | None = None) -> SimulatedStudy:
    """Simulate ratings with known truth.

    Args:
        study: From :func:`sharpbayes.load_study`. Its scores are not used, and it needs none.
        pattern: ``model`` for parameters from the prior of the study's model, and ratings at the
            study's own design; or a scoring pattern of the responsiveness paper for a crowd:
            ``normal``, ``shift``, ``conservative``, or ``all`` for raters of each. None for
            ``model`` of a panel and ``normal`` of a crowd.

    Returns:
        Its ``tables`` are DataFrames by name, first of all ``ratings``; ``truth`` has the
        parameters, and ``study`` is the text of a study file that measures the ratings.

    Raises:
        SpecError: No such pattern, one of a crowd for a panel, or no model.
        DataError: Errors in the data.

    Source: responsiveness paper, section 3.1 and Appendix A, of the scoring patterns.

    Examples:
        >>> import sharpbayes
        >>> simulated = sharpbayes.simulate(sharpbayes.load_study("quickstart_crowd"))
        >>> list(simulated.tables["ratings"].columns)
        ['item', 'rater', 'score']
    """
    context = replace(open_context(study), as_design=True)
    if pattern is None:
        pattern = "normal" if context.files.study.spec.panel is None else MODEL
    if pattern != MODEL:
        return simulate_pattern(context.files, pattern=pattern)
    from sharpbayes.simulation.from_model import simulate_model  # noqa: PLC0415 - PyMC

    context.require_model()
    return simulate_model(context.files, context.study, context.design)
