"""Responsiveness of all raters at other shares of groups, against `weigh` with these shares."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.target_population import other_shares, share_group
from sharpbayes.posterior.crowd import posterior_population
from sharpbayes.spec.load import load_weights
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.next import read_fit, read_fit_files
from sharpbayes.workflows.weigh import weigh
from tests.shared_results import as_converged

SHARES = """schema = "sharpbayes/weights/2"
title = "Shares"
[population.gender]
Woman = {woman!r}
Man = {man!r}
[population.age]
GenX = {genx!r}
GenZ = {genz!r}
Millennial = {millennial!r}
"""
OWN = {"woman": 0.6, "man": 0.4, "genx": 0.25, "genz": 0.5, "millennial": 0.25}


def written(folder, name, **shares):
    path = folder / f"{name}.toml"
    path.write_text(SHARES.format(**OWN | shares), "utf-8")
    return load_weights(str(path))


@pytest.fixture(scope="module")
def fitted(shared_results):
    return as_converged(open_results(shared_results("fitted_crowd")))


@pytest.fixture(scope="module")
def weighed(fitted, tmp_path_factory):
    """The study of a fit under shares, and its draws and model."""
    files = read_fit_files(fitted, None)
    study, draws = read_fit(fitted, files)
    own_weights = written(tmp_path_factory.mktemp("own"), "own")
    return replace(study, weights=own_weights), draws, files.model.spec


def test_labels_are_moved_one_at_a_time_and_others_keep_their_proportions(weighed):
    shares = other_shares(weighed[0])
    assert shares.share["moved_label"].values.tolist() == [
        *("gender=Woman", "age=GenX", "age=GenZ", "age=Millennial")
    ]
    cell = shares.share.sel(moved_label="age=GenZ", moved_share=0.75)
    assert cell.to_series().to_dict() == {
        "gender=Woman": 0.6,
        "gender=Man": 0.4,
        "age=GenX": 0.125,
        "age=GenZ": 0.75,
        "age=Millennial": 0.125,
    }
    weights = shares.rater.sel(moved_label="age=GenZ", moved_share=0.75).to_numpy()
    columns = weighed[0].data.rater_columns
    assert weights[columns["age"] == "GenZ"].sum() / weights.sum() == pytest.approx(0.75)
    assert weights[columns["gender"] == "Woman"].sum() / weights.sum() == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("label", "share", "shares"),
    [
        ("gender=Woman", 0.25, {"woman": 0.25, "man": 0.75}),
        ("age=GenZ", 0.75, {"genx": 0.125, "genz": 0.75, "millennial": 0.125}),
        ("age=GenX", 0.0, {"genx": 0.0, "genz": 0.5 / 0.75, "millennial": 0.25 / 0.75}),
    ],
)
def test_other_shares_are_what_weigh_says(request, tmp_path, label, share, shares):
    fitted = request.getfixturevalue("fitted")
    study, draws, model = request.getfixturevalue("weighed")
    groups = share_group(study) | posterior_population(study, draws, model, shares=True)
    weighed_by_hand = weigh(fitted, {"by_hand": written(tmp_path, "by_hand", **shares)})["by_hand"]
    for prefix in ("", "posterior_"):
        ours = groups[f"{prefix}responsiveness_shares"].sel(moved_label=label, moved_share=share)
        theirs = weighed_by_hand[f"{prefix}responsiveness_population"].to_dataset()
        theirs = theirs.sel(by="all", population="target")
        for name in ("mpa", "wra", "hm"):
            np.testing.assert_array_equal(ours[name], theirs[name], f"{prefix}{name}")


def test_the_population_itself_stays_as_it_was(weighed):
    study, draws, model = weighed
    [alone] = posterior_population(study, draws, model).values()
    both = posterior_population(study, draws, model, shares=True)
    xr.testing.assert_identical(alone, both["posterior_responsiveness_population"])


def test_shares_that_no_weights_hold_are_missing(weighed):
    study = weighed[0]
    age, gender = (study.data.rater_columns[name].copy() for name in ("age", "gender"))
    gender[age == "GenZ"] = "Woman"
    gender[age != "GenZ"] = "Man"
    data = replace(study.data, rater_columns={"gender": gender, "age": age})
    metrics = share_group(replace(study, data=data))["responsiveness_shares"]
    # Women and GenZ are the same raters, of whom 60% and 50% are asked: both can only be 50%.
    known = metrics["hm"].notnull()
    assert bool(known.sel(moved_label="gender=Woman", moved_share=0.5))
    assert known.sum() == 1
    assert metrics["population_share"].notnull().all()


def test_without_shares_of_raters_there_is_nothing_to_move(weighed):
    study = weighed[0]
    assert other_shares(replace(study, weights=None)) is None
    assert share_group(replace(study, weights=load_weights("sharp"))) == {}
