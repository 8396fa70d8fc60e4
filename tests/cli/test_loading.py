"""What commands load."""

from tests.test_structure import HEAVY, loaded_by, run_commands


def test_weigh_loads_no_library_that_it_does_not_use(shared_results):
    results = str(shared_results("measured_panel"))
    loaded = set(run_commands(["weigh", results, "--weights", "equal", "--quiet"]))
    unused = {"arviz_stats", "distributed", "statsmodels", "matplotlib", "h5netcdf", *HEAVY}
    assert "numba" in loaded
    assert not unused & loaded


def test_a_report_loads_no_tests_of_statistics(shared_results, tmp_path):
    results, out = str(shared_results("measured_panel")), str(tmp_path / "r.html")
    loaded = set(run_commands(["report", results, "--out", out]))
    assert "matplotlib" in loaded
    assert not {"scipy.stats", "statsmodels", "arviz_stats", *HEAVY} & loaded


def dask_after_main(prepared, *arguments):
    """What stands for Dask among the modules of a process after a command."""
    loaded = loaded_by(
        f"""
import contextlib
{prepared}
from sharpbayes.cli.commands import main
sys.argv = {["sharpbayes", *arguments]!r}
with contextlib.suppress(SystemExit):
    main()
print([str(sys.modules.get("dask", "absent"))])
sys.exit()
"""
    )
    return loaded[0]


def test_dask_is_left_out_unless_a_cluster_is_asked_for_or_it_is_loaded():
    call = ("show", "--schema", "study")
    assert dask_after_main("", *call) == "None"
    assert dask_after_main("", "measure", "none.toml", "--cluster=local:1") == "absent"
    assert dask_after_main("import json; sys.modules['dask'] = json", *call).startswith("<module")
    assert dask_after_main("import xarray", *call) == "absent"
