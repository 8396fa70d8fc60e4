import h5netcdf
import numpy as np
import pytest
import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.storage.checksums import append_checksum
from sharpbayes.storage.results import SCHEMA, open_results, save_results


@pytest.fixture
def results():
    group = xr.Dataset({"cvar": ("model", [1.0, 2.0])}, attrs={"alpha": 0.95})
    tree = xr.DataTree.from_dict({"/profile": group})
    tree.attrs = {"schema": SCHEMA, "title": "T", "status": "measured", "seed": 1}
    return tree


def test_what_is_saved_is_opened(results, tmp_path):
    save_results(results, tmp_path / "r.nc")
    xr.testing.assert_identical(open_results(tmp_path / "r.nc"), results)
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_file_is_refused_in_one_sentence(results, tmp_path, keep):
    path = tmp_path / "r.nc"
    save_results(results, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(
        StorageError, match=r"r\.nc: not a results file of .* or damaged or changed by "
    ) as caught:
        open_results(path)
    assert "\n" not in str(caught.value)


def test_another_programs_file_is_refused(tmp_path):
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "x.nc", engine="netcdf4")
    with pytest.raises(StorageError, match="not a results file of sharpbayes"):
        open_results(tmp_path / "x.nc")


def test_another_schema_is_refused(results, tmp_path):
    results.attrs["schema"] = "sharpbayes/results/0"
    save_results(results, tmp_path / "r.nc")
    with pytest.raises(StorageError, match="schema is 'sharpbayes/results/0', must be"):
        open_results(tmp_path / "r.nc")


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", None])
def test_other_programs_open_what_is_saved(results, tmp_path, engine):
    save_results(results, tmp_path / "r.nc")
    with xr.open_datatree(tmp_path / "r.nc", engine=engine) as opened:
        xr.testing.assert_identical(opened.load(), results)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match=r"none\.nc: no such file$"):
        open_results(tmp_path / "none.nc")


def test_the_results_file_of_a_near_name_is_told(tmp_path):
    for name in ("mine.results.nc", "mine.toml"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(StorageError, match=r"; did you mean 'mine\.results\.nc'\?$"):
        open_results(tmp_path / "mine.result.nc")


def test_a_failed_write_leaves_the_old_file_and_no_draft(results, tmp_path, monkeypatch):
    path = tmp_path / "r.nc"
    save_results(results, path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "dump_to_store", full)
    with pytest.raises(StorageError, match="cannot write results: No space left on device"):
        save_results(results, path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_small_file_that_says_it_holds_terabytes_is_refused_before_it_is_read(tmp_path, whole):
    path = tmp_path / "r.nc"
    with h5netcdf.File(path, "w") as file:
        file.attrs.update({"schema": SCHEMA, "title": "T", "status": "measured", "seed": 1})
        group = file.create_group("profile")
        group.dimensions = {"model": 10**12}
        group.create_variable("cvar", ("model",), np.float64, chunks=(1000,))
    append_checksum(path)
    with pytest.raises(StorageError, match=r"r\.nc: .* bytes say that they hold 8000000000000$"):
        open_results(path, whole=whole)


def test_numbers_that_are_all_the_same_are_opened(results, tmp_path):
    same = xr.Dataset({"level": (("draw", "rating"), np.zeros((4, 1_000_000), np.int8))})
    results["posterior_predictive"] = xr.DataTree(same)
    save_results(results, tmp_path / "r.nc")
    assert (tmp_path / "r.nc").stat().st_size < 100_000
    opened = open_results(tmp_path / "r.nc")["posterior_predictive"]
    np.testing.assert_array_equal(opened["level"], same["level"])


def test_texts_beside_many_ratings_are_packed_and_come_back(results, tmp_path):
    names = np.array(["é", "日本", "", "a b", "woman"])[np.arange(20_000) % 5]
    long = xr.Dataset({"level": ("rating", np.zeros(20_000, np.int16))}, {"who": ("rating", names)})
    results["/ratings"] = long
    save_results(results, tmp_path / "r.nc")
    ratings = open_results(tmp_path / "r.nc")["ratings"].to_dataset()
    xr.testing.assert_identical(ratings, long)
    assert ratings["who"].dtype.kind == "U"
    # A pointer and a place for each text would take sixteen times as much.
    assert (tmp_path / "r.nc").stat().st_size < 100_000


def test_every_variable_of_a_whole_file_is_read_at_once(tmp_path):
    """Those with the name of a group too: a file that is replaced later changes nothing."""
    data = xr.Dataset({"items": ("group", [1, 2])})
    tree = xr.DataTree.from_dict({"/contested": data, "/items": data})
    tree.attrs = {"schema": SCHEMA, "title": "T", "status": "measured", "seed": 1}
    save_results(tree, tmp_path / "r.nc")
    opened = open_results(tmp_path / "r.nc")
    (tmp_path / "r.nc").unlink()
    assert opened["contested"]["items"].to_numpy().tolist() == [1, 2]
