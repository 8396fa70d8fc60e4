"""Missing scores against the severity that a model of the ratings fitted."""

import numpy as np
import xarray as xr

from sharpbayes.analysis.asked_scores import asked_scores
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.metrics.panel.missingness import interpret_slope, missing_slope

# Draws of the severities for each of which the regression is fitted.
IMPUTATIONS = 20
ANSWER = ("model", "prompt", "dimension")


def fitted_missingness(
    plan: ProfilePlan, posterior: xr.Dataset, design: Design, *, level: float
) -> dict[str, xr.DataArray]:
    """Return how the log odds of a missing score grow with the fitted severity of the answer.

    The logistic regression of :func:`sharpbayes.metrics.panel.missingness.missing_slope` is fitted
    for draws of the severities, the sum of the effects of model, prompt and dimension of harm, in
    sds of their posterior means within a dimension. Its slopes b_k with errors e_k are pooled:

        slope = mean b_k,  error^2 = mean e_k^2 + (1 + 1/m) var b_k

    ``fitted_slope``, ``fitted_slope_error``, ``fitted_slope_p`` and ``fitted_slope_interval
    (bound)``, by t of the prompts with a missing score less one; nothing where no effect is of the
    answers alone. Severities are fitted as if scores were missing at random.

    Source: Rubin 1987.
    """
    severity = answer_severity(thin(posterior, draws=IMPUTATIONS), design)
    if severity is None:
        return {}
    asked = asked_scores(plan)
    missing = asked & plan.table["sub_index"].isnull()
    within = [dim for dim in severity.dims if dim not in ("sample", "dimension")]
    unit = severity.mean("sample").std(within)
    scaled = severity / unit.where(unit > 0)
    slopes = [
        missing_slope(missing, draw.where(asked), level=level)
        for draw in scaled.transpose("sample", ...)
    ]
    values, errors = (
        np.array([float(slope[name]) for slope in slopes]) for name in ("slope", "slope_error")
    )
    slope = values.mean()
    error = np.sqrt((errors**2).mean() + (1.0 + 1.0 / len(values)) * values.var(ddof=1))
    clusters = int(slopes[0]["slope_clusters"])
    tested = interpret_slope(float(slope), float(error), clusters=clusters, level=level)
    return {
        "fitted_slope": xr.DataArray(slope),
        "fitted_slope_error": xr.DataArray(error),
        "fitted_slope_p": tested["slope_p"],
        "fitted_slope_interval": tested["slope_interval"],
    }


def answer_severity(posterior: xr.Dataset, design: Design) -> xr.DataArray | None:
    """Return the severity of each answer in each draw, without who judges and by what indicator."""
    effects = [posterior[t.name] for t in design.severity_terms if set(t.dims) <= {*ANSWER}]
    if not any({"model", "prompt"} <= {*effect.dims} for effect in effects):
        return None
    severity: xr.DataArray = sum(effects[1:], start=effects[0])
    return severity.stack(sample=("chain", "draw")).drop_vars(("sample", "chain", "draw"))
