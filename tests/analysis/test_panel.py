"""A panel measured as a whole: laws it obeys, and answers where data are thin."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis import indicators
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.errors import DataError, SpecError
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from tests.panels import JUDGES, frame, measured, profiled
from tests.references.coverage_bootstrap import bootstrap_profiles
from tests.references.prompt_worlds import draw_harm

SCORES = ["bias_a", "bias_b", "truth"]


def profile_of(results, name="profile"):
    return results[name].to_dataset()


def same(one, other, *, leave=("tier",)):
    """Equal up to rounding; tiers follow a bootstrap."""
    xr.testing.assert_allclose(
        one.drop_vars(leave, errors="ignore"), other.drop_vars(leave, errors="ignore")
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Results of the plain panel."""
    return measured(tmp_path_factory.mktemp("one"), frame())


def test_every_prompt_twice_changes_no_profile(one, tmp_path):
    table = frame()
    twice = pd.concat([table, table.assign(prompt=table["prompt"] + "_again")])
    other = measured(tmp_path, twice)
    same(profile_of(one), profile_of(other))
    for name in ("eta2", "partial_eta2", "average_rank", "kendall_w", "temperature_cvar"):
        xr.testing.assert_allclose(one["validation"][name], other["validation"][name])
    xr.testing.assert_allclose(one["judges"]["mad"], other["judges"]["mad"])


def test_other_names_of_judges_change_nothing_but_names(one, tmp_path):
    table = frame()
    swapped = table.assign(judge=table["judge"].map({"ann": "cat", "bob": "ann", "cat": "bob"}))
    other = measured(tmp_path, swapped.sample(frac=1, random_state=1))
    same(profile_of(one), profile_of(other), leave=())
    xr.testing.assert_allclose(one["profile_interval"], other["profile_interval"])
    xr.testing.assert_allclose(
        one["judges"]["lojo_cvar"].sel(judge_out="ann", drop=True),
        other["judges"]["lojo_cvar"].sel(judge_out="cat", drop=True),
    )


def test_another_model_changes_no_profile_or_interval_of_the_others(tmp_path):
    table = frame(models=4)
    one = profiled(tmp_path / "one", table[table["model"] != "m3"])
    other = profiled(tmp_path / "two", table)
    shared_models = other["profile"].to_dataset().sel(model=["m0", "m1", "m2"])
    same(profile_of(one), shared_models)
    interval = (
        other["profile_interval"]
        .to_dataset()
        .sel(model=["m0", "m1", "m2"], other=["m0", "m1", "m2"])
    )
    joint = [name for name in interval if str(name).endswith(("_joint", "_difference_p"))]
    joint += ["separable", "separable_share"]
    xr.testing.assert_allclose(
        one["profile_interval"].to_dataset().drop_vars(joint), interval.drop_vars(joint)
    )


@pytest.mark.parametrize(("bias", "epistemic"), [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)])
def test_a_policy_is_a_point_of_the_simplex(tmp_path, bias, epistemic):
    weights = f"[policy]\nbias = {bias}\nepistemic = {epistemic}\n"
    profile = profile_of(profiled(tmp_path, frame(), weights=weights))
    mean = profile["dimension_mean"]
    expected = bias * mean.sel(dimension="bias") + epistemic * mean.sel(dimension="epistemic")
    np.testing.assert_allclose(profile["policy_score"], expected)
    np.testing.assert_allclose(profile["tail_share"].sum("dimension"), 1.0)


def test_the_other_estimator_and_rule_of_tiers_are_a_line_of_the_weights(tmp_path):
    weights = (
        '[tail]\nestimator = "rockafellar-uryasev"\n[tiers]\nrule = "interval-overlap"\n'
        "[tolerance]\ncvar = 3.0\n"
    )
    results = measured(tmp_path, frame(), weights=weights)
    risk = results["panel"]["log_risk"].values
    # 5% of twelve prompts is less than one: the largest.
    np.testing.assert_allclose(results["profile"]["cvar"], risk.max(axis=1))
    assert results["profile"].attrs["tier_rule"] == "interval-overlap"
    np.testing.assert_array_equal(
        results["profile"]["admissible"], results["profile"]["cvar"].values <= 3.0
    )


REFUSAL = 'refused = { scale = "flag", refusal = true }\n'


