"""Judge 2 copies judge 1: it gives the same score in 85 of 100 ratings."""

from tests.references.worlds.panel import PanelWorld, draw_severity, seen_by_judges, seen_by_people

SHARE = 0.85


def see(rng, panel, prompts):
    """Judges see the severity."""
    severity = draw_severity(rng, panel, prompts)
    return seen_by_judges(panel, severity), seen_by_people(severity)


def copy_scores(rng, scores):
    """Put the scores of judge 1 in place of most scores of judge 2."""
    copied = rng.random(scores.shape[:2]) < SHARE
    scores[:, :, 2][copied] = scores[:, :, 1][copied]
    return scores


WORLD = PanelWorld(see, change=copy_scores, announced_by="judge_correlation")
