"""The Laplace approximation of a fit: its groups, without chains that converge."""

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.fit import complete_groups, report_issues, seeds_of_steps
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.laplace import approximate
from sharpbayes.bayes.predict.coordinates import to_coordinates
from sharpbayes.bayes.predict.psis import largest_good_k
from sharpbayes.bayes.sampling.draws import label_draws, redraw_careless
from sharpbayes.bayes.sampling.geometry import run_trial, set_weights
from sharpbayes.bayes.sampling.start import add_reference
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import SpecError, format_list
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

# Draws of the approximation. They are independent of each other.
CHAINS, DRAWS = 4, 250
# Coordinates of which all second derivatives are kept: a matrix of 200 MB.
MAX_COORDINATES = 5000
PLACE = "--preview"


def require_preview(design: Design) -> None:
    """Raise SpecError where a design has no approximation."""
    if unsupported := design.unsupported_by_kernel:
        message = f"the kernel does not support {format_list(unsupported)}; fit without {PLACE}"
        raise SpecError.at(PLACE, message)
    if (number := parameter_layout(design).size) > MAX_COORDINATES:
        message = (
            f"{number} parameters, the approximation takes {MAX_COORDINATES} at most; "
            f"fit without {PLACE}"
        )
        raise SpecError.at(PLACE, message)


def preview_ratings(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    seed: int,
    execution: Execution = IN_PROCESS,
) -> tuple[dict[str, xr.Dataset], dict[str, float]]:
    """Return the groups of a fit but its ``diagnostics``, from draws of an approximation; and k.

    ``posterior`` has the attributes ``pareto_k``, of the weights that would turn the draws into
    draws of the posterior, and ``good_k``, up to which they would be reliable.

    Raises:
        NoModeError: The approximation has no mode.
    """
    seeds = seeds_of_steps(seed)
    issues = report_issues(ratings, design, execution.progress)
    tuned, starts = tune_by_trial(design, ratings, model, seed=seeds[4], execution=execution)
    execution.progress("approximating the posterior by Laplace's method")
    layout = parameter_layout(tuned)
    laplace = approximate(layout, starts)
    points, log_density = laplace.draw(CHAINS * DRAWS, seed=seeds[0])
    pareto_k = weights_shape(laplace.kernel.density(points)[0] - log_density)
    values = laplace.kernel.stored(points).reshape(CHAINS, DRAWS, -1)
    posterior = redraw_careless(label_draws(values, tuned, layout), tuned, seed=seeds[0])
    groups = {"posterior": posterior.assign_attrs(not_identified=issues)}
    groups = complete_groups(
        groups, tuned, ratings, sampler, seeds=seeds, progress=execution.progress
    )
    return groups, {"pareto_k": pareto_k, "good_k": largest_good_k(CHAINS * DRAWS)}


def tune_by_trial(
    design: Design, ratings: Ratings, model: Model, *, seed: int, execution: Execution
) -> tuple[Design, Floats]:
    """Return a design in the coordinates of a fit, and where its trial run was, by coordinates."""
    weights, trial = run_trial(add_reference(design), seed=seed, execution=execution)
    tuned = set_weights(design, ratings, model, weights)
    return tuned, to_coordinates(trial, tuned, parameter_layout(tuned))


def weights_shape(log_weights: Floats) -> float:
    """Return Pareto's k of weights; a draw where the density cannot be computed has none."""
    known = np.isfinite(log_weights)
    lowest = log_weights[known].min(initial=0.0)
    # ArviZ takes what leaves ratings out: it turns the sign.
    return float(array_stats.psislw(-np.where(known, log_weights, lowest))[1])