def refusing(table):
    """The first model refuses three prompts, by the word of two judges of three."""
    chosen = (table["model"] == "m0") & table["prompt"].isin(["p00", "p01", "p02"])
    return table.assign(refused=(chosen & (table["judge"] != "cat")).astype(int))


def test_profiles_without_refused_answers_are_of_the_others(one, tmp_path):
    table = refusing(frame())
    results = profiled(tmp_path / "one", table, indicators=REFUSAL)
    blank = (table["model"] == "m0") & table["prompt"].isin(["p00", "p01", "p02"])
    rest = table.assign(**{name: table[name].astype("Int64").mask(blank) for name in SCORES})
    expected = profiled(tmp_path / "two", rest)
    answered = profile_of(results, "profile_answered")
    same(
        answered.drop_vars(["refusal_rate", "answered", "refused_unscored"]),
        profile_of(expected),
    )
    assert answered["refusal_rate"].values.tolist() == [0.25, 0.0, 0.0]
    assert answered["answered"].values.tolist() == [9, 12, 12]
    assert "profile_answered_interval" in results
    # What is shown with refused prompts is the profile of all.
    same(profile_of(results), profile_of(one))


def test_refused_answers_without_a_score_of_harm_are_refusals(tmp_path):
    """Judges may mark a refusal and leave the harm empty, as there is nothing to score."""
    table = frame().assign(refused=0)
    blank = table["prompt"].isin(["p00", "p01", "p02"]) & (table["model"] == "m0")
    table.loc[blank, "refused"] = 1
    # Without a word on refusals an answer of m1 counts as answered; m2 has one that nobody scored.
    table["refused"] = table["refused"].astype("Int64")
    unmarked = table["prompt"] == "p05"
    table.loc[unmarked & (table["model"] == "m1"), "refused"] = pd.NA
    unscored = blank | (unmarked & (table["model"] == "m2"))
    table = table.assign(**{name: table[name].astype("Int64").mask(unscored) for name in SCORES})
    results = measured(tmp_path, table, indicators=REFUSAL)
    answered = profile_of(results, "profile_answered")
    assert answered["refusal_rate"].values.tolist() == [0.25, 0.0, 0.0]
    assert answered["answered"].values.tolist() == [9, 12, 11]
    assert answered["refused_unscored"].values.tolist() == [3, 0, 0]
    assert results["panel"]["refused"].sum("prompt").values.tolist() == [3, 0, 0]


def test_a_model_that_refuses_everything_has_no_profile_without_refusals(tmp_path):
    table = frame().assign(refused=0)
    table.loc[table["model"] == "m1", "refused"] = 1
    answered = profile_of(profiled(tmp_path, table, indicators=REFUSAL), "profile_answered")
    assert answered["refusal_rate"].values.tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(answered["cvar"]).values.tolist() == [False, True, False]
    assert answered["tier"].values[1] == 0


def test_categories_are_profiles_of_their_prompts(tmp_path):
    table = frame()
    roles = ', category = "kind"'
    results = profiled(tmp_path / "one", table, roles=roles)
    profile = profile_of(results, "profile_category")
    for kind, prompts in (("age", 4), ("race", 8)):
        alone = profiled(tmp_path / kind, table[table["kind"] == kind])
        assert (profile["prompts"].sel(category=kind) == prompts).all()
        same(profile.sel(category=kind, drop=True).drop_vars("prompts"), profile_of(alone))


def test_shares_of_categories_weigh_the_means_of_categories(tmp_path):
    weights = "[population.category]\nage = 0.9\nrace = 0.1\n"
    roles = ', category = "kind"'
    results = profiled(tmp_path, frame(), roles=roles, weights=weights)
    by = results["profile_category"]["mean"]
    expected = 0.9 * by.sel(category="age") + 0.1 * by.sel(category="race")
    np.testing.assert_allclose(results["profile"]["mean"], expected)
    assert results["profile"].attrs["population"] == "shares of categories"


def uneven_generations():
    """Three answers of each model to each prompt, and of one model one alone to half of them."""
    table = frame(samples=3)
    is_once = (table["model"] == "m0") & (table["prompt"] > "p05")
    return table[~is_once | (table["sample"] == "s0")]


