"""Answers that are severe in one dimension of harm are severe in the other; judges have no halo."""

from tests.references.worlds.panel import (
    CELL_SD,
    MODELS,
    PROMPT_SD,
    PanelWorld,
    seen_by_judges,
    seen_by_people,
)


def see(rng, panel, prompts):
    """Prompts differ by dimension as elsewhere; what is special to an answer is in both."""
    prompt = rng.normal(0, PROMPT_SD, (1, prompts, 2))
    answer = rng.normal(0, CELL_SD, (MODELS, prompts, 1))
    severity = panel.model[:, None] + prompt + answer
    return seen_by_judges(panel, severity), seen_by_people(severity)


WORLD = PanelWorld(see, remedy="halo.toml")
PEOPLED = PanelWorld(see, fit="judges_and_people", people=True)
