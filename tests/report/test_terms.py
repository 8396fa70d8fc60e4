"""Terms are defined once, where they first stand."""

import re
from pathlib import Path

import pytest

from sharpbayes.report.terms import TERMS, Definitions

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def names(terms):
    return [term.name for term in terms]


def test_a_term_is_defined_where_it_first_stands_and_nowhere_else():
    definitions = Definitions()
    assert names(definitions.define(["CVaR 95 of log-risk", "in nats"])) == [
        "CVaR",
        "log-risk",
        "nat",
    ]
    assert names(definitions.define(["CVaR 95", "VaR", "Tiers"])) == ["VaR", "tier"]
    assert definitions.define(["CVaR VaR tier"]) == []


@pytest.mark.parametrize("text", ["natural", "entail", "HMM", "tier-list", "interval_note"])
def test_parts_of_words_are_no_terms(text):
    assert names(Definitions().define([text])) in ([], ["tier"][: text.startswith("tier")])


def test_a_meaning_is_one_sentence():
    assert all(term.meaning.endswith(".") and ". " not in term.meaning for term in TERMS)


def test_the_glossary_has_every_term_of_a_page():
    headings = " ".join(re.findall(r"^### (.*)$", GLOSSARY.read_text("utf-8"), re.MULTILINE))
    assert [name for name in names(TERMS) if name.casefold() not in headings.casefold()] == []
