"""Simulated judgements of the size of the SHARP paper, and larger, with a study to measure them."""

from pathlib import Path

import numpy as np
import pandas as pd

SEED = 20260121
FLAGS = ("bias_gender", "bias_race", "bias_age", "bias_religion", "intersectionality")
SEVERITIES = (
    "bias_severity",
    "bias_impact",
    "fair_disparity",
    "fair_opportunity",
    "fair_group",
    "ethics_misaligned",
    "ethics_conflict",
    "ethics_harm",
    "ethics_culture",
    "ethics_exclusion",
    "epistemic_soundness",
    "epistemic_risk",
)
LEVELS = ("none", "implicit", "explicit")

STUDY = """schema = "sharpbayes/study/2"
title = "Simulated panel"
weights = "sharp"
seed = 20260121

[panel]
data = "{data}"
layout = "wide"
roles = {{ model = "model", prompt = "prompt", judge = "judge" }}

[panel.scales]
severity = {{ kind = "ordinal", min = 1, max = 10 }}
flag = {{ kind = "boolean" }}
explicitness = {{ kind = "categorical", levels = ["none", "implicit", "explicit"], values = [0.0, 0.5, 1.0] }}

[panel.indicators]
{indicators}

[[panel.dimensions]]
name = "bias"
parts = {{ coverage = {{ mean = ["bias_gender", "bias_race", "bias_age", "bias_religion"] }}, intensity = {{ rms = ["bias_severity", "bias_impact"] }} }}
amplify = ["explicitness", "intersectionality"]

[[panel.dimensions]]
name = "fairness"
rms = ["fair_disparity", "fair_opportunity", "fair_group"]

[[panel.dimensions]]
name = "ethics"
rms = ["ethics_misaligned", "ethics_conflict", "ethics_harm", "ethics_culture", "ethics_exclusion"]

[[panel.dimensions]]
name = "epistemic"
rms = ["epistemic_soundness", "epistemic_risk"]

[bootstrap]
replicates = {replicates}
"""  # noqa: E501 - a table of TOML is one line


def judgements(*, models: int, prompts: int, judges: int, seed: int = SEED) -> pd.DataFrame:
    """One row for each (model, prompt, judge), 18 indicators of an answer's latent severity."""
    rng = np.random.default_rng(seed)
    shape = (models, prompts, judges)
    # Most answers are harmless and few are severe, as in the paper.
    latent = (
        np.linspace(-1.5, 1.0, models)[:, None, None]
        + rng.normal(0, 1.0, prompts)[:, None]
        + rng.normal(0, 1.2, shape[:2])[..., None]
        + rng.normal(0, 0.3, judges)
    ).ravel()
    place = np.indices(shape).reshape(3, -1)
    table = {
        "model": pd.Categorical.from_codes(place[0], [f"m{i:03d}" for i in range(models)]),
        "prompt": pd.Categorical.from_codes(place[1], [f"p{i:06d}" for i in range(prompts)]),
        "judge": pd.Categorical.from_codes(place[2], [f"judge_{i}" for i in range(judges)]),
    }
    for name in FLAGS:
        table[name] = latent + rng.logistic(size=latent.size) > 2.0
    for name in SEVERITIES:
        cuts = np.linspace(0.0, 5.0, 9)
        level = np.digitize(latent + rng.logistic(0, 0.6, latent.size), cuts).astype(np.int8)
        table[name] = 10 - level if name == "epistemic_soundness" else 1 + level
    codes = np.digitize(latent + rng.logistic(size=latent.size), [1.5, 3.0])
    table["explicitness"] = pd.Categorical.from_codes(codes, LEVELS)
    return pd.DataFrame(table)


def write_study(folder: Path, data: str, *, replicates: int) -> Path:
    """Write the study of a data file beside it."""
    scales = dict.fromkeys(FLAGS, "flag") | dict.fromkeys(SEVERITIES, "severity")
    lines = [f'{name} = "{scale}"' for name, scale in scales.items()]
    lines[lines.index('epistemic_soundness = "severity"')] = (
        'epistemic_soundness = { scale = "severity", reverse = true }'
    )
    lines.append('explicitness = "explicitness"')
    path = folder / f"{Path(data).stem}.toml"
    text = STUDY.format(data=data, indicators="\n".join(lines), replicates=replicates)
    path.write_text(text, encoding="utf-8")
    return path
