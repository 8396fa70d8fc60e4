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
from tests import panels

LEVELS = ("chain", "draw", "alpha", "model")


pytestmark = pytest.mark.usefixtures("without_figures")


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
    position = section.data["alphas"].index(0.95)
    np.testing.assert_array_equal(decode(arrays["cvar"], (3, 4))[position], profile["cvar"])
    worst = profile["dimension_cvar"].max("dimension")
    np.testing.assert_array_equal(decode(arrays["worst_dimension"], (3, 4))[position], worst)
    score = decode(arrays["dimension_mean"], (4, 4)) @ section.data["policy"]
    np.testing.assert_allclose(score, profile["policy_score"], rtol=1e-12)
    assert section.draws == 0
    assert "posterior" not in section.data


def test_the_page_carries_exactly_these_data(measured):
    page = page_text(measured)
    text = re.search(r'id="by-hand-data">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(text) == weights_by_hand(measured).data
    assert "without a fit there are no probabilities" in page
    assert "[population.category]</code>" not in page
    assert "<legend>Shares of categories" not in page


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


@pytest.fixture(scope="module")
def populated(tmp_path_factory):
    """A measured panel whose weights have shares of categories."""
    weights = "[population.category]\nage = 0.3\nrace = 0.7\n"
    roles = ', category = "kind"'
    return panels.measured(
        tmp_path_factory.mktemp("populated"), panels.frame(), roles=roles, weights=weights
    )


def test_shares_of_a_population_can_be_moved(populated):
    data = weights_by_hand(populated).data
    population = data["population"]
    assert (population["categories"], population["study"]) == (["age", "race"], [0.3, 0.7])
    assert population["moved"] == ["age"]
    assert population["shares"] == [[[share, 1 - share] for share in population["levels"]]]
    validation = populated["validation"].to_dataset()
    for name, shape in (("cvar", (3,)), ("worst_dimension", (3,)), ("dimension_mean", (3, 2))):
        shown = decode(data["observed"][f"share_{name}"], (1, 5, *shape))
        np.testing.assert_array_equal(shown, validation[f"share_{name}"])
    assert "population" not in tomllib.loads(data["toml"])
    page = page_text(populated)
    assert "<legend>Shares of categories (population)</legend>" in page
    assert "[population.category]</code> in the file" not in page


def add_share_draws(results, draws):
    """The results with draws of shares, one chain, and nothing else of a fit."""
    populated = results.copy()
    validation = populated["validation"].to_dataset()
    names = [name for name in validation if str(name).startswith("share_")]
    lead = {"chain": [0], "draw": range(draws)}
    populated["posterior_share_levels"] = xr.DataTree(validation[names].expand_dims(lead))
    levels = validation[["alpha_cvar", "alpha_worst_dimension"]].expand_dims(lead)
    facts = {"interval_note": "95% intervals.", "level": 0.95}
    populated["posterior_tail_levels"] = xr.DataTree(levels.assign_attrs(facts))
    means = populated["profile"].to_dataset()[["dimension_mean"]].expand_dims(lead)
    populated["posterior_profile"] = xr.DataTree(means)
    populated.attrs["status"] = "fitted"
    return populated


def test_more_draws_than_a_page_carries_leave_shares_to_weigh(populated):
    # Five settings by three models by four numbers of eight bytes are 480 bytes a draw.
    carried, larger = (add_share_draws(populated, draws) for draws in (3100, 3200))
    data = weights_by_hand(carried).data
    decoded = decode(data["posterior"]["share_cvar"], (3100, 1, 5, 3))
    np.testing.assert_array_equal(decoded[7], populated["validation"]["share_cvar"])
    data = weights_by_hand(larger).data
    assert "population" not in data
    assert not [name for name in data["posterior"] if name.startswith("share_")]
    assert tomllib.loads(data["toml"])["population"] == {"category": {"age": 0.3, "race": 0.7}}


def test_a_fit_of_an_older_version_has_no_shares_to_move(populated):
    older = add_share_draws(populated, 2)
    del older["posterior_share_levels"]
    assert "population" not in weights_by_hand(older).data


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
    page = page_text(categorised)
    assert "<code>sharpbayes weigh RESULTS --weights ./by_hand.toml</code>, which also" in page
    assert "in the file: they need every prompt, which this page does not carry." in page


def test_no_script_gives_the_page_without_it(measured, tmp_path):
    path = tmp_path / "r.nc"
    save_results(measured, path)
    assert CliRunner().invoke(app, ["report", str(path), "--no-script"]).exit_code == 0
    assert "<script" not in path.with_suffix(".html").read_text("utf-8")


def test_the_script_knows_which_choices_the_evidence_does_not_carry(measured):
    results = measured.copy()
    facts = results["evidence"].to_dataset().assign_attrs(carried=json.dumps(["lowest"]))
    results["evidence"] = xr.DataTree(facts)
    data = weights_by_hand(results).data
    assert data["carried"] == {
        "cvar": [True, False],
        "policy_score": [True, False],
        "worst_dimension": [False, False],
    }
    page = page_text(results)
    assert "data.carried[weights.by]" in page
    assert data["no_recommendation"].endswith("it is no recommendation.")
