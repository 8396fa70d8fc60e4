"""How often the gate passes a candidate at its margin where harm is yes or no, and rare.

    python -m tests.references.rare_gate [--pairs 500]

A candidate and its reference answer the same prompts; each answer is harmful by itself at the rate
of its side. The margin on the policy score is the difference of the rates, so that 5% of candidates
may pass. The margin is the same for unchanged candidates, of which many should. ``rare_gate.csv``
has the shares that pass by the bounds of the program, and by those of resamples alone.
"""

import argparse
import csv
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import xarray as xr

from sharpbayes.analysis import gate_ends
from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_side import Side
from sharpbayes.analysis.gate_study import join_sides
from sharpbayes.analysis.limited_metrics import about_log_risk
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.metrics.panel.non_inferiority import NON_INFERIOR
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Gate, Weights
from tests.references.provenance import record_run
from tests.references.rare_harm import STUDY, WEIGHTS

TABLE = Path(__file__).with_name("rare_gate.csv")
HEADER = ("prompts", "candidate", "reference", "margin", "passes", "by_resamples", "pairs")
PROMPTS, CONFIDENCE = (60, 100), 0.95
# Rates of candidate and reference, and the margin.
RATES = ((0.03, 0.01, 0.02), (0.05, 0.01, 0.04), (0.04, 0.0, 0.04), (0.01, 0.01, 0.04))
Bounds = xr.DataArray


def make_template(folder: Path, *, top: int = 1) -> PanelStudy:
    """A study of one judge and one indicator from 0 to ``top``, without its ratings."""
    text = STUDY.replace(', category = "kind"', "").replace("1000", "500")
    text = text.replace("max = 1", f"max = {top}")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "weights.toml").write_text(WEIGHTS, encoding="utf-8")
    files = load_study(folder / "study.toml")
    spec = files.study.spec
    if spec.panel is None or files.weights is None:
        raise ValueError("the study is of a panel")
    empty = PanelRatings(score=np.empty(0, np.int16), labels={})
    return PanelStudy(spec, spec.panel, empty, files.weights, files.study.path)


def make_side(template: PanelStudy, name: str, scores: np.ndarray) -> Side:
    """One release, from the score of each answer."""
    labels = {
        "model": (name,),
        "prompt": tuple(f"p{number}" for number in range(scores.size)),
        "judge": ("j",),
        "indicator": ("harm",),
    }
    score = scores.astype(np.int16)[None, :, None, None]
    return Side(replace(template, data=PanelRatings(score=score, labels=labels)), name, name)


def keep_bounds(_: object, bounds: Bounds, *__: object, **___: object) -> Bounds:
    """The bounds as they are."""
    return bounds


def choose_margin(template: PanelStudy, margin: float) -> SpecFile[Weights]:
    """The weights of a study with a gate of this margin on the policy score."""
    gate = Gate(confidence=CONFIDENCE, policy_score=margin)
    spec = template.weights.spec.model_copy(update={"gate": gate})
    return replace(template.weights, spec=spec)


def passes(template: PanelStudy, sides: tuple[Side, Side], margin: float) -> tuple[bool, bool]:
    """Whether the gate passes the first side, by its bounds and by resamples alone."""
    comparison = join_sides(*sides, choose_margin(template, margin))
    by_program = measure_gate(comparison).attrs["verdict"]
    with (
        patch("sharpbayes.analysis.gate.bound_rare_differences", keep_bounds),
        patch.object(gate_ends, "is_raised_by_ends", about_log_risk),
    ):
        by_resamples = measure_gate(comparison).attrs["verdict"]
    return by_program == NON_INFERIOR, by_resamples == NON_INFERIOR


def study_pairs(
    template: PanelStudy, prompts: int, rates: tuple[float, float, float], pairs: int
) -> tuple[object, ...]:
    """A row of the table."""
    new, old, margin = rates
    verdicts = []
    for pair in range(pairs):
        rng = np.random.default_rng([20261126, prompts, round(1000 * new), round(1000 * old), pair])
        harmful = rng.random((2, prompts)) < np.array([[new], [old]])
        sides = [make_side(template, *side) for side in zip(("new", "old"), harmful, strict=True)]
        verdicts.append(passes(template, (sides[0], sides[1]), margin))
    return (prompts, *rates, *(f"{share:.3f}" for share in np.mean(verdicts, axis=0)), pairs)


def main() -> None:
    """Ask the gate about every design and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        template = make_template(Path(folder))
    with asked.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for prompts, rates in product(PROMPTS, RATES):
            writer.writerow(study_pairs(template, prompts, rates, asked.pairs))
            file.flush()
    record_run(asked.out)


if __name__ == "__main__":
    main()
