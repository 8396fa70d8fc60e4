"""The variance of latent severity: of each term by NumPy, and in the results of a panel."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.library import folder
from sharpbayes.posterior.variance_components import latent_variances
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from tests.bayes.conftest import model_of, panel_ratings
from tests.bayes.design.test_repeats import repeated
from tests.posterior.test_judge_bias import made_up


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(3)
    ratings = repeated(panel_ratings(rng), sample=2, trial=2)
    design = build_design(ratings, load(folder("models") / "judge_trials.toml", Model).spec)
    return ratings, design, made_up(design, rng)


def draws_of(posterior, name):
    return posterior[name].stack(replicate=("chain", "draw"), create_index=False)


def test_a_component_is_the_variance_of_the_effects_of_its_term(parts):
    ratings, design, posterior = parts
    table = latent_variances(posterior, design, ratings, level=0.9)
    cell = "judge_model_prompt_sample_dimension"
    for component, stem in (
        ("model", "model_dimension"),
        ("prompt", "prompt_dimension"),
        ("model x prompt", "model_prompt_dimension"),
        ("generation", "model_prompt_sample_dimension"),
        ("judge", "judge_dimension"),
        ("judge x answer", cell),
    ):
        effects = draws_of(posterior, f"location_{stem}")
        over = [dim for dim in effects.dims if dim not in ("replicate", "dimension")]
        wanted = effects.var(over, ddof=1)
        row = table.sel(component=component)
        np.testing.assert_allclose(row["latent_variance"], wanted.median("replicate"))
        np.testing.assert_allclose(
            row["latent_variance_interval"].T, wanted.quantile([0.05, 0.95], "replicate")
        )


def test_the_noise_of_a_rating_follows_the_discrimination(parts):
    ratings, design, posterior = parts
    table = latent_variances(posterior, design, ratings, level=0.9)
    factor = draws_of(posterior, "discrimination_indicator")
    dimension, indicator = (ratings.factors[name] for name in ("dimension", "indicator"))
    for code, label in enumerate(dimension.labels):
        of = indicator.codes[dimension.codes == code]
        noise = np.pi**2 / 3 * (factor.isel(indicator=of) ** -2.0).mean("indicator")
        np.testing.assert_allclose(
            table["latent_variance"].sel(component="trial", dimension=label),
            noise.median("replicate"),
        )


def test_shares_add_up_to_1_in_every_draw(parts):
    ratings, design, posterior = parts
    one = posterior.isel(chain=[0], draw=[0])
    table = latent_variances(one, design, ratings, level=0.9)
    np.testing.assert_allclose(table["latent_share"].sum("component"), 1.0)


def test_other_terms_are_components_of_their_own(parts):
    ratings, *_ = parts
    model = model_of(("indicator",), ("indicator", "model"), ("judge", "model"), link="probit")
    design = build_design(ratings, model)
    posterior = made_up(design, np.random.default_rng(4))
    table = latent_variances(posterior, design, ratings, level=0.9)
    names = table["component"].to_numpy().tolist()
    assert names[-2:] == ["indicator", "indicator x model"]
    known = table["latent_variance"].notnull().all("dimension")
    kept = table["component"].to_numpy()[known.to_numpy()].tolist()
    assert kept == ["judge x answer", "trial", "indicator", "indicator x model"]
    noise = table["latent_variance"].sel(component="trial")
    np.testing.assert_allclose(noise, 1.0)
    assert isinstance(table, xr.Dataset)
