"""Two studies as one: a candidate and its reference under the same judges and prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import tomlkit
import xarray as xr

from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.panel import list_pooled_judges
from sharpbayes.data.ratings import PanelRatings, read_prompt_columns
from sharpbayes.errors import SpecError, did_you_mean, format_list
from sharpbayes.metrics.panel.evidence import MIN_PROMPTS
from sharpbayes.spec.base import Spec
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.weights import Weights

CANDIDATE, REFERENCE = "candidate", "reference"
# The reference's answers to the anchor prompts, judged with the candidate and before.
ANCHOR_NOW, ANCHOR_THEN = "anchors now", "anchors then"
# What both studies must have, what errors call it, and what to write.
INSTRUMENT = {
    "scales": ("scale", "the same `[panel.scales]`, with the ends of the longer scale,"),
    "indicators": ("indicator", "the same `[panel.indicators]`"),
    "dimensions": ("dimension", "the same `[[panel.dimensions]]`"),
}
# Repeated answers and judgements, which one study may have alone.
REPEATED = ("sample", "trial")


@dataclass(frozen=True)
class Side:
    """A study, the model of it that is compared, and what errors call it."""

    study: PanelStudy
    model: str
    name: str

    @property
    def scores(self) -> xr.Dataset:
        """Scores of the model, over prompts that have any."""
        return self.scores_of(self.model)

    @property
    def judges(self) -> list[str]:
        """The judges that the study pools."""
        labels = [str(name) for name in self.study.scores["judge"].to_numpy()]
        return list_pooled_judges(self.study.panel, labels)

    def scores_of(self, model: str) -> xr.Dataset:
        """Scores of a model by the pooled judges, over prompts and judges that have any."""
        scores = self.study.scores[["score"]].sel(model=[model], judge=self.judges)
        present = scores["score"] >= 0
        for dim in ("prompt", "judge"):
            rows = present.any([other for other in present.dims if other != dim])
            scores = scores.isel({dim: np.flatnonzero(rows)})
        return scores


@dataclass(frozen=True)
class Comparison:
    """A candidate and its reference as models of one study.

    Attributes:
        study: The models ``candidate`` and ``reference``, with anchors ``anchors now`` and
            ``anchors then``.
        shared: Prompts of both.
        alone: Prompts that one of them has alone, by ``candidate`` and ``reference``.
        paired: Whether the shared prompts alone are compared.
        judges: Judges of both.
        other_judges: Judges that one of them has alone, by ``candidate`` and ``reference``.
        anchors: Prompts whose answers by the reference were judged again.
        one_study: Whether both are models of one study.
        unmatched: Scores of each side that the other lacks in paired prompts, and that are left
            out, by ``candidate`` and ``reference``; with anchors none are.
    """

    study: PanelStudy
    shared: tuple[str, ...]
    alone: Mapping[str, tuple[str, ...]]
    paired: bool
    judges: tuple[str, ...]
    other_judges: Mapping[str, tuple[str, ...]]
    anchors: tuple[str, ...]
    one_study: bool
    unmatched: Mapping[str, int] = field(default_factory=lambda: {CANDIDATE: 0, REFERENCE: 0})

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


def select_model(study: PanelStudy, name: str | None, *, option: str, path: str) -> str:
    """Return the model that is meant: the named one, or the only one.

    Raises:
        SpecError: No model of this name, or several and no name.
    """
    known = [str(label) for label in study.scores["model"].to_numpy()]
    if name is None and len(known) == 1:
        return known[0]
    if name is None:
        message = f"several models, name one of them: {format_list(known, most=10)}"
        raise SpecError.at(path, message, key=option)
    if name not in known:
        message = f"no model {name!r}, there are {format_list(known)}{did_you_mean(name, known)}"
        raise SpecError.at(path, message, key=option)
    return name


def join_sides(candidate: Side, reference: Side, weights: SpecFile[Weights]) -> Comparison:
    """Return candidate and reference as one study under some weights.

    Prompts of both are paired, and alone compared where there are 20 or more. Of paired prompts a
    judge's score counts where that judge scored both. Only judges of both are pooled, because
    another judge may be stricter. Where the candidate's study has answers of the reference too,
    they are anchors: judges may then be others, and what they score otherwise is measured.

    Raises:
        SpecError: Other indicators, scales or dimensions, or no judge of both and no anchors.
    """
    _check_same_instrument(candidate, reference)
    now, then = candidate.scores, reference.scores
    again = _judged_again(candidate, reference)
    judges = _common(now, then, "judge")
    if not judges and again is None:
        raise SpecError.at(
            "gate",
            f"no judge scored both: {_list(now, 'judge')} scored {candidate.name}, "
            f"{_list(then, 'judge')} scored {reference.name}; let the judges of the first score "
            "answers of the reference again, in the same study, as anchors",
        )
    shared = _common(now, then, "prompt")
    alone = {
        CANDIDATE: _without(now, "prompt", shared),
        REFERENCE: _without(then, "prompt", shared),
    }
    paired = len(shared) >= MIN_PROMPTS or not any(alone.values())
    parts = {CANDIDATE: now, REFERENCE: then}
    anchors: tuple[str, ...] = ()
    if again is not None:
        anchors = _common(again, then, "prompt")
        parts |= {
            ANCHOR_NOW: again.sel(prompt=list(anchors)),
            ANCHOR_THEN: then.sel(prompt=list(anchors)),
        }
    else:
        parts = {name: scores.sel(judge=list(judges)) for name, scores in parts.items()}
    if paired:
        for name in (CANDIDATE, REFERENCE):
            parts[name] = parts[name].sel(prompt=list(shared))
    unmatched = _drop_unmatched(parts) if paired and again is None else {}
    return Comparison(
        study=_join(parts, candidate, reference, weights),
        shared=shared,
        alone=alone,
        paired=paired,
        judges=judges,
        other_judges={
            CANDIDATE: _without(now, "judge", judges),
            REFERENCE: _without(then, "judge", judges),
        },
        anchors=anchors,
        one_study=candidate.study is reference.study,
        unmatched={CANDIDATE: 0, REFERENCE: 0} | unmatched,
    )


def _drop_unmatched(parts: dict[str, xr.Dataset]) -> dict[str, int]:
    """Leave out scores that one side alone has of a judge, and return how many of each side."""
    present = {}
    for name, scores in parts.items():
        scored = (scores["score"] >= 0).isel(model=0, drop=True)
        present[name] = scored.any([dim for dim in REPEATED if dim in scored.dims])
    one, other = xr.align(*present.values(), join="outer", fill_value=False)
    both = one & other
    unmatched = {}
    for name, scores in parts.items():
        matched = both.reindex_like(present[name])
        unmatched[name] = int((present[name] & ~matched).sum())
        kept = scores["score"].where(matched, -1).transpose(*scores["score"].dims)
        parts[name] = scores.assign(score=kept.astype(scores["score"].dtype))
    return unmatched


def _judged_again(candidate: Side, reference: Side) -> xr.Dataset | None:
    """Return scores of the reference in the candidate's study, where that is another study."""
    models = {str(name) for name in candidate.study.scores["model"].to_numpy()}
    if candidate.study is reference.study or reference.model not in models:
        return None
    if reference.model == candidate.model:
        return None
    again = candidate.scores_of(reference.model)
    return again if _common(again, reference.scores, "prompt") else None


