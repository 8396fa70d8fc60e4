"""A fit of prompts in clusters: terms of the model, weights of prompts, and what follows."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.errors import SpecError
from sharpbayes.library import find
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.sample_size import _unit_weights
from sharpbayes.spec.load import load, reload_study
from sharpbayes.spec.model import Model
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import weigh
from tests.analysis.test_clusters import ROLE, SCENARIOS, clustered
from tests.panels import files_of, frame

FEW = (
    *("sampler.chains=2", "sampler.tune=80", "sampler.draws=80", "sampler.predictive_draws=80"),
    "bootstrap.replicates=20",
)
JUDGE_SEVERITY = 'fit = "judge_severity"'
MODEL = """schema = "sharpbayes/model/2"
title = "Clusters"
[[location]]
by = ["model"]
[[location]]
by = ["cluster"]
[[location]]
by = ["prompt"]
"""


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """Fits of the same scores, of independent prompts and of clusters."""
    folder, table = tmp_path_factory.mktemp("fits"), clustered(models=2, variants=4)
    table = table[table["judge"] != "cat"]
    return [
        fit(files_of(folder / name, table, roles=role, panel=JUDGE_SEVERITY, overrides=FEW))
        for name, role in (("independent", ""), ("clusters", ROLE))
    ]


def test_a_model_has_a_term_of_clusters_for_each_of_prompts():
    model = load(find("models", "judge_panel"), Model).spec
    terms = model.with_clusters("prompt").location
    assert terms[: len(model.location)] == model.location
    added = terms[len(model.location) :]
    assert [term.by for term in added] == [
        ("cluster", "dimension"),
        ("model", "cluster", "dimension"),
    ]
    assert [term.correlated_over for term in added] == ["dimension", None]


def test_a_model_that_names_clusters_stays(tmp_path):
    (tmp_path / "own.toml").write_text(MODEL, encoding="utf-8")
    files = files_of(tmp_path, clustered(), roles=ROLE, panel='fit = "./own.toml"')
    assert [term.by for term in files.model.spec.location] == [
        ("model",),
        ("cluster",),
        ("prompt",),
    ]


def test_clusters_of_a_model_need_the_role(tmp_path):
    (tmp_path / "own.toml").write_text(MODEL, encoding="utf-8")
    with pytest.raises(
        SpecError, match="prompts and items have clusters where the study has a role `cluster`"
    ):
        files_of(tmp_path, clustered(), panel='fit = "./own.toml"')


@pytest.mark.parametrize("column", ["cluster", "category"])
def test_a_column_that_reverses_scores_has_no_name_of_a_role(tmp_path, column):
    table = frame().assign(**{column: "yes"})
    indicators = (
        f'other = {{ scale = "severity", column = "bias_a", reverse = {{ {column} = "yes" }} }}'
    )
    with pytest.raises(SpecError, match=f"results call the role `{column}` so; give this column"):
        files_of(tmp_path, table, indicators=indicators)
    own = files_of(tmp_path, table, indicators=indicators, roles=f', {column} = "{column}"')
    assert own.study.spec.panel.roles.model_dump()[column] == column


def test_effects_of_clusters_are_fitted(fits):
    independent, clusters = (results["posterior"] for results in fits)
    assert clusters["location_cluster"].sizes["cluster"] == SCENARIOS
    assert {"sd_cluster", "sd_model_cluster"} <= {*clusters.data_vars}
    assert "location_cluster" not in independent
    assert float(clusters["sd_cluster"].mean()) > float(clusters["sd_prompt"].mean())


def test_the_posterior_varies_as_clusters_do(fits):
    spreads = [
        results["posterior_profile"]["policy_score"].std(("chain", "draw")).mean()
        for results in fits
    ]
    assert float(spreads[1]) > 1.4 * float(spreads[0])
    of_clusters = fits[1]["panel"]["harm"].mean("dimension").groupby("cluster").mean("prompt")
    expected = of_clusters.std("cluster").mean() / SCENARIOS**0.5
    assert float(spreads[1]) == pytest.approx(float(expected), rel=0.35)


def test_prompts_of_a_cluster_have_one_weight_in_a_draw(fits):
    for results, is_one in zip(fits, (False, True), strict=True):
        context = RunContext(reload_study(results.attrs))
        groups = {str(name): node.to_dataset() for name, node in results.children.items()}
        draws = replicate_draws(groups, context.design, context.study)
        block = next(draws.blocks())
        weights = block.unit_weights(groups["posterior"]["prompt"], "prompt").to_numpy()
        np.testing.assert_allclose(weights.mean(axis=1), 1.0)
        scenario = [int(name[1:]) // 4 for name in groups["posterior"]["prompt"].to_numpy()]
        spread = [np.ptp(weights[:, np.array(scenario) == n], axis=1).max() for n in set(scenario)]
        assert (max(spread) == 0.0) == is_one


def test_larger_studies_weigh_clusters(fits):
    context = RunContext(reload_study(fits[1].attrs))
    groups = {str(name): node.to_dataset() for name, node in fits[1].children.items()}
    draws = replicate_draws(groups, context.design, context.study)
    codes = draws.cluster_units(xr.DataArray(np.zeros(SCENARIOS * 4), dims="prompt"), "prompt")
    weights = _unit_weights(draws, 0, 2, codes)
    assert weights.shape == (draws.shape[1], 2, SCENARIOS * 4)
    first = [list(codes).index(n) for n in range(SCENARIOS)]
    np.testing.assert_array_equal(weights, weights[..., first][..., codes])
    assert len(np.unique(weights[0, 0])) == SCENARIOS
    assert draws.cluster_units(xr.DataArray(np.zeros(7), dims="item"), "item").tolist() == [
        *range(7)
    ]


def test_weights_are_swapped_under_clusters(fits):
    [weighed] = weigh(fits[1], "precautionary").children.values()
    assert "posterior_profile" in weighed
    assert "clusters of prompts" in str(weighed["joint"].attrs)
