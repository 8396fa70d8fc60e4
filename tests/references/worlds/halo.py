"""Halo: a judge has one impression of an answer, which moves all of its indicators."""

from tests.references.worlds.panel import (
    JUDGES,
    PanelWorld,
    draw_severity,
    seen_by_judges,
    seen_by_people,
)

SD = 1.2


def see(rng, panel, prompts):
    """A judge sees the severity and, in all indicators, the impression of the answer."""
    severity = draw_severity(rng, panel, prompts)
    impression = rng.normal(0, SD, (*severity.shape[:2], JUDGES, 1))
    return seen_by_judges(panel, severity) + impression, seen_by_people(severity)


WORLD = PanelWorld(see, announced_by="halo", remedy="halo.toml")
