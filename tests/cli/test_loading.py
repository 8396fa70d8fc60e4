"""What commands load."""

from tests.test_structure import HEAVY, loaded_by


def test_weigh_loads_no_library_that_it_does_not_use(shared_results):
    call = ["sharpbayes", "weigh", str(shared_results("measured_panel")), "--weights", "equal"]
    loaded = loaded_by(
        f"""
import contextlib
from sharpbayes.cli.commands import main
sys.argv = {[*call, "--quiet"]!r}
with contextlib.suppress(SystemExit):
    main()
"""
    )
    unused = {"arviz_stats", "distributed", "statsmodels", "matplotlib", "h5netcdf", *HEAVY}
    assert "numba" in loaded
    assert not unused & set(loaded)
