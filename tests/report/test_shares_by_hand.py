"""What the script of a crowd's page shows; in a browser: test_browser.py."""

import json
import re
import tomllib

import pytest

from sharpbayes.report.page import page_text
from sharpbayes.report.shares_by_hand import shares_by_hand
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.measure import measure

FEW = ("bootstrap.replicates=5", "crowd.permutations=0", 'weights="population_us"')


@pytest.fixture(scope="module")
def measured():
    return measure(load_study("quickstart_crowd", overrides=FEW))


def test_every_setting_has_the_numbers_of_the_results(measured):
    data = shares_by_hand(measured).data
    assert data["labels"] == ["gender=Woman", "gender=Man"]
    assert data["moved"] == ["gender=Woman"]
    assert data["study"]["shares"] == [0.509, 0.491]
    group = measured["responsiveness_shares"].to_dataset()
    for place, share in enumerate(data["levels"]):
        setting = data["settings"][0][place]
        assert setting["shares"] == [share, 1.0 - share]
        cell = group.sel(moved_label="gender=Woman", moved_share=share)
        assert setting["observed"] == [float(cell[name]) for name in ("mpa", "wra", "hm")]
        assert setting["posterior"] is None
    population = measured["responsiveness_population"].to_dataset().sel(by="all")
    target = population.sel(population="target")
    assert data["study"]["observed"] == [float(target[name]) for name in ("mpa", "wra", "hm")]
    assert data["sample"][2] == float(population["hm"].sel(population="sample"))


@pytest.mark.usefixtures("without_figures")
def test_the_page_carries_exactly_these_data(measured):
    page = page_text(measured)
    text = re.search(r'id="by-hand-data">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(text) == shares_by_hand(measured).data
    assert "script-src 'sha256-" in page
    assert "Groups, their differences and their order do not depend on it." in page
    without = page_text(measured, script=False)
    assert "<script" not in without
    assert "script-src" not in without


def test_what_is_not_set_by_hand_is_a_weights_file(measured):
    data = shares_by_hand(measured).data
    fixed, written = tomllib.loads(data["toml"]), tomllib.loads(measured.attrs["weights"])
    Weights.model_validate(fixed)
    assert fixed["parts"] == written["parts"]
    assert "population" not in fixed
    assert data["tables"] == [
        {
            "key": "gender",
            "keys": ["Woman", "Man"],
            "labels": ["gender=Woman", "gender=Man"],
            "shares": [0.509, 0.491],
        }
    ]


def test_without_a_population_or_convergence_there_is_no_section(measured, shared_results):
    assert shares_by_hand(open_results(shared_results("measured_crowd"))) is None
    stopped = measured.copy()
    stopped.attrs["status"] = "not converged"
    assert shares_by_hand(stopped) is None
