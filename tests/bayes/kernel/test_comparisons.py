"""A comparison that has passed is not repeated, and one that would differ is."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.bayes import fit
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph import verification
from sharpbayes.bayes.kernel import comparisons
from sharpbayes.errors import KernelError
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of

SHORT = Sampler(chains=2).model_copy(update={"tune": 12, "draws": 6, "max_depth": 3})
TERMS = (("item",), ("rater",))


def design_of(*terms, **more):
    ratings = crowd_ratings(np.random.default_rng(3), items=4, raters=3)
    return build_design(ratings, model_of(*terms, **more))


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Keep comparisons in a folder of the test's own."""
    path = tmp_path / comparisons.FILE
    monkeypatch.setattr(comparisons, "_path", lambda: path)
    return path


def test_equal_designs_have_one_digest():
    first, second = (design_of(*TERMS) for _ in range(2))
    digests = [comparisons.comparison_digest(design, seed=1) for design in (first, second)]
    assert digests[0] == digests[1]


def other_category(design):
    scale = design.scales[0]
    category = scale.category.copy()
    category[0] = (category[0] + 1) % len(scale.labels)
    return replace(design, scales=(replace(scale, category=category),))


def other_index(design):
    index = design.terms[0].index[::-1].copy()
    return replace(design, terms=(replace(design.terms[0], index=index), *design.terms[1:]))


CHANGES = {
    "category": (other_category, 1),
    "index": (other_index, 1),
    "prior": (lambda _: design_of(("item",), (["rater"], 1.0)), 1),
    "link": (lambda _: design_of(*TERMS, link="probit"), 1),
    "point": (lambda design: design, 2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_the_comparison_depends_on_changes_the_digest(change):
    before = comparisons.comparison_digest(design_of(*TERMS), seed=1)
    alter, seed = CHANGES[change]
    assert comparisons.comparison_digest(alter(design_of(*TERMS)), seed=seed) != before


def test_other_code_has_another_digest(monkeypatch):
    before = comparisons.comparison_digest(design_of(*TERMS), seed=1)
    monkeypatch.setattr(comparisons, "computation", lambda: {"code_sha256": "other"})
    assert comparisons.comparison_digest(design_of(*TERMS), seed=1) != before


@pytest.mark.usefixtures("kept")
def test_the_latest_comparisons_are_kept(monkeypatch):
    monkeypatch.setattr(comparisons, "MAX_KEPT", 2)
    for name in ("a", "b", "a", "c"):
        assert comparisons.has_passed(name) == (name == "a" and comparisons.has_passed("b"))
        comparisons.remember_passed(name)
    assert [comparisons.has_passed(name) for name in "abc"] == [True, False, True]


def test_a_file_that_cannot_be_read_or_written_only_repeats_the_comparison(kept):
    kept.write_bytes(b"\xff\xfe")
    assert not comparisons.has_passed("a")
    kept.unlink()
    kept.mkdir()
    comparisons.remember_passed("a")
    assert not comparisons.has_passed("a")
    assert list(kept.parent.iterdir()) == [kept]


def test_the_file_lies_alongside_the_machine_code():
    assert list(comparisons._path().parent.glob("machine_code*"))


def sample():
    return fit.verify_and_sample(design_of(*TERMS), SHORT, seed=1, verify_seed=2)


@pytest.mark.usefixtures("kept")
def test_a_comparison_that_has_passed_is_not_repeated(monkeypatch):
    calls = []
    monkeypatch.setattr(verification, "verify_kernel", lambda *_, **__: calls.append(1))
    first, second = sample(), sample()
    assert calls == [1]
    assert first.identical(second)


def test_no_draws_are_returned_where_it_fails(monkeypatch, kept):
    def fail(*_, **__):
        raise KernelError("they differ")

    monkeypatch.setattr(verification, "verify_kernel", fail)
    for _ in range(2):
        with pytest.raises(KernelError, match="they differ"):
            sample()
    assert not kept.exists()
