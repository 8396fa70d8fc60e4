"""What `check` says of numbers that are too small, whatever the scores are."""

import pandas as pd
import pytest

from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from tests.panels import files_of, frame

CROWD = """schema = "sharpbayes/study/2"
title = "T"
seed = 1
[crowd]
data = "ratings.csv"
roles = { item = "item", rater = "rater", score = "score" }
scale = { kind = "ordinal", min = 0, max = 4 }
groups = [["gender"]]
raters = { data = "raters.csv", key = "rater" }
items = { data = "items.csv", key = "item" }
labels = { from = "item", column = "unsafe" }
"""


@pytest.mark.parametrize(
    ("prompts", "alpha", "text"),
    [
        (19, 0.5, "With 19 prompts nothing can be compared: fewer than 20 carry no mean, nor a "),
        (
            20,
            0.95,
            "With 20 prompts the 5% tail holds 1.0: CVaR 95 cannot be compared, means can; 100 "
            "prompts would leave 5 in the tail.",
        ),
        (20, 0.75, ""),
    ],
)
def test_too_few_prompts_for_a_tail_or_a_mean(tmp_path, prompts, alpha, text):
    files = files_of(tmp_path, frame(prompts=prompts), weights=f"[tail]\nalpha = {alpha}\n")
    limits = check(files).limits
    assert [what for what, _ in limits] == ["prompts"] * bool(text)
    assert not limits or limits[0][1].startswith(text)


def test_prompts_are_those_of_the_model_with_the_fewest(tmp_path):
    table = frame(prompts=30)
    table = table[(table["model"] != "m1") | (table["prompt"] < "p15")]
    [(_, text)] = check(files_of(tmp_path, table)).limits
    assert text.startswith("With 15 prompts nothing can be compared")


def test_one_judge_is_said(tmp_path):
    files = files_of(tmp_path, frame(prompts=100, judges=["ann"]))
    assert check(files).limits == (
        ("judges", "One judge only: nothing will show how far the numbers depend on it."),
    )


@pytest.mark.parametrize(("men", "unsafe"), [(10, 5), (9, 5), (10, 4)])
def test_few_raters_of_a_group_and_few_items_of_a_label(tmp_path, men, unsafe):
    raters = [f"r{n:02}" for n in range(20)]
    genders = ["Man"] * men + ["Woman"] * (20 - men)
    items = [f"i{n:02}" for n in range(12)]
    cells = pd.MultiIndex.from_product([items, raters], names=["item", "rater"])
    cells.to_frame(index=False).assign(score=1).to_csv(tmp_path / "ratings.csv", index=False)
    of_raters = pd.DataFrame({"rater": raters, "gender": genders})
    of_raters.to_csv(tmp_path / "raters.csv", index=False)
    labels = [1] * unsafe + [0] * (12 - unsafe)
    pd.DataFrame({"item": items, "unsafe": labels}).to_csv(tmp_path / "items.csv", index=False)
    (tmp_path / "s.toml").write_text(CROWD, encoding="utf-8")
    expected = []
    if men < 10:
        expected.append(
            (
                "raters",
                "Groups of fewer than 10 raters: gender=Man (9). Their numbers will say little "
                "about others of the group.",
            )
        )
    if unsafe < 5:
        text = "Items by label: 4 unsafe; with fewer than 5 of a label intervals do not "
        expected.append(("labels", f"{text}hold."))
    assert list(check(load_study(tmp_path / "s.toml")).limits) == expected
