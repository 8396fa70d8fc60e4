"""Exit statuses of results, and why a fit or a calibration cannot be used."""

import pytest
import typer
import xarray as xr

from sharpbayes.cli.outputs import exit_if_not_converged


def calibrated(rejected, **attrs):
    """Results of a calibration of two quantities."""
    table = xr.Dataset({"rejected": ("quantity", rejected)}, {"quantity": ["sd", "CVaR[a]"]}, attrs)
    results = xr.DataTree.from_dict({"calibration": table})
    results.attrs["status"] = "not calibrated"
    return results


@pytest.mark.parametrize(
    ("results", "text"),
    [
        (calibrated([True, False]), "sd"),
        (calibrated([True, True], base_converged=1), "sd, CVaR[a]"),
        (
            calibrated([False, False], base_converged=0),
            "the fit of the observed ratings has not converged",
        ),
        (
            calibrated([False, True], base_converged=0),
            "the fit of the observed ratings has not converged; CVaR[a]",
        ),
    ],
)
def test_a_calibration_that_failed_says_what_failed(results, text, capsys):
    """The results say which ranks are not uniform; the command does not test them again."""
    with pytest.raises(typer.Exit) as stopped:
        exit_if_not_converged(results)
    assert stopped.value.exit_code == 4
    assert capsys.readouterr().err == f"not calibrated: {text}\n"


def test_results_that_can_be_used_end_with_no_error(capsys):
    exit_if_not_converged(xr.DataTree(xr.Dataset(attrs={"status": "calibrated"})))
    assert capsys.readouterr().err == ""
