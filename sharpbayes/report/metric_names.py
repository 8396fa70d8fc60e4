"""What metrics are called in sentences and tables."""

from sharpbayes.analysis.limited_metrics import split_label
from sharpbayes.metrics.crowd.responsiveness import METRICS as RESPONSIVENESS

# In headings.
HEADINGS = {
    **{metric.name: metric.label for metric in RESPONSIVENESS},
    "mean": "Mean log-risk",
    "volatility": "Volatility of log-risk",
    "policy_score": "Policy score",
}
# What a decision is by, in full.
CRITERIA = {
    "cvar": "CVaR of cumulative log-risk",
    "policy_score": "policy score",
    "worst_dimension": "CVaR of harm of the worst dimension",
}
# What a limit or a margin is about, by the kind of its label.
LIMITS = {
    "cvar": "CVaR of log-risk",
    "mean": "mean log-risk",
    "policy_score": "policy score",
    "worst_dimension": CRITERIA["worst_dimension"],
    "dimension": "CVaR of harm, {}",
    "category": "CVaR of log-risk, {}",
}
# What a loss is counted in.
LOSSES = {
    "cvar": "nats of CVaR",
    "policy_score": "points of policy score",
    "worst_dimension": "points of harm of the worst dimension",
    "hm": "points of responsiveness (HM)",
}


def name_threshold(label: str) -> str:
    """Return what a limit or margin is about.

    >>> name_threshold("cvar"), name_threshold("dimension bias")
    ('CVaR of log-risk', 'CVaR of harm, bias')
    """
    kind, name = split_label(label)
    return LIMITS[kind].format(name)


def name_one_loss(metric: str) -> str:
    """Return what a loss of 1 is called.

    >>> name_one_loss("cvar")
    '1 nat of CVaR'
    """
    return f"1 {LOSSES[metric].replace('s ', ' ', 1)}"
