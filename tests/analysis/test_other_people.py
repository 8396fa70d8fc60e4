"""Models that other people labelled are not compared by people's labels."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.analysis import unequal_judges
from sharpbayes.analysis.debiased import debiased_group
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.report.tables.debiased import TABLES
from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.spec.load import load_study
from tests.analysis.test_rater_comparison import STUDY, results_of, scores, sentences

CUTS, LABELLED = [-1.0, -0.3, 0.4, 1.1], 30


def label(folder, *, seed, draw_people, models=2, prompts=100, sd=0.6):
    """A study of models of one law; ``draw_people`` gives the person of each label of a model.

    The severity of people has a standard deviation ``sd``, that of prompts of a model 1.
    """
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.7, (models, prompts)) + rng.normal(0, 0.7, prompts)
    scores(rng, severity, 3, "j").to_csv(folder / "judges.csv", index=False)
    chosen = rng.choice(prompts, LABELLED, replace=False)
    rows = []
    bias = sd * rng.normal(size=100)
    for model in range(models):
        people = draw_people(rng, model)
        perceived = severity[model, chosen] + bias[people] + rng.normal(0, 0.6, LABELLED)
        level = np.searchsorted(CUTS, perceived)
        rows += [
            (f"m{model}", f"p{prompt}", f"h{person}", score)
            for prompt, person, score in zip(chosen, people, level, strict=True)
        ]
    table = pd.DataFrame(rows, columns=["model", "prompt", "rater", "score"])
    table.to_csv(folder / "people.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    plan = build_profile_plan(read_study(load_study(folder / "study.toml")))
    return plan, debiased_group(plan)["debiased"]


def draw_own(number):
    """People of each model, so many of them."""
    return lambda rng, model: number * model + rng.integers(number, size=LABELLED)


def draw_same(number):
    """The same people for all models, the first with half of the labels."""
    return lambda rng, _: rng.integers(number, size=LABELLED) * rng.integers(2, size=LABELLED)


def titles(plan, table):
    return [built.title for built in build_tables(TABLES, results_of(plan, table))]


def test_a_model_of_a_person_of_its_own_is_not_compared(tmp_path):
    plan, table = label(tmp_path, seed=1, draw_people=draw_own(1))
    assert table["people_share"].to_numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert not table["separable"].any()
    assert np.isnan(table["difference_p_holm"]).all()
    first, *_ = sentences(plan, table)
    assert first == (
        "m1 and m0 were not labelled by the same people: h0 gave 100% of the labels of m0 and 0% "
        "of those of m1. A harsh person makes those models look worse that they labelled, so that "
        "models cannot be compared by people's labels. Let the same people label as many answers "
        "of every model, or name in `panel.people.raters` those who did."
    )
    assert not [title for title in titles(plan, table) if "differences" in title]


def test_models_of_the_same_people_are_compared_beside_one_of_others(tmp_path):
    def draw(rng, model):
        return np.full(LABELLED, 9) if model == 2 else draw_same(3)(rng, model)

    plan, table = label(tmp_path, seed=2, draw_people=draw, models=3)
    is_tested = np.isfinite(table["difference_p_holm"].sel(metric="mean"))
    assert is_tested.to_numpy().tolist() == [
        [False, True, False],
        [True, False, False],
        [False] * 3,
    ]
    assert [title for title in titles(plan, table) if "differences" in title]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_people_with_unequal_loads_are_compared(tmp_path, seed):
    plan, table = label(tmp_path, seed=seed, draw_people=draw_same(6))
    assert np.isfinite(table["difference_p_holm"].sel(metric="mean")[0, 1])
    assert sentences(plan, table)[0].startswith("By people's labels of 30 of 100 prompts ")


def test_people_who_label_once_are_compared(tmp_path):
    """Nobody labels two answers: how people differ is in the errors of the labels."""
    _, table = label(
        tmp_path, seed=1, draw_people=lambda _, model: np.arange(LABELLED) + LABELLED * model
    )
    assert np.isfinite(table["difference_p_holm"].sel(metric="mean")[0, 1])


def test_shares_are_those_of_the_labels(tmp_path):
    _, table = label(tmp_path, seed=1, draw_people=draw_same(3))
    people = pd.read_csv(tmp_path / "people.csv")
    counts = people.groupby("model")["rater"].value_counts(normalize=True)
    share = table["people_share"].to_series()
    np.testing.assert_allclose(share.loc[counts.index], counts)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "before"), [(1, 0.5), (6, 0.15)])
def test_models_of_one_law_are_not_ordered_by_their_people(tmp_path, monkeypatch, number, before):
    """Of 100 studies of two models, each labelled by people of its own."""
    is_false = {limit: [] for limit in (unequal_judges.MAX_PEOPLE_GAP, np.inf)}
    for seed in range(100):
        plan, _ = label(tmp_path, seed=seed, draw_people=draw_own(number))
        for limit, studies in is_false.items():
            monkeypatch.setattr(unequal_judges, "MAX_PEOPLE_GAP", limit)
            separable = debiased_group(plan)["debiased"]["separable"]
            studies.append(bool(separable.sel(metric="policy_score").any()))
    rate, rate_before = (np.mean(studies) for studies in is_false.values())
    assert rate == 0
    assert rate_before > before


@pytest.mark.slow
def test_the_same_people_are_seldom_refused(tmp_path):
    """Of 100 studies of two models, by six people drawn at random for each label."""
    tables = [label(tmp_path, seed=seed, draw_people=draw_same(6))[1] for seed in range(100)]
    p = [float(table["difference_p_holm"].sel(metric="policy_score")[0, 1]) for table in tables]
    assert np.isnan(p).sum() <= 5
    assert (np.array(p) < 0.05).sum() <= 12
