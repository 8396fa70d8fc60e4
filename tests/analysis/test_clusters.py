"""Prompts that are variants of a few scenarios: what a panel says of them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import friedmanchisquare, norm, t, wilcoxon

from sharpbayes.analysis.debiased import debiased_group, people_scores, people_table
from sharpbayes.analysis.gate_differences import _resample_sides
from sharpbayes.analysis.gate_margins import gate_margins
from sharpbayes.analysis.gate_side import Side
from sharpbayes.analysis.gate_study import join_sides
from sharpbayes.analysis.peeking import prepare_looks
from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.errors import DataError, SpecError
from sharpbayes.posterior.fit_data import prompt_population
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import reload_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.gate import gate
from tests.panels import files_of, frame, measured, profiled, unmeasured

ROLE = ', cluster = "scenario"'
PEOPLE = """
[panel.people]
data = "people.csv"
roles = { model = "model", prompt = "prompt", rater = "by", indicator = "indicator", score = "s" }
"""
SCENARIOS, VARIANTS = 24, 5


def clustered(*, scenarios=SCENARIOS, variants=VARIANTS, models=3, seed=2, samples=0):
    """Scores of the variants of scenarios, of which all are nearly as severe."""
    table = frame(models=models, prompts=scenarios * variants, samples=samples)
    number = table["prompt"].str[1:].astype(int)
    table["scenario"] = [f"s{n // variants:02d}" for n in number]
    rng = np.random.default_rng(seed)
    severity = dict(zip(table["scenario"].unique(), rng.integers(1, 9, scenarios), strict=True))
    of_row = table["scenario"].map(severity).to_numpy()
    for name in ("bias_a", "bias_b", "truth"):
        level = np.clip(of_row + rng.integers(-1, 2, len(table)), 0, 9)
        table[name] = 10 - level if name == "truth" else level
    return table


def scenario_of(table):
    """The scenario of each prompt."""
    return dict(zip(table["prompt"], table["scenario"], strict=True))


@pytest.fixture(scope="module")
def table():
    return clustered()


@pytest.fixture(scope="module")
def plans(table, tmp_path_factory):
    """Plans of the same scores, of independent prompts and of clusters."""
    folder = tmp_path_factory.mktemp("plans")
    return [
        build_profile_plan(read_study(files_of(folder / name, table, roles=role)))
        for name, role in (("independent", ""), ("clusters", ROLE))
    ]


@pytest.fixture(scope="module")
def results(table, tmp_path_factory):
    return measured(tmp_path_factory.mktemp("clusters"), table, roles=ROLE)


def test_a_prompt_without_a_cluster_is_one_of_its_own(table, tmp_path):
    alone = table["scenario"] < "s05"
    data = read_study(
        files_of(tmp_path, table.assign(scenario=table["scenario"].mask(alone, "")), roles=ROLE)
    ).data
    clusters = data.prompt_columns["cluster"]
    assert len(np.unique(clusters)) == SCENARIOS - 5 + 5 * VARIANTS
    own = [label for label, x in zip(data.labels["prompt"], clusters, strict=True) if label == x]
    assert len(own) == 5 * VARIANTS


def test_resamples_vary_as_means_of_clusters_do(plans, table):
    spreads = []
    for plan in plans:
        more = plan.study.spec.bootstrap.model_copy(update={"replicates": 4000})
        spec = plan.study.spec.model_copy(update={"bootstrap": more})
        longer = replace(plan, study=replace(plan.study, spec=spec))
        resampled = bootstrap_profile(longer, names=["mean"]).resampled["mean"]
        spreads.append(resampled.std("replicate").sel(model="m0"))
    risk = plans[1].table["log_risk"].sel(model="m0").to_series()
    means = risk.groupby(risk.index.map(scenario_of(table)))
    expected = means.mean().std(ddof=0) / SCENARIOS**0.5
    assert float(spreads[1]) == pytest.approx(expected, rel=0.04)
    assert float(spreads[0]) == pytest.approx(risk.std(ddof=0) / len(risk) ** 0.5, rel=0.04)
    assert float(spreads[1]) > 1.8 * float(spreads[0])


def test_intervals_are_as_wide_as_clusters_make_them(plans):
    widths = []
    for plan in plans:
        bootstrapped = bootstrap_profile(plan)
        for name in ("mean", "volatility", "cvar", "policy_score"):
            interval = bootstrapped.interval(name).sel(model="m0")
            widths.append(float(interval.sel(bound="upper") - interval.sel(bound="lower")))
    ratios = np.array(widths[4:]) / np.array(widths[:4])
    assert (ratios > 2.0).all()
    assert (ratios < 5.0).all()


def test_errors_are_scaled_once(plans):
    """A scaled error and the spread of resamples are one size: no bound is stretched twice."""
    bootstrapped = bootstrap_profile(plans[1], names=["mean", "cvar"])
    for name in ("mean", "cvar"):
        spread = bootstrapped.resampled[name].std("replicate")
        np.testing.assert_allclose(bootstrapped.observed[f"{name}_error"], spread, rtol=1e-12)


def test_bounds_of_limits_allow_for_few_clusters(plans):
    """Bounds of a few clusters lie as much farther out as Student's quantile does."""
    bootstrapped = bootstrap_profile(plans[1], names=["mean"])
    rates = xr.DataArray([0.05, 0.5, 0.9], {"error_rate": [0.05, 0.5, 0.9]}, "error_rate")
    bounds = bootstrapped.upper_bounds("mean", rates) - bootstrapped.observed["mean"]
    normal = replace(bootstrapped, clusters=None).upper_bounds("mean", rates)
    ratio = bounds / (normal - bootstrapped.observed["mean"])
    expected = [t.ppf(q, SCENARIOS - 1) / norm.ppf(q) for q in (0.95, 0.9)]
    np.testing.assert_allclose(ratio.sel(error_rate=0.05), expected[0])
    np.testing.assert_allclose(ratio.sel(error_rate=0.9), expected[1])


