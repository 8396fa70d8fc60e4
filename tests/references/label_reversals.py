"""How often groups, raters and experts who do not run against the labels are said to.

    python -m tests.references.label_reversals [--studies 100]

Laws are in plain NumPy. **Groups**: raters score every item, and groupings of raters at random are
compared; labels have nothing to do with the scores. **Raters**: each scores items at random, or all
variants of scenarios at random where items have ``variants``; scores and labels follow a severity
by ``relation``. **Experts** take this share of their labels from the truth; of others every second
one calls ``above_0`` unsafe, and the rest call as many safe. Where ``reversed`` is 1, one of them
reads the scale, or the labels, from the other end.

``label_reversals.csv`` has the share of studies in which somebody is named, 5% being promised, or
in which the reversed one is, and by the rule of before: ``named_before`` takes the 95% interval of
each group by itself, and the normal law of rho and phi.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_evidence import crowd_evidence, runs_against
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.analysis.expert_agreement import MAX_PHI, contrary_experts, expert_agreement
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.ratings import Factor
from sharpbayes.execution.threads import use_map
from sharpbayes.metrics.crowd.association import CHANCE
from sharpbayes.metrics.crowd.contrary import find_contrary_raters
from sharpbayes.metrics.crowd.groups import labelled_items
from sharpbayes.metrics.crowd.raters import RaterScores, rater_metrics
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from tests.references.coverage_crowd import crowd_study
from tests.references.rare_harm import write_worlds

TABLE = Path(__file__).with_name("label_reversals.csv")
HEADER = (
    *("who", "number", "items", "variants", "unsafe", "above_0", "relation", "groupings"),
    *("reversed", "named", "named_before", "studies"),
)
CUTS, GROUPS, N_ITEMS, SEED, PROCESSES = (-0.5, 0.2, 0.8, 1.5), 4, 200, 20261130, 2


@dataclass(frozen=True)
class Design:
    """What a study consists of.

    Attributes:
        who: Who may be named, a key of ``STUDIES``.
        number: Number of raters or experts.
        items: Items of each of them.
        unsafe: Share of items that are labelled unsafe.
        above_0: Share of scores above 0; of experts, of items that they call unsafe.
        relation: Correlation of scores, and of labels, with severity; of groups, whether raters
            agree.
        variants: Items of each scenario.
        groupings: Groupings at random of four groups each.
        reversed: Number of those who read the scale from its other end: none or the first.
    """

    who: str
    number: int
    items: int
    unsafe: float
    above_0: float = 0.5
    relation: float = 0.0
    variants: int = 1
    groupings: int = 0
    reversed: int = 0

    @property
    def row(self) -> tuple[object, ...]:
        """First columns of the table."""
        return tuple(getattr(self, name) for name in HEADER[: HEADER.index("named")])


def mark_highest(severity: np.ndarray, share: float) -> np.ndarray:
    """1 for this share of items, the most severe ones, and 0 for others."""
    labels = np.zeros(severity.size, dtype=np.int64)
    labels[np.argsort(-severity)[: round(share * severity.size)]] = 1
    return labels


def study_groups(design: Design, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether all raters or groups are named, and were before."""
    raters, items = design.number, design.items
    severity = rng.standard_normal(items)
    labels = (rng.random(items) < design.unsafe).astype(np.int16)
    groups = {f"g{n}": rng.integers(0, GROUPS, raters).astype(str) for n in range(design.groupings)}
    seen = np.tile(design.relation * severity, (raters, 1))
    if design.reversed:
        seen += 2.0 * np.where(groups["g0"] == "0", -1, 1)[:, None] * (labels - labels.mean())
    latent = seen + 0.4 * rng.standard_normal((raters, 1)) + 0.8 * rng.standard_normal(seen.shape)
    study = build_study(np.searchsorted(CUTS, latent), labels, groups, int(rng.integers(2**40)))
    observed = measure_intervals(study, study.responsiveness, ["wra", "auc_roc"])[0]
    counts = study.score_counts
    labelled = labelled_items(counts.plurality, counts.label_count)
    evidence = crowd_evidence(observed, labelled_items=labelled)
    cells = observed.sel(by="all")
    before = (cells["auc_roc_interval"].sel(bound="upper") < CHANCE) & ~evidence["few_labels"]
    chosen = {"group": "g0=0"} if design.reversed else {}
    return tuple(bool(named.sel(chosen).any()) for named in (runs_against(cells, evidence), before))


@cache
def specify_study(groupings: int):
    """The shipped study of a crowd with this number of groupings."""
    spec, crowd = crowd_study()
    groups = {"groups": [[f"g{n}"] for n in range(groupings)]}
    return spec, type(crowd).model_validate(crowd.model_dump(by_alias=True) | groups)


def build_study(
    score: np.ndarray, labels: np.ndarray, groups: dict[str, np.ndarray], seed: int
) -> CrowdStudy:
    """A study of scores (rater, item)."""
    rater, item = np.divmod(np.arange(score.size), labels.size)
    order = np.argsort(item, kind="stable")
    data = CrowdData(
        score=score.ravel()[order].astype(np.int16),
        item=Factor(tuple(map(str, range(labels.size))), item[order].astype(np.int32)),
        rater=Factor(tuple(map(str, range(len(score)))), rater[order].astype(np.int32)),
        score_labels=tuple("01234"),
        item_columns={},
        rater_columns=groups,
        expert_item=np.empty(0, np.int32),
        expert=None,
        expert_label=np.empty(0, np.int16),
        item_label=labels,
        time=None,
        counts={},
    )
    spec, crowd = specify_study(len(groups))
    return CrowdStudy(spec.model_copy(update={"seed": seed}), crowd, data)


