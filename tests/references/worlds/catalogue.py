"""Every world by its name."""

from tests.references.worlds import (
    answers_across_dimensions,
    blocks_of_judges,
    blocks_of_raters,
    camps_of_raters,
    clickers,
    copying_judges,
    copying_raters,
    family_errors,
    halo,
    heavy_prompts,
    length_preference,
    plain_crowd,
    plain_panel,
    prompts_across_dimensions,
    reversed_scale,
    shared_errors,
    straight_liners,
    two_kinds_of_prompts,
)
from tests.references.worlds.crowd import CrowdWorld
from tests.references.worlds.panel import PanelWorld

WORLDS: dict[str, PanelWorld | CrowdWorld] = {
    "plain panel": plain_panel.WORLD,
    "plain panel with people": plain_panel.PEOPLED,
    "shared errors": shared_errors.WORLD,
    "family errors": family_errors.WORLD,
    "family errors with people": family_errors.PEOPLED,
    "halo": halo.WORLD,
    "length preference": length_preference.WORLD,
    "copying judges": copying_judges.WORLD,
    "blocks of judges": blocks_of_judges.WORLD,
    "heavy prompts": heavy_prompts.WORLD,
    "prompts across dimensions": prompts_across_dimensions.WORLD,
    "answers across dimensions": answers_across_dimensions.WORLD,
    "answers across dimensions with people": answers_across_dimensions.PEOPLED,
    "two kinds of prompts": two_kinds_of_prompts.WORLD,
    "plain crowd": plain_crowd.WORLD,
    "clickers": clickers.WORLD,
    "straight-liners": straight_liners.WORLD,
    "copying raters": copying_raters.WORLD,
    "camps of raters": camps_of_raters.WORLD,
    "reversed scale": reversed_scale.WORLD,
    "blocks of raters": blocks_of_raters.WORLD,
}
