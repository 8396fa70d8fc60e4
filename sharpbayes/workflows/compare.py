"""Models of the same ratings compared by how well they predict what was left out."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.data.digest import digest_data
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError, did_you_mean
from sharpbayes.execution.progress import ProgressCallback, silent
from sharpbayes.spec.load import load_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler
from sharpbayes.storage.results import SCHEMA, open_results
from sharpbayes.workflows.run import read

if TYPE_CHECKING:
    from sharpbayes.bayes.predict.leave_out import Units

RATING = "rating"


@dataclass(frozen=True)
class Fitted:
    """A fit and what it was fitted to."""

    posterior: xr.Dataset
    ratings: Ratings
    model: Model
    sampler: Sampler
    seed: int
    converged: bool


def compare(
    paths: Mapping[str, Path], *, by: str, refits: int, progress: ProgressCallback = silent
) -> xr.DataTree:
    """Compare fits by the expected log predictive density of what was left out.

    Args:
        paths: Results files by the names that tables show.
        by: ``rating``, or a column whose levels are left out with all their ratings.
        refits: How many units of each fit, those with the worst Pareto k above its limit, are
            left out exactly by fitting again.
        progress: Called before each step of the work.

    Returns:
        ``comparison``: over ``model``, best first, what :func:`sharpbayes.bayes.predict.leave_out.rank_models`
        returns, ``bad_k`` (units above the limit that were not fitted again), ``refitted`` and
        ``converged``; over ``(model, unit)`` ``elpd_unit`` and ``pareto_k``.

    Raises:
        SpecError: A file without a posterior, other ratings, or a column that is not there.
        StorageError: A file cannot be read.
    """
    fits = {name: _opened(path) for name, path in paths.items()}
    first = next(iter(fits.values()))
    _refuse_other_ratings(fits)
    _refuse_unknown(by, first.ratings)
    from sharpbayes.bayes.predict.leave_out import make_units, rank_models  # noqa: PLC0415 - loads ArviZ

    left = make_units(first.ratings, by)
    found = {}
    for name, fitted in fits.items():
        progress(f"{name}: leaving out each of {len(left.labels)} by {by}")
        found[name] = _left_out(fitted, left, refits=refits, progress=progress)
    sizes = {name: fit.posterior.sizes for name, fit in fits.items()}
    draws = {name: int(each["chain"] * each["draw"]) for name, each in sizes.items()}
    table = rank_models(found, draws=draws)
    order = [str(name) for name in table["model"].to_numpy()]
    joined = xr.concat([found[name] for name in order], "model", combine_attrs="drop")
    table["elpd_unit"], table["pareto_k"] = joined["elpd"], joined["pareto_k"]
    for name in ("bad_k", "refitted", "integrated"):
        table[name] = ("model", [found[each].attrs[name] for each in order])
    table["converged"] = ("model", [int(fits[name].converged) for name in order])
    table.attrs |= {"by": by, "without_unit": found[order[0]].attrs["without_unit"]}
    tree = xr.DataTree.from_dict({"/comparison": table})
    facts = {"title": f"Left out by {by}", "status": "compared", "seed": first.seed}
    tree.attrs = {"schema": SCHEMA, **facts}
    return tree


def _left_out(
    fitted: Fitted, left: "Units", *, refits: int, progress: ProgressCallback
) -> xr.Dataset:
    """Leave out every unit, the worst of them exactly."""
    from sharpbayes.bayes.design.indexing import build_design  # noqa: PLC0415
    from sharpbayes.bayes.predict.leave_out import leave_out  # noqa: PLC0415 - loads ArviZ

    design = build_design(fitted.ratings, fitted.model)
    table = leave_out(fitted.posterior, design, left)
    elpd, pareto_k = table["elpd"].to_numpy(), table["pareto_k"].to_numpy()
    bad = [unit for unit in np.argsort(-pareto_k) if not pareto_k[unit] <= table.attrs["good_k"]]
    done = 0
    for unit in bad[:refits]:
        progress(f"fitting again without {left.labels[unit]} (Pareto k {pareto_k[unit]:.2f})")
        from sharpbayes.bayes.predict.refit import refit_without_unit  # noqa: PLC0415 - loads nutpie

        exact = refit_without_unit(
            design,
            fitted.ratings,
            fitted.model,
            fitted.sampler,
            units=left,
            unit=int(unit),
            seed=fitted.seed,
        )
        if np.isfinite(exact):
            table["p"][unit] += table["elpd"][unit] - exact
            elpd[unit], pareto_k[unit] = exact, 0.0
            done += 1
    table["elpd"], table["pareto_k"] = ("unit", elpd), ("unit", pareto_k)
    table.attrs |= {"bad_k": len(bad) - done, "refitted": done}
    return table


def _opened(path: Path) -> Fitted:
    """Read a fit, and the ratings that it was fitted to."""
    results = open_results(path)
    if "posterior" not in results or "model" not in results.attrs:
        raise _fault(str(path), "no posterior: compare what sharpbayes fit wrote")
    files = load_study(
        results.attrs["study_path"], overrides=tuple(_overrides(results.attrs["overrides"]))
    )
    loaded = read(files)
    if digest_data(files) != results.attrs["data_sha256"]:
        raise _fault(str(path), f"the data of {files.study.path} have changed since the fit")
    return Fitted(
        posterior=results["posterior"].to_dataset(),
        ratings=loaded.ratings,
        model=Model.model_validate(tomllib.loads(results.attrs["model"])),
        sampler=files.study.spec.sampler,
        seed=files.study.spec.seed,
        converged=bool(results["diagnostics"]["converged"]),
    )


def _overrides(text: str) -> list[str]:
    """Overrides that were kept as JSON."""
    found: list[str] = json.loads(text)
    return found


def _refuse_other_ratings(fits: Mapping[str, Fitted]) -> None:
    """Raise where two fits are not of the same ratings of the same cells."""
    (first_name, first), *others = fits.items()
    for name, other in others:
        if not _same(first.ratings, other.ratings):
            message = f"other ratings than {first_name}: only fits of the same data are compared"
            raise _fault(name, message)


def _same(one: Ratings, other: Ratings) -> bool:
    """Whether two tables hold the same ratings of the same cells in the same order."""
    shared = set(one.factors) & set(other.factors)
    return np.array_equal(one.score, other.score) and all(
        one.factors[name].labels == other.factors[name].labels
        and np.array_equal(one.factors[name].codes, other.factors[name].codes)
        for name in shared
    )


def _refuse_unknown(by: str, ratings: Ratings) -> None:
    """Raise for a column that ratings do not have."""
    known = [RATING, *sorted(set(ratings.factors) - {"scale"})]
    if by not in known:
        message = f"no column {by!r}, there are {', '.join(known)}{did_you_mean(by, known)}"
        raise _fault("--leave-out", message)


def _fault(where: str, message: str) -> SpecError:
    """One fault of a call."""
    return SpecError([Diagnostic(where, 0, "", message)])
