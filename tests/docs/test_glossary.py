"""Metric pages link the terms of the glossary that they use, and the glossary has them all."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
METRICS = sorted((DOCS / "metrics").glob("*.md"))
# Terms that are also words of everyday English: a page need not link them.
EVERYDAY = {
    *("Category", "Coverage", "Effect", "Fit", "Level", "Location", "Role", "Score", "Term"),
    *(
        "Baseline",
        "Calibration",
        "Centred",
        "Discrimination",
        "Ensemble",
        "Harm",
        "Identified",
        "Severity",
    ),
    *("Alpha", "Crowd", "Dimension", "Item", "Judge", "Panel", "Prior", "Rater"),
    *("Threshold", "Weights", "Profile", "Responsiveness", "Replicate", "Sample size"),
    *("Anchor", "Chain", "Draw", "Evidence", "Family", "Gate", "Margin", "Preview"),
}
NEEDED = {"CVaR", "Nat", "Tier", "Posterior", "HM", "MPA", "WRA", "VaR", "IRR", "XRR", "GAI"}
# What is no running text: generated blocks, headings, code and links.
PROSE = re.compile(
    r"<!-- generated.*?<!-- end -->|```.*?```|^#.*?$|`[^`]*`|\[[^\]]*\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)


def terms():
    return re.findall(r"^### (.+)$", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)


def anchor(term):
    return term.lower().replace(" ", "-")


def uses(text):
    """Terms of the glossary in the running text of a page that are linked nowhere on it."""
    prose = PROSE.sub(" ", text)
    return [
        term
        for term in terms()
        if term not in EVERYDAY
        and re.search(rf"\b{re.escape(term)}s?\b", prose, re.IGNORECASE)
        and f"glossary.md#{anchor(term)})" not in text
    ]


@pytest.mark.parametrize("path", METRICS, ids=lambda path: path.stem)
def test_a_metric_page_links_the_terms_that_it_uses(path):
    text = path.read_text("utf-8")
    assert "../glossary.md#" in text
    assert uses(text) == []


def test_a_term_without_a_link_is_seen():
    assert uses("Several nats.\n") == ["Nat"]
    assert uses("Several [nats](../glossary.md#nat), 2 nats in all.\n") == []
    assert uses("# Nat\n\n`nat`\n") == []


def test_the_glossary_has_the_terms_of_both_papers():
    assert not NEEDED - set(terms())
    assert not EVERYDAY - set(terms())