@pytest.mark.parametrize(
    ("table", "roles"), [(frame, ""), (uneven_generations, ', sample = "sample"')]
)
def test_other_shares_are_those_of_other_weights(tmp_path, table, roles):
    """Bit for bit: a page shows the one, `weigh` confirms it by the other."""
    roles += ', category = "kind"'
    weights = "[population.category]\nage = {}\nrace = {}\n"
    results = measured(tmp_path / "one", table(), roles=roles, weights=weights.format(0.3, 0.7))
    other = profiled(tmp_path / "two", table(), roles=roles, weights=weights.format(0.75, 0.25))
    shares = results["validation"].to_dataset().sel(moved_category="age", category_share=0.75)
    assert shares["population_share"].values.tolist() == [0.75, 0.25]
    profile = other["profile"].to_dataset()
    np.testing.assert_array_equal(shares["share_cvar"], profile["cvar"])
    np.testing.assert_array_equal(shares["share_dimension_mean"], profile["dimension_mean"])
    worst = profile["dimension_cvar"].max("dimension")
    np.testing.assert_array_equal(shares["share_worst_dimension"], worst)


def test_a_limit_of_a_category_is_on_the_cvar_of_the_category(tmp_path):
    """Each prompt counts once there too, however often a model answered it."""
    roles = ', category = "kind", sample = "sample"'
    weights = "[tail]\nalpha = 0.3\n[tolerance.category]\nage = 3.0\n"
    results = profiled(tmp_path, uneven_generations(), roles=roles, weights=weights)
    observed = results["tolerance"]["observed"].sel(threshold="category age", drop=True)
    of_category = results["profile_category"]["cvar"].sel(category="age", drop=True)
    np.testing.assert_allclose(observed, of_category, rtol=1e-12)


def by_category(table, *, age, race):
    """Scores that follow from the category of the prompt alone, as of harm that grows with them."""
    level = table["kind"].map({"age": age, "race": race})
    return table.assign(bias_a=level, bias_b=level, truth=10 - level)


SHARED = "[population.category]\nage = 0.5\nrace = 0.5\n"


def test_a_model_that_lacks_prompts_of_a_category_is_of_the_same_population(tmp_path):
    """All models are alike in each category; the first lacks three prompts of four of one."""
    table = by_category(frame(), age=9, race=2)
    lacking = (table["model"] == "m0") & table["prompt"].isin(["p00", "p03", "p06"])
    roles = ', category = "kind"'
    results = measured(tmp_path, table[~lacking], roles=roles, weights=SHARED)
    for name in ("mean", "cvar", "policy_score", "dimension_mean", "dimension_cvar"):
        value = results["profile"][name]
        np.testing.assert_allclose(value, value.isel(model=[1, 1, 1]), err_msg=name)
    shares = results["validation"]["share_dimension_mean"]
    np.testing.assert_allclose(shares, shares.isel(model=[1, 1, 1]))
    prompts = results["profile_category"]["prompts"].sel(category="age")
    assert prompts.values.tolist() == [1, 4, 4]
    tail = results["evidence"]["tail_prompts"]
    assert float(tail[0]) < float(tail[1])


def test_refused_answers_do_not_move_the_population(tmp_path):
    table = by_category(frame(), age=9, race=2).assign(refused=0)
    refused = (table["model"] == "m0") & table["prompt"].isin(["p00", "p03", "p06"])
    table.loc[refused, "refused"] = 1
    table.loc[(table["model"] == "m1") & (table["kind"] == "age"), "refused"] = 1
    roles = ', category = "kind"'
    results = profiled(tmp_path, table, roles=roles, indicators=REFUSAL, weights=SHARED)
    score = profile_of(results, "profile_answered")["policy_score"]
    assert score.values[[0, 2]].tolist() == pytest.approx([float(score[2])] * 2)
    assert np.isnan(score[1])  # nothing is left of a category with a share


def test_answers_weigh_alike_within_a_category_and_categories_by_their_shares(tmp_path):
    table = by_category(frame(samples=3), age=9, race=2)
    once = (table["kind"] == "race") | (table["sample"] == "s0")
    roles = ', category = "kind", sample = "sample"'
    results = profiled(tmp_path, table[once], roles=roles, weights=SHARED)
    by = results["profile_category"]["policy_score"]
    np.testing.assert_allclose(results["profile"]["policy_score"], by.mean("category"))


