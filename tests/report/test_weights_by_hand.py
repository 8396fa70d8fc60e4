"""What the page's script computes from, and the page without it; in a browser: test_browser.py."""

import base64
import json
import re
import tomllib

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.report.page import page_text
from sharpbayes.report.weights_by_hand import weights_by_hand
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import open_results, save_results

LEVELS = ("chain", "draw", "alpha", "model")


@pytest.fixture(scope="module")
def measured(shared_results):
    return open_results(shared_results("measured_panel"))


@pytest.fixture
def fitted(measured):
    """Measured results with posterior draws, 2 chains of 3."""
    rng, results = np.random.default_rng(0), measured.copy()
    results.attrs["status"] = "fitted"
    alphas, profile = measured["validation"]["alpha"], measured["profile"].to_dataset()
    draws = {"chain": [0, 1], "draw": [0, 4, 8]}
    coords = {**draws, "alpha": alphas, "model": profile["model"]}
    names = ("alpha_cvar", "alpha_worst_dimension")
    levels = {name: (LEVELS, rng.random((2, 3, 3, 4))) for name in names}
    facts = {"interval_note": "95% intervals.", "level": 0.95}
    results["posterior_tail_levels"] = xr.DataTree(xr.Dataset(levels, coords, facts))
    means = xr.DataArray(rng.random((2, 3, 4, 4)), dims=(*LEVELS[:2], "model", "dimension"))
    results["posterior_profile"] = xr.DataTree(
        xr.Dataset({"dimension_mean": means.assign_coords(profile["dimension_mean"].coords)})
    )
    return results


def decode(text, shape):
    return np.frombuffer(base64.b64decode(text), "<f8").reshape(shape)


def test_no_digit_of_the_draws_is_lost(fitted):
    section = weights_by_hand(fitted)
    levels, means = fitted["posterior_tail_levels"], fitted["posterior_profile"]["dimension_mean"]
    arrays = section.data["posterior"]
    for name in ("cvar", "worst_dimension"):
        expected = levels[f"alpha_{name}"].to_numpy().reshape(6, 3, 4)
        np.testing.assert_array_equal(decode(arrays[name], (6, 3, 4)), expected)
    expected = means.to_numpy().reshape(6, 4, 4)
    np.testing.assert_array_equal(decode(arrays["dimension_mean"], (6, 4, 4)), expected)
    assert (section.draws, section.interval_note) == (6, "95% intervals.")
    assert section.data["level"] == 0.95


def test_observed_ratings_are_one_draw(measured):
    section = weights_by_hand(measured)
    arrays, profile = section.data["observed"], measured["profile"].to_dataset()
    at = section.data["alphas"].index(0.95)
    np.testing.assert_array_equal(decode(arrays["cvar"], (3, 4))[at], profile["cvar"])
    worst = profile["dimension_cvar"].max("dimension")
    np.testing.assert_array_equal(decode(arrays["worst_dimension"], (3, 4))[at], worst)
    score = decode(arrays["dimension_mean"], (4, 4)) @ section.data["policy"]
    np.testing.assert_allclose(score, profile["policy_score"], rtol=1e-12)
    assert section.draws == 0
    assert "posterior" not in section.data


def test_the_page_carries_exactly_these_data(measured):
    page = page_text(measured)
    text = re.search(r'id="by-hand-data">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(text) == weights_by_hand(measured).data
    assert "without a fit there are no probabilities" in page
    assert "[population.category]" not in page


def test_settings_are_those_of_the_weights_file(measured):
    head = 'schema = "sharpbayes/weights/2"\ntitle = "Other"\n'
    policy = "policy = { ethics = 0.4, bias = 0.3, fairness = 0.2, epistemic = 0.1 }\n"
    decision = '[decision]\nby = "policy_score"\nconfidence = 0.9'
    measured = measured.copy()
    measured.attrs["weights"] = f"{head}{policy}tolerance = {{ cvar = 3.5 }}\n{decision}"
    data = weights_by_hand(measured).data
    assert data["dimensions"] == ["bias", "fairness", "ethics", "epistemic"]
    assert data["policy"] == [0.3, 0.2, 0.4, 0.1]
    assert [data[name] for name in ("tolerance", "by", "confidence")] == [3.5, "policy_score", 0.9]
    measured.attrs["weights"] = head
    data = weights_by_hand(measured).data
    assert data["policy"] == [0.25] * 4
    assert [data[name] for name in ("tolerance", "by", "confidence")] == [None, "cvar", 0.5]


def test_what_is_not_set_by_hand_is_a_weights_file(measured):
    data = weights_by_hand(measured).data
    fixed, written = tomllib.loads(data["toml"]), tomllib.loads(measured.attrs["weights"])
    Weights.model_validate(fixed)
    assert fixed["title"] == "Weights set by hand"
    assert fixed["rationale"] == (
        "Set on the report page of 'Quickstart: four models, three judges', "
        "from 'SHARP, as published'."
    )
    for name in ("parts", "amplify", "judges", "risk"):
        assert fixed[name] == written[name]
    assert not {"policy", "tail", "tolerance", "decision", "source"} & set(fixed)


@pytest.mark.parametrize("status", ["not converged", "interrupted"])
def test_without_convergence_there_is_no_section(fitted, status):
    assert weights_by_hand(fitted) is not None
    fitted.attrs["status"] = status
    assert weights_by_hand(fitted) is None


def test_results_of_an_older_version_have_no_section(measured):
    older = measured.copy()
    validation = older["validation"].to_dataset().drop_vars("alpha_worst_dimension")
    older["validation"] = xr.DataTree(validation)
    assert weights_by_hand(older) is None


def test_categories_of_prompts_are_told(measured):
    categorised = measured.copy()
    panel = categorised["panel"].to_dataset()
    category = ("prompt", ["a", "b"] * (panel.sizes["prompt"] // 2))
    categorised["panel"] = xr.DataTree(panel.assign_coords(category=category))
    assert weights_by_hand(categorised).has_categories
    assert not weights_by_hand(measured).has_categories


def test_no_script_gives_the_page_without_it(measured, tmp_path):
    path = tmp_path / "r.nc"
    save_results(measured, path)
    assert CliRunner().invoke(app, ["report", str(path), "--no-script"]).exit_code == 0
    assert "<script" not in path.with_suffix(".html").read_text("utf-8")
