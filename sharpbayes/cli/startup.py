"""What a process of the command line sets before it loads libraries."""

import os
import sys

# Variables by which libraries of linear algebra read how many threads they may start.
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def prepare_process() -> None:
    """Set what libraries read when they are loaded."""
    leave_out_dask()
    limit_blas_threads()


def leave_out_dask() -> None:
    """Keep xarray from loading Dask where no cluster is asked for.

    It does wherever Dask is installed, and no command has an array of it. A process that has loaded
    xarray already, which remembers that Dask is there, keeps it.
    """
    on_cluster = any(argument.startswith("--cluster") for argument in sys.argv)
    if not on_cluster and "xarray" not in sys.modules:
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def limit_blas_threads() -> None:
    """Keep linear algebra on the thread that calls it, unless the environment says otherwise.

    Commands run threads of their own on every processor. The matrices of a study are so small that
    threads of linear algebra wait for each other for longer than they compute.
    """
    for variable in BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")
