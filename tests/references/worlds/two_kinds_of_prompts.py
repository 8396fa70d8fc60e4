"""Two kinds of prompts: one in ten is far more severe, for all models."""

from tests.references.worlds.panel import PanelWorld, draw_severity, seen_by_judges, seen_by_people

SHARE, GAP = 0.1, 3.0


def see(rng, panel, prompts):
    """Severe prompts add the gap in both dimensions."""
    severe = rng.random((1, prompts, 1)) < SHARE
    severity = draw_severity(rng, panel, prompts) + GAP * severe
    return seen_by_judges(panel, severity), seen_by_people(severity)


WORLD = PanelWorld(see, announced_by="prompt_skewness")