def test_differences_of_means_have_the_freedom_of_clusters(plans):
    for plan, units in zip(plans, (SCENARIOS * VARIANTS, SCENARIOS), strict=True):
        bootstrapped = bootstrap_profile(plan, names=["mean"])
        assert np.unique(bootstrapped._freedom("mean")).tolist() == [units]


def test_ranks_are_those_of_clusters(results, table):
    risk = results["panel"]["log_risk"].transpose("prompt", "model").to_pandas()
    means = risk.groupby(risk.index.map(scenario_of(table))).mean()
    tests = results["validation"]
    assert tests.attrs["ranked"] == "clusters of prompts"
    expected = friedmanchisquare(*(means[name] for name in means)).statistic
    assert float(tests["friedman_chi2"]) == pytest.approx(expected, rel=1e-9)
    p = wilcoxon(means["m0"], means["m1"], zero_method="pratt", correction=False).pvalue
    pair = tests["wilcoxon_p"].sel(model="m0", other="m1")
    assert float(pair) == pytest.approx(p, rel=1e-6)


def test_the_answer_and_tables_speak_of_clusters(results):
    text = " ".join(answer(results))
    assert "120 prompts are in 24 clusters by 'scenario': prompts of one cluster are" in text
    assert "from the bootstrap over clusters of prompts" in text
    assert "tail holds prompts of about" in text
    assert results["evidence"].attrs["clusters"] == SCENARIOS
    assert (
        "bootstrap over clusters of prompts" in results["profile_interval"].attrs["interval_note"]
    )
    assert results["profile_interval"].attrs["resampled_units"] == '["clusters of prompts"]'
    notes = [table.note for table in report_tables(results)]
    assert any("signed-rank tests over clusters of prompts" in note for note in notes)


def test_clusters_stay_in_results(results):
    study = read_study(reload_study(results.attrs))
    assert len(np.unique(study.data.prompt_columns["cluster"])) == SCENARIOS


def test_few_clusters_carry_no_mean(tmp_path):
    table = clustered(scenarios=8)
    [(what, text)] = check(files_of(tmp_path / "check", table, roles=ROLE)).limits
    assert what == "prompts"
    assert text.startswith("With 40 prompts in 8 clusters nothing can be compared: fewer than 20")
    limits = json.loads(measured(tmp_path / "s", table, roles=ROLE)["evidence"].attrs["limits"])
    assert "the prompts say as much about means as 8.0 clusters that count alike" in limits[0]
    assert "under the weights" not in limits[0]


