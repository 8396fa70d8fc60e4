"""How often a fit passes a candidate that is its reference but for rare severe answers.

    OPENBLAS_NUM_THREADS=1 python -m tests.references.severe_fit [--studies 50]

Candidates, references and margins are those of :mod:`tests.references.severe_gate`. Both are fitted
together by ``judge_panel``, in two chains, as two models of one study are; the kernel is not
compared with PyMC's graph. ``severe_fit.csv`` has the shares of candidates that pass now, by the
fit alone, and by the bootstrap, and of fits that mixed.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE, Comparison
from sharpbayes.analysis.limited_metrics import about_log_risk
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import posterior_predictive, thin
from sharpbayes.bayes.sampling.geometry import choose_weights, set_weights
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.library import find
from sharpbayes.metrics.panel.non_inferiority import NON_INFERIOR
from sharpbayes.posterior import gate
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.workflows.weigh import profile_draws
from tests.references import severe_gate
from tests.references.gate_posterior import MAX_RHAT, largest_rhat
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("severe_fit.csv")
HEADER = ("prompts", "severe", "score", "margin", "now", "fit", "bootstrap", "mixed", "studies")
DESIGNS = ((40, 0.03, 9, None), (100, 0.03, 9, None), (100, 0.0, 0, 0.05), (100, 0.0, 0, 0.02))
CHAINS, TUNE, DRAWS, PREDICTIVE = 2, 300, 400, 300
# Release by whose trial run coordinates are chosen: they change no posterior.
TRIAL = 100_000


@cache
def read_model() -> Model:
    """The shipped model of a panel."""
    return load(find("models", "judge_panel"), Model).spec


@cache
def trial_coordinates(prompts: int) -> dict[str, float]:
    """Non-centring weights of a release that is not counted."""
    trial = severe_gate.compare(prompts, 0.0, 0, margin=0.1, number=TRIAL)
    return choose_weights(build_design(trial.study.ratings, read_model()), seed=TRIAL)


def draw_profile(comparison: Comparison, prompts: int, *, seed: int):
    """Profiles of replicated ratings of both sides, over (chain, draw, model), and R-hat."""
    study, model = comparison.study, read_model()
    design = build_design(study.ratings, model)
    design = set_weights(design, study.ratings, model, trial_coordinates(prompts))
    sampler = study.spec.sampler.model_copy(update={"chains": CHAINS, "tune": TUNE, "draws": DRAWS})
    posterior = sample_kernel(design, sampler, seed=seed)["posterior"].to_dataset()
    kept = thin(posterior, draws=PREDICTIVE)
    replicated = posterior_predictive(kept, design, seed=seed)
    draws = ReplicateDraws(kept, replicated, design, seed)
    return profile_draws(study, draws), largest_rhat(posterior)


def passes(comparison: Comparison, prompts: int, *, seed: int) -> tuple[bool, bool, bool, bool]:
    """Whether a candidate passes now, by the fit alone and by the bootstrap; whether it mixed."""
    measured, weights = measure_gate(comparison), comparison.study.weights
    profile, rhat = draw_profile(comparison, prompts, seed=seed)
    sides = {"candidate": CANDIDATE, "reference": REFERENCE}
    now = gate.posterior_gate(measured, profile, weights, **sides).attrs["verdict"]
    with patch.object(gate, "is_raised_by_ends", about_log_risk):
        by_fit = gate.posterior_gate(measured, profile, weights, **sides).attrs["verdict"]
    verdicts = (now, by_fit, measured.attrs["verdict"])
    return *(verdict == NON_INFERIOR for verdict in verdicts), rhat <= MAX_RHAT


def study_design(
    prompts: int, share: float, score: int, given: float | None, studies: int
) -> Iterator[tuple[object, ...]]:
    """The row of one design: shares of candidates that pass."""
    margin = severe_gate.true_margin(share, score) if given is None else given
    shares = np.mean(
        [
            passes(
                severe_gate.compare(prompts, share, score, margin=margin, number=number),
                prompts,
                seed=number,
            )
            for number in range(studies)
        ],
        axis=0,
    )
    yield (prompts, share, score, f"{margin:.4f}", *(f"{x:.3f}" for x in shares), studies)


if __name__ == "__main__":
    write_worlds(study_design, DESIGNS, HEADER, TABLE, studies=50)
