"""Judges and people of one law, and models of one law, are seldom told apart by people's labels."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.analysis.debiased import debiased_group
from sharpbayes.analysis.profile_plan import build_profile_plan, tabulate_trials
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.stats.multiplicity import holm
from sharpbayes.report.tables.debiased import TABLES, people_sentences
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.spec.load import load_study

CUTS = np.array([-0.4, 0.4, 1.2, 2.0])
STUDY = """schema = "sharpbayes/study/2"
title = "Judges and people of one law"
seed = 1

[panel]
data = "judges.csv"
layout = "long"
roles = { model = "model", prompt = "prompt", judge = "rater", score = "score" }
scales = { five = { kind = "ordinal", min = 0, max = 4 } }
indicators = { score = "five" }
dimensions = [{ name = "harm", rms = ["score"] }]

[panel.people]
data = "people.csv"
sampling = "equal"
roles = { model = "model", prompt = "prompt", rater = "rater", score = "score" }
"""


def scores(rng, severity, raters, letter):
    """Scores of 0 to 4 by raters of one law, in long form."""
    noisy = severity[..., None] + rng.normal(0, 0.8, (*severity.shape, raters))
    level = (noisy[..., None] > CUTS).sum(-1)
    cells = [
        [f"{name}{k}" for k in range(size)]
        for name, size in zip(("m", "p", letter), level.shape, strict=True)
    ]
    index = pd.MultiIndex.from_product(cells, names=["model", "prompt", "rater"])
    return pd.DataFrame({"score": level.ravel()}, index).reset_index()


def simulated(folder, *, seed, models, prompts, labelled, judges, people, moved=0):
    """A study whose models, judges and people have one law; people score m0 some steps higher.

    ``people`` is their number on each answer, or a number for each model.
    """
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.7, (models, prompts)) + rng.normal(0, 0.7, prompts)
    scores(rng, severity, judges, "j").to_csv(folder / "judges.csv", index=False)
    number = np.broadcast_to(people, models)
    table = scores(rng, severity, int(number.max()), "h")
    chosen = [f"p{k}" for k in rng.choice(prompts, labelled, replace=False)]
    of_model = table["model"].str[1:].astype(int)
    scores_it = table["rater"].str[1:].astype(int) < number[of_model]
    table.loc[table["model"] == "m0", "score"] += moved
    table = table.assign(score=table["score"].clip(upper=4))
    table[table["prompt"].isin(chosen) & scores_it].to_csv(folder / "people.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    plan = build_profile_plan(read_study(load_study(folder / "study.toml")))
    return plan, debiased_group(plan)["debiased"]


def results_of(plan, table):
    """Results with the labels of people."""
    groups = {"/profile": plan.profile().assign_attrs(alpha=0.95), "/debiased": table}
    results = xr.DataTree.from_dict(groups)
    results.attrs = {"status": "measured"}
    return results


def sentences(plan, table):
    """The sentences on people's labels."""
    return list(people_sentences(View(results_of(plan, table))))


SMALL = {"models": 3, "prompts": 60, "labelled": 30, "judges": 3}


def test_judges_and_people_of_one_law_do_not_differ(tmp_path):
    plan, table = simulated(tmp_path, seed=1, people=1, **SMALL)
    assert not table["judges_differ"].any()
    *_, pooled = sentences(plan, table)
    assert pooled == (
        "A labelled answer usually has 3 judges and 1 person: values by judges alone and by "
        "people's labels cannot be compared, because pooled harm depends on how many are pooled."
    )


def test_people_who_score_one_model_higher_differ_from_judges(tmp_path):
    plan, table = simulated(tmp_path, seed=1, people=3, moved=1, **SMALL)
    assert table["judges_differ"].to_numpy().tolist() == [True, False, False]
    *_, differ = sentences(plan, table)
    assert differ == (
        "Judges and the 3 people who labelled differ: the mean harm that a judge sees in labelled "
        "answers, less that of a person, is −0.26 for m0 (p = 1.5e−10), with p after Holm's "
        "correction."
    )


def test_models_that_other_numbers_of_people_labelled_are_not_compared(tmp_path):
    plan, table = simulated(tmp_path, seed=1, people=[1, 1, 4], **SMALL)
    np.testing.assert_allclose(table["people_per_answer"], [1, 1, 4])
    first, _ = sentences(plan, table)
    assert first == (
        "Models were not labelled by as many people: an answer of m2 by 4 and one of m0 by 1. "
        "Pooled scores of several people have less noise, and noise adds to harm, so that models "
        "cannot be compared by people's labels. Let as many people label every model, or name in "
        "`panel.people.raters` those who did."
    )
    titles = [built.title for built in build_tables(TABLES, results_of(plan, table))]
    assert not [title for title in titles if "differences" in title]