def draw_raters(design: Design, rng: np.random.Generator) -> RaterScores:
    """Scores of raters, and labels of items."""
    relation, variants = design.relation, design.variants
    noise, scenarios, own = (1 - relation**2) ** 0.5, N_ITEMS // variants, design.items // variants
    severity = rng.standard_normal(scenarios)
    labels = mark_highest(
        relation * severity + noise * rng.standard_normal(scenarios), design.unsafe
    )
    scenario = np.array([rng.permutation(scenarios)[:own] for _ in range(design.number)])
    latent = relation * severity[scenario] + noise * rng.standard_normal(scenario.shape)
    latent[: design.reversed] *= -1
    cuts = NormalDist().inv_cdf(1 - design.above_0) + np.array([0.0, 0.35, 0.7, 1.1])
    score = np.searchsorted(cuts, np.repeat(latent, variants, axis=1).ravel())
    item = (scenario[..., None] * variants + np.arange(variants)).ravel()
    clusters = np.repeat(np.arange(scenarios), variants).astype(str)
    return RaterScores(
        score.astype(np.int16),
        item=item.astype(np.int32),
        rater=np.repeat(np.arange(design.number), own * variants).astype(np.int32),
        label_count=np.repeat(np.stack([1.0 - labels, labels], axis=1), variants, axis=0),
        cut=0,
        n_raters=design.number,
        n_scores=5,
        cluster=clusters if variants > 1 else np.empty(0, str),
    )


def study_raters(design: Design, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether raters are named, and were before."""
    scores = draw_raters(design, rng)
    metrics = rater_metrics(scores, min_items=10)
    rho, number = metrics["spearman"], metrics.get("clusters", metrics["items"])
    before = rho * np.sqrt(number - 1) < quantile(int(rho.notnull().sum()))
    chosen = {"rater": slice(None, 1)} if design.reversed else {}
    named = find_contrary_raters(scores, metrics)
    return tuple(bool(x.isel(chosen).any()) for x in (named, before))


def study_experts(design: Design, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether experts are said to be at odds, and were before."""
    unsafe = rng.random(design.items) < design.unsafe
    strict = np.arange(design.number) % 2 == 0
    share = np.where(strict, design.above_0, 1 - design.above_0)
    own = rng.random((design.number, design.items)) < share[:, None]
    follows = rng.random(own.shape) < design.relation
    label = np.where(follows, unsafe, own).astype(float)
    if design.reversed:
        label[0] = 1 - label[0]
    names = {"expert": np.arange(design.number)}
    agreement = expert_agreement(xr.DataArray(label, names, ("expert", "item")))
    phi = agreement["phi"]
    pairs = int(phi.notnull().sum()) // 2
    before = (phi <= MAX_PHI) & (phi * agreement["shared"] ** 0.5 < quantile(pairs))
    return bool(list(contrary_experts(agreement))), bool(before.any())


def quantile(tests: int) -> float:
    """The normal quantile of a level that is divided by a number of tests."""
    return NormalDist().inv_cdf(SIGNIFICANCE_LEVEL / max(tests, 1))


STUDIES: dict[str, Callable[[Design, np.random.Generator], tuple[bool, bool]]] = {
    "groups": study_groups,
    "raters": study_raters,
    "experts": study_experts,
}
DESIGNS = (
    Design("groups", 60, 100, 0.5),
    Design("groups", 60, 100, 0.5, groupings=4),
    Design("groups", 60, 60, 0.15, groupings=3),
    Design("groups", 60, 100, 0.3, relation=1.0, groupings=3),
    Design("groups", 60, 100, 0.5, groupings=4, reversed=1),
    *(Design("raters", 40, 12, unsafe, high) for unsafe, high in ((0.5, 0.5), (0.8, 0.2))),
    Design("raters", 40, 12, 0.9, 0.1),
    Design("raters", 40, 12, 0.8, 0.2, relation=0.3),
    Design("raters", 40, 20, 0.9, 0.1),
    Design("raters", 20, 60, 0.9, 0.1),
    Design("raters", 40, 200, 0.9, 0.1),
    Design("raters", 40, 60, 0.9, 0.1, variants=4),
    Design("raters", 1000, 20, 0.9, 0.1),
    *(Design("raters", 40, n, 0.5, relation=0.95, reversed=1) for n in (12, 20, 60)),
    Design("raters", 40, 20, 0.8, 0.2, relation=0.95, reversed=1),
    *(Design("experts", 5, n, 0.9, 0.9) for n in (15, 30)),
    Design("experts", 5, 15, 0.5),
    Design("experts", 5, 100, 0.9, 0.9),
    Design("experts", 5, 20, 0.5, relation=0.8, reversed=1),
    Design("experts", 5, 40, 0.8, relation=0.8, reversed=1),
)


def run_study(number: int, seed: int) -> tuple[bool, bool]:
    """Whether somebody is named in one study of a design, and was before."""
    design = DESIGNS[number]
    return STUDIES[design.who](design, np.random.default_rng([SEED, number, seed]))


def study_design(number: int, studies: int) -> Iterator[tuple[object, ...]]:
    """The row of one design."""
    design = DESIGNS[number]
    with ProcessPoolExecutor(PROCESSES) as pool:
        named = [*pool.map(partial(run_study, number), range(studies), chunksize=5)]
    yield (*design.row, *(f"{share:.3f}" for share in np.mean(named, axis=0)), studies)


if __name__ == "__main__":
    # Studies are small: threads would cost more than they save.
    with use_map(lambda task, arguments, **_: [task(argument) for argument in arguments]):
        write_worlds(study_design, product(range(len(DESIGNS))), HEADER, TABLE, studies=100)
