"""Which results a command replaces under the name that it would write."""

import shutil
from pathlib import Path

import pytest
import xarray as xr

from sharpbayes import load_study, open_results, save_results
from sharpbayes.cli.targets import refuse_fit, results_path
from sharpbayes.errors import StorageError
from sharpbayes.storage.results import SCHEMA, stored_attributes

FEW = ["--quiet", "--set", "bootstrap.replicates=50"]


def write_results(path, **attrs):
    """Write results that have nothing but attributes."""
    tree = xr.DataTree()
    tree.attrs = {"schema": SCHEMA, "title": "t", "status": "measured", "seed": 1, **attrs}
    save_results(tree, path)


@pytest.mark.parametrize("out", [[], ["--out", "quickstart.results.nc"]])
def test_a_measurement_does_not_replace_a_fit(run, shared_results, out):
    fitted = Path(shutil.copy(shared_results("fitted_panel"), "quickstart.results.nc"))
    before, status = fitted.read_bytes(), open_results(fitted, whole=False).attrs["status"]
    done = run("measure", "quickstart", *out, *FEW)
    assert done.exit_code == 5
    assert done.stderr == (
        f"quickstart.results.nc: holds results ({status}), which a measurement never replaces; "
        "name another file with --out; the fit has every number of a measurement\n"
    )
    assert fitted.read_bytes() == before


def test_a_measurement_replaces_a_measurement_of_the_study(run):
    for seed in (1, 2):
        assert run("measure", "quickstart", *FEW, "--seed", str(seed)).exit_code == 0
    assert open_results("quickstart.results.nc").attrs["seed"] == 2


@pytest.mark.parametrize("status", ["fitted", "not converged", "interrupted", "approximate"])
def test_draws_of_any_status_are_no_measurement(tmp_path, status):
    write_results(tmp_path / "r.nc", status=status, posterior_sha256="0")
    target = tmp_path / "r.nc"
    with pytest.raises(StorageError, match=status):
        results_path(Path("s.toml"), target, refuse=refuse_fit)
    write_results(target, status=status)
    assert results_path(Path("s.toml"), target, refuse=refuse_fit) == target


@pytest.mark.parametrize("command", [["measure"], ["fit"], ["fit", "--preview"]])
def test_a_study_does_not_replace_results_of_another_one_of_its_name(run, tmp_path, command):
    for release in ("first", "second"):
        Path(release).mkdir()
        Path(release, "study.toml").write_text(load_study("quickstart").study.text)
    target = Path(f"study{'.preview' * ('--preview' in command)}.results.nc")
    first = tmp_path / "first" / "study.toml"
    write_results(target, status="approximate", study_path=str(first))
    before = target.read_bytes()
    done = run(*command, "second/study.toml", *FEW)
    assert done.exit_code == 5
    assert done.stderr == (
        f"{target}: holds results of the study {first}; name another file with --out\n"
    )
    assert target.read_bytes() == before


def test_what_is_named_the_same_study_or_a_study_that_is_gone_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study, other = tmp_path / "a" / "study.toml", tmp_path / "b" / "study.toml"
    for path in (study, other):
        path.parent.mkdir()
        path.touch()
    target = Path("study.results.nc")
    write_results(target, study_path=str(study))
    assert results_path(study, None) == target
    assert results_path(Path("a") / "study.toml", None) == target
    assert results_path(other, target) == target
    with pytest.raises(StorageError):
        results_path(other, None)
    study.unlink()
    assert results_path(other, None) == target


def test_a_damaged_or_another_file_has_no_attributes(tmp_path):
    path = tmp_path / "r.nc"
    assert stored_attributes(path) == {}
    write_results(path)
    assert stored_attributes(path)["status"] == "measured"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    assert stored_attributes(path) == {}
    path.write_text("x")
    assert stored_attributes(path) == {}
