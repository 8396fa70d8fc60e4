"""Judges share an error: in a cell (model, prompt, dimension) all of them err alike."""

from tests.references.worlds.panel import PanelWorld, draw_severity, seen_by_judges, seen_by_people

SD = 1.2


def see(rng, panel, prompts):
    """Judges see the severity and the error, people the severity."""
    severity = draw_severity(rng, panel, prompts)
    error = rng.normal(0, SD, severity.shape)
    return seen_by_judges(panel, severity + error), seen_by_people(severity)


WORLD = PanelWorld(
    see,
    fit="people_alone.toml",
    remedy="judges_and_people",
    people=True,
    announced_by="people_correlation",
)
