"""How often judges are said to have moved, or to contradict each other, who did neither.

    python -m tests.references.named_judges [--studies 200]

Judges score prompts in five steps by a law in plain NumPy. *Moved*: one model answers the same
prompts in every release, and the answers or the judgements are new. *Contradict*: judges have
nothing in common, or agree a little. Some worlds have one judge who does what the sentence says:
from the middle of the releases on it is stricter, or it reads the scale from the other end.
``named_judges.csv`` has the share of studies in which the sentence names anybody who did not, and
in which it names the judge who did; ``_before`` are the same by the rules without a correction: a
drift of more than two standard errors, a tau-b of -0.3 or less.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from sharpbayes.analysis.releases import compare_releases
from sharpbayes.metrics.panel.concordance import MAX_TAU, concordance, contrary_judges
from tests.references.clustered_tests import hold_scores
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("named_judges.csv")
HEADER = (
    *("sentence", "world", "releases", "models", "prompts", "judges", "dimensions"),
    *("false_before", "false", "named_before", "named", "studies"),
)
CUTS, BIAS, ANSWER, JUDGEMENT, SEED = (-0.5, 0.2, 0.8, 1.5), 0.3, 0.5, 0.6, 20261130
MIN_OVERLAP = 25
# Who is named by the rule without a correction, who by the present one, and who did it.
Outcome = tuple[xr.DataArray, xr.DataArray, xr.DataArray]


@dataclass(frozen=True)
class Design:
    """A world and the sizes of its studies.

    Attributes:
        world: What judges do.
        releases: Releases of a history; 1 for the judges of one study.
        models: Number of models.
        prompts: Number of prompts.
        judges: Number of judges.
        dimensions: Number of dimensions.
        has_new_answers: Whether every release has new answers.
        shift: By how much the last judge becomes stricter, on the latent scale.
        correlation: Correlation of what two judges see.
        is_reversed: Whether the last judge reads the scale from the other end.
        variants: Prompts of a scenario, which each judge reads in its own way; 1 for none.
    """

    world: str
    releases: int
    models: int
    prompts: int
    judges: int
    dimensions: int = 1
    has_new_answers: bool = False
    shift: float = 0.0
    correlation: float = 0.0
    is_reversed: bool = False
    variants: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Models, prompts, judges and dimensions."""
        return self.models, self.prompts, self.judges, self.dimensions

    @property
    def has_offender(self) -> bool:
        """Whether the last judge does what the sentence says."""
        return self.is_reversed or self.shift > 0

    def label(self, latent: np.ndarray) -> xr.DataArray:
        """Harm in five steps of latent severities, with the scenario of each prompt."""
        dims = ("model", "prompt", "judge", "dimension")
        sizes = dict(zip(dims, self.sizes, strict=True))
        labels = {dim: [f"{dim}{n:04d}" for n in range(size)] for dim, size in sizes.items()}
        scenario = np.arange(self.prompts) // self.variants
        return xr.DataArray(
            np.searchsorted(CUTS, latent) / len(CUTS),
            {**labels, "cluster": ("prompt", scenario.astype(str))},
            dims,
        )


