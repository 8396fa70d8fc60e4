"""Decisions under weights, and other weights over a stored fit."""

import json

import arviz as az
import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError
from sharpbayes.library import names
from sharpbayes.posterior.decision import add_tiers, criterion, decision, monte_carlo_error
from sharpbayes.spec.load import load_study, load_weights
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.checksums import dataset_digest
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import named_weights, weigh

FEW = (
    "sampler.chains=2",
    "sampler.draws=50",
    "sampler.tune=50",
    "sampler.predictive_draws=20",
    "bootstrap.replicates=50",
    'uncertainty=[["ratings", "prompts"], ["ratings", "judges"]]',
)
TWINS = ("posterior_profile", "posterior_profile_ratings_judges", "decision", "joint")
ALTERED = """schema = "sharpbayes/weights/2"
title = "Every number another"
[parts.bias]
coverage = 0.1
intensity = 0.9
[amplify.bias]
explicitness = 0.7
[judges]
temperature = 0.05
[risk]
epsilon = 1e-3
[tail]
alpha = 0.8
estimator = "rockafellar-uryasev"
[policy]
bias = 0.1
fairness = 0.2
ethics = 0.3
epistemic = 0.4
[tolerance]
cvar = 4.0
[tiers]
rule = "interval-overlap"
[decision]
by = "policy_score"
"""


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "altered.toml"
    path.write_text(ALTERED, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A fit under the published weights, on disk."""
    path = tmp_path_factory.mktemp("fit") / "fit.nc"
    save_results(fit(load_study("quickstart", overrides=FEW)), path)
    return path


@pytest.fixture(scope="module")
def fresh(altered):
    """A fit of its own under other weights."""
    return fit(load_study("quickstart", overrides=(*FEW, f'weights="{altered}"')))


def spec(**parts):
    return Weights.model_validate({"schema": "sharpbayes/weights/2", "title": "t"} | parts)


def test_weigh_equals_a_fresh_run_bit_for_bit(stored, fresh, altered):
    weighed = weigh(open_results(stored, whole=False), named_weights([str(altered)]))["altered"]
    further = [name for name in ("sample_size",) if name in fresh]
    for group in ("profile", "profile_interval", *TWINS, *further):
        xr.testing.assert_equal(weighed[group].to_dataset(), fresh[group].to_dataset())
    assert "admissible" in weighed["posterior_profile"]
    assert set(weighed) <= set(fresh)
    plain = open_results(stored)
    assert not plain["profile"]["cvar"].equals(fresh["profile"]["cvar"])


def test_weigh_under_the_same_weights_gives_the_same_numbers(stored):
    plain = open_results(stored)
    weighed = weigh(plain, named_weights(["sharp"]))["sharp"]
    for group in ("profile", "profile_interval", *TWINS):
        xr.testing.assert_equal(weighed[group].to_dataset(), plain[group].to_dataset())


def test_tail_levels_are_what_weigh_gives_at_another_alpha(stored, tmp_path):
    plain, path = open_results(stored), tmp_path / "alpha.toml"
    path.write_text(plain.attrs["weights"].replace("alpha = 0.95", "alpha = 0.9"), "utf-8")
    weighed = weigh(plain, named_weights([str(path)]))["alpha"]
    for levels, profile in (
        ("posterior_tail_levels", "posterior_profile"),
        ("validation", "profile"),
    ):
        levels_at = plain[levels].to_dataset().sel(alpha=0.9)
        worst = weighed[profile]["dimension_cvar"].max("dimension")
        np.testing.assert_array_equal(levels_at["alpha_cvar"], weighed[profile]["cvar"])
        np.testing.assert_array_equal(levels_at["alpha_worst_dimension"], worst)


@pytest.fixture(scope="module")
def by_equal(stored):
    """The stored fit under equal weights."""
    return weigh(open_results(stored), named_weights(["equal"]))


def test_swapping_weights_changes_no_digest(stored, fresh, by_equal):
    plain, weighed = open_results(stored), by_equal
    kept = ("data_sha256", "study_sha256", "model_sha256", "posterior_sha256", "seed")
    for name in kept:
        assert weighed.attrs[name] == plain.attrs[name] == fresh.attrs[name]
    assert dataset_digest(plain["posterior"].to_dataset()) == plain.attrs["posterior_sha256"]
    assert weighed["equal"].attrs["weights_sha256"] != plain.attrs["weights_sha256"]


def test_a_digest_tells_numbers_apart(stored):
    posterior = open_results(stored)["posterior"].to_dataset()
    other = posterior.copy(deep=True)
    other["sd_model_dimension"].values[0, 0] += 1e-12
    assert dataset_digest(other) != dataset_digest(posterior)


def test_the_posterior_profile_has_every_variable_of_the_profile(fresh):
    posterior, profile = fresh["posterior_profile"], fresh["profile"]
    assert set(profile.data_vars) == set(posterior.data_vars)
    for name in profile.data_vars:
        assert posterior[name].dims == ("chain", "draw", *profile[name].dims)
    summary = az.summary(posterior.to_dataset(), var_names=["cvar", "dimension_mean"])
    assert len(summary) == 4 + 16


def test_intervals_of_new_judges_are_wider_than_of_prompts_alone(fresh):
    first, judges = (fresh[name]["cvar"].std() for name in TWINS[:2])
    assert float(judges) > 0
    assert float(first) > 0
    assert fresh[TWINS[1]].attrs["sources"] == ["ratings", "judges"]
    assert "new effects" in fresh[TWINS[1]].attrs["interval_note"]


@pytest.mark.parametrize("name", names("weights"))
def test_every_shipped_weights_file_says_why_and_whence(name):
    written = load_weights(name).spec
    assert len(written.rationale) > 60
    assert len(written.source) > 30


DRAWS = np.array([[[1.0, 2.0, 4.0], [3.0, 2.0, 4.0]], [[1.0, 1.0, 4.0], [0.0, 2.0, 4.0]]])


def posterior_profile(**more):
    models = {"model": ["a", "b", "c"]}
    dims = ("chain", "draw", "model")
    tier = np.array([[[1, 1, 2], [2, 1, 2]], [[1, 1, 1], [1, 2, 3]]])
    return xr.Dataset({"cvar": (dims, DRAWS), "tier": (dims, tier), **more}, models)


def test_probabilities_and_losses_by_hand():
    table = decision(posterior_profile(), spec(), level=0.4)
    np.testing.assert_allclose(
        table["expected_loss"], [1 / 4, (1 + 0 + 0 + 2) / 4, (3 + 2 + 3 + 4) / 4]
    )
    np.testing.assert_allclose(table["prob_best"], [2.5 / 4, 1.5 / 4, 0])
    assert float(table["prob_less"].sel(model="a", other="b")) == 2.5 / 4
    assert float(table["prob_less"].sel(model="b", other="a")) == 1.5 / 4
    assert np.isnan(table["prob_less"].sel(model="a", other="a"))
    np.testing.assert_allclose(table["prob_tier"].sel(model="c"), [1 / 4, 2 / 4, 1 / 4])
    assert table["unresolved"].sel(model="a").values.tolist() == [False, True, False]
    assert table["selected"].values.tolist() == [True, False, False]
    assert np.isnan(table["prob_admissible"]).all()


@pytest.mark.parametrize(
    ("confidence", "selected"), [(0.5, "a"), (0.75, "a"), (0.9, "b"), (1.0, "")]
)
def test_a_choice_is_admissible_with_the_asked_confidence(confidence, selected):
    within = np.array([[[1, 1, 0], [0, 1, 0]], [[1, 1, 0], [1, 1, 0]]])
    if confidence == 1.0:
        within[0, 0, 1] = 0
    weights = spec(tolerance={"cvar": 2.5}, decision={"confidence": confidence})
    profile = posterior_profile(admissible=(("chain", "draw", "model"), within))
    table = decision(profile, weights, level=0.95)
    assert "".join(table["model"].values[table["selected"].values]) == selected


def test_nothing_is_decided_of_a_model_without_a_tail_risk():
    within = np.array([[[1, 0, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]])
    profile = posterior_profile(admissible=(("chain", "draw", "model"), within))
    profile["cvar"] = profile["cvar"].where(profile["model"] != "c")
    table = decision(profile, spec(tolerance={"cvar": 2.5}), level=0.95)
    assert table["verdict"].values.tolist() == ["admissible", "not admissible", "cannot tell"]
    assert np.isnan(table["prob_admissible"]).values.tolist() == [False, False, True]
    assert np.isnan(table["prob_less"].sel(model="c")).all()
    assert np.isnan(table["prob_less"].sel(other="c")).all()
    assert not table["selected"].sel(model="c")


def test_tiers_of_a_draw_by_hand():
    """Observed differences with half widths of 0.5, moved to the draw's own differences."""
    cvar = xr.DataArray([1.0, 2.0, 4.0], {"model": ["a", "b", "c"]}, "model")
    difference = (cvar - cvar.rename(model="other")).transpose("model", "other")
    interval = xr.concat([difference - 0.5, difference + 0.5], "bound").transpose(..., "bound")
    groups = {
        "profile": xr.Dataset({"cvar": cvar}),
        "profile_interval": xr.Dataset({"cvar_difference_joint": interval}),
    }
    profile = posterior_profile().drop_vars("tier")
    table = add_tiers(profile, groups, spec(tolerance={"cvar": 2.0}))
    assert table["tier"].values.tolist() == [[[1, 2, 3], [2, 1, 3]], [[1, 1, 2], [1, 2, 3]]]
    assert table["admissible"].values[0].tolist() == [[1, 1, 0], [0, 1, 0]]
    close = add_tiers(profile.assign(cvar=profile["cvar"] * 0.3), groups, spec())
    assert close["tier"].values[0, 0].tolist() == [1, 1, 2]


def test_a_loss_may_be_of_the_worst_dimension_or_the_policy():
    harm = xr.Dataset(
        {
            "dimension_cvar": (("model", "dimension"), [[0.1, 0.9], [0.5, 0.6]]),
            "policy_score": ("model", [0.3, 0.4]),
        }
    )
    worst = criterion(harm, spec(decision={"by": "worst_dimension"}))
    assert worst.values.tolist() == [0.9, 0.6]
    assert criterion(harm, spec(decision={"by": "policy_score"})).values.tolist() == [0.3, 0.4]


def test_monte_carlo_error_of_independent_draws_is_that_of_a_mean():
    x = xr.DataArray(np.random.default_rng(1).normal(2, 3, (4, 5000)), dims=("chain", "draw"))
    assert float(monte_carlo_error(x)) == pytest.approx(3 / np.sqrt(20000), rel=0.25)


def test_weights_that_do_not_suit_the_study_are_refused(stored, tmp_path):
    path = tmp_path / "w.toml"
    path.write_text(ALTERED.replace("coverage", "cover"), encoding="utf-8")
    with pytest.raises(SpecError, match="the study's parts are coverage, intensity"):
        weigh(open_results(stored), named_weights([str(path)]))


def test_two_files_of_one_name_are_refused(altered, tmp_path):
    other = tmp_path / "altered.toml"
    other.write_text(ALTERED, encoding="utf-8")
    with pytest.raises(SpecError, match="'altered' names two files"):
        named_weights([str(altered), str(other)])


def test_the_command_prints_and_writes_what_each_weighting_decides(stored, tmp_path):
    out = tmp_path / "weighed.nc"
    asked = ["--weights", "sharp", "--weights", "precautionary"]
    done = CliRunner().invoke(app, ["weigh", str(stored), *asked, "--out", str(out)])
    assert done.exit_code == 0, done.stderr
    assert "What each weighting decides" in done.stdout
    assert "status is not converged" in done.stderr
    # Every table says so: limits of the evidence, what each decides, models by weights, verdicts,
    # and further data and priors under each of the two.
    assert done.stdout.count("NOT CONVERGED") == 4 + 2 * 2
    assert max(map(len, done.stdout.splitlines())) <= 80
    weighed = open_results(out)
    assert set(weighed.children) == {"sharp", "precautionary"}
    xr.testing.assert_equal(
        weighed["sharp/decision"].to_dataset(), open_results(stored)["decision"].to_dataset()
    )


def test_json_of_weigh(stored, by_equal):
    done = CliRunner().invoke(app, ["weigh", str(stored), "--weights", "equal", "--json"])
    document = json.loads(done.stdout)
    entry = document["weights"]["equal"]
    wanted = by_equal["equal"]
    assert entry["profile"]["cvar"]["aster"] == float(wanted["profile"]["cvar"].sel(model="aster"))
    draws = wanted["posterior_profile"]["cvar"].sel(model="aster").to_numpy()
    assert entry["posterior_profile"]["cvar"]["aster"] == {
        "mean": pytest.approx(draws.mean()),
        "lower": pytest.approx(np.quantile(draws, 0.025)),
        "upper": pytest.approx(np.quantile(draws, 0.975)),
    }
    assert entry["decision"]["expected_loss"]["aster"] >= 0
    assert document["posterior_sha256"] == open_results(stored).attrs["posterior_sha256"]


def test_weights_that_are_not_there_exit_with_2(stored):
    done = CliRunner().invoke(app, ["weigh", str(stored), "--weights", "shrp"])
    assert done.exit_code == 2
    assert "did you mean 'sharp'" in done.stderr
