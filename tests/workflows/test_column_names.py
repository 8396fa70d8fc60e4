"""Columns of any name: with spaces, slashes and signs, as tables of people have them."""

import shutil

import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.rater_averages import average_raters
from sharpbayes.errors import SpecError
from sharpbayes.library import find
from sharpbayes.report.next_ratings import next_rows, next_table
from sharpbayes.report.page import page_text
from sharpbayes.spec.load import load_study, load_weights
from sharpbayes.spec.model import dim_name
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.next import plan_next
from sharpbayes.workflows.weigh import weigh
from tests.shared_results import SMALL, as_converged

PANEL = """schema = "sharpbayes/study/2"
title = "A panel"
seed = 1

[panel]
data = "data.csv"
layout = "wide"
roles = { model = "model/name", prompt = "prompt id", judge = "judge", category = "topic/type" }

[panel.scales]
four = { kind = "ordinal", min = 0, max = 3 }

[panel.indicators]
"harm/bias" = { scale = "four", reverse = { "asked for / kind" = "x" } }

[[panel.dimensions]]
name = "harm/bias"
rms = ["harm/bias"]

[bootstrap]
replicates = 20
"""
FEW = (*SMALL, "crowd.permutations=9")


def write_crowd(folder, column, *, of_items="violation"):
    """The shipped crowd, of whose columns one of raters and one of items have other names."""
    source = find("studies", "quickstart_crowd").parent
    for path in source.glob("quickstart_crowd*"):
        shutil.copy(path, folder)
    raters = pd.read_csv(folder / "quickstart_crowd_raters.csv")
    raters.rename(columns={"gender": column}).to_csv(
        folder / "quickstart_crowd_raters.csv", index=False
    )
    items = pd.read_csv(folder / "quickstart_crowd_items.csv")
    items.rename(columns={"violation": of_items}).to_csv(
        folder / "quickstart_crowd_items.csv", index=False
    )
    study = folder / "quickstart_crowd.toml"
    text = study.read_text(encoding="utf-8").replace('"gender"', f'"{column}"')
    study.write_text(text.replace('"violation"', f'"{of_items}"'), encoding="utf-8")
    return load_study(study, overrides=FEW)


def write_panel(folder):
    rows = [
        (model, f"p{prompt}", judge, "ab"[prompt % 2], "xy"[prompt % 3 == 0], (prompt + n) % 4)
        for prompt in range(24)
        for n, model in enumerate(("A", "B"))
        for judge in ("j", "k")
    ]
    columns = ["model/name", "prompt id", "judge", "topic/type", "asked for / kind", "harm/bias"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "data.csv", index=False)
    (folder / "study.toml").write_text(PANEL, encoding="utf-8")
    return load_study(folder / "study.toml")


def read_back(results, path):
    """Results as they are read from a file, after every group was compared with what it was."""
    save_results(results, path)
    read = open_results(path)
    for name, group in results.children.items():
        assert {*read[name].coords} == {*group.coords}
        arrays = read[name].to_dataset().variables.values()
        assert not any("is_coordinate" in array.attrs for array in arrays)
    return read


@pytest.mark.parametrize("column", ["Ethnicity simplified", "age / years", "Größe (in %)"])
def test_groups_of_raters_are_read_back_as_they_were(column, tmp_path):
    results = measure(write_crowd(tmp_path, column))
    read = read_back(results, tmp_path / "results.nc")
    groups = [average_raters(tree["raters"].to_dataset(), level=0.9) for tree in (results, read)]
    assert {f"{column}=Man", f"{column}=Woman"} <= {*groups[0]["group"].to_numpy()}
    xr.testing.assert_allclose(*groups)


@pytest.mark.usefixtures("without_figures")
def test_a_fit_has_groups_of_a_column_with_a_slash(tmp_path):
    assert dim_name("group:Race/Ethnicity") == "Race_Ethnicity"
    column = "Race/Ethnicity"
    # The dimension of ratings is `score_rating`; columns of that name label none.
    files = write_crowd(tmp_path, column, of_items="rating")
    results = as_converged(read_back(fit(files), tmp_path / "fit.nc"))
    assert "location_Race_Ethnicity" in results["posterior"]
    assert f"{column}=Woman" in page_text(results)
    plan = plan_next(results, costs={"rating": 0.1, "rater": 5.0}, number=3)
    assert {row[column] for row in next_rows(plan)} <= {"Woman", "Man"}
    assert column in next_table(plan).header


@pytest.mark.parametrize("column", ["score", "draw", "item"])
def test_a_model_has_no_term_by_a_column_with_a_name_of_results(column, tmp_path):
    with pytest.raises(SpecError, match=f"the name '{column}' is that of .* in results of a fit"):
        write_crowd(tmp_path, column)


@pytest.mark.usefixtures("without_figures")
def test_columns_of_a_panel_may_have_any_name(tmp_path):
    results = measure(write_panel(tmp_path))
    read = read_back(results, tmp_path / "results.nc")
    weighed = weigh(read, {"equal": load_weights("equal")})["equal"]
    fresh = measure(load_study(tmp_path / "study.toml", overrides=('weights="equal"',)))
    xr.testing.assert_equal(weighed["profile"].to_dataset(), fresh["profile"].to_dataset())
    assert "harm/bias" in page_text(read)


def test_a_scale_has_no_slash_in_its_name(tmp_path):
    write_panel(tmp_path)
    text = PANEL.replace("four = {", '"1/4" = {').replace('"four"', '"1/4"')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="a slash in its name, of which names of variables are"):
        load_study(tmp_path / "study.toml")
