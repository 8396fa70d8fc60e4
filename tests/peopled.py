"""Simulated panels that judges and people score, with known truth, as studies on disk."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import load_study

LEVELS, DIMENSIONS = 5, ("bias", "fair")
INDICATORS = ("bias_a", "bias_b", "fair_a", "fair_b")
OF_DIMENSION = np.array([0, 0, 1, 1])
THRESHOLDS = np.array([-2.0, -0.7, 0.7, 2.0])
STUDY = """schema = "sharpbayes/study/2"
title = "Judges and people, simulated"
seed = {seed}

[panel]
data = "judges.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", indicator = "indicator", \
score = "score" }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ bias_a = "severity", bias_b = "severity", fair_a = "severity", \
fair_b = "severity" }}
dimensions = [{{ name = "bias", rms = ["bias_a", "bias_b"] }}, \
{{ name = "fair", rms = ["fair_a", "fair_b"] }}]
fit = "judges_and_people"

[panel.people]
data = "people.csv"
roles = {{ model = "model", prompt = "prompt", rater = "rater", indicator = "indicator", \
score = "score" }}

[panel.families]
{families}
[bootstrap]
replicates = 20
level = 0.9

[sampler]
chains = 2
tune = 300
draws = {draws}
target_accept = 0.9
predictive_draws = {predictive}
"""


@dataclass(frozen=True)
class SimulatedStudy:
    """A study of judges and people, the same scored by people alone, and what is true."""

    files: StudyFiles
    by_people: StudyFiles
    truth: dict[str, np.ndarray]


def simulated(
    folder,
    *,
    seed,
    models=4,
    prompts=40,
    judges=3,
    people=5,
    share=0.5,
    people_a_cell=2,
    self_preference=None,
    shift=None,
    draws=500,
    predictive=200,
):
    """Simulate: severities and leans N(0, 0.7) unless given, discriminations exp N(0, 0.4).

    Judge k is of the family of model k. People score a share of the prompts; ``people_a_cell`` of
    them, drawn at random, score each cell. Truths of judges are against the mean of the people who
    score.
    """
    rng = np.random.default_rng(seed)
    eta = rng.normal(0, 1, (models, 1, 2)) + rng.normal(0, 0.7, (1, prompts, 2))
    eta = (eta + rng.normal(0, 0.7, (models, prompts, 2)))[..., OF_DIMENSION]
    eta = eta - rng.normal(0, 0.3, len(INDICATORS))
    shift = rng.normal(0, 0.7, (judges, 2)) if shift is None else np.asarray(shift, dtype=float)
    factor = np.exp(rng.normal(0, 0.4, judges))
    self_preference = rng.normal(0, 1.0) if self_preference is None else self_preference
    person = rng.normal(0, 0.5, people)
    person -= person.mean()
    families = np.eye(models, judges)[:, None, :, None]
    perceived = eta[:, :, None, :] + shift[:, OF_DIMENSION] + self_preference * families
    scored = _levels(perceived, factor[:, None], rng)
    by_person = _levels(eta[:, :, None, :] + person[:, None], 1.0, rng)
    folder.mkdir(parents=True, exist_ok=True)
    _table(scored, "judge", "j").to_csv(folder / "judges.csv", index=False)
    table = _table(by_person, "rater", "h")
    chosen = rng.random((models, prompts, people)).argsort(axis=2) < people_a_cell
    chosen &= (np.arange(prompts) < share * prompts)[:, None]
    kept = np.broadcast_to(chosen[..., None], by_person.shape).ravel()
    table[kept].to_csv(folder / "people.csv", index=False)
    complete = table[table["rater"].isin([f"h{n}" for n in rng.permutation(people)[:judges]])]
    complete.rename(columns={"rater": "judge"}).to_csv(folder / "whole.csv", index=False)
    names = [f'f{k} = {{ models = ["m{k}"], judges = ["j{k}"] }}\n' for k in range(judges)]
    text = STUDY.format(seed=seed, families="".join(names), draws=draws, predictive=predictive)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    alone = text[: text.index("[panel.people]")] + text[text.index("[bootstrap]") :]
    alone = alone.replace('fit = "judges_and_people"\n', "").replace("judges.csv", "whole.csv")
    (folder / "people.toml").write_text(alone, encoding="utf-8")
    severity = shift.mean(axis=1)
    truth = {
        "severity": severity,
        "differential_severity": shift - severity[:, None],
        "discrimination": factor,
        "self_preference": np.array(self_preference),
    }
    return SimulatedStudy(
        load_study(folder / "study.toml"), load_study(folder / "people.toml"), truth
    )


def _levels(perceived, factor, rng):
    """Levels of perceived severities."""
    noisy = perceived + rng.logistic(size=perceived.shape) / factor
    return (noisy[..., None] > THRESHOLDS).sum(-1)


def _table(level, who, letter):
    """Levels in long form."""
    labels = [f"{name}{{}}" for name in ("m", "p", letter)]
    columns = [
        [t.format(n) for n in range(size)] for t, size in zip(labels, level.shape, strict=False)
    ]
    names = ["model", "prompt", who, "indicator"]
    index = pd.MultiIndex.from_product([*columns, INDICATORS], names=names)
    return pd.DataFrame({"score": level.ravel()}, index=index).reset_index()
