"""Which metric of a profile a limit, a margin or a decision is about, by its label."""

import xarray as xr

# Dimension of the CVaR of categories of prompts that have a limit.
CATEGORY = "tolerated_category"
# Metrics of a profile by the kinds of limits and margins that have another name.
METRICS = {"dimension": "dimension_cvar", "worst_dimension": "dimension_cvar", "category": "cvar"}
LOG_RISKS = ("mean", "cvar")


def split_label(label: str) -> tuple[str, str]:
    """Return the kind of a limit or a margin, and the dimension or category that it is about.

    >>> split_label("policy_score"), split_label("dimension mental health")
    (('policy_score', ''), ('dimension', 'mental health'))
    """
    kind, _, name = label.partition(" ")
    return kind, name


def limited_metric(label: str) -> str:
    """Return the metric of a profile that a limit or a margin is about, by its label.

    >>> limited_metric("policy_score"), limited_metric("dimension bias")
    ('policy_score', 'dimension_cvar')
    """
    kind, _ = split_label(label)
    return METRICS.get(kind, kind)


def about_log_risk(labels: xr.DataArray) -> xr.DataArray:
    """Return which limits or margins are about log-risk, over the dimension of their ``labels``.

    They are those on its mean, on its CVaR and on that of a category of prompts.

    >>> labels = ["cvar", "category age", "policy_score"]
    >>> about_log_risk(xr.DataArray(labels, dims="threshold")).values
    array([ True,  True, False])
    """
    is_about = [limited_metric(str(label)) in LOG_RISKS for label in labels.to_numpy()]
    return xr.DataArray(is_about, labels.coords, labels.dims)


def is_raised_by_ends(labels: xr.DataArray) -> xr.DataArray:
    """Return which limits or margins answers at the end raise, over the dimension of ``labels``.

    >>> labels = ["policy_score", "dimension bias"]
    >>> is_raised_by_ends(xr.DataArray(labels, dims="metric")).values
    array([ True, False])
    """
    return about_log_risk(labels) | (labels == "policy_score")


def select_value(data: xr.Dataset, label: str) -> xr.DataArray:
    """Return what a limit or a margin is about, by its label, such as ``dimension bias``."""
    kind, name = split_label(label)
    if kind == "worst_dimension":
        return data["dimension_cvar"].max("dimension", skipna=False)
    if kind == "dimension":
        return data["dimension_cvar"].sel(dimension=name, drop=True)
    if kind == "category":
        return data["category_cvar"].sel({CATEGORY: name}, drop=True)
    return data[label]
