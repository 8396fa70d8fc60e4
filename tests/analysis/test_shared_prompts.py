"""Two models are compared on the prompts of both, and all pairs at once."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.shared_prompts import find_prompt_sets
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.stats.resampling import bootstrap
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.weighed import MODEL_TABLES
from sharpbayes.spec.load import reload_study
from sharpbayes.spec.study import Bootstrap
from sharpbayes.workflows.history import build_history
from sharpbayes.workflows.weigh import weigh
from tests.panels import frame, measured, profiled

ORDERS = "The observed order under each weighting"


def compared(table, *, name="cvar"):
    """Observed differences of a metric and the prompts of each pair."""
    intervals = table["profile_interval"].to_dataset()
    return intervals[f"{name}_difference_observed"], intervals["shared_prompts"]


def without(table, model, prompts):
    """A panel file in which a model has none of these prompts."""
    return table[~((table["model"] == model) & table["prompt"].isin(prompts))]


def test_a_pair_is_compared_on_the_prompts_of_both(tmp_path):
    table = frame(prompts=60)
    prompts = sorted(table["prompt"].unique())
    results = measured(tmp_path, without(table, "m0", prompts[:25]))
    difference, shared = compared(results)
    assert shared.sel(model="m0").values.tolist() == [35, 35, 35]
    assert int(shared.sel(model="m1", other="m2")) == 60
    risk = results["panel"]["log_risk"].sel(prompt=prompts[25:])
    cvar = conditional_value_at_risk(risk, alpha=0.95, estimator="inclusive")
    expected = float(cvar.sel(model="m0") - cvar.sel(model="m1"))
    assert float(difference.sel(model="m0", other="m1")) == pytest.approx(expected, abs=1e-12)
    own = results["profile"]["cvar"]
    plain = float(own.sel(model="m1") - own.sel(model="m2"))
    assert float(difference.sel(model="m1", other="m2")) == pytest.approx(plain, abs=1e-12)
    remark = json.loads(results["evidence"].attrs["remarks"])[-1]
    assert remark.startswith("Models do not have the same prompts: m0 and m1 share 35 of 60.")


def test_intervals_of_a_pair_are_those_of_a_study_of_its_prompts(tmp_path):
    """Resampling prompts of which one model has none changes nothing but the draw."""
    table = frame(models=2, prompts=400)
    prompts = sorted(table["prompt"].unique())[:100]
    whole = profiled(tmp_path / "one", without(table, "m0", prompts))["profile_interval"]
    part = table[~table["prompt"].isin(prompts)]
    alone = profiled(tmp_path / "two", part)["profile_interval"]
    for name in ("mean", "policy_score"):
        one, other = (
            x[f"{name}_difference"].sel(model="m0", other="m1").values for x in (whole, alone)
        )
        assert np.ptp(one) == pytest.approx(np.ptp(other), rel=0.35)
        assert one.mean() == pytest.approx(other.mean(), abs=1e-9)


def test_models_that_share_few_prompts_are_compared_on_their_own(tmp_path):
    table = frame(models=2, prompts=60)
    prompts = sorted(table["prompt"].unique())
    apart = without(without(table, "m0", prompts[:30]), "m1", prompts[40:])
    results = profiled(tmp_path, apart)
    difference, shared = compared(results)
    assert int(shared.sel(model="m0", other="m1")) == 10 < MIN_PROMPTS
    own = results["profile"]["cvar"]
    plain = float(own.sel(model="m0") - own.sel(model="m1"))
    assert float(difference.sel(model="m0", other="m1")) == pytest.approx(plain, abs=1e-12)


def test_without_missing_prompts_nothing_is_computed_twice():
    risk = xr.DataArray(np.ones((2, 5)), {"model": ["a", "b"]}, ("model", "prompt"))
    assert find_prompt_sets(risk) is None
    assert find_prompt_sets(risk.where(xr.DataArray([1, 0, 1, 1, 1], dims="prompt"))) is None


def easier_prompts():
    """A panel in which m0 is the worst on every prompt, and has only the easier half of them."""
    table = frame(models=3, prompts=200, seed=8)
    prompts = sorted(table["prompt"].unique())
    # Prompts vary, so that no tail is one value.
    levels = 8 * np.arange(200) // 200 + np.random.default_rng(2).integers(0, 2, 200)
    level = table["prompt"].map(dict(zip(prompts, levels, strict=True)))
    for name in ("bias_a", "bias_b"):
        table[name] = level + (table["model"] == "m0")
    table["truth"] = 10 - table["bias_a"]
    return without(table, "m0", prompts[100:])


BY_POLICY = '[decision]\nby = "policy_score"\n'


def test_a_model_of_easier_prompts_is_not_called_the_lowest(tmp_path):
    results = measured(tmp_path, easier_prompts())
    difference, _ = compared(results, name="mean")
    assert (difference.sel(model="m0").drop_sel(other="m0") > 0).all()
    assert results["profile"]["mean"].idxmin("model").item() == "m0"
    limits = " ".join(json.loads(results["evidence"].attrs["limits"]))
    assert "m0 has the lowest CVaR 95 of all prompts, but not on the 100 prompts" in limits
    assert "lowest" not in json.loads(results["evidence"].attrs["carried"])
    assert "the mean can be compared" not in limits


def test_a_score_that_depends_on_the_prompts_of_a_model_decides_nothing(tmp_path):
    results = measured(tmp_path, easier_prompts(), weights=BY_POLICY)
    [alike, first, *others] = answer(results)
    assert alike.startswith("Judges ann, bob and cat give the same score in all of what two of")
    assert first.startswith(
        "On the policy score the order depends on which prompts a model has, so that it decides "
        "nothing: m0 has the lowest policy score, "
    )
    assert first.endswith(", and a higher one than m1 and m2 on the prompts of both.")
    assert not any("has the lowest policy score" in sentence for sentence in others)
    # The same ratings of prompts that all models have name the other models.
    shared = measured(tmp_path / "shared", table_of_shared(easier_prompts()), weights=BY_POLICY)
    assert answer(shared)[1].startswith("The weights decide by the policy score: m1 ")


def table_of_shared(table):
    """The rows of the prompts that m0 has."""
    return table[table["prompt"].isin(table["prompt"][table["model"] == "m0"])]


def test_a_pair_in_another_order_on_its_own_prompts_is_named(tmp_path):
    table = easier_prompts()
    best = table[table["model"] == "m1"].assign(model="best", bias_a=0, bias_b=0, truth=10)
    results = measured(tmp_path, pd.concat([table, best]))
    remarks = " ".join(json.loads(results["evidence"].attrs["remarks"]))
    assert (
        "The order by CVaR 95 depends on which prompts a model has: on those of both, m0 lies "
        "above m1, m0 lies above m2."
    ) in remarks
    tier = results["profile"]["tier"]
    assert tier.sel(model=["best", "m0", "m1", "m2"]).values.tolist() == [1, 2, 2, 2]
    [shown] = [part for part in report_tables(results) if part.title.startswith("Section 3.3")]
    assert "m0 > m1, m0 > m2" in str(shown.rows)


def test_a_tolerance_is_not_kept_by_easier_prompts_alone(tmp_path):
    limits = "[tolerance]\npolicy_score = 0.4\nconfidence = 0.9\n"
    results = measured(tmp_path, easier_prompts(), weights=limits)
    group = results["tolerance"].to_dataset().sel(threshold="policy_score")
    assert float(group["bounds"].sel(model="m0", bound="upper")) < 0.4
    policy = results["panel"]["harm"].mean("dimension").sel(model="m1")
    own = policy.where(np.isfinite(results["panel"]["log_risk"].sel(model="m0")))
    shift = float(policy.mean() - own.mean())
    assert float(group["other_prompts_shift"].sel(model="m0")) == pytest.approx(shift, abs=0.01)
    assert group["other_prompts_shift"].sel(model="m1").item() == 0.0
    assert group["verdict"].sel(model="m0").item() == "cannot tell"
    said = " ".join(answer(results))
    assert (
        "the evidence cannot tell. By its own prompts m0 would keep it. The other models are "
        "higher on the prompts that it lacks."
    ) in said


@pytest.mark.slow
def test_means_of_equal_models_are_seldom_distinguishable():
    """Six equal models: the lowest is set apart in about 5% of studies, not in two fifths."""
    rng, claims, studies = np.random.default_rng(20261124), [], 200
    spec = Bootstrap(replicates=300, level=0.95)
    for study in range(studies):
        prompt = rng.gamma(0.6, 0.5, (1, 60))
        risk = xr.DataArray(
            prompt * rng.lognormal(0, 0.6, (6, 60)),
            {"model": [*"abcdef"]},
            ("model", "prompt"),
        )
        units = {"units": "nat"}

        def mean(counts=None, risk=risk, units=units):
            values = risk.mean("prompt")
            if counts is not None:
                values = xr.dot(risk, counts.astype(float), dim="prompt") / counts.sum("prompt")
            return xr.Dataset({"mean": values.assign_attrs(units)})

        resampled = bootstrap(
            mean, risk["prompt"], replicates=300, seed=study, dim="prompt", block=300
        )
        boot = BootstrappedProfile(
            mean(),
            resampled,
            None,
            prompts=risk.count("prompt"),
            fewest_prompts=risk.count("prompt"),
            tail_prompts=0.05 * risk.count("prompt"),
            alpha=0.95,
            ceiling=99.0,
            bootstrap=spec,
        )
        differences = boot.compare_models("mean")
        lowest = int(mean()["mean"].values.argmin())
        claims.append(
            [
                bool((differences[f"mean_difference{end}"][lowest].sel(bound="upper") < 0).any())
                for end in ("", "_joint")
            ]
        )
    alone, joint = np.mean(claims, axis=0)
    assert alone > 0.2
    assert joint < 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_answers_that_nobody_scored_make_no_judges_unequal(tmp_path):
    """Shares are those of the scored answers, and the sentence says so."""
    table = frame(models=3, prompts=200, seed=8)
    scores = ["bias_a", "bias_b", "truth"]
    table[scores] = table[scores].astype(object)
    of_m2 = table["model"] == "m2"
    unscored = of_m2 & table["prompt"].isin(sorted(table["prompt"].unique())[:100])
    table.loc[unscored, scores] = ""
    results = measured(tmp_path, table)
    assert bool((results["evidence"]["judge_share"] == 1.0).all())
    assert "same judges" not in results["evidence"].attrs["limits"]
    table.loc[of_m2 & (table["judge"] == "ann"), scores] = ""
    limits = measured(tmp_path, table)["evidence"].attrs["limits"]
    assert "ann scored 100% of the scored answers of m0 and 0% of those of m2." in limits


def test_models_of_other_judges_are_not_compared(tmp_path):
    """A harsh judge who scored one model alone does not decide which model is lowest."""
    table = frame(models=3, prompts=200, seed=8)
    harsh = table[(table["model"] == "m0") & (table["judge"] == "ann")].assign(judge="harsh")
    harsh[["bias_a", "bias_b"]] = 10
    results = measured(tmp_path, pd.concat([table, harsh]))
    limits = " ".join(json.loads(results["evidence"].attrs["limits"]))
    assert (
        "Models were not scored by the same judges: harsh scored 100% of the scored answers of m0 "
        "and 0% of those of m1."
    ) in limits
    assert json.loads(results["evidence"].attrs["carried"]) == ["admissible"]
    text = " ".join(answer(results))
    assert "can be compared" not in text
    assert "The values of each model are those of its own judges" in text
    assert "lowest CVaR 95, " not in text
    assert "is lowest" not in text
    choices = build_history({"may": results, "june": results})["history"]["choice"]
    assert set(choices.to_numpy()) == {"cannot tell"}
    weighed = View(weigh(results, {"same": reload_study(results.attrs).weights}))
    [orders] = [table for table in MODEL_TABLES if table.title == ORDERS]
    assert [row["lowest"] for row in orders.rows(weighed)] == ["cannot tell"]


@pytest.mark.slow
def test_easier_prompts_seldom_keep_a_limit_that_all_prompts_exceed(tmp_path):
    """Two models of one law; m0 lacks the harder half, the limit is its value on all prompts."""
    rng, kept, kept_by_own = np.random.default_rng(20261126), 0, 0
    for study in range(40):
        table = frame(models=2, prompts=160, seed=study)
        prompts = sorted(table["prompt"].unique())
        difficulty = dict(zip(prompts, np.sort(rng.normal(0, 2, 160)), strict=True))
        noise = rng.normal(0, 1, len(table))
        level = np.clip(np.round(3.5 + table["prompt"].map(difficulty) + noise), 0, 9).astype(int)
        table = table.assign(bias_a=level, bias_b=level, truth=10 - level)
        limit = float(measured(tmp_path / f"all{study}", table)["profile"]["policy_score"][0])
        weights = f"[tolerance]\npolicy_score = {limit}\nconfidence = 0.95\n"
        easier = without(table, "m0", prompts[80:])
        group = measured(tmp_path / f"half{study}", easier, weights=weights)["tolerance"]
        kept += group["verdict"].sel(model="m0").item() == "admissible"
        upper = group["bounds"].sel(model="m0", bound="upper")
        kept_by_own += bool((upper <= group["limit"]).all())
    assert (kept, kept_by_own) == (0, 40)


@pytest.mark.parametrize(
    ("trials", "are_unequal"),
    [({"m0": 3}, True), ({"m0": 3, "m1": 2}, True), ({"m0": 3, "m1": 3}, False)],
)
def test_models_that_were_scored_more_often_are_not_compared(tmp_path, trials, are_unequal):
    """Trials are averaged before harm, which noise raises."""
    table = frame(models=2, prompts=100, seed=8)
    numbered = [
        table[table["model"] == model].assign(trial=number)
        for model in ("m0", "m1")
        for number in range(trials.get(model, 1))
    ]
    results = measured(tmp_path, pd.concat(numbered), roles=', trial = "trial"')
    evidence = results["evidence"]
    expected = [[trials.get(model, 1)] * 3 for model in ("m0", "m1")]
    np.testing.assert_allclose(evidence["judge_trials"], expected)
    limits = " ".join(json.loads(evidence.attrs["limits"]))
    times = {1: "once", 2: "2 times", 3: "3 times"}[trials.get("m1", 1)]
    assert (
        "Models were not scored equally often: ann scored an answer of m0 3 times and one of m1 "
        f"{times}; bob scored"
    ) in limits or not are_unequal
    assert ("equally often" in limits) == are_unequal
    assert ("distinguishable" in json.loads(evidence.attrs["carried"])) != are_unequal
    text = " ".join(answer(results))
    assert (
        "The values of each model have the noise that its own trials leave" in text
    ) == are_unequal
    assert "own judges" not in text
    assert "can be compared" not in text or not are_unequal


def test_observed_differences_are_computed_once(monkeypatch):
    values = xr.DataArray(
        np.random.default_rng(1).normal(size=(40, 3)), dims=("replicate", "model")
    )
    resampled = xr.Dataset({"mean": values.assign_attrs(units="nat")})
    prompts = xr.DataArray(np.full(3, 30.0), dims="model")
    bootstrapped = BootstrappedProfile(
        resampled.mean("replicate", keep_attrs=True),
        resampled,
        None,
        prompts=prompts,
        fewest_prompts=prompts,
        tail_prompts=prompts / 20,
        alpha=0.95,
        ceiling=20.0,
        bootstrap=Bootstrap(),
    )
    sources, difference = [], BootstrappedProfile._difference
    monkeypatch.setattr(
        BootstrappedProfile,
        "_difference",
        lambda self, *args: (sources.append(args[0]), difference(self, *args))[1],
    )
    assert set(bootstrapped.compare_models("mean")) == {
        f"mean_difference{end}" for end in ("", "_observed", "_joint", "_p")
    }
    assert sources.count("observed") == 1
