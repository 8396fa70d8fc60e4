"""Prompts that are severe in one dimension of harm are severe in the other, as most are (0.8)."""

import numpy as np

from tests.references.worlds.panel import (
    CELL_SD,
    MODELS,
    PROMPT_SD,
    PanelWorld,
    seen_by_judges,
    seen_by_people,
)

CORRELATION = 0.8


def see(rng, panel, prompts):
    """Prompts share most of their severity over dimensions; cells do not."""
    law = PROMPT_SD**2 * np.array([[1.0, CORRELATION], [CORRELATION, 1.0]])
    prompt = rng.multivariate_normal(np.zeros(2), law, (1, prompts))
    cell = rng.normal(0, CELL_SD, (MODELS, prompts, 2))
    severity = panel.model[:, None] + prompt + cell
    return seen_by_judges(panel, severity), seen_by_people(severity)


WORLD = PanelWorld(
    see,
    fit="independent_prompts.toml",
    announced_by="prompt_dimension_correlation",
    remedy="judge_panel",
)
