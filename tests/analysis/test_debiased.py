"""The group ``debiased`` of a study whose prompts people labelled in part."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.debiased import (
    debiased_group,
    people_scores,
    people_table,
)
from sharpbayes.analysis.joint import joint_table
from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.report.tables.debiased import TABLES, people_sentences
from sharpbayes.report.tables.declaration import View, build_tables
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Bootstrap
from tests.peopled import simulated

KNOWN = "Prompts were chosen for people with the probabilities that the study declares."
EQUAL = "The study declares that all prompts had the same probability to be labelled."
UNKNOWN = (
    "People alone and PPI++ hold if the labelled prompts are a random sample of all, which the "
    "study does not declare."
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("small"), seed=3, models=3, prompts=60, people=4)


@pytest.fixture(scope="module")
def groups(small):
    _, groups = profile_panel(read_study(small.files))
    return groups


def log_risk(scores):
    """Log-risk of one answer of the study, from scores (person, indicator) of 0 to 4."""
    share = np.asarray(scores) / 4
    squares = [(share[:, pair] ** 2).mean(axis=1) ** 0.5 for pair in ([0, 1], [2, 3])]
    harm = [0.2 * np.log(np.exp(x / 0.2).mean()) for x in squares]
    return -np.log(1 - np.array(harm) + 1e-6).sum()


def test_people_alone_is_the_mean_of_their_answers_by_plain_loops(small, groups):
    table = pd.read_csv(small.files.study.path.parent / "people.csv")
    risk = {}
    for (model, prompt), part in table.groupby(["model", "prompt"]):
        scores = part.pivot_table(index="rater", columns="indicator", values="score")
        risk[model, prompt] = log_risk(scores[["bias_a", "bias_b", "fair_a", "fair_b"]])
    wanted = pd.Series(risk).groupby(level=0).mean()
    people = groups["debiased"].sel(estimator="people", metric="mean")["estimate"]
    np.testing.assert_allclose(people, wanted, rtol=1e-12)
    assert groups["debiased"]["labelled"].to_numpy().tolist() == [30, 30, 30]
    assert groups["debiased"]["unlabelled"].to_numpy().tolist() == [30, 30, 30]
    assert int(groups["debiased"]["raters"]) == 2


def test_differences_and_the_joint_table_have_the_same_numbers(groups):
    table, joint = groups["debiased"], joint_table(groups, Bootstrap(level=0.9))
    gap = table["estimate"].sel(model="m0") - table["estimate"].sel(model="m1")
    difference = table["difference"].sel(model="m0", other="m1")
    np.testing.assert_allclose(difference.transpose(*gap.dims), gap)
    for estimator in ("people", "ppi"):
        wanted = table["estimate"].sel(estimator=estimator, metric="mean", drop=True)
        np.testing.assert_array_equal(joint[estimator].sel(metric="mean"), wanted)
    assert int(joint["ppi"].sel(metric="volatility").count()) == 0


@pytest.mark.parametrize(
    ("change", "sampling", "assumption"),
    [((), "unknown", UNKNOWN), (('panel.people.sampling="equal"',), "equal", EQUAL)],
)
def test_what_is_assumed_stands_beside_the_numbers(small, change, sampling, assumption):
    files = load_study(small.files.study.path, overrides=change)
    table = debiased_group(build_profile_plan(read_study(files)))["debiased"]
    assert (table.attrs["sampling"], table.attrs["assumption"]) == (sampling, assumption)
    assert "labelled_gap_p_holm" in table


def test_known_probabilities_are_used_and_no_sample_is_checked(small):
    study = read_study(small.files)
    chance = np.full(study.data.people_score.size, 0.5)
    chance[study.data.people["prompt"] % 2 == 0] = 0.25
    declared = replace(study, data=replace(study.data, people_probability=chance))
    table = debiased_group(build_profile_plan(declared))["debiased"]
    assert (table.attrs["sampling"], table.attrs["assumption"]) == ("known", KNOWN)
    assert "labelled_gap" not in table
    plain = debiased_group(build_profile_plan(study))["debiased"]
    assert not np.allclose(table["estimate"], plain["estimate"])


def test_labels_where_judges_see_harm_fail_a_check(small):
    study = read_study(small.files)
    plan = build_profile_plan(study)
    risk = plan.table["log_risk"].mean("model").to_numpy()
    # the labels are moved to the prompts that judges find worst
    worst = np.argsort(-risk)[:30].astype(np.int32)
    labelled = np.unique(study.data.people["prompt"])
    moved = worst[np.searchsorted(labelled, study.data.people["prompt"])]
    data = replace(study.data, people=study.data.people | {"prompt": moved})
    table = debiased_group(build_profile_plan(replace(study, data=data)))["debiased"]
    [text] = table.attrs["failed_checks"]
    assert text.startswith(
        "The prompts that people labelled are no random sample: of m0, m1, m2 judges give them a "
        "mean log-risk that differs from that of the others (largest gap +"
    )
    assert text.endswith(
        "People alone and PPI++ hold for random samples. Where the probabilities are known, name "
        "their column as `probability` among the roles of people."
    )


def test_people_take_the_places_of_judges():
    codes = [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0], [2, 0, 0, 1]]
    names = ("model", "prompt", "indicator", "rater")
    about = {n: np.array(c, dtype=np.int32) for n, c in zip(names, codes, strict=True)}
    labels = {"model": ("x", "y"), "prompt": ("1", "2"), "indicator": ("a", "b")}
    score = np.array([3, 2, 1, 0], dtype=np.int16)
    ratings = PanelRatings(np.empty(0), labels, people_score=score, people=about)
    table, raters = people_scores(ratings, ["a", "b"])
    assert raters == 1
    first, second = table["score"].sel(model="x", prompt="1")
    assert first.to_numpy().tolist() == [2, 1]
    assert second.to_numpy().tolist() == [3, -1]
    assert table["score"].sel(model="y", prompt="1").to_numpy().tolist() == [[0, -1], [-1, -1]]
    assert (table["score"].sel(prompt="2") == -1).all()


def test_panels_without_people_or_with_repeated_answers_have_none(small):
    study = read_study(small.files)
    plan = build_profile_plan(study)
    bare = replace(study.data, people={})
    assert debiased_group(replace(plan, study=replace(study, data=bare))) == {}
    repeated = replace(study.data, labels=study.data.labels | {"sample": ("1", "2")})
    assert debiased_group(replace(plan, study=replace(study, data=repeated))) == {}


def test_no_number_is_beyond_what_its_metric_can_be(small):
    study = read_study(small.files)
    # Few labels and a level of almost 1: normal intervals are wider than what is possible.
    kept = np.isin(study.data.people["prompt"], np.unique(study.data.people["prompt"])[:4])
    people = {name: codes[kept] for name, codes in study.data.people.items()}
    data = replace(study.data, people=people, people_score=study.data.people_score[kept])
    bootstrap = study.spec.bootstrap.model_copy(update={"level": 1 - 1e-12})
    spec = study.spec.model_copy(update={"bootstrap": bootstrap})
    plan = build_profile_plan(replace(study, spec=spec, data=data))
    table = debiased_group(plan)["debiased"].sel(estimator="ppi")
    for metric, limits in {"mean": (plan.floor, plan.ceiling), "policy_score": (0.0, 1.0)}.items():
        of_metric = table.sel(metric=metric)
        for values in (of_metric["estimate"], of_metric["interval"]):
            xr.testing.assert_equal(values, values.clip(*limits))
        assert bool(of_metric["interval"].isin(limits).any())
        assert float(abs(of_metric["difference_interval"]).max()) <= limits[1] - limits[0]


def test_tables_and_the_sentence_of_the_answer(groups):
    none = groups["debiased"].assign(unseen_end_share=groups["debiased"]["labelled"] * 0.0)
    tree = {f"/{name}": group for name, group in (groups | {"debiased": none}).items()}
    results = xr.DataTree.from_dict(tree)
    results.attrs = {"status": "measured"}
    tables = build_tables(TABLES, results)
    titles = [table.title for table in tables]
    assert titles == [
        "By people's labels: CVaR 95",
        "By people's labels: mean log-risk",
        "By people's labels: policy score",
        "By people's labels: mean harm of bias",
        "By people's labels: mean harm of fair",
        "By people's labels: differences of models, CVaR 95",
        "By people's labels: differences of models, mean log-risk",
    ]
    assert tables[1].header == ("model", "labelled", "people alone", "PPI++", "weight of judges")
    assert tables[1].rows[0] == (
        *("m2", "30", "2.10 (1.83 to 2.38)", "2.02 (1.74 to 2.30)"),
        "0.24",
    )
    sentence, numbers, differ = people_sentences(View(results))
    assert numbers == (
        "A labelled answer usually has 3 judges and 2 people: values by judges alone and by "
        "people's labels cannot be compared, because pooled harm depends on how many are pooled."
    )
    assert differ == (
        "Judges and the 4 people who labelled differ: the mean harm that a judge sees in labelled "
        "answers, less that of a person, is +0.09 for m0 (p = 0.00018), +0.11 for m1 (p = "
        "3.7e−05) and +0.11 for m2 (p = 0.00018), with p after Holm's correction."
    )
    assert sentence == (
        "By people's labels of 30 of 60 prompts m2 is lowest in mean log-risk, by PPI++ not "
        "distinguishable from m1: 2.10 (1.83 to 2.38) "
        f"by people alone, 2.02 (1.74 to 2.30) by PPI++ (90% intervals). {UNKNOWN}"
    )


def sentences(groups, **changes):
    """The sentences on people of results in which values of ``debiased`` are others, or None.

    Labels can miss no answer at the end of the scale, unless a change says so.
    """
    changes = {"unseen_end_share": groups["debiased"]["labelled"] * 0.0} | changes
    results = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    table = results["debiased"].to_dataset().copy(deep=True)
    dropped = [name for name, values in changes.items() if values is None]
    changed = {name: values for name, values in changes.items() if values is not None}
    results["debiased"] = xr.DataTree(table.assign(changed).drop_vars(dropped))
    results.attrs = {"status": "measured"}
    return list(people_sentences(View(results)))


def test_labels_can_miss_answers_at_the_end_of_the_scale(small, groups):
    """As many as would be seen in so many labelled prompts with the level; none where one is."""
    table = groups["debiased"]
    plan = build_profile_plan(read_study(small.files))
    scores, _ = people_scores(plan.study.data, list(plan.study.panel.full_indicators))
    people = people_table(plan, scores)
    shown = (people["harm"] >= 1 - 1e-6).any(("prompt", "dimension"))
    expected = np.where(shown, 0.0, 1 - 0.1 ** (1 / 30))
    np.testing.assert_allclose(table["unseen_end_share"], expected)


def test_log_risk_orders_no_models_that_unseen_ends_could_change(groups):
    share = xr.DataArray([0.0, 0.0, 0.08], {"model": ["m0", "m1", "m2"]}, "model")
    sentence, reason, *_ = sentences(groups, unseen_end_share=share)
    assert sentence.startswith(
        "By people's labels of 30 of 60 prompts m0 is lowest in policy score"
    )
    assert reason == (
        "By PPI++ m2 has the lowest mean log-risk, but no label shows an answer of it at the end "
        "of the scale. Its labels can miss such answers, which would raise it by up to 1.1; m1 is "
        "higher by less."
    )
    # So few cannot change the order, and where another model is lowest its labels count.
    for harmless in (share / 100, share[::-1].assign_coords(model=share["model"])):
        sentence, *_ = sentences(groups, unseen_end_share=harmless)
        assert "m2 is lowest in mean log-risk" in sentence
    # Results of earlier versions do not tell.
    sentence, *_ = sentences(groups, unseen_end_share=None)
    assert "m2 is lowest in mean log-risk" in sentence


def test_few_labelled_prompts_carry_no_comparison(groups):
    labelled = groups["debiased"]["labelled"].copy()
    labelled.loc[{"model": "m1"}] = 19
    assert sentences(groups, labelled=labelled, effective_labels=labelled) == [
        "People labelled 19 prompts of m1: fewer than 20 carry no comparison by their labels."
    ]


def test_labels_that_are_all_the_same_are_told_without_an_interval(groups):
    table = groups["debiased"]
    missing = {name: table[name] * np.nan for name in ("interval", "difference_interval")}
    sentence, *_ = sentences(groups, estimate=table["estimate"] * 0.0, **missing)
    assert sentence == (
        "By people's labels of 30 of 60 prompts m0, m1 and m2 are lowest in mean log-risk: 0.00 by "
        f"people alone, 0.00 by PPI++ (no 90% interval: labels do not differ). {UNKNOWN}"
    )


def test_the_sentence_distinguishes_what_all_pairs_together_carry(groups):
    none = groups["debiased"]["separable"] & False
    for changes in ({"separable": none}, {"separable": None}):
        sentence, *_ = sentences(groups, **changes)
        assert "m2 is lowest in mean log-risk, by PPI++ not distinguishable from m0 and m1:" in (
            sentence
        )


def test_raters_are_compared_only_where_their_numbers_differ(groups):
    alike = {
        "judges": xr.DataArray(2),
        "judges_differ": groups["debiased"]["judges_differ"] & False,
    }
    assert len(sentences(groups, **alike)) == 1


def test_results_of_earlier_versions_compare_no_raters(groups):
    earlier = dict.fromkeys(["judge_gap", "people_per_answer", "effective_labels", "separable"])
    earlier["people_share"] = None
    [sentence] = sentences(groups, **earlier)
    assert sentence.startswith("By people's labels of 30 of 60 prompts m2 is lowest")
