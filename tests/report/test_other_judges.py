"""A fit whose models were scored by other judges calls none of them the lowest."""

import pytest
import xarray as xr

from sharpbayes.report.claims import OWN_VALUES, UNEQUAL_VALUES
from sharpbayes.report.panel_decision import selection_sentences
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.declaration import View
from sharpbayes.storage.results import open_results
from tests.shared_results import as_converged


@pytest.fixture
def fitted(shared_results):
    """A fit that is taken for a converged one: its words are what is tested."""
    return as_converged(open_results(shared_results("fitted_panel")).load())


def give_other_judges(results):
    """The same results where the first judge scored nothing of the first model."""
    evidence = results["evidence"].to_dataset()
    share = evidence["judge_share"].copy(deep=True)
    share[0, 0] = 0.0
    changed = results.copy()
    changed["evidence"] = xr.DataTree(evidence.assign(judge_share=share))
    return changed


def give_other_trials(results):
    """The same results where the first judge scored answers of the first model five times."""
    evidence = results["evidence"].to_dataset()
    trials = evidence["judge_share"].where(False, 1.0)
    trials[0, 0] = 5.0
    changed = results.copy()
    changed["evidence"] = xr.DataTree(evidence.assign(judge_trials=trials))
    return changed


def headings(results):
    """Headings of all columns of the tables of results."""
    return " ".join(str(table) for table in report_tables(results))


def test_the_answer_names_no_lowest_model(fitted):
    plain, other = (" ".join(answer(x)) for x in (fitted, give_other_judges(fitted)))
    own_values = UNEQUAL_VALUES.format(OWN_VALUES["judges",])
    assert own_values not in plain
    assert own_values in other
    assert "with probability" in plain
    for claim in ("is lowest with", "has the lowest tail risk", "puts"):
        assert claim not in other


def test_models_that_were_judged_more_often_are_not_said_to_have_their_own_judges(fitted):
    trials = " ".join(answer(give_other_trials(fitted)))
    assert (
        "The values of each model have the noise that its own trials leave, and the tables have "
        "them; no model is called lowest, by the posterior or by the bootstrap."
    ) in trials
    assert "own judges" not in trials
    both = " ".join(answer(give_other_trials(give_other_judges(fitted))))
    assert (
        "The values of each model are those of its own judges, with the noise that its own trials "
        "leave, and the tables have them"
    ) in both


def test_tables_have_no_probability_of_being_the_lowest(fitted):
    assert "P(lowest)" in headings(fitted)
    assert "P(lowest)" not in headings(give_other_judges(fitted))


def test_a_selection_is_no_recommendation(fitted):
    view = View(give_other_judges(fitted))
    [sentence] = selection_sentences(view, "nobody")
    assert sentence.endswith("models were not judged alike: that is no recommendation.")
