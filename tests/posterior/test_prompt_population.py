"""What the posterior of a panel takes for the population of its prompts."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.prompt_population import PRIOR_PROMPTS, prompt_population
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import weigh
from tests.panels import files_of, frame

OF_KIND, FITTED = ', category = "kind"', 'fit = "judge_severity"'
SHORT = (
    "sampler.chains=2",
    "sampler.draws=100",
    "sampler.tune=200",
    "sampler.predictive_draws=80",
    'uncertainty=["ratings", "prompts"]',
)
SHARES = """[population.category]
age = {age}
race = {race}
"""


def population_of(folder, table, prompts, **parts):
    study = RunContext(files_of(folder, table, **parts)).study
    return prompt_population(study, xr.DataArray(prompts, dims="prompt"))


def test_prompts_are_of_their_categories_in_any_order(tmp_path):
    population = population_of(tmp_path, frame(), ["p01", "p00", "p03", "p02"], roles=OF_KIND)
    np.testing.assert_array_equal(population.category, [1, 0, 0, 1])
    assert population.new_share == PRIOR_PROMPTS / (PRIOR_PROMPTS + 4)
    population = population_of(tmp_path, frame(), ["p01", "p00"])
    np.testing.assert_array_equal(population.category, [0, 0])


def test_every_prompt_is_new_where_a_model_lacks_some(tmp_path):
    table = frame()
    lacks = (table["model"] == "m1") & (table["prompt"] > "p05")
    assert population_of(tmp_path, table[~lacks], ["p00", "p01"]).new_share == 1.0


def test_draws_of_a_fit_know_the_population_of_its_prompts(tmp_path):
    context = RunContext(files_of(tmp_path, frame(), roles=OF_KIND, panel=FITTED))
    prompts = context.design.coords["prompt"]
    coords = {"chain": [0], "draw": [0], "prompt": list(prompts)}
    groups = {name: xr.Dataset(coords=coords) for name in ("posterior", "posterior_predictive")}
    draws = replicate_draws(groups, context.design, context.study)
    np.testing.assert_array_equal(
        draws.population.category, [int(prompt[1:]) % 3 > 0 for prompt in prompts]
    )


@pytest.fixture(scope="module")
def severe_race(tmp_path_factory):
    """A fit of a panel in which prompts of one category are far more severe than the others."""
    table = frame(models=2, prompts=24, seed=4)
    for name in ("bias_a", "bias_b", "truth"):
        level = np.where(table["kind"] == "race", 8, 1) + table[name] % 3 - 1
        table[name] = 10 - level if name == "truth" else level
    folder = tmp_path_factory.mktemp("race")
    parts = {"roles": OF_KIND, "panel": FITTED}
    for name, (age, race) in {"mild": (0.9, 0.1), "severe": (0.1, 0.9)}.items():
        text = SHARES.format(age=age, race=race)
        (folder / f"{name}.toml").write_text(
            f'schema = "sharpbayes/weights/2"\ntitle = "Shares"\n{text}', encoding="utf-8"
        )
    return folder, fit(files_of(folder, table, overrides=SHORT, **parts))


@pytest.mark.slow
def test_the_posterior_of_a_target_population_is_of_its_shares(severe_race):
    folder, results = severe_race
    weighed = weigh(results, [folder / "mild.toml", folder / "severe.toml"])
    medians = []
    for name in ("mild", "severe"):
        joint = weighed[f"{name}/joint"].to_dataset().sel(metric="policy_score")
        np.testing.assert_allclose(joint["posterior_median"], joint["observed"], atol=0.08)
        medians.append(joint["posterior_median"].to_numpy())
    assert (medians[1] - medians[0] > 0.3).all()