def test_numbers_of_people_that_hardly_differ_leave_the_comparison(tmp_path):
    plan, table = simulated(tmp_path, seed=1, people=[3, 3, 4], **SMALL)
    assert sentences(plan, table)[0].startswith("By people's labels of 30 of 60 prompts ")


def test_a_label_that_stands_for_almost_all_prompts_carries_no_comparison(tmp_path):
    plan, table = simulated(tmp_path, seed=1, people=3, **SMALL)
    study = plan.study
    chance = np.full(study.data.people_score.size, 0.5)
    chance[study.data.people["prompt"] == study.data.people["prompt"][0]] = 1e-300
    data = replace(study.data, people_probability=chance)
    table = debiased_group(replace(plan, study=replace(study, data=data)))["debiased"]
    assert sentences(plan, table) == [
        "People labelled 30 prompts of m0 (an effective 1.0), 30 prompts of m1 (an effective 1.0) "
        "and 30 prompts of m2 (an effective 1.0): fewer than 20 carry no comparison by their "
        "labels."
    ]


def test_trials_of_judges_make_no_gap(tmp_path):
    rng = np.random.default_rng(1)
    severity = rng.normal(0, 0.7, (2, 150))
    parts = {"judges": [], "people": []}
    for indicator in ("a", "b"):
        judged = scores(rng, severity, 12, "j").assign(indicator=indicator)
        call = judged["rater"].str[1:].astype(int)
        judged = judged.assign(rater="j" + (call // 6).astype(str), trial=call % 6)
        parts["judges"].append(judged)
        parts["people"].append(scores(rng, severity, 2, "h").assign(indicator=indicator))
    for name, tables in parts.items():
        pd.concat(tables).to_csv(tmp_path / f"{name}.csv", index=False)
    text = STUDY.replace('score = "score" }', 'score = "score", indicator = "indicator" }')
    text = text.replace("judge = ", 'trial = "trial", judge = ').replace('["score"]', '["a", "b"]')
    text = text.replace('{ score = "five" }', '{ a = "five", b = "five" }')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    plan = build_profile_plan(read_study(load_study(tmp_path / "study.toml")))
    table = debiased_group(plan)["debiased"]
    assert not table["judges_differ"].any()
    # Trials that are averaged before the root of squares leave less harm to a judge.
    averaged = plan.table["sub_index"].mean(["judge", "prompt", "model"]).item()
    by_trial = tabulate_trials(plan).mean(["judge", "prompt", "model", "trial"]).item()
    assert by_trial - averaged > 0.02


def test_differences_are_tested_for_all_pairs_together(tmp_path):
    _, table = simulated(tmp_path, seed=1, people=3, **SMALL)
    ppi = table.sel(estimator="ppi", metric="mean")
    half = ppi["difference_interval"].sel(bound="upper") - ppi["difference"]
    law = stats.t(SMALL["labelled"] - 1)
    p = 2 * law.sf(abs(ppi["difference"]) / (half / law.ppf(0.975)))
    first, second = np.triu_indices(3, 1)
    corrected = holm(p[first, second])
    np.testing.assert_allclose(ppi["difference_p_holm"].to_numpy()[first, second], corrected)
    np.testing.assert_array_equal(
        ppi["separable"].to_numpy()[first, second], corrected < 1 - table.attrs["level"]
    )


WORLDS = {
    "one person": {"models": 3, "judges": 3, "people": 1, "prompts": 300, "labelled": 150},
    "three people": {"models": 3, "judges": 3, "people": 3, "prompts": 300, "labelled": 150},
    "one judge": {"models": 3, "judges": 1, "people": 1, "prompts": 300, "labelled": 150},
    "six models": {"models": 6, "judges": 2, "people": 2, "prompts": 120, "labelled": 60},
    "eight models": {"models": 8, "judges": 2, "people": 2, "prompts": 200, "labelled": 100},
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_one_law_seldom_gives_a_difference(tmp_path, world):
    """Of 120 studies: the rate of each claim, and in 20 that where people do score m0 higher."""
    alike, separated, different = [], [], []
    for seed in range(120):
        _, table = simulated(tmp_path, seed=seed, **WORLDS[world])
        alike.append(bool(table["judges_differ"].any()))
        ppi = table.sel(estimator="ppi", metric="mean")
        lowest = ppi["estimate"].idxmin("model").item()
        separated.append(bool(ppi["separable"].sel(model=lowest).any()))
    for seed in range(20):
        _, table = simulated(tmp_path, seed=seed, moved=1, **WORLDS[world])
        different.append(bool(table["judges_differ"].sel(model="m0")))
    assert np.mean(alike) <= 0.11
    assert np.mean(separated) <= 0.11
    assert np.mean(different) >= 0.9
