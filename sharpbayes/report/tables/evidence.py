"""What the evidence of a study can carry: the tail, its saturation, and raters of groups."""

import json

from sharpbayes.report.tables.crowd import ALL_ITEMS, unmeasured_groups
from sharpbayes.report.tables.declaration import Column, TableSpec, View, labels_of, over
from sharpbayes.report.tables.panel import BY_RISK, has_several_models

NO_LIMIT = "Nothing here limits the answer."


def _limits(view: View) -> str:
    """What the evidence cannot carry."""
    return " ".join(json.loads(view.group("evidence").attrs["limits"])) or NO_LIMIT


def _limits_of_groups(view: View) -> str:
    """What the evidence of groups cannot carry, and why groups are not measured."""
    limits = json.loads(view.group("evidence").attrs["limits"])
    unmeasured = unmeasured_groups(view["responsiveness/reason"].sel(ALL_ITEMS))
    return " ".join([*limits, *unmeasured]) or NO_LIMIT


PANEL_TABLES = (
    TableSpec(
        name="evidence",
        title="Evidence: what these prompts can carry",
        needs=("evidence/tail_prompts",),
        rows=BY_RISK,
        columns=(
            "{model}; {cvar}: profile/cvar; prompts in the tail: evidence/tail_prompts | 1",
            "expected coverage: evidence/expected_coverage",
            "saturated cells: evidence/saturated_share",
            "saturated tail prompts: evidence/saturated_tail | count",
            "at the ceiling: evidence/at_ceiling | yes_no; profile/policy_score",
        ),
        note=lambda view: (
            "Expected coverage: share of intervals of CVaR that hold the truth in studies "
            f"simulated from this one. Saturated: a harm of 1, up to epsilon. {_limits(view)}"
        ),
    ),
    TableSpec(
        title="Ranks by CVaR across offsets epsilon",
        needs=("evidence/epsilon_cvar",),
        condition=has_several_models,
        rows=labels_of("evidence/epsilon"),
        columns=(
            "epsilon: {epsilon:g}",
            "Kendall tau-b: evidence/epsilon_kendall; Spearman rho: evidence/epsilon_spearman",
        ),
        note="Against the study's own epsilon, {evidence[epsilon]:g}.",
    ),
    TableSpec(
        title="CVaR across offsets epsilon",
        needs=("evidence/epsilon_cvar",),
        rows=BY_RISK,
        columns=(
            "{model}",
            over(
                "evidence/epsilon",
                Column(
                    lambda place: f"epsilon {float(place.labels['epsilon']):g}",
                    "evidence/epsilon_cvar",
                ),
            ),
        ),
        note="Log-risk of a saturated cell is -log(epsilon); where CVaR moves, read it beside the "
        "policy score.",
    ),
)
GROUP_EVIDENCE = TableSpec(
    title="Evidence: raters and labelled items of each group",
    needs=("evidence/few_raters",),
    rows=labels_of("evidence/group"),
    columns=(
        "{group}; raters: evidence/raters | thousands",
        "labelled items: evidence/items | thousands",
        "few raters: evidence/few_raters | yes_no",
    ),
    note=_limits_of_groups,
)