def test_a_model_without_an_answer_in_a_category_with_a_share_is_refused(tmp_path):
    table = by_category(frame(), age=9, race=2)
    lacking = (table["model"] == "m1") & (table["kind"] == "age")
    message = r"population\.category\.age: m1 has no answer with a log-risk in the category 'age'"
    with pytest.raises(DataError, match=message):
        measured(tmp_path, table[~lacking], roles=', category = "kind"', weights=SHARED)
    none = SHARED.replace("0.5", "0.0", 1).replace("0.5", "1.0")
    results = measured(tmp_path, table[~lacking], roles=', category = "kind"', weights=none)
    assert not np.isnan(results["profile"]["cvar"]).any()


def test_one_category_leaves_no_shares_to_move(tmp_path):
    table = frame()
    table["kind"] = "age"
    weights = "[population.category]\nage = 1.0\n"
    results = measured(tmp_path, table, roles=', category = "kind"', weights=weights)
    assert "share_cvar" not in results["validation"]


def test_shares_that_leave_out_a_category_are_refused(tmp_path):
    weights = "[population.category]\nage = 1.0\n"
    with pytest.raises(
        DataError, match=r"population\.category: no share of 'race'; every category in the data"
    ):
        profiled(tmp_path, frame(), roles=', category = "kind"', weights=weights)
    with pytest.raises(SpecError, match="need a role `category`"):
        profiled(tmp_path, frame(), weights=weights)


@pytest.mark.parametrize("name", ["kind", "categroy"])
def test_shares_under_another_name_are_refused(tmp_path, name):
    """Left out in silence they would give the numbers of the sample for those of a population."""
    weights = SHARED.replace("category", name)
    hint = "; did you mean 'category'\\?" if name == "categroy" else "$"
    message = rf"population\.{name}: prompts of a panel have shares by `category` alone.*{hint}"
    with pytest.raises(SpecError, match=message):
        profiled(tmp_path, frame(), roles=', category = "kind"', weights=weights)


def test_ensembles_and_a_reference_are_read_and_not_pooled(tmp_path):
    panel = 'judges = ["ann", "bob"]\nreference = "cat"\n'
    tables = '[panel.ensembles.other]\njudges = ["dee", "eve"]\n'
    table = frame(judges=(*JUDGES, "dee", "eve", "not_named"))
    results = measured(tmp_path / "one", table, panel=panel, tables=tables)
    only = profiled(tmp_path / "two", table[table["judge"].isin(["ann", "bob"])])
    same(profile_of(results), profile_of(only))
    judges = results["judges"]
    other = profiled(tmp_path / "three", table[table["judge"].isin(["dee", "eve"])])
    np.testing.assert_allclose(
        judges["ensemble_cvar"].sel(ensemble="other"), other["profile"]["cvar"]
    )
    assert bool(judges["disjoint"].sel(ensemble="study", other_ensemble="other"))
    assert judges.attrs["reference"] == "cat"
    panel_ = results["panel"]["sub_index"]
    assert panel_["judge"].values.tolist() == ["ann", "bob"]


def test_a_judge_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="no judge 'annn', there are ann, bob, cat; did you mean"):
        profiled(tmp_path, frame(), panel='judges = ["annn", "bob"]\n')
    with pytest.raises(SpecError, match="'bob' is pooled by `judges` already"):
        profiled(tmp_path, frame(), panel='judges = ["ann", "bob"]\nreference = "bob"\n')
    with pytest.raises(SpecError, match="this name means the study's own judges; rename it"):
        profiled(tmp_path, frame(), tables='[panel.ensembles.study]\njudges = ["ann"]\n')


def test_repeated_generations_are_answers_of_their_own(tmp_path):
    table = frame(samples=3)
    results = measured(tmp_path / "one", table, roles=', sample = "sample"')
    flat = table.assign(prompt=table["prompt"] + table["sample"]).drop(columns="sample")
    other = profiled(tmp_path / "two", flat)
    same(profile_of(results), profile_of(other))
    validation = results["validation"].to_dataset()
    assert validation["component"].values.tolist() == ["model", "prompt", "interaction", "residual"]
    assert float(validation["eta2"].sum()) == pytest.approx(1.0)
    assert validation.attrs["prompts"] == 12
    assert "generations" in results["profile_interval"].attrs["interval_note"]


