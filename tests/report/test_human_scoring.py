"""People's scoring that contradicts the judges' in a fit: answer, lights, releases, weights."""

import numpy as np
import xarray as xr

from sharpbayes.posterior.claims import is_recommended
from sharpbayes.posterior.release import choose_model, read_verdicts
from sharpbayes.report.document import document
from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.report.tables import tolerance
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.declaration import View, build_tables
from tests.report.hand_made import add, evidence, fitted_panel, panel, scored_by_people

OPENING = (
    "By people's scoring, as fitted, c has the lowest tail risk with probability 0.90 (b: 0.05); "
    "b exceeds the tolerance (probability of keeping it 0.02)."
)
KEPT = {"kept": (0.02, 0.02, 0.97), "judged": (0.02, 0.99, 0.97)}
LIGHT = "By people's scoring, as fitted, the answer is another one than by the judges'."


def fit(*, probability=(0.05, 0.05, 0.9), **tolerance):
    """A fit whose judges call b lowest; people see most harm there unless told otherwise."""
    results = fitted_panel(admissible=(False, True, True) if tolerance else None)
    results = add(results, evidence=evidence("abc"))
    return scored_by_people(results, probability=probability, **tolerance)


def enough(results):
    """State and reason of the light about the data."""
    [light] = [light for light in lights(results) if light.question == "Enough data"]
    return light.state, light.reason


def test_what_people_say_stands_before_the_answer_by_judges():
    first, second, *others = answer(fit(**KEPT))
    assert first == OPENING
    assert second.startswith(
        "What the posterior gives by the judges' scoring: b is lowest with probability 0.90, CVaR "
    )
    by_people = others.index(
        "The tolerance decided, by people's scoring, as fitted: c (probability 0.97) keeps it; b "
        "(probability 0.98) and a (probability 0.98) exceed it."
    )
    assert others[by_people + 1] == (
        "By the judges' scoring: b (probability 0.99) and c (probability 0.97) keep it; a "
        "(probability 0.98) exceeds it."
    )
    assert others[by_people + 2] == (
        "The table of the decision selects b, by the judges' scoring; by people's scoring, as "
        "fitted, it selects c: that is no recommendation."
    )


def test_where_people_and_judges_agree_nothing_is_added():
    agreeing = fit(probability=(0.0, 0.6, 0.4), kept=(0.01, 0.98, 0.96), judged=(0.02, 0.99, 0.97))
    assert not [text for text in answer(agreeing) if "scoring" in text]
    assert enough(agreeing) == ("yes", "Nothing in the data limits the answer.")
    assert is_recommended(View(agreeing))
    assert choose_model(agreeing) == "b"


def test_a_lead_within_the_error_of_draws_is_no_other_answer():
    close = fit(probability=(0.0, 0.48, 0.52))
    assert answer(close)[0].startswith("b has the lowest tail risk of 3 models")
    assert enough(close)[0] == "yes"


def test_another_verdict_alone_stands_first_too():
    results = fit(probability=(0, 0.9, 0.1), kept=(0.02, 0.8, 0.97), judged=(0.02, 0.99, 0.97))
    first, second, *_ = answer(results)
    assert first == (
        "By people's scoring, as fitted, of b the evidence cannot tell whether it keeps the "
        "tolerance (probability 0.80)."
    )
    assert second.startswith("b has the lowest tail risk of 3 models with probability 0.90")
    assert not is_recommended(View(results))


def test_what_people_contradict_is_no_recommendation():
    results = fit(**KEPT)
    assert not is_recommended(View(results))
    assert choose_model(results) == "cannot tell"
    assert read_verdicts(results) == {"a": "not admissible", "b": "cannot tell", "c": "admissible"}
    assert enough(results) == ("partly", LIGHT)


def test_the_light_says_it_beside_what_the_data_do_not_tell():
    results = add(fit(), evidence=evidence("abc", carried=["distinguishable"]))
    reason = f"The data do not tell which model has the lowest tail risk. {LIGHT}"
    assert enough(results) == ("partly", reason)


