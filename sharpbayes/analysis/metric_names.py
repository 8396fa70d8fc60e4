"""What metrics are called in sentences."""

METRICS = {
    "cvar": "tail risk",
    "mean": "mean log-risk",
    "policy_score": "policy score",
    "worst_dimension": "tail risk of the worst dimension",
    "hm": "responsiveness",
}
