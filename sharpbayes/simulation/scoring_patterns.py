"""Ratings with known truth: the three scoring patterns of the responsiveness paper, Appendix A."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.errors import Diagnostic, SpecError, StorageError, did_you_mean
from sharpbayes.spec.crowd import Crowd, Simulation
from sharpbayes.spec.files import StudyFiles

Floats = NDArray[np.float64]
Scores = NDArray[np.int64]

PATTERNS = ("normal", "shift", "conservative")
EVERY = "all"
# Where the lowest and the highest threshold stand unless they are given, as quantiles of R.
OUTER_QUANTILES = (0.25, 0.85)

STUDY = """\
# {pattern} scoring pattern, simulated by `sharpbayes simulate`; truth.json holds what is true.
schema = "sharpbayes/study/2"
title = {title}
seed = {seed}

[crowd]
data = "ratings.csv"
roles = {{ item = "item", rater = "rater", score = "score" }}
raters = {{ data = "raters.csv", key = "rater" }}
scale = {{ kind = "ordinal", min = 0, max = {top} }}
groups = {groups}
labels = {{ from = "experts", data = "experts.csv" }}
"""


@dataclass(frozen=True)
class SimulatedStudy:
    """Simulated ratings and the truth behind them.

    Attributes:
        tables: By name. ``ratings`` has one row a rating: ``item, rater, score`` for a crowd.
            ``raters`` of a scoring pattern: ``rater, pattern``; ``experts``: ``item, expert,
            label``, one row a label.
        truth: Severities, biases, thresholds and constants, or parameters by name; ready for JSON.
        study: Text of a study file that measures them.
    """

    tables: dict[str, pd.DataFrame]
    truth: dict[str, object]
    study: str


def simulate_pattern(files: StudyFiles, *, pattern: str) -> SimulatedStudy:
    """Simulate ratings on the scale of a crowd study, by its ``[crowd.simulation]``.

    ``R[i, j] = V[i] + b[j]``; rater j gives the normal score S = #{k : R > t_k}. ``shift`` lowers a
    share of the scores from ``shift_from`` up by one step or more; ``conservative`` gives a random
    score above 0 to items with R above a percentile and 0 to all others. Expert e calls item i
    unsafe if V[i] is above the expert's percentile of V.

    Args:
        files: A crowd study; its data files are not read.
        pattern: ``normal``, ``shift`` or ``conservative``; ``all`` for raters of each, with the
            same biases.

    Raises:
        SpecError: The study has no crowd, or there is no such pattern.

    Source: responsiveness paper, section 3.1 and Appendix A.
    """
    study = files.study.spec
    chosen = _patterns(pattern)
    if study.crowd is None:
        message = "the scoring patterns are those of a crowd; this study has a panel"
        raise SpecError([Diagnostic(str(files.study.path), 0, "", message)])
    spec, rng = study.crowd.simulation, np.random.default_rng(study.seed)
    severity = rng.normal(0.0, spec.severity_sd, spec.items)
    bias = rng.normal(0.0, spec.bias_sd, spec.raters)
    cuts = compute_thresholds(study.crowd)
    percentile = _expert_percentiles(spec, rng)
    seen = severity[:, None] + bias
    scores = {name: score_severities(seen, cuts, spec, pattern=name, rng=rng) for name in PATTERNS}
    raters = _raters(spec, chosen)
    truth = {
        "pattern": pattern,
        "seed": study.seed,
        "severity": severity.tolist(),
        "bias": np.tile(bias, len(chosen)).tolist(),
        "thresholds": cuts.tolist(),
        "expert_percentile": percentile.tolist(),
        "constants": spec.model_dump(),
    }
    return SimulatedStudy(
        tables={
            "ratings": _ratings(np.hstack([scores[name] for name in chosen]), raters),
            "raters": raters,
            "experts": _experts(severity, percentile),
        },
        truth=truth,
        study=STUDY.format(
            pattern=pattern,
            title=json.dumps(f"{study.title}: simulated, {pattern}", ensure_ascii=False),
            seed=study.seed,
            top=len(cuts),
            groups='[["pattern"]]' if len(chosen) > 1 else "[]",
        ),
    )


def compute_thresholds(crowd: Crowd) -> Floats:
    """Return the thresholds on R between the scores, K of them."""
    from scipy.special import ndtri  # noqa: PLC0415 - quick to start without it

    spec, top = crowd.simulation, len(crowd.scale.labels) - 1
    if spec.thresholds is not None:
        return np.array(spec.thresholds)
    spread = np.hypot(spec.severity_sd, spec.bias_sd)
    cuts: Floats = ndtri(np.linspace(*OUTER_QUANTILES, top)) * spread
    return cuts


def score_severities(
    seen: Floats, cuts: Floats, spec: Simulation, *, pattern: str, rng: np.random.Generator
) -> Scores:
    """Return the scores that a pattern gives to perceived severities.

    Args:
        seen: R of each item and rater; (item, rater).
        cuts: Thresholds; (K,).
        spec: Constants of the patterns.
        pattern: One of ``normal``, ``shift``, ``conservative``.
        rng: Source of chance.

    Returns:
        Scores 0..K; (item, rater).
    """
    normal = np.searchsorted(cuts, seen)
    if pattern == "shift":
        shifted = (normal >= spec.shift_from) & (rng.random(seen.shape) < spec.shift_share)
        steps = rng.integers(1, spec.shift_steps, seen.shape, endpoint=True)
        return np.where(shifted, np.maximum(normal - steps, 0), normal)
    if pattern == "conservative":
        high = seen > np.percentile(seen, spec.conservative_percentile)
        return np.where(high, rng.integers(1, len(cuts), seen.shape, endpoint=True), 0)
    return normal


def save_simulation(made: SimulatedStudy, folder: Path) -> Path:
    """Write tables, truth and study into a folder, and return the path of the study.

    Raises:
        StorageError: The folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in made.tables.items():
            table.to_csv(folder / f"{name}.csv", index=False)
        (folder / "truth.json").write_text(json.dumps(made.truth) + "\n", encoding="utf-8")
        (folder / "study.toml").write_text(made.study, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: cannot write: {error.strerror or error}") from error
    return folder / "study.toml"


def _patterns(pattern: str) -> tuple[str, ...]:
    """The patterns that a name stands for."""
    if pattern == EVERY:
        return PATTERNS
    if pattern not in PATTERNS:
        known = (*PATTERNS, EVERY)
        message = f"no pattern {pattern!r}, there are {', '.join(known)}"
        raise SpecError([Diagnostic("--pattern", 0, "", message + did_you_mean(pattern, known))])
    return (pattern,)


def _expert_percentiles(spec: Simulation, rng: np.random.Generator) -> Floats:
    """A percentile for each expert: normal around the middle of the range, cut off at its ends.

    The standard deviation is a quarter of the range, so that the ends are two of them away.
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - quick to start without it

    low, high = spec.expert_percentiles
    drawn: Floats = ndtri(rng.uniform(ndtr(-2.0), ndtr(2.0), spec.experts))
    return (low + high) / 2 + drawn * (high - low) / 4


def _raters(spec: Simulation, patterns: tuple[str, ...]) -> pd.DataFrame:
    """Raters with their pattern; the same number of each."""
    names = _names("r", spec.raters * len(patterns))
    return pd.DataFrame({"rater": names, "pattern": np.repeat(patterns, spec.raters)})


def _ratings(scores: Scores, raters: pd.DataFrame) -> pd.DataFrame:
    """Scores in long form."""
    items = _names("i", len(scores))
    columns = {
        "item": np.repeat(items, len(raters)),
        "rater": np.tile(raters["rater"], len(items)),
        "score": scores.ravel(),
    }
    return pd.DataFrame(columns)


def _experts(severity: Floats, percentile: Floats) -> pd.DataFrame:
    """Labels in long form."""
    label = severity[:, None] > np.percentile(severity, percentile)
    items, experts = _names("i", len(severity)), _names("e", len(percentile))
    columns = {
        "item": np.repeat(items, len(experts)),
        "expert": np.tile(experts, len(items)),
        "label": label.astype(int).ravel(),
    }
    return pd.DataFrame(columns)


def _names(letter: str, number: int) -> list[str]:
    """Names of one length, so that they sort by number."""
    return [f"{letter}{at:0{len(str(number))}d}" for at in range(1, number + 1)]
