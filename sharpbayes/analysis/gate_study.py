"""Two studies as one: a candidate and its reference under the same judges and prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
import tomlkit
import xarray as xr

from sharpbayes.analysis.gate_side import Side
from sharpbayes.analysis.matched_scores import (
    REPEATED,
    are_copies,
    count_scores,
    drop_unscored,
    list_common,
    list_others,
    pair_scores,
    select_judges,
    tabulate_scored,
)
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.ratings import PanelRatings, read_prompt_columns
from sharpbayes.errors import SpecError, format_list
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.spec.base import Spec
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.weights import Weights

CANDIDATE, REFERENCE = "candidate", "reference"
# The reference's answers to the anchor prompts, judged with the candidate and before.
ANCHOR_NOW, ANCHOR_THEN = "anchors now", "anchors then"
SIDES, ANCHORS = (CANDIDATE, REFERENCE), (ANCHOR_NOW, ANCHOR_THEN)
# What both studies must have, what errors call it, and what to write.
INSTRUMENT = {
    "scales": ("scale", "the same `[panel.scales]`, with the ends of the longer scale,"),
    "indicators": ("indicator", "the same `[panel.indicators]`"),
    "dimensions": ("dimension", "the same `[[panel.dimensions]]`"),
}


class JudgeLists(TypedDict):
    """Judges of a :class:`Comparison`."""

    judges: tuple[str, ...]
    other_judges: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Comparison:
    """A candidate and its reference as models of one study.

    Attributes:
        study: The models ``candidate`` and ``reference``, with anchors ``anchors now`` and
            ``anchors then``.
        shared: Prompts of both, with a score by a judge that is compared on either side.
        alone: Prompts that one of them has alone, by ``candidate`` and ``reference``.
        paired: Whether the shared prompts alone are compared.
        judges: Judges of both.
        other_judges: Judges that one of them has alone, by ``candidate`` and ``reference``.
        left_out: Those of them that are not compared, and by ``both`` the judges who scored both,
            but never answers to the same prompt.
        anchors: Prompts whose answers by the reference were judged again.
        copies: Number of prompts whose answers by the reference have their scores of before in the
            candidate's study, so that they are no anchors.
        one_study: Whether both are models of one study.
        unmatched: Scores of each side that the other lacks in paired prompts, and that are left
            out, by ``candidate``, ``reference``, ``anchors now`` and ``anchors then``.
        lost: Of paired prompts, those of one side to which the answer of the other is lost, in
            whole or in an indicator, by the side that lacks it.
        unscored: Answers of the candidate that were asked for and that no judge scored.
        with_lost: The study with the reference's scores to which those of the candidate are lost;
            None without any.
    """

    study: PanelStudy
    shared: tuple[str, ...]
    alone: Mapping[str, tuple[str, ...]]
    paired: bool
    judges: tuple[str, ...]
    other_judges: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, tuple[str, ...]]
    anchors: tuple[str, ...]
    copies: int
    one_study: bool
    unmatched: Mapping[str, int]
    lost: Mapping[str, tuple[str, ...]]
    unscored: int
    with_lost: PanelStudy | None

    @property
    def n_prompts(self) -> int:
        """Number of prompts that are compared; of samples the fewer ones."""
        if self.paired:
            return len(self.shared)
        return len(self.shared) + min(len(prompts) for prompts in self.alone.values())

    @property
    def is_identical(self) -> bool:
        """Whether all scores that are compared are the same on both sides."""
        scores = self.study.scores["score"]
        one, other = (scores.sel(model=name, drop=True) for name in (CANDIDATE, REFERENCE))
        return self.paired and bool((one == other).all())


def join_sides(candidate: Side, reference: Side, weights: SpecFile[Weights]) -> Comparison:
    """Return candidate and reference as one study under some weights.

    Prompts of both are paired, and alone compared where there are 20 or more. Of paired prompts a
    judge's score counts where that judge scored both, and as often. Only judges of both are pooled,
    because another judge may be stricter. Where the candidate's study has answers of the reference
    too, they are anchors: judges may then be others if they scored anchors, and what they score
    otherwise is measured. Answers whose scores are all those of before are copies and no anchors.

    Raises:
        SpecError: Other indicators, scales or dimensions, no judge of both and no anchors, no judge
            of candidate and anchors, or no score with a counterpart.
    """
    _check_same_instrument(candidate, reference)
    sides = {CANDIDATE: candidate.scores, REFERENCE: reference.scores}
    again, copies = _judged_again(candidate, reference)
    parts = _keep_judges(sides | _list_anchors(again, sides[REFERENCE]), candidate, reference)
    shared = _list_shared(parts, "prompt")
    alone = {name: list_others(parts[name], "prompt", shared) for name in SIDES}
    paired = len(shared) >= MIN_PROMPTS or not any(alone.values())
    unmatched, unpaired = dict.fromkeys((*SIDES, *ANCHORS), 0), parts[REFERENCE]
    for pair in ([SIDES] if paired else []) + ([ANCHORS] if again is not None else []):
        unmatched |= _pair_parts(parts, pair)
    if paired:
        shared = _list_labels(parts[CANDIDATE], "prompt")
        alone = {name: list_others(sides[name], "prompt", shared) for name in SIDES}
    lost = _list_lost(sides, candidate, reference) if paired else dict.fromkeys(SIDES, ())
    with_lost = parts | {REFERENCE: _add_lost(parts, unpaired, lost[CANDIDATE])}
    return Comparison(
        study=_join(parts, candidate, reference, weights),
        shared=shared,
        alone=alone,
        paired=paired,
        **_list_judges(sides, parts),
        anchors=() if again is None else _list_labels(parts[ANCHOR_NOW], "prompt"),
        copies=copies,
        one_study=candidate.study is reference.study,
        unmatched=unmatched,
        lost=lost,
        unscored=candidate.unscored,
        with_lost=_join(with_lost, candidate, reference, weights) if lost[CANDIDATE] else None,
    )


def _list_lost(
    sides: Mapping[str, xr.Dataset], candidate: Side, reference: Side
) -> dict[str, tuple[str, ...]]:
    """Prompts that one side scored and to which the answer of the other is lost, by the latter."""
    new, old = (sides[name] for name in SIDES)
    return {CANDIDATE: candidate.list_lost(new, old), REFERENCE: reference.list_lost(old, new)}


def _add_lost(
    parts: Mapping[str, xr.Dataset], unpaired: xr.Dataset, prompts: Sequence[str]
) -> xr.Dataset:
    """Return the paired scores of the reference with those that the candidate's answers lack.

    They are taken from the scores before pairing, where no judge scored the candidate's answer.
    """
    source = unpaired.isel(prompt=unpaired["prompt"].isin(list(prompts)).to_numpy())
    is_scored = tabulate_scored(parts[CANDIDATE]).reindex_like(
        tabulate_scored(source), fill_value=False
    )
    added = source["score"].where(~is_scored, -1)
    bare = [x.reset_coords(drop=True) for x in (parts[REFERENCE]["score"], added)]
    paired, lost = xr.align(*bare, join="outer", fill_value=-1)
    return xr.Dataset({"score": paired.where(paired >= 0, lost)})


def _list_anchors(again: xr.Dataset | None, previous: xr.Dataset) -> dict[str, xr.Dataset]:
    """Scores of the anchors, now and before; nothing without anchors."""
    if again is None:
        return {}
    anchors = list(list_common(again, previous, "prompt"))
    return {name: x.sel(prompt=anchors) for name, x in zip(ANCHORS, (again, previous), strict=True)}


def _keep_judges(
    parts: Mapping[str, xr.Dataset], candidate: Side, reference: Side
) -> dict[str, xr.Dataset]:
    """Return the scores of judges of both sides, or of those of a side who scored its anchors."""
    of_anchors = ANCHOR_NOW in parts
    pairs = zip(SIDES, ANCHORS, strict=True) if of_anchors else [SIDES]
    kept: dict[str, xr.Dataset] = {}
    for pair in pairs:
        one, other = (drop_unscored(parts[name]) for name in pair)
        judges = list_common(one, other, "judge")
        if not judges:
            counterpart = "the anchors" if of_anchors else reference.name
            raise SpecError.at(
                "gate",
                f"no judge scored both: {_list(one, 'judge')} scored {candidate.name}, "
                f"{_list(other, 'judge')} scored {counterpart}; let the judges of the first score "
                "answers of the reference again, in the same study, as anchors",
            )
        kept |= {name: select_judges(parts[name], judges) for name in pair}
    return kept


def _pair_parts(parts: dict[str, xr.Dataset], pair: tuple[str, str]) -> dict[str, int]:
    """Leave out scores of two parts without a counterpart, and return how many of each."""
    one, other = (parts[name] for name in pair)
    shared = list(list_common(one, other, "prompt"))
    before = [scores.sel(prompt=shared) for scores in (one, other)]
    after = pair_scores(*before)
    if not count_scores(after[0]):
        raise SpecError.at(
            "gate",
            f"no judge scored answers to the same prompt on both sides ({' and '.join(pair)}); let "
            "the same judges score the same prompts",
        )
    parts |= dict(zip(pair, after, strict=True))
    numbers = [count_scores(x) - count_scores(y) for x, y in zip(before, after, strict=True)]
    return dict(zip(pair, numbers, strict=True))


def _list_judges(sides: Mapping[str, xr.Dataset], parts: Mapping[str, xr.Dataset]) -> JudgeLists:
    """Which judges are compared, and which are left out."""
    judges = _list_shared(parts, "judge")
    compared = {name: _list_labels(parts[name], "judge") for name in SIDES}
    never = tuple(
        judge
        for judge in _list_shared(sides, "judge")
        if not any(judge in names for names in compared.values())
    )
    others = {name: list_others(sides[name], "judge", judges + never) for name in SIDES}
    left_out = {
        name: tuple(judge for judge in others[name] if judge not in compared[name])
        for name in SIDES
    }
    return {"judges": judges, "other_judges": others, "left_out": left_out | {"both": never}}


def _judged_again(candidate: Side, reference: Side) -> tuple[xr.Dataset | None, int]:
    """Return scores of the reference in the candidate's study, where that is another study.

    They are no anchors where all are copies of those of before; the number of prompts is second.
    """
    models = {str(name) for name in candidate.study.scores["model"].to_numpy()}
    if candidate.study is reference.study or reference.model not in models:
        return None, 0
    if reference.model == candidate.model:
        return None, 0
    again = candidate.scores_of(reference.model)
    prompts = list_common(again, reference.scores, "prompt")
    if are_copies(again, reference.scores):
        return None, len(prompts)
    return (again if prompts else None), 0


def _check_same_instrument(candidate: Side, reference: Side) -> None:
    """Refuse studies that measure with other scales, indicators or dimensions."""
    ours, theirs = (_list_instrument(side.study.panel) for side in (candidate, reference))
    for name, (setting, remedy) in INSTRUMENT.items():
        one, other = ours[name], theirs[name]
        differ = [key for key in one | other if one.get(key) != other.get(key)]
        if differ:
            texts = [_as_toml(values.get(differ[0])) for values in (one, other)]
            more = f" ({len(differ) - 1} more differ)" * (len(differ) > 1)
            message = (
                f"{setting} {differ[0]!r} is {texts[0]} here and {texts[1]} in the study of "
                f"{reference.name}{more}, so that the two cannot be compared; write {remedy} in "
                "both study files, and measure both again"
            )
            raise SpecError.at(candidate.name, message, key=f"panel.{name}")


def _list_instrument(panel: Panel) -> dict[str, dict[str, Spec]]:
    """Scales, indicators and dimensions of a panel by their names."""
    return {
        "scales": dict(panel.scales),
        "indicators": dict(panel.full_indicators),
        "dimensions": {dimension.name: dimension for dimension in panel.dimensions},
    }


def _as_toml(value: Spec | None) -> str:
    """A part of a study as its file has it; that it is missing where there is none."""
    if value is None:
        return "missing"
    table = tomlkit.inline_table()
    table.update(value.model_dump(mode="json", exclude_defaults=True, exclude_none=True))
    return f"`{table.as_string()}`"


def _join(
    parts: Mapping[str, xr.Dataset], candidate: Side, reference: Side, weights: SpecFile[Weights]
) -> PanelStudy:
    """Return the study whose models are the parts."""
    repeated = [dim for dim in REPEATED if any(dim in part.dims for part in parts.values())]
    indicators = [str(name) for name in candidate.study.scores["indicator"].to_numpy()]
    scores = [
        _prepare(part, name, repeated).sel(indicator=indicators) for name, part in parts.items()
    ]
    joined = xr.concat(scores, "model", join="outer", fill_value=-1, coords="minimal")
    columns = [read_prompt_columns(side.study.scores) for side in (reference, candidate)]
    labels = [[str(x) for x in s.study.scores["prompt"].to_numpy()] for s in (reference, candidate)]
    for name in columns[1]:
        known: dict[str, str] = {}
        for table, prompts in zip(columns, labels, strict=True):
            if name in table:
                known |= dict(zip(prompts, map(str, table[name]), strict=True))
        values = [known.get(str(prompt), "") for prompt in joined["prompt"].to_numpy()]
        joined = joined.assign_coords({name: ("prompt", np.array(values))})
    panel = candidate.study.panel.model_copy(
        update={
            "judges": None,
            "reference": None,
            "people": None,
            "ensembles": {},
            "families": {},
        }
    )
    return PanelStudy(
        spec=candidate.study.spec.model_copy(update={"panel": panel}),
        panel=panel,
        data=PanelRatings.from_dataset(joined),
        weights=_for_joined(weights),
        path=candidate.study.path,
    )


def _for_joined(weights: SpecFile[Weights]) -> SpecFile[Weights]:
    """Return weights without limits of one model, and that pool the judges that scored a cell.

    Where a missing judge is an error, each study has been refused already.
    """
    judges = weights.spec.judges.model_copy(update={"missing": "available"})
    spec = weights.spec.model_copy(update={"judges": judges, "tolerance": None})
    return replace(weights, spec=spec)


def _prepare(scores: xr.Dataset, name: str, repeated: Sequence[str]) -> xr.Dataset:
    """Return the scores of a part under its name, with every dimension of the others."""
    bare = scores.drop_vars([c for c in scores.coords if c not in scores.dims])
    bare = bare.assign_coords(model=[name])
    for dim in repeated:
        if dim not in bare.dims:
            bare = bare.expand_dims({dim: ["1"]})
    return bare.transpose("model", "prompt", "judge", *repeated, "indicator")


def _list_shared(parts: Mapping[str, xr.Dataset], dim: str) -> tuple[str, ...]:
    """Labels of both sides."""
    return list_common(parts[CANDIDATE], parts[REFERENCE], dim)


def _list_labels(scores: xr.Dataset, dim: str) -> tuple[str, ...]:
    """Labels of a dimension."""
    return tuple(str(label) for label in scores[dim].to_numpy())


def _list(scores: xr.Dataset, dim: str) -> str:
    """Labels as a text."""
    return format_list(scores[dim].to_numpy())
