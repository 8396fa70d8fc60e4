"""What the numbers of a study cannot carry whatever its scores are, before anything is computed."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.data.crowd import LABELS
from sharpbayes.data.intraclass import describe_correlations
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.crowd.least_numbers import FEW_LABELS, FEW_RATERS
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS, MIN_TAIL, ROUNDING


def list_design_limits(study: PanelStudy | CrowdStudy) -> list[tuple[str, str]]:
    """Return of what there is too little, each with what it cannot carry in a sentence.

    It is ``prompts``, ``clusters``, ``judges``, ``raters`` or ``labels``. The scores can add to it.
    Prompts count alike here, whatever shares the weights give them.
    """
    return list(_panel_limits(study) if isinstance(study, PanelStudy) else _crowd_limits(study))


def _panel_limits(study: PanelStudy) -> Iterator[tuple[str, str]]:
    """Too few prompts for a tail or a mean, clusters that nobody named, and a single judge."""
    prompts, alpha = _count_prompts(study), study.weights.spec.tail.alpha
    cvar, in_tail = f"CVaR {100 * alpha:g}", prompts * (1 - alpha)
    enough = int(np.ceil(MIN_TAIL / (1 - alpha) - ROUNDING))
    have = f"With {format_count(prompts, 'prompt')}"
    clusters = len(np.unique(study.data.prompt_columns.get("cluster", np.arange(prompts))))
    if min(prompts, clusters) < MIN_PROMPTS:
        reason = f"fewer than {MIN_PROMPTS} carry no mean, nor a tail"
        have += f" in {format_count(clusters, 'cluster')}" * (clusters < prompts)
        yield "prompts", f"{have} nothing can be compared: {reason}."
    elif in_tail < MIN_TAIL - ROUNDING:
        tail = f"the {100 * (1 - alpha):.3g}% tail holds {in_tail:.1f}"
        instead = f"{enough} prompts would leave {MIN_TAIL} in the tail"
        yield "prompts", f"{have} {tail}: {cvar} cannot be compared, means can; {instead}."
    for text in describe_correlations(study.data.correlated_by, study.panel.roles.cluster):
        yield "clusters", text
    if len(list_pooled_judges(study.panel, list(study.data.labels["judge"]))) == 1:
        yield "judges", "One judge only: nothing will show how far the numbers depend on it."


def _count_prompts(study: PanelStudy) -> int:
    """Number of prompts of the model that has the fewest with any score."""
    dims = list(study.data.labels)
    scored = study.data.score >= 0
    others = tuple(n for n, name in enumerate(dims) if name not in ("model", "prompt"))
    answered = scored.any(axis=others)
    return int(answered.sum(axis=int(dims.index("model") < dims.index("prompt"))).min())


def _crowd_limits(study: CrowdStudy) -> Iterator[tuple[str, str]]:
    """Groups of few raters, and few items of a label."""
    few = [f"{name} ({n})" for name, n in _count_raters(study).items() if n < FEW_RATERS]
    if few:
        groups = f"Groups of fewer than {FEW_RATERS} raters: {join_names(few)}"
        yield "raters", f"{groups}. Their numbers will say little about others of the group."
    column = study.crowd.roles.cluster
    for text in describe_correlations(study.data.correlated_by, column, units="items"):
        yield "clusters", text
    if study.crowd.labels.from_ == "item":
        labels, cluster = study.data.item_label, study.data.cluster
        units = cluster if cluster.size else np.arange(labels.size)
        counts = {name: len(np.unique(units[labels == n])) for n, name in enumerate(LABELS)}
        rare = [f"{n} {name}" for name, n in counts.items() if n < FEW_LABELS]
        if rare:
            few_of = f"with fewer than {FEW_LABELS} of a label intervals do not hold"
            counted = "Clusters of items" if cluster.size else "Items"
            yield "labels", f"{counted} by label: {join_names(rare)}; {few_of}."


def _count_raters(study: CrowdStudy) -> dict[str, int]:
    """Number of raters by group, of each grouping of the study."""
    columns, counts = study.data.rater_columns, dict[str, int]()
    for grouping in study.crowd.groups:
        values = zip(*(columns[name].tolist() for name in grouping), strict=True)
        for labels, number in sorted(Counter(values).items()):
            if all(labels):
                pairs = zip(grouping, labels, strict=True)
                counts[",".join(f"{name}={label}" for name, label in pairs)] = number
    return counts
