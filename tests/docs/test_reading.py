"""The worked examples of the page on how to read a report."""

from sharpbayes.report.summary import answer
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure
from tests.make_reading import EXAMPLES, PAGE, replace_example


def test_an_example_is_replaced_and_nothing_else():
    text = "a\n<!-- example: x -->\nold\n<!-- end -->\nb\n<!-- example: y -->\n1\n<!-- end -->\n"
    assert replace_example(text, "x", "new") == text.replace("old", "new")
    assert replace_example(text, "y", "2") == text.replace("1", "2")


def test_the_bad_study_begins_with_what_it_cannot_tell():
    page = " ".join(PAGE.read_text("utf-8").split())
    assert all(f"<!-- example: {name} --> ```text " in page for name in EXAMPLES)
    first = answer(measure(load_study("quickstart", overrides=("bootstrap.replicates=20",))))[0]
    assert f"<!-- example: bad --> ```text {first} " in page
