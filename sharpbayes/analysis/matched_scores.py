"""Scores that have a counterpart: the same judge's, of the same prompt and indicator, as often."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

# Repeated answers and judgements, which one study may have alone.
REPEATED = ("sample", "trial")


def pair_scores(one: xr.Dataset, other: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the scores of two sides that have a counterpart, over prompts of both with any.

    Of a judge of both sides these are scores of answers to a prompt that it scored on both. Of each
    answer as many trials of a judge stay as both sides have, the first ones: averaged
    before harm is computed, further trials would lower it. Answers of one side are repeated without
    a counterpart, so that the number is that of the answer with the fewest. Scores of judges of one
    side alone stay as they are.
    """
    counts = [_count_trials(scores) for scores in (one, other)]
    judges = list_common(one, other, "judge")
    of_both = [number.sel(judge=list(judges)) for number in counts]
    first, second = xr.align(*of_both, join="outer", fill_value=0)
    fewest = first.where(first < second, second)
    matched = [drop_unscored(_keep_trials(scores, fewest)) for scores in (one, other)]
    prompts = list(list_common(matched[0], matched[1], "prompt"))
    kept = [drop_unscored(scores.sel(prompt=prompts)) for scores in matched]
    return kept[0], kept[1]


def _count_trials(scores: xr.Dataset) -> xr.DataArray:
    """Number of trials of each judge over (prompt, judge, indicator), of the answer with fewest."""
    scored = (scores["score"] >= 0).isel(model=0, drop=True)
    number = scored.sum("trial") if "trial" in scored.dims else scored.astype(int)
    if "sample" in number.dims:
        number = number.where(number > 0).min("sample").fillna(0).astype(int)
    return number


def _keep_trials(scores: xr.Dataset, number: xr.DataArray) -> xr.Dataset:
    """Return scores with so many trials (prompt, judge, indicator) of the judges that it is of."""
    score = scores["score"]
    kept = score >= 0
    order = kept.cumsum("trial") if "trial" in kept.dims else kept.astype(int)
    counted = score["judge"].isin(number["judge"])
    kept &= (order <= number.reindex_like(_bare(score), fill_value=0)) | ~counted
    return scores.assign(score=score.where(kept, -1).astype(score.dtype).transpose(*score.dims))


def _bare(score: xr.DataArray) -> xr.DataArray:
    """Scores of one answer each, over (prompt, judge, indicator)."""
    return score.isel({dim: 0 for dim in ("model", *REPEATED) if dim in score.dims}, drop=True)


def tabulate_scored(scores: xr.Dataset) -> xr.DataArray:
    """Return over (prompt, indicator) whether any judge scored it."""
    present = scores["score"] >= 0
    return present.any([dim for dim in present.dims if dim not in ("prompt", "indicator")])


def drop_unscored(scores: xr.Dataset) -> xr.Dataset:
    """Return scores without prompts and judges that have none."""
    present = scores["score"] >= 0
    for dim in ("prompt", "judge"):
        rows = present.any([other for other in present.dims if other != dim])
        scores = scores.isel({dim: np.flatnonzero(rows)})
    return scores


def select_judges(scores: xr.Dataset, judges: Sequence[str]) -> xr.Dataset:
    """Return the scores of some judges, over the prompts and judges that then have any."""
    return drop_unscored(scores.sel(judge=list(judges)))


def count_scores(scores: xr.Dataset) -> int:
    """Return the number of scores."""
    return int((scores["score"] >= 0).sum())


def are_copies(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Return whether all scores that the same judges gave to the same prompts are the same.

    Not where there are none. Of repeated answers and judgements the means are compared.
    """
    means = [
        scores["score"].where(scores["score"] >= 0).isel(model=0, drop=True)
        for scores in (one, other)
    ]
    means = [x.mean([dim for dim in REPEATED if dim in x.dims]) for x in means]
    first, second = xr.align(*means, join="inner")
    both = first.notnull() & second.notnull()
    return bool(both.any()) and bool(((first == second) | ~both).all())


def list_common(one: xr.Dataset, other: xr.Dataset, dim: str) -> tuple[str, ...]:
    """Return labels of both, in the order of the first."""
    labels = {str(label) for label in other[dim].to_numpy()}
    return tuple(str(label) for label in one[dim].to_numpy() if str(label) in labels)


def list_others(scores: xr.Dataset, dim: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels that are not among some."""
    known = set(labels)
    return tuple(str(label) for label in scores[dim].to_numpy() if str(label) not in known)
