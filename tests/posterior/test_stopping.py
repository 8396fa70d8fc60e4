"""What takes its certainty from a fit that a plan of purchases trusts."""

import json

import xarray as xr

from sharpbayes.posterior.contradictions import Contradiction
from sharpbayes.posterior.stopping import (
    restrict_by_contradictions,
    restrict_by_evidence,
    restrict_by_few_raters,
    restrict_by_unseen_ends,
)

MISFIT = [Contradiction.MISFIT]


def test_where_the_evidence_is_thin_the_certainty_of_the_fit_is_no_reason_to_stop():
    group = xr.Dataset(attrs={"criterion": "cvar", "verdict": "stop", "best_size": 0})
    limit = "With 30 prompts the 5% tail holds 1.5 prompts."
    facts = {"carried": '["admissible"]', "limits": json.dumps([limit])}
    profile = xr.Dataset({"cvar": (("draw", "model"), [[1.0, 2.0]])}, {"model": ["m0", "m1"]})

    def restrict(**changes):
        return restrict_by_evidence(group, xr.Dataset(attrs=facts | changes), profile).attrs

    assert restrict()["verdict"] == "cannot tell"
    assert json.loads(restrict()["limits"]) == [limit]
    assert (
        restrict(carried='["lowest"]')
        == restrict_by_evidence(group, None, profile).attrs
        == group.attrs
    )
    group_with_gain = group.assign(list_gain=("size", [0.1]))
    dear = restrict_by_evidence(group_with_gain, xr.Dataset(attrs=facts), profile)
    assert dear.attrs["verdict"] == "stop"
    assert json.loads(dear.attrs["limits"]) == [limit]
    worst = group.assign_attrs(criterion="worst_dimension")
    assert (
        restrict_by_evidence(worst, xr.Dataset(attrs=facts), profile).attrs["verdict"]
        == "cannot tell"
    )
    score = group.assign_attrs(criterion="policy_score")
    assert restrict_by_evidence(score, xr.Dataset(attrs=facts), profile).attrs == score.attrs
    few = restrict_by_evidence(score, xr.Dataset(attrs=facts), profile, tells_means=False).attrs
    assert (few["verdict"], json.loads(few["limits"])) == ("cannot tell", [limit])
    share = xr.DataArray(
        [[1.0, 1.0], [1.0, 0.1]], profile.coords | {"judge": [*"ab"]}, ["model", "judge"]
    )
    other_judges = xr.Dataset({"judge_share": share}, attrs=facts)
    for chosen_by in (group, dear, score):
        restricted = restrict_by_evidence(chosen_by, other_judges, profile).attrs
        assert restricted["verdict"] == "cannot tell"
        assert restricted["basis"] == "who judged which model"
    trials = share.where(share == 1.0, 5.0)
    for shares, basis in (
        ({"judge_share": share.where(False, 1.0)}, "how often each model was judged"),
        ({"judge_share": share}, "who judged which model, and how often"),
    ):
        other_trials = xr.Dataset(shares | {"judge_trials": trials}, attrs=facts)
        assert restrict_by_evidence(score, other_trials, profile).attrs["basis"] == basis
    of_one = profile.assign(cvar=profile["cvar"].where(profile["model"] == "m0"))
    assert restrict_by_evidence(score, other_judges, of_one).attrs == score.attrs


def test_where_no_answer_is_more_severe_nothing_is_assumed_of_any():
    group = xr.Dataset(attrs={"criterion": "cvar", "verdict": "stop", "best_size": 0})
    facts = {"carried": "[]", "limits": "[]"}
    evidence = xr.Dataset({"ceiling": ("model", [2.0, 2.0])}, {"model": ["m0", "m1"]}, facts)
    profile = xr.Dataset({"cvar": (("draw", "model"), [[2.0, 2.0]])}, {"model": ["m0", "m1"]})
    restricted = restrict_by_evidence(group, evidence, profile)
    assert (restricted.attrs["verdict"], restricted.attrs["basis"]) == ("cannot tell", "")
    contradicted = restrict_by_contradictions(restricted, MISFIT, ["It is."])
    assert contradicted.attrs["basis"] == "a fitted model that the ratings contradict"
    below = profile - 0.1
    assert "basis" not in restrict_by_evidence(group, evidence, below).attrs


def test_what_contradicts_the_fit_is_no_reason_to_stop():
    for verdict, restricted in (("stop", "cannot tell"), ("go on", "go on"), ("cannot tell",) * 2):
        group = xr.Dataset(attrs={"verdict": verdict, "best_size": 0, "limits": '["Few."]'})
        assert restrict_by_contradictions(group, [], []).attrs == group.attrs
        attrs = restrict_by_contradictions(group, MISFIT, ["It is."]).attrs
        assert attrs["verdict"] == restricted
        assert json.loads(attrs["limits"]) == ["Few.", "It is."]
        assert attrs["basis"] == "a fitted model that the ratings contradict"
    other = xr.Dataset(attrs={"verdict": "cannot tell", "basis": "who judged which model"})
    attrs = restrict_by_contradictions(other, MISFIT, ["It is."]).attrs
    assert attrs["basis"] == "who judged which model"


def test_answers_that_nobody_saw_are_no_reason_to_stop():
    for verdict, restricted in (("stop", "cannot tell"), ("go on", "go on"), ("cannot tell",) * 2):
        plan = xr.Dataset(attrs={"verdict": verdict, "limits": '["Few."]'})
        attrs = restrict_by_unseen_ends(plan, "Only if.").attrs
        assert attrs["verdict"] == restricted
        assert json.loads(attrs["limits"]) == ["Few.", "Only if."]


def test_few_raters_are_no_reason_to_stop():
    plan = xr.Dataset(attrs={"verdict": "stop", "best_size": 0})

    def restrict(limits, remarks=(), gain=0.0):
        texts = {"limits": json.dumps(limits), "remarks": json.dumps(remarks)}
        with_gain = plan.assign(list_gain=("size", [gain]))
        return restrict_by_few_raters(with_gain, xr.Dataset(attrs=texts), "Lower bounds.").attrs

    assert restrict([])["verdict"] == "stop"
    assert restrict(["Few."])["verdict"] == "cannot tell"
    assert restrict(["Few."], gain=0.1)["verdict"] == "stop"
    assert json.loads(restrict(["Few."])["limits"]) == ["Few.", "Lower bounds."]
    # Raters without a group leave every statement on groups standing.
    assert restrict(["No group."], remarks=["No group."])["verdict"] == "stop"
    assert restrict(["Few.", "No group."], remarks=["No group."])["verdict"] == "cannot tell"
    assert json.loads(restrict_by_few_raters(plan, None, "").attrs["limits"]) == []
