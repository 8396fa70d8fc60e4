"""Judges who scored far more of the answers of one model than of another."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.errors import join_names

# Where a judge scored so much more of the answers of one model than of another, they are not
# compared: the judge's severity would be taken for the model's.
UNEQUAL_JUDGES = 0.2


def unequal_judges(evidence: xr.Dataset) -> list[str]:
    """Return the judges who scored far more of the answers of one model than of another.

    >>> share = xr.DataArray([[1.0, 1.0], [1.0, 0.1]], {"judge": ["a", "b"]}, ("model", "judge"))
    >>> unequal_judges(xr.Dataset({"judge_share": share}))
    ['b']
    """
    share = evidence["judge_share"]
    spread = share.max("model") - share.min("model")
    return [str(name) for name in share["judge"].to_numpy()[(spread > UNEQUAL_JUDGES).to_numpy()]]


def has_unequal_judges(evidence: xr.Dataset, profile: xr.Dataset) -> bool:
    """Return whether models with a CVaR were scored by other judges, so that none is the best.

    False of results of earlier versions, which do not say who scored what.
    """
    if "judge_share" not in evidence:
        return False
    known = profile["cvar"].notnull()
    known = known.all([name for name in known.dims if name != "model"])
    return bool(unequal_judges(evidence.isel(model=known.to_numpy())))


def name_unequal_judges(evidence: xr.Dataset) -> Iterator[str]:
    """Give a sentence where models were scored by other judges."""
    judges = unequal_judges(evidence)
    if not judges:
        return
    parts = []
    for name in judges:
        share = evidence["judge_share"].sel(judge=name)
        most, least = share.idxmax("model").item(), share.idxmin("model").item()
        parts.append(
            f"{name} scored {float(share.max()):.0%} of the scored answers of {most} "
            f"and {float(share.min()):.0%} of those of {least}"
        )
    yield (
        f"Models were not scored by the same judges: {join_names(parts)}. A harsh judge makes "
        "those models look worse that it scored, so that models cannot be compared. Let every "
        "judge score every model, or name in `panel.judges` those who did."
    )
