"""The worlds of shared errors: their truth, and the page that shows the committed table."""

from pathlib import Path

import numpy as np

from tests.references import shared_errors

TABLE = Path(__file__).with_name("shared_errors.csv")
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "references.md"


def test_judges_see_severity_their_own_shift_and_what_they_share():
    for sd in shared_errors.WORLDS.values():
        severity, perceived, judge, *_ = shared_errors.draw_truth(np.random.default_rng(3), sd)
        error = perceived - judge - severity[:, :, None]
        np.testing.assert_allclose(error, error[:, :, :1].repeat(3, axis=2), atol=1e-12)
        assert abs(error.std() - sd) < 0.15


def test_people_score_two_of_five_on_half_of_the_prompts(tmp_path):
    truths = shared_errors.write_study(tmp_path / "s", seed=1, shared_sd=1.2)
    rows = (tmp_path / "s" / "people.csv").read_text().splitlines()[1:]
    assert len(rows) == 4 * 15 * 2 * 4
    assert len((tmp_path / "s" / "judges.csv").read_text().splitlines()) == 1 + 4 * 30 * 3 * 4
    assert [len(truths[name]) for name in ("severity", "human_cvar", "shared_sd")] == [3, 4, 1]


def test_the_page_shows_the_table():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert not [row for row in shared_errors.page(TABLE) if row not in lines]
