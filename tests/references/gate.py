"""How often the gate errs and what it detects, on pairs of releases with known truth.

    python -m tests.references.gate --pairs 1000 --raw FILE [--minutes M] [--only SCENARIO ...]

writes ``gate.csv``; FILE has a row for each pair of each scenario, and the same command goes on
from it. Pair n of all scenarios has the same judges. Ratings come from the law of
:mod:`tests.references.worlds.panel`, by plain NumPy: severity of model, prompt and answer, judges
who err alone, an ordinal logistic law of scores. Nothing of it knows how the gate computes. Margins
of a pair are the true differences that a shift of 0.4 logits makes with its judges, so that the
scenario ``at the margins`` has exactly that difference; where judges drifted, with the judges of
today, whom the gate compares. The rivals test the mean log-risk of the prompts, as SHARP computes
it: a paired t test, Wilcoxon's signed-rank test, both one-sided at 5%, and 95% intervals that do
not overlap.
"""

import argparse
import csv
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_side import Side
from sharpbayes.analysis.gate_study import Comparison, join_sides
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.spec.files import StudyFiles
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

Row = dict[str, object]
TABLE = Path(__file__).with_name("gate.csv")
POPULATION, MARGIN, DRIFT, CONFIDENCE = 20_000, 0.4, 0.5, 0.95
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
        margin_drift: How much stricter the judges are with whom margins are computed, in logits.
    """

    shift: tuple[float, float] = (0.0, 0.0)
    drift: float = 0.0
    anchors: float = 0.0
    replaced: float = 0.0
    margin_drift: float = 0.0


SCENARIOS = {
    "no change": Scenario(),
    "half a margin": Scenario((MARGIN / 2, MARGIN / 2)),
    "at the margins": Scenario((MARGIN, MARGIN)),
    "at the margins, half replaced": Scenario((MARGIN, MARGIN), replaced=0.5),
    "at the margins, judges drifted, anchors": Scenario(
        (MARGIN, MARGIN), drift=DRIFT, anchors=1.0, margin_drift=DRIFT
    ),
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


@lru_cache(maxsize=len(SCENARIOS))
def judges_and_margins(pair: int, drift: float) -> tuple[np.ndarray, dict[str, float]]:
    """Judges of a pair of releases, and its margins with judges that are stricter by ``drift``."""
    judges = np.random.default_rng([pair, 11]).normal(0, JUDGE_SD, (JUDGES, 2))
    return judges, true_difference(judges + drift, MARGIN, pair)


@dataclass(frozen=True)
class Pair:
    """A candidate and its reference as one study, and the log-risks of their prompts."""

    comparison: Comparison
    margins: dict[str, float]
    new_risk: np.ndarray
    old_risk: np.ndarray
    replaced: int


def draw_pair(template: PanelStudy, name: str, prompts: int, pair: int) -> Pair:
    """Draw a pair of releases of a scenario."""
    scenario = SCENARIOS[name]
    judges, margins = judges_and_margins(pair, scenario.margin_drift)
    rng = np.random.default_rng([pair, *name.encode()])
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
    bare = replace(joined, judges=())
    return Pair(bare, margins, log_risk(new_scores), log_risk(old_scores), replaced)


def run_pair(template: PanelStudy, name: str, prompts: int, pair: int) -> Row:
    """Draw a pair of releases, ask the gate and its rivals."""
    drawn = draw_pair(template, name, prompts, pair)
    group = measure_gate(drawn.comparison)
    state = group["state"].to_series()
    numbers = {
        f"{column} {metric}": round(float(group[column].sel(metric=metric)), 6)
        for column in ("difference", "margin")
        for metric in drawn.margins
    }
    upper = group["bounds"].sel(bound="upper").to_series().round(6)
    risks = drawn.new_risk, drawn.old_risk
    return {
        "verdict": group.attrs["verdict"],
        **{f"{metric} alone": state[metric] for metric in drawn.margins},
        **{f"upper {metric}": upper[metric] for metric in drawn.margins},
        **numbers,
        "promised": float(group["outcome_share"].sel(scenario="no change")[0]),
        **rivals(*(risk[drawn.replaced :] for risk in risks)),
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


def summarise(name: str, prompts: int, rows: pd.DataFrame) -> Row:
    """Shares of what the gate and its rivals say."""
    shares = {
        f"{prefix}{short}": (rows[column] == word).mean()
        for prefix, column in (
            ("gate_", "verdict"),
            ("mean_", "mean alone"),
            ("cvar_", "cvar alone"),
        )
        for short, word in (
            *(("open", "at least as safe"), ("undecided", "not decided")),
            ("shut", "not as safe"),
        )
    }
    alarms = {f"{rival}_alarm": rows[rival].mean() for rival in ("t", "wilcoxon", "intervals")}
    promised = {"promised_open": rows["promised"].mean()}
    row: Row = {"scenario": name, "prompts": prompts, "pairs": len(rows)}
    return row | {key: round(float(x), 4) for key, x in (shares | alarms | promised).items()}


def template_files(*, fit: str = "", uncertainty: str = "") -> StudyFiles:
    """The files of the study of a release; ``fit`` and ``uncertainty`` are lines of it, if any."""
    text = format_panel("Release", replicates=500, fit=fit, uncertainty=uncertainty)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.toml").write_text(text, "utf-8")
        (Path(folder) / "weights.toml").write_text(WEIGHTS, "utf-8")
        return load_study(f"{folder}/study.toml")


def template_study(files: StudyFiles) -> PanelStudy:
    """The study of a release without its ratings."""
    empty = PanelRatings(score=np.empty(0, np.int16), labels={})
    spec = files.study.spec
    if spec.panel is None or files.weights is None:
        raise ValueError("the study is of a panel")
    return PanelStudy(spec, spec.panel, empty, files.weights, files.study.path)


def pairs_parser(pairs: int) -> argparse.ArgumentParser:
    """Options of a study of pairs, with ``pairs`` of each scenario as the default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=pairs)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after them")
    return parser


def run_missing_pairs(
    asked: argparse.Namespace, scenarios: Iterable[str], run: Callable[[str, int], Row]
) -> pd.DataFrame:
    """Add pairs to the raw file, pair by pair of every scenario, and return all of its rows."""
    end, present = time.monotonic() + 60 * asked.minutes, set()
    if asked.raw.exists():
        rows = pd.read_csv(asked.raw)
        present = set(zip(rows["scenario"], rows["pair"], strict=True))
    for pair, name in product(range(asked.pairs), scenarios):
        if (name, pair) not in present and time.monotonic() < end:
            row = {"scenario": name, "pair": pair, "prompts": asked.prompts}
            append(asked.raw, row | run(name, pair))
    return pd.read_csv(asked.raw)


def main() -> None:
    """Run the pairs that are missing, and write the table."""
    parser = pairs_parser(1000)
    parser.add_argument("--only", nargs="+", default=list(SCENARIOS), choices=SCENARIOS)
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    template = template_study(template_files())
    rows = run_missing_pairs(
        asked, asked.only, lambda name, pair: run_pair(template, name, asked.prompts, pair)
    )
    table = [summarise(name, asked.prompts, rows[rows["scenario"] == name]) for name in SCENARIOS]
    pd.DataFrame(table).to_csv(asked.out, index=False)
    if asked.out == TABLE:
        record_run(TABLE)


def append(path: Path, row: Row) -> None:
    """Add a row to a file of raw rows."""
    header = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