def test_generations_add_to_the_width_of_intervals(tmp_path):
    table = frame(samples=2, prompts=30)
    with_them = profiled(tmp_path / "one", table, roles=', sample = "sample"')
    without = profiled(
        tmp_path / "two",
        table,
        roles=', sample = "sample"',
        overrides=["bootstrap.resample_generations=false"],
    )

    def width(results):
        interval = results["profile_interval"]["mean"]
        return float((interval.sel(bound="upper") - interval.sel(bound="lower")).mean())

    assert width(with_them) > 1.1 * width(without)
    same(profile_of(with_them), profile_of(without))


def finite_profile(results):
    profile = profile_of(results)
    assert all(np.isfinite(profile[name]).all() for name in profile)
    return profile


def test_a_missing_judge_is_left_out_and_refused_where_asked(tmp_path):
    table = frame()
    unscored = (table["judge"] == "bob") & (table["prompt"] == "p03")
    results = measured(tmp_path / "one", table[~unscored])
    finite_profile(results)
    assert results["judges"]["mad_n"].values.tolist() == [36, 36]
    assert results["judges"]["overlap"].values.min() == 11
    with pytest.raises(DataError, match=r"judges\.missing"):
        measured(tmp_path / "two", table[~unscored], weights='[judges]\nmissing = "error"\n')


def test_a_missing_indicator_makes_its_sub_index_missing_or_not_as_asked(tmp_path):
    table = frame()
    table["bias_a"] = table["bias_a"].astype("Int64")
    table.loc[table["prompt"] == "p03", "bias_a"] = pd.NA
    strict = measured(tmp_path / "one", table)
    assert np.isnan(strict["panel"]["log_risk"].sel(prompt="p03")).all()
    assert strict["validation"].attrs["prompts_dropped"] == 1
    assert strict["validation"].attrs["prompts"] == 11
    same(
        profile_of(strict).drop_vars(["dimension_mean", "dimension_cvar", "policy_score"]),
        profile_of(profiled(tmp_path / "two", table[table["prompt"] != "p03"])).drop_vars(
            ["dimension_mean", "dimension_cvar", "policy_score"]
        ),
    )
    available = measured(tmp_path / "three", table, weights='[indicators]\nmissing = "available"\n')
    assert np.isfinite(available["panel"]["log_risk"]).all()


def test_one_model_has_a_profile_and_no_comparison(tmp_path):
    results = measured(tmp_path, frame(models=1))
    profile = finite_profile(results)
    assert profile["tier"].values.tolist() == [1]
    validation = results["validation"].to_dataset()
    assert np.isnan(validation["friedman_chi2"])
    assert np.isnan(validation["wilcoxon_p"]).all()
    assert validation["prompt_variance"].attrs["reason"] == "fewer than two models or prompts"
    assert np.isnan(results["profile_interval"]["separable_share"])


def test_one_judge_has_a_profile_and_no_agreement(tmp_path):
    results = measured(tmp_path, frame(judges=["ann"]))
    finite_profile(results)
    judges = results["judges"].to_dataset()
    assert "lojo_cvar" not in judges
    assert "concordance" not in judges
    assert np.isnan(judges["mad"]).all()
    assert np.isnan(judges["effective_judges"])


def test_two_prompts_have_a_profile(tmp_path):
    results = measured(tmp_path, frame(prompts=2))
    finite_profile(results)
    assert np.isnan(results["judges"]["concordance"]).all()
    assert np.isnan(results["judges"]["dimension_dependence"]).all()


def test_a_model_that_was_never_scored_leaves_no_common_prompt(tmp_path):
    table = frame()
    table["truth"] = table["truth"].astype("Int64").mask(table["model"] == "m2")
    results = measured(tmp_path, table)
    assert np.isnan(results["profile"]["cvar"]).values.tolist() == [False, False, True]
    assert results["profile"]["tier"].values[2] == 0
    validation = results["validation"].to_dataset()
    assert (validation.attrs["prompts"], validation.attrs["prompts_dropped"]) == (0, 12)
    for name in ("friedman_chi2", "eta2", "prompt_variance", "tail_prompt_variance"):
        assert np.isnan(validation[name]).all()


def constant(**levels):
    table = frame()
    return table.assign(**levels)


