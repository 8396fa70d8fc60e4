"""What a fit stores of its draws, from which other weights are computed."""

from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.design import Design
from sharpbayes.errors import StorageError, format_list
from sharpbayes.posterior.prompt_population import prompt_population
from sharpbayes.posterior.replicates import ReplicateDraws

Groups = dict[str, xr.Dataset]


def read_fit_groups(results: xr.DataTree) -> Groups | None:
    """Return what :func:`replicate_draws` needs of results; None where no ratings are replicated.

    Those are results of a measurement, and of a fit with ``sampler.predictive_draws`` of 0.
    """
    if "posterior_predictive" not in results:
        return None
    groups = {name: results[name].to_dataset() for name in ("posterior", "posterior_predictive")}
    return groups | {"posterior_predictive": _without_labels(groups["posterior_predictive"]).load()}


def replicate_draws(
    groups: Groups, design: Design, study: PanelStudy | CrowdStudy
) -> ReplicateDraws:
    """Return the draws of ``posterior`` that ``posterior_predictive`` has, in memory.

    Where it has no ratings, because they are many, each draw replicates them when they are needed.

    Raises:
        StorageError: The fit has effects that the design leaves out, as that of an older version.
    """
    _require_terms(groups["posterior"], design)
    predictive = _without_labels(groups["posterior_predictive"])
    by_draw = not predictive.data_vars
    posterior = _take_draws(groups["posterior"], predictive)
    draws = ReplicateDraws(posterior, predictive, design, study.spec.seed, by_draw=by_draw)
    if isinstance(study, CrowdStudy) or "prompt" not in posterior.coords:
        return draws
    return replace(draws, population=prompt_population(study, posterior["prompt"]))


def _take_draws(posterior: xr.Dataset, predictive: xr.Dataset) -> xr.Dataset:
    """Return the draws that are labelled as the replicated ratings, in memory.

    A file is read a chain at a time: each of its chunks is decompressed once, where the selected
    draws would be read one by one.
    """
    labels = {name: predictive.indexes[name] for name in ("chain", "draw")}
    chains, draws = (posterior.indexes[name].get_indexer(index) for name, index in labels.items())

    def take(values: xr.Variable) -> xr.Variable:
        rows = [values.isel(chain=chain).load().isel(draw=draws).to_numpy() for chain in chains]
        joined = np.stack(rows, axis=values.dims.index("chain"))
        return xr.Variable(values.dims, joined, values.attrs)

    variables = {name: take(values.variable) for name, values in posterior.data_vars.items()}
    return posterior.drop_vars(list(variables)).sel(labels).assign(variables)


def _require_terms(posterior: xr.Dataset, design: Design) -> None:
    """Raise StorageError where draws have effects that a design leaves out."""
    left_out = [*design.inseparable_terms, *design.unidentified]
    names = [name for stem, _ in left_out if (name := f"location_{stem}") in posterior]
    if names:
        raise StorageError(
            f"posterior: has {format_list(names)}, which this version leaves out, because these "
            "ratings do not show it; fit the study again"
        )


def _without_labels(predictive: xr.Dataset) -> xr.Dataset:
    """Drop the labels of hundreds of thousands of ratings, which nothing needs."""
    return predictive.drop_vars(set(predictive.coords) - {"chain", "draw"})
