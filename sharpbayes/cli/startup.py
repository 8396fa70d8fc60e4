"""What a process of the command line sets before it loads libraries."""

import os
import sys
from types import ModuleType

# Variables by which libraries of linear algebra read how many threads they may start.
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def prepare_process() -> None:
    """Set what libraries read when they are loaded."""
    leave_out_dask()
    leave_out_plots()
    limit_blas_threads()


def leave_out_dask() -> None:
    """Keep xarray from loading Dask where no cluster is asked for.

    It does wherever Dask is installed, and no command has an array of it. A process that has loaded
    xarray already, which remembers that Dask is there, keeps it.
    """
    on_cluster = any(argument.startswith("--cluster") for argument in sys.argv)
    if not on_cluster and "xarray" not in sys.modules:
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def leave_out_plots() -> None:
    """Keep ArviZ, which the sampler loads, from loading its plots and Matplotlib with them.

    No command draws by them. An empty module, because ArviZ does not load without one.
    """
    plots = ModuleType("arviz_plots")
    plots.__version__ = "left out"  # type: ignore[attr-defined]
    sys.modules.setdefault(plots.__name__, plots)


def limit_blas_threads() -> None:
    """Keep linear algebra on the thread that calls it, unless the environment says otherwise.

    Commands run threads of their own on every processor. The matrices of a study are so small that
    threads of linear algebra wait for each other for longer than they compute.
    """
    for variable in BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")


def load_arviz() -> None:
    """Load ArviZ before much else is loaded.

    It looks for the places of packages that are not installed, through all modules for every
    function that waits for it: a fifth of a second where both are many.
    """
    import arviz_base  # noqa: F401, PLC0415 - slow to load
