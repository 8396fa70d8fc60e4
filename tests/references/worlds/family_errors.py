"""Judges of one family share an error in each cell; the third judge is of another family."""

import numpy as np

from tests.references.worlds.panel import (
    DIMENSION_OF,
    PanelWorld,
    draw_severity,
    seen_by_judges,
    seen_by_people,
)

SD = 1.2
FAMILY_OF = np.array([0, 0, 1])


def see(rng, panel, prompts):
    """Judges 0 and 1 see the severity and the error of their family."""
    severity = draw_severity(rng, panel, prompts)
    error = rng.normal(0, SD, (*severity.shape, 2)) * [1, 0]
    of_judge = np.moveaxis(error[..., FAMILY_OF], -1, 2)[..., DIMENSION_OF]
    return seen_by_judges(panel, severity) + of_judge, seen_by_people(severity)


WORLD = PanelWorld(see, announced_by="judge_correlation")
PEOPLED = PanelWorld(
    see,
    fit="people_alone.toml",
    remedy="judges_and_people",
    people=True,
    announced_by="judge_correlation",
)
