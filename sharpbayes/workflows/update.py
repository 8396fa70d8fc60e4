"""Update: the fit of a study that has grown goes on from the results of its earlier fit."""

import json
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.reweighting import EarlierFit, new_log_likelihood
from sharpbayes.data.digest import list_data_files
from sharpbayes.data.growth import find_new_ratings
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.spec.load import reload_study
from sharpbayes.storage.schema import explain_missing
from sharpbayes.workflows.context import RunContext, refuse_approximate

PLACE = "--update"
# What is kept of each fit that an update went on from, by names of root attributes.
KEPT = ("created", "data_sha256", "study_sha256", "posterior_sha256", "data_ratings")


def read_earlier_fit(results: xr.DataTree, context: RunContext) -> EarlierFit:
    """Return the fit of results for an update to the ratings of a study.

    Raises:
        StorageError: The results hold no fit that can be used.
        SpecError: The study has another model, other scales, or no new rating; the results are
            those of a preview.
        DataError: Ratings of the results are gone, or have changed.
    """
    refuse_approximate(results, PLACE)
    status = results.attrs["status"]
    if "posterior" not in results or "ratings" not in results:
        message = f"{PLACE}: these results hold no fit (status is {status}); run `sharpbayes fit`"
        raise StorageError(message)
    if status != "fitted":
        message = (
            f"{PLACE}: status of the results is {status}; only a fit that converged is updated"
        )
        raise StorageError(message)
    with explain_missing(results):
        files = reload_study(results.attrs)
        earlier = stored_study(files, results["ratings"].to_dataset().load()).ratings
    model, path = context.model, context.files.study.path
    if files.model is None or files.model.spec != model.spec:
        message = "the study has another model than the results; fit it without --update"
        raise SpecError.at(model.path, message, key=PLACE)
    data = ", ".join(list_data_files(context.files.study.spec))
    with explain_missing(results):
        _check_scales(earlier, context)
        new = find_new_ratings(earlier, context.study.ratings, path=data or str(path))
    if not new.any():
        message = "the data have no rating that the results lack; there is nothing to update"
        raise SpecError.at(path, message, key=PLACE)
    with explain_missing(results):
        fit = EarlierFit(
            design=build_design(earlier, model.spec, path=str(model.path)),
            posterior=results["posterior"].to_dataset().load(),
            sample_stats=results["sample_stats"].to_dataset().load(),
            new=new,
        )
        _check_draws(fit)
    return fit


def _check_draws(fit: EarlierFit) -> None:
    """Raise LookupError or ValueError where draws lack a parameter, or one is no number."""
    every = np.ones(fit.design.n_ratings, dtype=bool)
    first = replace(fit, posterior=fit.posterior.isel(draw=[0]), new=every)
    if not np.isfinite(new_log_likelihood(first, fit.design)).all():
        raise ValueError("draws of the posterior that are no numbers")
    if "logp" not in fit.sample_stats:
        raise LookupError("sample_stats/logp")


def _check_scales(earlier: Ratings, context: RunContext) -> None:
    """Raise SpecError where a scale of both has other scores."""
    scales = context.study.ratings.scales
    for name in sorted(set(earlier.scales) & set(scales)):
        if earlier.scales[name] != scales[name]:
            message = (
                f"scale {name!r} has the scores {', '.join(scales[name])}, and "
                f"{', '.join(earlier.scales[name])} in the results; fit it without {PLACE}"
            )
            raise SpecError.at(context.files.study.path, message, key=PLACE)


def extend_updates(results: xr.DataTree, facts: str) -> str:
    """Return the list of updates of results, oldest first, with one more, in JSON.

    ``facts`` is a JSON object that says how the update went.
    """
    earlier = json.loads(results.attrs.get("updates", "[]"))
    kept = {name: results.attrs[name] for name in KEPT if name in results.attrs}
    kept = {name: value if isinstance(value, str) else int(value) for name, value in kept.items()}
    return json.dumps([*earlier, kept | json.loads(facts)])