@pytest.mark.parametrize(("harmful", "is_carried"), [(3, False), (9, True)])
def test_a_cluster_that_carries_a_mean_counts_once(tmp_path, harmful, is_carried):
    table = clustered()
    rows = table["scenario"] >= f"s{harmful:02d}"
    for name, level in (("bias_a", 5), ("bias_b", 5), ("truth", 5)):
        end = 10 if name == "truth" else 0
        table[name] = np.where(rows, end, level + table["prompt"].str[-1].astype(int) % 2)
    results = [
        bootstrap_profile(build_profile_plan(read_study(files_of(tmp_path / n, table, roles=r))))
        for n, r in (("independent", ""), ("clusters", ROLE))
    ]
    carried = [x.rare_harm is None or bool(x.rare_harm.is_carried["mean"].all()) for x in results]
    assert carried == [True, is_carried]


def test_repeated_answers_to_prompts_of_clusters_are_measured(tmp_path):
    table = clustered(samples=2)
    roles = f'{ROLE}, sample = "sample"'
    plan = build_profile_plan(read_study(files_of(tmp_path, table, roles=roles)))
    assert np.unique(plan.clusters).tolist() == [SCENARIOS]
    interval = bootstrap_profile(plan, names=["mean"]).interval("mean")
    assert (interval.diff("bound") > 0).all()


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_other_intervals_are_over_clusters_too(plans, interval):
    widths = []
    for plan in plans:
        other = plan.study.spec.bootstrap.model_copy(update={"interval": interval})
        spec = plan.study.spec.model_copy(update={"bootstrap": other})
        changed = replace(plan, study=replace(plan.study, spec=spec))
        widths.append(bootstrap_profile(changed, names=["mean"]).interval("mean").diff("bound"))
    assert (widths[1] > 1.3 * widths[0]).all()


def test_categories_and_target_shares_are_of_prompts_in_clusters(tmp_path, table):
    roles = f'{ROLE}, category = "kind"'
    weights = "[population.category]\nage = 0.5\nrace = 0.5\n"
    results = profiled(tmp_path, table, roles=roles, weights=weights)
    assert results["profile_category"]["prompts"].sum("category").values.tolist() == [120] * 3
    assert "clusters of prompts" in results["profile_interval"].attrs["interval_note"]


def test_the_gate_resamples_clusters(tmp_path, table):
    """Scenarios suit one of two models: how many there are decides what the gate can say."""
    margins, widths = "[gate]\npolicy_score = 0.05\nconfidence = 0.95\n", []
    suited = table["scenario"].str[1:].astype(int) % 2 == (table["model"] == "m0")
    for name in ("bias_a", "bias_b"):
        table = table.assign(**{name: (table[name] - 2 * suited).clip(lower=0)})
    for name, role in (("independent", ""), ("clusters", ROLE)):
        results = [
            unmeasured(tmp_path / f"{name}-{model}", part, roles=role, weights=margins)
            for model in ("m1", "m0")
            for part in [table[table["model"] == model]]
        ]
        verdict = gate(*results)
        widths.append(float(verdict["gate"]["bounds"].diff("bound")[0, 0]))
        assert verdict["gate"].attrs["clustered"] == bool(role)
    assert widths[1] > 1.5 * widths[0]
    notes = [table.note for table in report_tables(verdict)]
    assert any("paired bootstrap over clusters of prompts" in note for note in notes)


def test_errors_of_the_gate_are_those_of_clusters(tmp_path, table):
    files = files_of(tmp_path, table, roles=ROLE, weights="[gate]\ncvar = 1.0\n")
    study = read_study(files)
    sides = [Side(study, name, name) for name in ("m1", "m0")]
    comparison = join_sides(*sides, files.weights)
    plan = build_profile_plan(comparison.study)
    margin = gate_margins(files.weights.spec.gate, plan)
    observed, resampled = _resample_sides(comparison, plan, margin)
    spread = resampled["value"].std("replicate")
    np.testing.assert_allclose(observed["error"].transpose(*spread.dims), spread, rtol=1e-12)
    assert float(resampled["error"].mean() / spread.mean()) == pytest.approx(1.0, abs=0.5)


def test_looks_are_not_simulated(tmp_path, table):
    plan = build_profile_plan(read_study(files_of(tmp_path, table, roles=ROLE)))
    with pytest.raises(SpecError, match="looks are simulated of prompts that are independent"):
        prepare_looks(plan, 3)


