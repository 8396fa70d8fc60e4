"""Prompts with heavy tails: effects of prompts are Student's t with 2.5 degrees of freedom."""

from tests.references.worlds.panel import (
    CELL_SD,
    MODELS,
    PanelWorld,
    seen_by_judges,
    seen_by_people,
)

DF, SCALE = 2.5, 0.8


def see(rng, panel, prompts):
    """Severity is model + prompt + model x prompt, as elsewhere; prompts have heavy tails."""
    prompt = SCALE * rng.standard_t(DF, (1, prompts, 2))
    severity = panel.model[:, None] + prompt + rng.normal(0, CELL_SD, (MODELS, prompts, 2))
    return seen_by_judges(panel, severity), seen_by_people(severity)


WORLD = PanelWorld(see, announced_by="prompt_kurtosis", remedy="heavy_prompts.toml")
