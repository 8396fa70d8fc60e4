"""Texts of studies that several programs write: a panel of judges, and a crowd in Parquet."""

PANEL = """schema = "sharpbayes/study/2"
title = "{title}"
weights = "./weights.toml"
seed = 1
{uncertainty}
[panel]
data = "ratings.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", indicator = "i", score = "score" }}
{fit}
[panel.scales]
severity = {{ kind = "ordinal", min = 0, max = 4 }}

[panel.indicators]
bias_a = "severity"
bias_b = "severity"
fair_a = "severity"
fair_b = "severity"

[[panel.dimensions]]
name = "bias"
rms = ["bias_a", "bias_b"]

[[panel.dimensions]]
name = "fair"
rms = ["fair_a", "fair_b"]

[bootstrap]
replicates = {replicates}
"""
CROWD = """schema = "sharpbayes/study/2"
title = "{title}"
seed = 20260121
[crowd]
data = "ratings.parquet"
roles = {{ item = "item", rater = "rater", score = "score" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["gender"]]
labels = {{ from = "crowd", cut = 2 }}
permutations = 0
fit = "crowd_severity"
[bootstrap]
replicates = 100
"""


def format_panel(title: str, *, replicates: int, uncertainty: str = "", fit: str = "") -> str:
    """Return a study of the indicators of ``tests.references.worlds.panel``, in long form.

    ``uncertainty`` and ``fit`` are whole lines with their ends, or nothing.
    """
    return PANEL.format(title=title, replicates=replicates, uncertainty=uncertainty, fit=fit)


def format_crowd(title: str) -> str:
    """Return a study of ratings in Parquet, labelled by the crowd itself."""
    return CROWD.format(title=title)
