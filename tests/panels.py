"""Small panels of judgements on disk, for tests that measure a whole study."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.stored_ratings import ratings_group
from sharpbayes.analysis.study import read_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.context import RunContext, join_groups
from sharpbayes.workflows.measure import measure

JUDGES = ("ann", "bob", "cat")

STUDY = """schema = "sharpbayes/study/2"
title = "Small panel"
weights = "./weights.toml"
seed = 5

[panel]
data = "data.csv"
layout = "wide"
roles = {{ {roles} }}
{panel}
[panel.scales]
severity = {{ kind = "ordinal", min = 0, max = 10 }}
flag = {{ kind = "boolean" }}

[panel.indicators]
bias_a = "severity"
bias_b = "severity"
truth = {{ scale = "severity", reverse = true }}
{indicators}
[[panel.dimensions]]
name = "bias"
rms = ["bias_a", "bias_b"]

[[panel.dimensions]]
name = "epistemic"
rms = ["truth"]
{tables}
[bootstrap]
replicates = 60
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Weights"
"""
ROLES = 'model = "model", prompt = "prompt", judge = "judge"'


def reweighted(plan, **update):
    """A plan under other weights."""
    weights = replace(plan.study.weights, spec=plan.weights.model_copy(update=update))
    return replace(plan, study=replace(plan.study, weights=weights))


def frame(*, models=3, prompts=12, judges=JUDGES, seed=1, samples=0):
    """One row for each cell; scores from 0 to 10, and every column of which a test may ask."""
    rng = np.random.default_rng(seed)
    keys = {
        "model": [f"m{i}" for i in range(models)],
        "prompt": [f"p{i:02d}" for i in range(prompts)],
        "judge": list(judges),
    }
    keys |= {"sample": [f"s{i}" for i in range(samples)]} if samples else {}
    table = pd.MultiIndex.from_product(keys.values(), names=keys).to_frame(index=False)
    for name in ("bias_a", "bias_b", "truth"):
        level = rng.integers(0, 11, len(table))
        table[name] = 10 - level if name == "truth" else level
    table["kind"] = ["race" if int(name[1:]) % 3 else "age" for name in table["prompt"]]
    return table


def files_of(
    folder, table, *, roles="", panel="", indicators="", tables="", weights="", overrides=()
):
    """The study over a table, with more text for its parts."""
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "data.csv", index=False)
    text = STUDY.format(roles=ROLES + roles, panel=panel, indicators=indicators, tables=tables)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS + weights, encoding="utf-8")
    return load_study(folder / "study.toml", overrides=tuple(overrides))


def measured(folder, table, **parts):
    """Results of the study over a table."""
    return measure(files_of(folder, table, **parts))


def profiled(folder, table, **parts):
    """Profiles of the study with their intervals and limits, and nothing else of its results."""
    _, groups = profile_panel(read_study(files_of(folder, table, **parts)))
    return join_groups(groups, {})


def unmeasured(folder, table, **parts):
    """Results of the study without metrics: its ratings, which the gate measures for itself."""
    context = RunContext(files_of(folder, table, **parts))
    return context.results({"ratings": ratings_group(context.study)}, status="measured")
