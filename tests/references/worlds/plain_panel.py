"""Judges as ``judge_panel`` knows them: each errs alone."""

from tests.references.worlds.panel import PanelWorld, draw_severity, seen_by_judges, seen_by_people


def see(rng, panel, prompts):
    """Judges and people see the severity."""
    severity = draw_severity(rng, panel, prompts)
    return seen_by_judges(panel, severity), seen_by_people(severity)


WORLD = PanelWorld(see)
PEOPLED = PanelWorld(see, fit="people_alone.toml", remedy="judges_and_people", people=True)