def test_harm_of_zero_everywhere_is_a_risk_of_zero_by_the_formula(tmp_path):
    results = measured(tmp_path, constant(bias_a=0, bias_b=0, truth=10))
    profile = profile_of(results)
    floor = -2 * np.log1p(1e-6)
    np.testing.assert_allclose(profile["cvar"], floor)
    assert np.isnan(results["profile_interval"]["cvar"]).all()
    np.testing.assert_allclose(profile["tail_share"], 0.5)
    np.testing.assert_array_equal(profile["any_harm_mean"], 0.0)
    assert profile["tier"].values.tolist() == [1, 1, 1]
    validation = results["validation"].to_dataset()
    assert np.isnan(validation["friedman_chi2"])
    assert np.isnan(validation["eta2"]).all()
    off = ~np.eye(3, dtype=bool)
    assert (validation["wilcoxon_p_holm"].values[off] == 1).all()
    assert not results["profile_interval"]["separable"].any()


def test_harm_of_exactly_1_is_a_finite_risk(tmp_path):
    profile = profile_of(profiled(tmp_path, constant(bias_a=10, bias_b=10, truth=0)))
    np.testing.assert_allclose(profile["cvar"], -2 * np.log(1e-6))
    np.testing.assert_allclose(profile["any_harm_mean"], 1.0)
    np.testing.assert_allclose(profile["radius_cvar"], 1.0)


def test_ties_everywhere_count_all_that_are_tied(tmp_path):
    table = frame()
    level = (table["prompt"].str[1:].astype(int) >= 6) * 5
    results = measured(tmp_path, table.assign(bias_a=level, bias_b=level, truth=10 - level))
    profile = profile_of(results)
    top = -2 * np.log(1 - 0.5 + 1e-6)
    np.testing.assert_allclose(profile["cvar"], top)
    np.testing.assert_allclose(profile["var"], top)
    assert float(results["validation"]["tail_rate"]) == 0.5
    assert np.isnan(results["validation"]["friedman_chi2"])


def test_mixed_models_say_from_how_many_prompts_they_are(tmp_path):
    results = measured(
        tmp_path, frame(prompts=30), tables="[panel.validation]\nmax_mixed_model_cells = 15\n"
    )
    assert results["validation"].attrs["mixed_prompts"] == 5
    assert results["validation"].attrs["prompts"] == 30


def test_what_is_measured_is_read_back_as_it_was(tmp_path):
    results = measured(tmp_path, refusing(frame()), indicators=REFUSAL, roles=', category = "kind"')
    save_results(results, tmp_path / "r.nc")
    back = open_results(tmp_path / "r.nc")
    xr.testing.assert_equal(results, back)
    reason = back["validation"]["prompt_variance"].attrs["reason"]
    assert reason == results["validation"]["prompt_variance"].attrs["reason"]


def test_separable_pairs_are_counted_once(tmp_path):
    interval = profiled(tmp_path, frame(models=5))["profile_interval"].to_dataset()
    bounds = interval["cvar_difference"].values
    apart = [
        bounds[a, b, 0] > 0 or bounds[a, b, 1] < 0 for a in range(5) for b in range(5) if a < b
    ]
    assert float(interval["separable_share"]) == np.mean(apart)


def test_no_lower_bound_of_a_tail_is_below_that_of_the_mean():
    """In some studies of rare saturation the tail's own bound is."""
    rng = np.random.default_rng(8)
    harm = np.stack([draw_harm("saturated", rng, 60, (0.0, 0.3)) for _ in range(60)])
    bootstrapped = bootstrap_profiles(harm, seed=1, replicates=200)
    lower = {name: bootstrapped.interval(name).sel(bound="lower") for name in ("cvar", "mean")}
    assert (lower["cvar"] >= lower["mean"] - 1e-12).all()
    alone = replace(bootstrapped, resampled=bootstrapped.resampled.drop_vars("mean_error"))
    of_tail = alone.interval("cvar").sel(bound="lower")
    is_raised = of_tail < lower["mean"]
    assert is_raised.any()
    xr.testing.assert_equal(lower["cvar"].where(~is_raised), of_tail.where(~is_raised))


def test_models_are_the_same_whatever_number_is_computed_at_a_time(monkeypatch):
    study = read_study(load_study("quickstart"))
    whole = build_profile_plan(study)
    monkeypatch.setattr(indicators, "BLOCK_SCORES", 1)
    one_by_one = build_profile_plan(study)
    for name in ("judge_sub_index", "refusals"):
        xr.testing.assert_identical(getattr(one_by_one, name), getattr(whole, name))
    # The last bits of sums depend on the order in memory.
    assert one_by_one.judge_sub_index.to_numpy().strides == whole.judge_sub_index.to_numpy().strides
