"""Where the variance of judgements lies: models, prompts, answers, judges and trials."""

import numpy as np

from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of
from sharpbayes.report.tables.format import MISSING, estimate

GROUP = "variance_components"
MEANING = (
    "`judge x answer`: a judge departs from the others on one answer, in all its trials. "
    "`trial`: it departs from itself, which more trials average out. "
    "An estimate below 0 counts as 0. "
)


def _components(view: View) -> list[Labels]:
    """Every component of a dimension that the scores or the fit separate."""
    names = [name for name in ("variance", "latent_variance") if f"{GROUP}/{name}" in view]
    rows = labels_of(f"{GROUP}/dimension", f"{GROUP}/component")(view)
    return [
        row
        for row in rows
        if any(np.isfinite(view.select(row)[f"{GROUP}/{name}"].item()) for name in names)
    ]


def _percent(row: View, name: str) -> str:
    """A share in percent; a dash where it is missing."""
    share = float(row[f"{GROUP}/{name}"])
    return f"{share:.0%}" if np.isfinite(share) else MISSING


def _latent(row: View) -> str:
    """Share of the latent variance with its interval, in percent."""
    share = row[f"{GROUP}/latent_share"]
    if not np.isfinite(share.item()):
        return MISSING
    low, high = row[f"{GROUP}/latent_share_interval"].to_numpy()
    return f"{share.item():.0%} ({low:.0%} to {high:.0%})"


def _variance(row: View) -> str:
    """Variance of sub-indices with its interval; one below 0 counts as 0, as its bounds do."""
    return estimate(row[f"{GROUP}/variance"].clip(min=0.0), row[f"{GROUP}/variance_interval"])


def _note(view: View) -> str:
    """What the components are, and what the intervals contain."""
    latent = " {variance_components[latent_note]}" if _is_fitted(view) else ""
    return view.text(MEANING + "{variance_components[note]}" + latent)


def _is_fitted(view: View) -> bool:
    """Whether a fit splits the variance too."""
    return f"{GROUP}/latent_share" in view


MEASURED = (
    "{dimension}; {component}",
    Column("variance of the sub-index", _variance),
    Column("share", lambda row: _percent(row, "variance_share")),
)
COMPONENTS = TableSpec(
    title="Where the variance of judgements lies",
    needs=(f"{GROUP}/variance",),
    condition=lambda view: not _is_fitted(view),
    rows=_components,
    columns=MEASURED,
    note=_note,
)
FITTED_COMPONENTS = TableSpec(
    title="Where the variance of judgements lies",
    needs=(f"{GROUP}/latent_share",),
    rows=_components,
    columns=(*MEASURED, Column("share, latent", _latent)),
    note=_note,
)
TABLES = (COMPONENTS, FITTED_COMPONENTS)
