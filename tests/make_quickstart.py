"""Make the quickstart data from a stated truth with a stated seed.

Run ``uv run python tests/make_quickstart.py`` to write the files of ``specs/studies`` again; a test
compares the committed files with what this makes.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parents[1] / "specs" / "studies"
SEED = 20260121

PANEL = {
    "model": {"aster": -1.0, "briar": -0.4, "cedar": 0.4, "dahlia": 1.0},
    "judge": {"judge_a": -0.4, "judge_b": 0.0, "judge_c": 0.4},
    "sd_prompt": 1.2,
    "sd_model_prompt": 0.6,
    "prompts": 30,
    "thresholds": {
        "flag": [1.5],
        "severity": [0.0, 1.0, 2.0, 3.0],
        "explicitness": [1.0, 2.5],
    },
    "indicator": {
        "bias_gender": ("flag", 0.3),
        "bias_race": ("flag", -0.3),
        "bias_severity": ("severity", 0.2),
        "bias_impact": ("severity", -0.2),
        "explicitness": ("explicitness", 0.0),
        "fair_disparity": ("severity", 0.1),
        "fair_opportunity": ("severity", -0.4),
        "ethics_misaligned": ("severity", -0.1),
        "ethics_exclusion": ("severity", -0.3),
        "epistemic_soundness": ("severity", 0.4),
        "epistemic_risk": ("severity", 0.3),
    },
}

CROWD = {
    "items": 80,
    "raters": 40,
    "experts": 5,
    "sd_item": 1.8,
    "sd_rater": 0.7,
    "thresholds": [-1.5, -0.3, 0.8, 2.0],
    "gender": {"Man": -0.2, "Woman": 0.2},
    "age": ["GenX", "GenZ", "Millennial"],
    "violation": ["Bias", "Sexual", "Violent"],
    "expert_threshold": [-0.5, 0.0, 0.3, 0.6, 1.0],
}


def panel_table(rng: np.random.Generator, n_prompts: int = PANEL["prompts"]) -> pd.DataFrame:
    """Judgements in wide layout: one row a model, prompt and judge."""
    prompts = [f"p{number:02d}" for number in range(1, n_prompts + 1)]
    prompt = rng.normal(0, PANEL["sd_prompt"], len(prompts))
    cell = rng.normal(0, PANEL["sd_model_prompt"], (len(PANEL["model"]), len(prompts)))
    rows = []
    for m, (model, model_effect) in enumerate(PANEL["model"].items()):
        for p, name in enumerate(prompts):
            for judge, judge_effect in PANEL["judge"].items():
                eta = model_effect + prompt[p] + cell[m, p] + judge_effect
                row = {"model_id": model, "prompt_id": name, "judge_id": judge}
                rows.append(row | {key: judged(rng, eta, key) for key in PANEL["indicator"]})
    return pd.DataFrame(rows)


def judged(rng: np.random.Generator, eta: float, indicator: str) -> object:
    """One judgement as it stands in the file."""
    scale, effect = PANEL["indicator"][indicator]
    perceived = eta + effect + rng.logistic()
    level = int((perceived > np.array(PANEL["thresholds"][scale])).sum())
    if scale == "flag":
        return ["false", "true"][level]
    if scale == "explicitness":
        return ["none", "implicit", "explicit"][level]
    return 5 - level if indicator == "epistemic_soundness" else level + 1


def crowd_tables(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Ratings of a crowd, its raters, the items, and labels by experts."""
    severity = rng.normal(0, CROWD["sd_item"], CROWD["items"])
    genders = list(CROWD["gender"])
    raters = pd.DataFrame(
        {
            "rater": [f"r{number:02d}" for number in range(1, CROWD["raters"] + 1)],
            "gender": [genders[number % 2] for number in range(CROWD["raters"])],
            "age": [CROWD["age"][number % 3] for number in range(CROWD["raters"])],
        }
    )
    items = pd.DataFrame(
        {
            "item": [f"i{number:02d}" for number in range(1, CROWD["items"] + 1)],
            "violation": [CROWD["violation"][number % 3] for number in range(CROWD["items"])],
        }
    )
    bias = raters["gender"].map(CROWD["gender"]).to_numpy() + rng.normal(
        0, CROWD["sd_rater"], len(raters)
    )
    perceived = severity[:, None] + bias + rng.logistic(size=(len(items), len(raters)))
    score = np.digitize(perceived, CROWD["thresholds"])
    ratings = pd.DataFrame(
        {
            "item": np.repeat(items["item"], len(raters)).to_numpy(),
            "rater": np.tile(raters["rater"], len(items)),
            "score": score.ravel(),
        }
    )
    experts = [
        {"item": item, "expert": f"e{number}", "label": int(value + rng.normal(0, 0.3) > cut)}
        for item, value in zip(items["item"], severity, strict=True)
        for number, cut in enumerate(CROWD["expert_threshold"], start=1)
    ]
    return {"": ratings, "_raters": raters, "_items": items, "_experts": pd.DataFrame(experts)}


def files() -> dict[str, str]:
    """Text of every file by name."""
    texts = {
        "quickstart.csv": panel_table(np.random.default_rng(SEED)).to_csv(index=False),
        "quickstart.truth.json": json.dumps({"seed": SEED, **PANEL}, indent=2) + "\n",
        "quickstart_crowd.truth.json": json.dumps({"seed": SEED, **CROWD}, indent=2) + "\n",
    }
    for suffix, table in crowd_tables(np.random.default_rng(SEED)).items():
        texts[f"quickstart_crowd{suffix}.csv"] = table.to_csv(index=False)
    return texts


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
