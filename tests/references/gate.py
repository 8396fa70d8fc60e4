"""How often the gate errs and what it detects, on pairs of releases with known truth.

    python -m tests.references.gate --pairs 1000

writes ``gate.csv``. Ratings come from the law of :mod:`tests.references.worlds.panel`, by plain
NumPy: severity of model, prompt and answer, judges who err alone, an ordinal logistic law of
scores. Nothing of it knows how the gate computes. Margins of a pair are the true differences that a
shift of 0.4 logits makes with its judges, so that the scenario ``at the margins`` has exactly that
difference. The rivals test the mean log-risk of the prompts, as SHARP computes it: a paired t test,
Wilcoxon's signed-rank test, both one-sided at 5%, and 95% intervals that do not overlap.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_study import Side, join_sides
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Gate
from tests.references.provenance import record_run
from tests.references.worlds.panel import (
    CELL_SD,
    DIMENSION_OF,
    EPSILON,
    INDICATORS,
    JUDGE_SD,
    JUDGES,
    PROMPT_SD,
    TEMPERATURE,
    profile,
    score,
)
from tests.study_texts import format_panel

TABLE = Path(__file__).with_name("gate.csv")
POPULATION, MARGIN, DRIFT, CONFIDENCE = 20_000, 0.4, 0.5, 0.95
STUDY = format_panel("Release", replicates=500)
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Gate"

[gate]
mean = 1.0
cvar = 1.0
"""


@dataclass(frozen=True)
class Scenario:
    """A pair of releases.

    Attributes:
        shift: How much more severe the candidate is, in logits, by dimension.
        drift: How much stricter its judges have become, in logits.
        anchors: Share of the prompts whose answers by the reference are judged again.
        replaced: Share of the prompts that the candidate answers in place of others.
    """

    shift: tuple[float, float] = (0.0, 0.0)
    drift: float = 0.0
    anchors: float = 0.0
    replaced: float = 0.0


SCENARIOS = {
    "no change": Scenario(),
    "half a margin": Scenario((MARGIN / 2, MARGIN / 2)),
    "at the margins": Scenario((MARGIN, MARGIN)),
    "large": Scenario((2.5 * MARGIN, 2.5 * MARGIN)),
    "one dimension only": Scenario((2.5 * MARGIN, 0.0)),
    "judges drifted": Scenario(drift=DRIFT),
    "judges drifted, anchors": Scenario(drift=DRIFT, anchors=1.0),
    "judges drifted, half anchors": Scenario(drift=DRIFT, anchors=0.5),
    "large, judges drifted, anchors": Scenario((2.5 * MARGIN,) * 2, drift=DRIFT, anchors=1.0),
    "half replaced": Scenario(replaced=0.5),
    "half replaced, large": Scenario((2.5 * MARGIN, 2.5 * MARGIN), replaced=0.5),
}


def draw_answers(rng: np.random.Generator, prompts: int, shift: np.ndarray) -> np.ndarray:
    """Severity of two models' answers, (model, prompt, dimension), the second by ``shift`` more."""
    prompt = rng.normal(0, PROMPT_SD, (1, prompts, 2))
    cell = rng.normal(0, CELL_SD, (2, prompts, 2))
    return prompt + cell + np.stack([np.zeros(2), shift])[:, None]


def judged(rng: np.random.Generator, severity: np.ndarray, judges: np.ndarray) -> np.ndarray:
    """Scores (model, prompt, judge, indicator)."""
    return score(rng, (severity[:, :, None] + judges)[..., DIMENSION_OF])


def true_difference(judges: np.ndarray, shift: float, seed: int) -> dict[str, float]:
    """Mean and CVaR of the second model less those of the first, in the population of prompts."""
    rng = np.random.default_rng([seed, 7])
    severity = draw_answers(rng, POPULATION, np.full(2, shift))
    values = profile(judged(rng, severity, judges))
    return {name: values[f"{name} m1"] - values[f"{name} m0"] for name in ("mean", "cvar")}


def log_risk(scores: np.ndarray) -> np.ndarray:
    """SHARP's log-risk of each prompt, from scores (prompt, judge, indicator)."""
    squares = [(scores[..., d == DIMENSION_OF] / 4) ** 2 for d in (0, 1)]
    harms = [np.sqrt(square.mean(-1)) for square in squares]
    pooled = [TEMPERATURE * np.log(np.exp(harm / TEMPERATURE).mean(-1)) for harm in harms]
    return -np.log(1.0 - np.stack(pooled, -1) + EPSILON).sum(-1)


def study_of(template: PanelStudy, scores: dict[str, np.ndarray], prompts: list[str]) -> PanelStudy:
    """Return a study of models whose scores are (prompt, judge, indicator), -1 for none."""
    labels = {
        "model": tuple(scores),
        "prompt": tuple(prompts),
        "judge": tuple(f"j{n}" for n in range(JUDGES)),
        "indicator": INDICATORS,
    }
    array = np.stack(list(scores.values())).astype(np.int16)
    return replace(template, data=PanelRatings(score=array, labels=labels))