def _check_same_instrument(candidate: Side, reference: Side) -> None:
    """Refuse studies that measure with other scales, indicators or dimensions."""
    ours, theirs = (_list_instrument(side.study.panel) for side in (candidate, reference))
    for name, (what, remedy) in INSTRUMENT.items():
        one, other = ours[name], theirs[name]
        differ = [key for key in one | other if one.get(key) != other.get(key)]
        if differ:
            texts = [_as_toml(values.get(differ[0])) for values in (one, other)]
            more = f" ({len(differ) - 1} more differ)" * (len(differ) > 1)
            message = (
                f"{what} {differ[0]!r} is {texts[0]} here and {texts[1]} in the study of "
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


def _common(one: xr.Dataset, other: xr.Dataset, dim: str) -> tuple[str, ...]:
    """Labels of both, in the order of the first."""
    labels = {str(label) for label in other[dim].to_numpy()}
    return tuple(str(label) for label in one[dim].to_numpy() if str(label) in labels)


def _without(scores: xr.Dataset, dim: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that are not among some."""
    known = set(labels)
    return tuple(str(label) for label in scores[dim].to_numpy() if str(label) not in known)


def _list(scores: xr.Dataset, dim: str) -> str:
    """Labels as a text."""
    return format_list(scores[dim].to_numpy())
