"""A fit whose models were scored by other judges calls none of them the lowest."""

import pytest
import xarray as xr

from sharpbayes.report.panel_answer import OWN_JUDGES
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


def headings(results):
    """Headings of all columns of the tables of results."""
    return " ".join(str(table) for table in report_tables(results))


def test_the_answer_names_no_lowest_model(fitted):
    plain, other = (" ".join(answer(x)) for x in (fitted, give_other_judges(fitted)))
    assert OWN_JUDGES not in plain
    assert OWN_JUDGES in other
    assert "with probability" in plain
    for claim in ("is lowest with", "has the lowest tail risk", "puts"):
        assert claim not in other


def test_tables_have_no_probability_of_being_the_lowest(fitted):
    assert "P(lowest)" in headings(fitted)
    assert "P(lowest)" not in headings(give_other_judges(fitted))


def test_a_selection_is_no_recommendation(fitted):
    view = View(give_other_judges(fitted))
    [sentence] = selection_sentences(view, "nobody")
    assert sentence.endswith("models were not judged alike: that is no recommendation.")
