"""Ratings with known truth: the three scoring patterns of the responsiveness paper, Appendix A."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.errors import SpecError, did_you_mean
from sharpbayes.spec.crowd import Crowd, Simulation
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.study_text import format_study
from sharpbayes.storage.files import make_folder, write_text

Floats = NDArray[np.float64]
Scores = NDArray[np.int64]

PATTERNS = ("normal", "shift", "conservative")
# Ratings from the model of a study, which are no pattern of scoring.
MODEL = "model"
ALL = "all"
# Unless they are given, the lowest and the highest threshold are these quantiles of R.
OUTER_QUANTILES = (0.25, 0.85)
# The study of a simulation, what it begins with, and patterns of all files that one may write.
STUDY = "study.toml"
COMMENT = "Written by `sharpbayes simulate`; truth.json has the truth."
TABLES = ("ratings.csv", "raters.csv", "experts.csv", "people.csv")
FILES = (STUDY, "truth.json", *TABLES, "model.toml", "weights.toml", "weights_*.toml")


@dataclass(frozen=True)
class SimulatedStudy:
    """Simulated ratings, the truth behind them, and the text of a study file that measures them.

    ``tables`` has ``ratings``, of a crowd ``item, rater, score``; of a scoring pattern also
    ``raters``: ``rater, pattern``, and ``experts``: ``item, expert, label``. ``truth`` holds
    severities, biases, thresholds and constants, or parameters by name; ready for JSON. ``files``
    are the texts of model and weights files that the study names, by the name of the file.
    """

    tables: dict[str, pd.DataFrame]
    truth: dict[str, object]
    study: str
    files: dict[str, str] = field(default_factory=dict)


def simulate_pattern(files: StudyFiles, *, pattern: str) -> SimulatedStudy:
    """Simulate ratings on the scale of a crowd study, by its ``[crowd.simulation]``.

    ``R[i, j] = V[i] + b[j]``; rater j gives the normal score S = #{k : R > t_k}. ``shift`` lowers a
    share of the scores from ``shift_from`` up by one step or more; ``conservative`` gives a random
    score above 0 to items with R above a percentile and 0 to all others. Expert e calls item i
    unsafe if V[i] is above the expert's percentile of V. With the pattern ``all`` there are raters
    of each, with the same biases. The study's data files are not read.

    Source: responsiveness paper, section 3.1 and Appendix A.
    """
    study = files.study.spec
    if pattern not in (known := (*PATTERNS, ALL)):
        allowed = (*known, MODEL)
        message = f"no pattern {pattern!r}, there are {', '.join(allowed)}"
        raise SpecError.at("--pattern", message + did_you_mean(pattern, allowed))
    patterns = PATTERNS if pattern == ALL else (pattern,)
    if study.crowd is None:
        message = "are those of a crowd; this study has a panel: add --pattern model"
        raise SpecError.at(files.study.path, f"the patterns {', '.join(known)} {message}")
    spec, rng = study.crowd.simulation, np.random.default_rng(study.seed)
    severity = rng.normal(0.0, spec.severity_sd, spec.items)
    bias = rng.normal(0.0, spec.bias_sd, spec.raters)
    cutpoints = compute_thresholds(study.crowd)
    percentile = _draw_percentiles(spec, rng)
    perceived = severity[:, None] + bias
    # Every pattern is drawn, so that equal seeds give equal scores whatever pattern is asked for.
    scores = {name: score_severities(perceived, cutpoints, spec, name, rng) for name in PATTERNS}
    names = _number_names("r", spec.raters * len(patterns))
    raters = pd.DataFrame({"rater": names, "pattern": np.repeat(patterns, spec.raters)})
    items, experts = _number_names("i", spec.items), _number_names("e", spec.experts)
    labels = (severity[:, None] > np.percentile(severity, percentile)).astype(int)
    truth = {
        "pattern": pattern,
        "seed": study.seed,
        "severity": severity.tolist(),
        "bias": np.tile(bias, len(patterns)).tolist(),
        "thresholds": cutpoints.tolist(),
        "expert_percentile": percentile.tolist(),
        "constants": spec.model_dump(),
    }
    rated = np.hstack([scores[name] for name in patterns])
    tables = {
        "ratings": _tabulate(items, raters["rater"].tolist(), rated, ("rater", "score")),
        "raters": raters,
        "experts": _tabulate(items, experts, labels, ("expert", "label")),
    }
    title = f"{study.title}: simulated, {pattern}"
    groups = [["pattern"]] if len(patterns) > 1 else []
    text = _write_study(title, study.seed, groups, top=len(cutpoints))
    return SimulatedStudy(tables, truth, text)


def compute_thresholds(crowd: Crowd) -> Floats:
    """Return the thresholds on R between the scores, K of them."""
    from scipy.special import ndtri  # noqa: PLC0415 - start-up without scipy

    spec, top = crowd.simulation, len(crowd.scale.labels) - 1
    if spec.thresholds is not None:
        return np.array(spec.thresholds)
    spread = np.hypot(spec.severity_sd, spec.bias_sd)
    return np.asarray(ndtri(np.linspace(*OUTER_QUANTILES, top)) * spread)


def score_severities(
    perceived: Floats, thresholds: Floats, spec: Simulation, pattern: str, rng: np.random.Generator
) -> Scores:
    """Return the scores 0..K that a pattern gives to perceived severities R, (item, rater)."""
    normal = np.searchsorted(thresholds, perceived)
    if pattern == "shift":
        is_shifted = (normal >= spec.shift_from) & (rng.random(normal.shape) < spec.shift_share)
        steps = rng.integers(1, spec.shift_steps, normal.shape, endpoint=True)
        return np.where(is_shifted, np.maximum(normal - steps, 0), normal)
    if pattern == "conservative":
        is_high = perceived > np.percentile(perceived, spec.conservative_percentile)
        return np.where(is_high, rng.integers(1, len(thresholds), normal.shape, endpoint=True), 0)
    return normal


def save_simulation(simulated: SimulatedStudy, folder: Path) -> Path:
    """Write tables, truth and study into a folder, and return the path of the study."""
    failure = f"{folder}: cannot write"
    make_folder(folder, failure)
    tables = {
        f"{name}.csv": table.to_csv(index=False, lineterminator="\n")
        for name, table in simulated.tables.items()
    }
    texts = {"truth.json": json.dumps(simulated.truth) + "\n", **simulated.files}
    for name, text in {**tables, **texts, STUDY: simulated.study}.items():
        write_text(folder / name, text, failure)
    return folder / STUDY


def _draw_percentiles(spec: Simulation, rng: np.random.Generator) -> Floats:
    """Draw percentiles of experts: normal inside the range, its ends two deviations away."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - start-up without scipy

    low, high = spec.expert_percentiles
    standard: Floats = ndtri(rng.uniform(ndtr(-2.0), ndtr(2.0), spec.experts))
    return (low + high) / 2 + standard * (high - low) / 4


def _tabulate(
    items: list[str], raters: list[str], values: Scores, columns: tuple[str, str]
) -> pd.DataFrame:
    """Return values of items by raters in long form."""
    parts = (np.repeat(items, len(raters)), np.tile(raters, len(items)), values.ravel())
    return pd.DataFrame(dict(zip(("item", *columns), parts, strict=True)))


def _number_names(letter: str, number: int) -> list[str]:
    """Return names of one length, so that they sort by number."""
    return [f"{letter}{n:0{len(str(number))}d}" for n in range(1, number + 1)]


def _write_study(title: str, seed: int, groups: list[list[str]], *, top: int) -> str:
    """Write a study that measures the tables."""
    crowd = {
        "data": "ratings.csv",
        "roles": {"item": "item", "rater": "rater", "score": "score"},
        "raters": {"data": "raters.csv", "key": "rater"},
        "scale": {"kind": "ordinal", "min": 0, "max": top},
        "groups": groups,
        "labels": {"from": "experts", "data": "experts.csv"},
    }
    study = {"schema": "sharpbayes/study/2", "title": title, "seed": seed, "crowd": crowd}
    return format_study(study, {"": [COMMENT]})
