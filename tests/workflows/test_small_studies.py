"""The smallest studies that somebody may have: one rater, one item, one prompt, odd names."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.check import check
from sharpbayes.workflows.measure import measure
from tests.references.worlds.files import CROWD, END, PANEL
from tests.references.worlds.panel import INDICATORS


def write_crowd(folder, items, raters, mark=""):
    """A crowd in which every rater scores every item; ``mark`` stands in all names."""
    names = [f"i{mark}{n}" for n in range(items)], [f"r{mark}{n}" for n in range(raters)]
    table = pd.DataFrame(product(*names), columns=["item", "rater"])
    table.assign(score=np.arange(len(table)) % 5).to_csv(folder / "ratings.csv", index=False)
    unsafe = pd.DataFrame({"item": names[0], "unsafe": np.arange(items) % 2})
    unsafe.to_csv(folder / "items.csv", index=False)
    gender = np.array(["Woman", "Man"])[np.arange(raters) % 2]
    pd.DataFrame({"rater": names[1], "gender": gender}).to_csv(folder / "raters.csv", index=False)
    return write_study(folder, CROWD.format(seed=1, fit="crowd_severity"))


def write_panel(folder, models, prompts, judges, mark=""):
    """A panel in which every judge scores every answer; ``mark`` stands in all names."""
    sizes = {"m": models, "p": prompts, "j": judges}
    names = [[f"{letter}{mark}{n}" for n in range(size)] for letter, size in sizes.items()]
    columns = ["model", "prompt", "judge", "indicator"]
    table = pd.DataFrame(product(*names, INDICATORS), columns=columns)
    table.assign(score=np.arange(len(table)) % 5).to_csv(folder / "ratings.csv", index=False)
    return write_study(folder, PANEL.format(seed=1, fit="judge_panel"))


def write_study(folder, text):
    (folder / "study.toml").write_text(text + END, encoding="utf-8")
    return load_study(folder / "study.toml")


def measured(files, tmp_path):
    """Results as a user reads them: written and opened again."""
    path = save_results(measure(files), tmp_path / "results.nc")
    return open_results(path or tmp_path / "results.nc")


@pytest.mark.parametrize(("items", "raters"), [(1, 1), (1, 8), (12, 1), (2, 2)])
def test_a_small_crowd_is_checked_and_measured(items, raters, tmp_path):
    files = write_crowd(tmp_path, items, raters)
    assert check(files).counts["ratings"] == items * raters
    metrics = measured(files, tmp_path)["responsiveness"].sel(group="all", by="all")
    # Fewer than three raters, or than two kinds of items, are no group.
    assert np.isnan(float(metrics["mpa"]))
    assert str(metrics["reason"].values)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 2), (1, 6, 2), (2, 6, 1)])
def test_a_small_panel_is_checked_and_measured(sizes, tmp_path):
    files = write_panel(tmp_path, *sizes)
    assert check(files).counts["ratings"] == np.prod(sizes) * len(INDICATORS)
    assert np.isfinite(measured(files, tmp_path)["profile/cvar"]).all()


def test_a_slash_in_a_name_is_a_letter_like_others(tmp_path):
    for kind in ("crowd", "panel"):
        (tmp_path / kind).mkdir()
    crowd = measured(write_crowd(tmp_path / "crowd", 12, 8, "/"), tmp_path)
    assert str(crowd["items"]["item"].values[0]) == "i/0"
    panel = measured(write_panel(tmp_path / "panel", 2, 6, 2, "/"), tmp_path)
    assert panel["profile"]["model"].to_numpy().tolist() == ["m/0", "m/1"]
