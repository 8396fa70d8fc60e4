"""Results that many tests read: each is computed once, for all processes of a test run."""

import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import xarray as xr

from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import save_results
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.preview import preview

PERMUTATIONS = "crowd.permutations={}"
# Fits small enough for a test. The names of their variables do not depend on the number of draws.
SMALL = (
    *("bootstrap.replicates=20", "sampler.chains=2", "sampler.tune=50", "sampler.draws=50"),
    "sampler.predictive_draws=20",
)
MEASURED = ("bootstrap.replicates=60",)


def fit_panel() -> xr.DataTree:
    """Fit the shipped panel, with few draws."""
    return fit(load_study("quickstart", overrides=SMALL))


def fit_crowd() -> xr.DataTree:
    """Fit the shipped crowd, with few draws."""
    few = (*SMALL, PERMUTATIONS.format(9))
    return fit(load_study("quickstart_crowd", overrides=few))


def preview_crowd() -> xr.DataTree:
    """Approximate the fit of the shipped crowd."""
    few = (*SMALL, PERMUTATIONS.format(9))
    return preview(load_study("quickstart_crowd", overrides=few))


def measure_panel() -> xr.DataTree:
    """Measure the shipped panel, with few resamples."""
    return measure(load_study("quickstart", overrides=MEASURED))


def measure_crowd() -> xr.DataTree:
    """Measure the shipped crowd, with few resamples."""
    few = (*MEASURED, PERMUTATIONS.format(99))
    return measure(load_study("quickstart_crowd", overrides=few))


def as_converged(results: xr.DataTree) -> xr.DataTree:
    """Return results of few draws as if their fit had converged."""
    groups = {f"/{name}": group.to_dataset() for name, group in results.children.items()}
    groups["/diagnostics"] = groups["/diagnostics"].assign(converged=1)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = results.attrs | {"status": "fitted"}
    return tree


MAKERS: Mapping[str, Callable[[], xr.DataTree]] = MappingProxyType(
    {
        "fitted_panel": fit_panel,
        "fitted_crowd": fit_crowd,
        "previewed_crowd": preview_crowd,
        "measured_panel": measure_panel,
        "measured_crowd": measure_crowd,
    }
)


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all processes of this test run see, and no other run."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-results"
    folder.mkdir(exist_ok=True)
    return folder


def stored_results(folder: Path, name: str) -> Path:
    """Return the file of these results, which the first process that asks writes."""
    path = folder / f"{name}.nc"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            save_results(MAKERS[name](), path)
    return path