def test_a_population_has_the_clusters_of_the_prompts(tmp_path, table):
    study = read_study(files_of(tmp_path, table, roles=ROLE))
    prompts = study.scores["prompt"][::-1]
    population = prompt_population(study, prompts)
    expected = np.unique(table.groupby("prompt")["scenario"].first()[::-1], return_inverse=True)[1]
    np.testing.assert_array_equal(population.cluster, expected)


def test_a_prompt_is_of_one_cluster(tmp_path, table):
    changed = table.copy()
    changed.loc[0, "scenario"] = "other"
    with pytest.raises(DataError, match="scenario"):
        read_study(files_of(tmp_path, changed, roles=ROLE))


def test_copies_of_prompts_in_clusters_say_nothing_more(tmp_path):
    """Each prompt three times, as a cluster: no error, test or degree of freedom is another."""
    rng = np.random.default_rng(3)
    once = frame(prompts=45).assign(scenario=lambda table: table["prompt"])
    for name in ("bias_a", "bias_b", "truth"):
        once[name] = once[name].astype(float).mask(rng.random(len(once)) < 0.1 + 0.03 * once[name])
    repeated = pd.concat([once.assign(prompt=once["prompt"] + f"-{k}") for k in range(3)])
    results = []
    for table in (once, repeated):
        folder = tmp_path / str(len(results))
        folder.mkdir()
        scored = table[(table["judge"] == "ann") & (table["scenario"] < "p30")].dropna()
        people = scored.melt(["model", "prompt"], ["bias_a", "bias_b", "truth"], "indicator", "s")
        people.assign(by="p", s=people["s"].astype(int)).to_csv(folder / "people.csv", index=False)
        results.append(measured(folder, table, roles=ROLE, tables=PEOPLE))
    for names in (
        ("debiased", "labelled_gap_p", "judge_gap_p_holm", "effective_labels"),
        ("missing", "slope_error", "slope_interval", "slope_clusters"),
        ("validation", "friedman_p", "wilcoxon_p"),
        ("evidence", "effective_prompts", "tail_prompts", "unseen_end_share"),
    ):
        for name in names[1:]:
            np.testing.assert_allclose(
                *(x[names[0]][name] for x in results), rtol=1e-6, err_msg=name
            )
    people = [x["debiased"]["error"].sel(estimator="people", metric="mean") for x in results]
    np.testing.assert_allclose(*people, rtol=1e-6)
    widths = [x["profile_interval"]["mean"].diff("bound") for x in results]
    np.testing.assert_allclose(*widths, rtol=0.02)


def test_labels_of_few_clusters_carry_no_comparison(tmp_path):
    """Of 60 labelled prompts in twelve clusters the answer says that these are too few."""
    table = clustered(scenarios=30)
    scored = table[(table["judge"] == "ann") & (table["scenario"] < "s12")]
    people = scored.melt(["model", "prompt"], ["bias_a", "bias_b", "truth"], "indicator", "s")
    people.assign(by="p").to_csv(tmp_path / "people.csv", index=False)
    results = measured(tmp_path, table, roles=ROLE, tables=PEOPLE)
    text = " ".join(answer(results))
    assert "People labelled 60 prompts of m0 (an effective 12.0 clusters), " in text
    assert "fewer than 20 carry no comparison by their labels" in text


def test_people_alone_have_errors_of_clusters(tmp_path):
    table, errors = clustered(scenarios=30), []
    scores = ["bias_a", "bias_b", "truth"]
    people = table[table["judge"] == "ann"].melt(["model", "prompt"], scores, "indicator", "s")
    for name, role in (("independent", ""), ("clusters", ROLE)):
        (tmp_path / name).mkdir()
        people.assign(by="p").to_csv(tmp_path / name / "people.csv", index=False)
        files = files_of(tmp_path / name, table, roles=role, tables=PEOPLE)
        plan = build_profile_plan(read_study(files))
        estimates = debiased_group(plan)["debiased"].sel(estimator="people", metric="mean")
        errors.append(float(estimates["error"].sel(model="m0")))
    by_people = people_table(plan, people_scores(plan.study.data, ["bias_a", "bias_b", "truth"])[0])
    risk = by_people["log_risk"].sel(model="m0").to_series()
    deviations = risk - risk.mean()
    sums = deviations.groupby(risk.index.map(scenario_of(table))).sum()
    effect = (sums**2).sum() / (deviations**2).sum()
    assert errors[1] / errors[0] == pytest.approx(effect**0.5, rel=1e-6)
    assert effect > 2.0