def draw_history(rng: np.random.Generator, design: Design) -> dict[str, xr.DataTree]:
    """Results of the releases of one model."""
    bias = BIAS * rng.standard_normal(design.judges)
    prompts = rng.standard_normal(design.prompts)
    history = {}
    for release in range(design.releases):
        answers = prompts + design.has_new_answers * ANSWER * rng.standard_normal(design.prompts)
        noise = JUDGEMENT * rng.standard_normal(design.sizes)
        latent = answers[:, None, None] + bias[:, None] + noise
        latent[:, :, -1] += design.shift * (release >= design.releases // 2)
        history[f"r{release:02d}"] = hold_scores(design.label(latent))
    return history


def name_moved(rng: np.random.Generator, design: Design) -> Outcome:
    """Which judges are said to have moved, and in which release."""
    table = compare_releases(draw_history(rng, design))
    moved = xr.zeros_like(table["drift_notable"])
    if design.shift:
        moved[{"release": design.releases // 2, "judge": -1}] = True
    return abs(table["drift"]) > 2 * table["drift_error"], table["drift_notable"], moved


def draw_scores(rng: np.random.Generator, design: Design) -> xr.DataArray:
    """Scores of the judges of one study."""
    seen = np.sqrt(design.correlation) * rng.standard_normal(design.sizes)[:, :, :1]
    scenarios = np.arange(design.prompts) // design.variants
    own = rng.standard_normal(design.sizes)[:, scenarios]
    own = own if design.variants == 1 else 0.9 * own + 0.44 * rng.standard_normal(design.sizes)
    latent = seen + np.sqrt(1 - design.correlation) * own
    scores = design.label(latent)
    if design.is_reversed:
        scores[:, :, -1] = 1 - scores[:, :, -1]
    return scores


def name_contrary(rng: np.random.Generator, design: Design) -> Outcome:
    """Which pairs of judges are said to contradict each other."""
    pairs = concordance(draw_scores(rng, design), min_overlap=MIN_OVERLAP, dim="prompt")
    tau = pairs["concordance"]
    low = (tau.mean("model") <= MAX_TAU) & (tau < 0).all("model")
    last = f"judge{design.judges - 1:04d}"
    is_last = np.array([last in str(pair) for pair in pairs["pair"].to_numpy()])
    contrary = xr.zeros_like(low) | xr.DataArray(is_last & design.is_reversed, dims="pair")
    return low, contrary_judges(pairs)["contrary"], contrary


REVERSED, STRICTER = "one judge reversed, correlation", "one judge stricter by"
# Histories of two releases are quick, and so many times more of them are drawn.
SHORT_HISTORIES = 5
MOVED = (
    *(Design("new answers", r, 1, 100, j, has_new_answers=True) for r, j in ((2, 3), (4, 5))),
    Design("new answers", 12, 1, 100, 5, has_new_answers=True),
    Design("the same answers", 4, 1, 100, 5),
    Design(f"{STRICTER} 0.3", 4, 1, 100, 5, shift=0.3),
    *(Design(f"{STRICTER} 0.5", releases, 1, 100, 5, shift=0.5) for releases in (4, 12)),
)
CONTRADICT = (
    *(Design("nothing in common", 1, models, 25, 5, 4) for models in (1, 2)),
    Design("nothing in common", 1, 1, 30, 8, 3),
    Design("correlation 0.1", 1, 1, 30, 5, 4, correlation=0.1),
    Design("scenarios of five prompts", 1, 1, 100, 5, 4, variants=5),
    *(
        Design(f"{REVERSED} {share}", 1, *sizes, correlation=share, is_reversed=True)
        for share, sizes in product((0.4, 0.6), ((1, 25, 3, 1), (1, 30, 5, 4), (4, 30, 5, 4)))
    ),
)
DESIGNS = (
    *(("moved", name_moved, design) for design in MOVED),
    *(("contradict", name_contrary, design) for design in CONTRADICT),
)


def study_design(number: int, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design."""
    sentence, name_judges, design = DESIGNS[number]
    studies *= SHORT_HISTORIES if design.releases == 2 else 1
    shares = np.zeros(4)
    for study in range(studies):
        *rules, offenders = name_judges(np.random.default_rng([SEED, number, study]), design)
        falsely = [bool((named & ~offenders).any()) for named in rules]
        rightly = [bool((named & offenders).any()) for named in rules]
        shares += [*falsely, *rightly]
    texts = [f"{share:.3f}" for share in shares / studies]
    texts[2:] = texts[2:] if design.has_offender else ["", ""]
    yield (sentence, design.world, design.releases, *design.sizes, *texts, studies)


if __name__ == "__main__":
    write_worlds(study_design, product(range(len(DESIGNS))), HEADER, TABLE, studies=200)
