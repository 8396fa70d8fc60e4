"""Metrics of a study's ratings, observed and replicated, for a panel and for a crowd."""

from collections.abc import Callable

import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.design import Design, Floats, rating_dim
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import Categories, ReplicateDraws

StudyMetrics = PanelMetrics | CrowdMetrics


def study_metrics(study: PanelStudy | CrowdStudy) -> StudyMetrics:
    """Return how ratings of a study are measured, observed or replicated."""
    if isinstance(study, CrowdStudy):
        return CrowdMetrics(study)
    return PanelMetrics([build_profile_plan(study)], rating_positions(study))


def calibrated_metrics(
    metrics: StudyMetrics, design: Design
) -> Callable[[Categories], dict[str, Floats]]:
    """Return the function from replicated ratings to the metrics that calibration ranks."""

    def measure(categories: Categories) -> dict[str, Floats]:
        variables = {
            f"rating_{name}": (("chain", "draw", rating_dim(name)), values[None])
            for name, values in categories.items()
        }
        draws = ReplicateDraws(xr.Dataset(), xr.Dataset(variables), design, seed=0)
        [values] = metrics.measure(draws, ["ratings"])
        return metrics.quantities(values.isel(chain=0))

    return measure