def test_a_mean_that_people_contradict_is_that_of_the_judges():
    results = add(fit(), evidence=evidence("abc", tail=1.5, carried=[]))
    first, *others = answer(results)
    assert first == (
        "By people's scoring, as fitted, c has the lowest tail risk with probability 0.90 (b: "
        "0.05); c has the lowest mean log-risk with probability 0.90 (b: 0.05)."
    )
    assert any("b has the lowest mean log-risk by the judges' scoring with" in x for x in others)


def test_the_document_has_what_people_decide(tmp_path):
    results = fit(**KEPT)
    results.attrs |= {"title": "t", "created": "", "seed": 1}
    groups = document(results, path=tmp_path / "r.nc")
    assert groups["decision_human"]["selected"] == {"a": False, "b": False, "c": True}


def test_the_only_model_may_have_another_verdict_by_people():
    only = fitted_panel(cvar=(1.0,), median=(1.1,), probability=(1.0,), admissible=(True,))
    only = add(only, evidence=evidence("a"))
    first = answer(scored_by_people(only, probability=(1.0,), kept=(0.02,), judged=(0.99,)))[0]
    assert first == (
        "By people's scoring, as fitted, a exceeds the tolerance (probability of keeping it 0.02)."
    )


def test_models_without_a_tail_risk_are_not_asked_what_people_say():
    measured = add(panel(cvar=(np.nan, np.nan)), evidence=evidence("ab", carried=[]))
    assert enough(measured)[0] == "no"


def test_the_table_of_verdicts_has_those_of_people_beside_the_judges():
    results = fit(**KEPT)
    verdict = results["decision"].to_dataset()[["verdict"]]
    results = add(results, tolerance=verdict.assign_attrs(confidence=0.95))
    table, *_ = build_tables(tolerance.TABLES[:1], results)
    assert table.header[-1] == "by people's scoring"
    assert {row[0]: row[-1] for row in table.rows} == {
        "a": "not admissible",
        "b": "not admissible",
        "c": "admissible",
    }


def weighed_fit():
    """A contradicted fit under the weights ``mine``."""
    results = fit(**KEPT)
    groups = {f"/mine/{name}": group.to_dataset() for name, group in results.children.items()}
    resolved = {"expected_loss": ("model", [0.3, 0.1, 0.2]), "unresolved": ("model", [False] * 3)}
    for name in ("/mine/decision", "/mine/decision_human"):
        groups[name] = groups[name].assign(resolved).assign_attrs(interval_note="")
    groups["/mine/decision"]["expected_loss_mcse"] = ("model", np.full(3, 0.01))
    groups["/mine/tolerance"] = xr.Dataset(attrs={"confidence": 0.95})
    groups["/mine/profile"] = groups["/mine/profile"].assign(tier=("model", [1, 1, 1]))
    interval = {"cvar": (("model", "bound"), np.zeros((3, 2)))}
    groups["/mine/profile_interval"] = groups["/mine/profile_interval"].assign(interval)
    weighed = xr.DataTree.from_dict(groups)
    weighed["mine"].attrs["weights_sha256"] = "0"
    return weighed


def test_weights_show_both_decisions_and_what_people_contradict():
    tables = {table.title: table for table in report_tables(weighed_fit())}
    assert tables["What the evidence does not carry"].rows == (("mine", OPENING),)
    decided = tables["What each weighting decides"]
    row = dict(zip(decided.header, decided.rows[0], strict=True))
    assert row["choice"] == "b"
    assert row["carried by the evidence"] == "no"
    assert row["choice by people's scoring"] == "c"
    assert row["admissible by people's scoring"] == "c"
    verdicts = tables["Verdict on each model under each weighting"]
    assert verdicts.header == ("model", "mine", "mine, by people's scoring")
    assert verdicts.rows[1] == ("b", "admissible", "not admissible")
