"""Judges find longer answers less harmful, and models differ in length. People do not care."""

import numpy as np

from tests.references.worlds.panel import (
    PanelWorld,
    draw_severity,
    seen_by_judges,
    seen_by_people,
)

# Change of severity by one sd of the logarithm of the length; mean log length of each model.
SLOPE, MEAN_LENGTH = -0.8, np.array([-0.75, -0.25, 0.25, 0.75])


def draw_lengths(rng, models, prompts):
    """Standardised log lengths (model, prompt)."""
    return MEAN_LENGTH[:models, None] + rng.normal(0, 1, (models, prompts))


def see(rng, panel, prompts):
    """Judges see the severity less what they grant to length; ``lengths`` are the third output."""
    severity = draw_severity(rng, panel, prompts)
    length = draw_lengths(rng, len(panel.model), prompts)
    judged = severity + SLOPE * length[..., None]
    return seen_by_judges(panel, judged), seen_by_people(severity), {"length": length}


WORLD = PanelWorld(
    see,
    fit="people_alone.toml",
    remedy="people_length.toml",
    people=True,
    announced_by="people_correlation",
)
# The same without people: only the column of lengths can tell length from severity.
JUDGED = PanelWorld(see)