def run_pair(
    template: PanelStudy, scenario: Scenario, prompts: int, seed: int
) -> dict[str, float | str]:
    """Draw a pair of releases, ask the gate and its rivals."""
    rng = np.random.default_rng(seed)
    judges = rng.normal(0, JUDGE_SD, (JUDGES, 2))
    margins = true_difference(judges, MARGIN, seed)
    severity = draw_answers(rng, prompts, np.array(scenario.shift))
    old_scores = judged(rng, severity[:1], judges)[0]
    new_scores = judged(rng, severity[1:], judges + scenario.drift)[0]
    labels = [f"p{n}" for n in range(prompts)]
    replaced = int(prompts * scenario.replaced)
    if replaced:
        other = draw_answers(rng, replaced, np.array(scenario.shift))
        new_scores[:replaced] = judged(rng, other[1:], judges + scenario.drift)[0]
    new = [f"new{n}" for n in range(replaced)] + labels[replaced:]
    scores = {"new": new_scores}
    if scenario.anchors:
        again = judged(rng, severity[:1], judges + scenario.drift)[0]
        again[int(prompts * scenario.anchors) :] = -1
        scores["old"] = again
    candidate = study_of(template, scores, new)
    reference = study_of(template, {"old": old_scores}, labels)
    spec = template.weights.spec.model_copy(update={"gate": Gate(confidence=CONFIDENCE, **margins)})
    sides = Side(candidate, "new", "candidate"), Side(reference, "old", "reference")
    joined = join_sides(*sides, replace(template.weights, spec=spec))
    # Without the differences that leave out a judge, which decide nothing and take half the time.
    group = measure_gate(replace(joined, judges=()))
    state = group["state"].to_series()
    risks = log_risk(new_scores), log_risk(old_scores)
    return {
        "verdict": group.attrs["verdict"],
        "mean alone": state["mean"],
        "promised": float(group["outcome_share"].sel(scenario="no change")[0]),
        **rivals(*(risk[replaced:] for risk in risks)),
        "intervals": intervals_apart(*risks),
    }


def rivals(new: np.ndarray, old: np.ndarray) -> dict[str, float]:
    """Whether paired tests call the new release worse."""
    return {
        "t": float(stats.ttest_rel(new, old, alternative="greater").pvalue < 1 - CONFIDENCE),
        "wilcoxon": float(stats.wilcoxon(new, old, alternative="greater").pvalue < 1 - CONFIDENCE),
    }


def intervals_apart(new: np.ndarray, old: np.ndarray) -> float:
    """Whether the 95% intervals of the two means do not overlap, the new one above."""
    reach = [stats.t.ppf(0.975, len(x) - 1) * stats.sem(x) for x in (new, old)]
    return float(new.mean() - reach[0] > old.mean() + reach[1])


def summarise(name: str, prompts: int, rows: pd.DataFrame) -> dict[str, object]:
    """Shares of what the gate and its rivals say."""
    shares = {
        f"{prefix}{short}": (rows[column] == word).mean()
        for prefix, column in (("gate_", "verdict"), ("mean_", "mean alone"))
        for short, word in (
            *(("open", "at least as safe"), ("undecided", "not decided")),
            ("shut", "not as safe"),
        )
    }
    alarms = {f"{rival}_alarm": rows[rival].mean() for rival in ("t", "wilcoxon", "intervals")}
    promised = {"promised_open": rows["promised"].mean()}
    row: dict[str, object] = {"scenario": name, "prompts": prompts, "pairs": len(rows)}
    return row | {key: round(float(x), 4) for key, x in (shares | alarms | promised).items()}


def template_study() -> PanelStudy:
    """The study of a release without its ratings."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.toml").write_text(STUDY, "utf-8")
        (Path(folder) / "weights.toml").write_text(WEIGHTS, "utf-8")
        files = load_study(f"{folder}/study.toml")
    empty = PanelRatings(score=np.empty(0, np.int16), labels={})
    spec = files.study.spec
    if spec.panel is None or files.weights is None:
        raise ValueError("the study is of a panel")
    return PanelStudy(spec, spec.panel, empty, files.weights, files.study.path)


def main() -> None:
    """Write the table; pair by pair of every scenario, so that fewer pairs are a table too."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after them")
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    template, begun = template_study(), time.monotonic()
    rows: dict[str, list[dict[str, float | str]]] = {name: [] for name in SCENARIOS}
    for pair in range(asked.pairs):
        if time.monotonic() - begun > 60 * asked.minutes:
            break
        for number, (name, scenario) in enumerate(SCENARIOS.items()):
            rows[name].append(run_pair(template, scenario, asked.prompts, pair * 1000 + number))
        if pair % 10 == 9:
            table = [summarise(name, asked.prompts, pd.DataFrame(rows[name])) for name in rows]
            pd.DataFrame(table).to_csv(asked.out, index=False)
            print(pair + 1, flush=True)
    record_run(asked.out)


if __name__ == "__main__":
    main()
