"""Compare: fits of the same ratings by leave-one-out prediction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.digest import digest_data
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import SpecError, describe_value, did_you_mean, format_count
from sharpbayes.execution.progress import ProgressCallback, silent
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from sharpbayes.storage.results import file_of, provenance, read_results
from sharpbayes.workflows.context import RunContext, join_groups, refuse_approximate, reload_files

if TYPE_CHECKING:
    from sharpbayes.bayes.predict.leave_out import Units


@dataclass(frozen=True)
class StoredFit:
    """A fit, the ratings that it was fitted to, and the provenance of both without the model."""

    posterior: xr.Dataset
    ratings: Ratings
    model: Model
    sampler: Sampler
    seed: int
    converged: bool
    provenance: dict[str, Any]


def compare(
    fits: Mapping[str, xr.DataTree | str | Path],
    *,
    by: str = "rating",
    refits: int = 10,
    progress: ProgressCallback = silent,
) -> xr.DataTree:
    """Compare fits of the same ratings by how well they predict ratings that are left out.

    Args:
        fits: Results of :func:`sharpbayes.fit` by name, two or more, or the paths of their files.
        by: What is left out: single ratings (``rating``), or each label of a column, such as
            ``item`` or ``prompt``, with all its ratings.
        refits: How many units of each fit are left out by fitting again: those with the worst
            Pareto k above its limit.
        progress: Told in a sentence what is computed.

    Returns:
        The group ``comparison``: over ``model``, best first, what
        :func:`sharpbayes.bayes.predict.leave_out.rank_models` returns of the expected log
        predictive density, ``bad_k`` (units above the limit that were not fitted again),
        ``refitted`` and ``converged``; over ``(model, unit)`` ``elpd_unit`` and ``pareto_k``.

    Raises:
        SpecError: Fewer than two fits, results that are none, fits of other ratings, or no such
            column.
        StorageError: A file that cannot be read.
    """
    if not isinstance(fits, Mapping) or len(fits) < 2:  # noqa: PLR2004 - a comparison
        given = (
            format_count(len(fits), "fit") if isinstance(fits, Mapping) else describe_value(fits)
        )
        raise SpecError.at("fits", f"found {given}, must be results by name, two or more")
    return _compare_fits(
        {name: _open_fit(name, results) for name, results in fits.items()},
        by=by,
        refits=refits,
        progress=progress,
    )


def _compare_fits(
    fits: Mapping[str, StoredFit], *, by: str, refits: int, progress: ProgressCallback
) -> xr.DataTree:
    """Compare fits that were read; see :func:`compare`."""
    first = next(iter(fits.values()))
    _check_same_ratings(fits)
    known = ["rating", *sorted(set(first.ratings.factors) - {"scale"})]
    if by not in known:
        message = f"no column {by!r}, there are {', '.join(known)}{did_you_mean(by, known)}"
        raise SpecError.at("--leave-out", message)
    from sharpbayes.bayes.predict.leave_out import make_units, rank_models  # noqa: PLC0415 - loads ArviZ

    left_out = make_units(first.ratings, by)
    scores = {}
    for name, fit in fits.items():
        progress(f"{name}: leaving out each of {len(left_out.labels)} by {by}")
        scores[name] = _leave_out(fit, left_out, refits=refits, progress=progress)
    sizes = {name: fit.posterior.sizes for name, fit in fits.items()}
    draws = {name: int(size["chain"] * size["draw"]) for name, size in sizes.items()}
    table = rank_models(scores, draws=draws)
    order = [str(name) for name in table["model"].to_numpy()]
    by_unit = xr.concat([scores[name] for name in order], "model", combine_attrs="drop")
    table["elpd_unit"], table["pareto_k"] = by_unit["elpd"], by_unit["pareto_k"]
    for attr in ("bad_k", "refitted", "integrated"):
        table[attr] = ("model", [scores[name].attrs[attr] for name in order])
    table["converged"] = ("model", [int(fits[name].converged) for name in order])
    table.attrs |= {"by": by, "without_unit": scores[order[0]].attrs["without_unit"]}
    attrs = first.provenance | {"title": f"Left out by {by}"}
    return join_groups({"comparison": table}, attrs)


def _leave_out(
    fit: StoredFit, left_out: "Units", *, refits: int, progress: ProgressCallback
) -> xr.Dataset:
    """Leave out every unit, the worst of them exactly."""
    from sharpbayes.bayes.predict.leave_out import leave_out  # noqa: PLC0415 - loads ArviZ

    design = build_design(fit.ratings, fit.model)
    table = leave_out(fit.posterior, design, left_out)
    elpd, pareto_k = table["elpd"].to_numpy(), table["pareto_k"].to_numpy()
    bad = list_bad_units(pareto_k, good_k=table.attrs["good_k"])
    refitted = 0
    for unit in bad[:refits]:
        progress(f"fitting again without {left_out.labels[unit]} (Pareto k {pareto_k[unit]:.2f})")
        from sharpbayes.bayes.predict.refit import refit_without_unit  # noqa: PLC0415 - loads nutpie

        data = (design, fit.ratings, fit.model, fit.sampler)
        exact = refit_without_unit(*data, units=left_out, unit=unit, seed=fit.seed)
        if np.isfinite(exact):
            table["p"][unit] += table["elpd"][unit] - exact
            elpd[unit], pareto_k[unit] = exact, 0.0
            refitted += 1
    table["elpd"], table["pareto_k"] = ("unit", elpd), ("unit", pareto_k)
    table.attrs |= {"bad_k": len(bad) - refitted, "refitted": refitted}
    return table


def list_bad_units(pareto_k: NDArray[np.float64], *, good_k: float) -> list[int]:
    """Return the positions of units with a Pareto k above a limit, those without one first.

    >>> list_bad_units(np.array([0.1, 0.9, np.nan, 1.2]), good_k=0.7)
    [2, 3, 1]
    """
    k = np.nan_to_num(pareto_k, nan=np.inf)
    return [int(unit) for unit in np.argsort(-k) if k[unit] > good_k]


def _open_fit(name: str, results: xr.DataTree | str | Path) -> StoredFit:
    """Read a fit, and the ratings that it was fitted to."""
    results = read_results(results, place=name)
    path = file_of(results) or name
    refuse_approximate(results, path)
    if "posterior" not in results or "model" not in results.attrs:
        raise SpecError.at(path, "no posterior: compare what sharpbayes fit wrote")
    attrs, files = results.attrs, reload_files(results)
    if digest_data(files) != attrs["data_sha256"]:
        raise SpecError.at(path, f"the data of {files.study.path} have changed since the fit")
    context = RunContext(files)
    facts = {"sha256": attrs["data_sha256"], **context.study.counts}
    return StoredFit(
        posterior=results["posterior"].to_dataset(),
        ratings=context.study.ratings,
        model=context.model.spec,
        sampler=files.study.spec.sampler,
        seed=files.study.spec.seed,
        converged=bool(results["diagnostics"]["converged"]),
        provenance=provenance(replace(files, model=None), data=facts, status="compared"),
    )


def _check_same_ratings(fits: Mapping[str, StoredFit]) -> None:
    """Raise where two fits are not of the same ratings of the same cells in the same order."""
    (first_name, first), *others = fits.items()
    _check_same_kind(fits)
    _check_same_labels(fits)
    factors = first.ratings.factors
    for name, other in others:
        if not np.array_equal(first.ratings.score, other.ratings.score) or any(
            factors[key].labels != factor.labels
            or not np.array_equal(factors[key].codes, factor.codes)
            for key, factor in other.ratings.factors.items()
            if key in factors
        ):
            message = f"other ratings than {first_name}: only fits of the same data are compared"
            raise SpecError.at(name, message)


def _check_same_kind(fits: Mapping[str, StoredFit]) -> None:
    """Raise where a panel and a crowd are compared."""
    panels = [name for name, fit in fits.items() if "judge" in fit.ratings.factors]
    crowds = [name for name in fits if name not in panels]
    if panels and crowds:
        message = f"is a crowd, {panels[0]} is a panel: only fits of the same ratings are compared"
        raise SpecError.at(crowds[0], message)


def _check_same_labels(fits: Mapping[str, StoredFit]) -> None:
    """Raise where one model takes labels of experts as ratings and another does not."""
    with_labels = [name for name, fit in fits.items() if fit.model.experts]
    without = [name for name in fits if name not in with_labels]
    if with_labels and without:
        message = (
            f"its model also fits the labels of experts, that of {without[0]} fits the ratings of "
            "the crowd alone: only fits of the same ratings are compared"
        )
        raise SpecError.at(with_labels[0], message)
