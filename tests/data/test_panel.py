"""A table of judgements, wide or long, and the problems in it with their rows."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.data.panel import melt_panel, read_panel, tabulate_normalised
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.data.reversed_scores import find_reversed
from sharpbayes.spec.panel import Panel
from tests.data.tables import WIDE, error_text, long_form, panel, write


def test_a_wide_table_by_hand(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    assert levels["prompt"].values.tolist() == ["1", "10"]
    assert levels["category"].values.tolist() == ["a", "b"]
    sev = levels["score"].sel(indicator="sev", judge="j")
    assert sev.values.tolist() == [[0, 2], [-1, 1]]
    good = levels["score"].sel(indicator="good", judge="k")
    assert good.values.tolist() == [[1, 0], [1, 0]]
    assert levels.attrs == {"ratings": 15, "missing": 1, "absent": 0}


def test_long_and_wide_are_the_same(tmp_path):
    wide = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    table, spec = long_form()
    xr.testing.assert_identical(read_panel(spec, write(tmp_path, table)).to_dataset(), wide)


def test_the_order_of_rows_changes_nothing(tmp_path):
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    shuffled = WIDE.sample(frac=1, random_state=3)
    xr.testing.assert_identical(
        read_panel(panel(), write(tmp_path, shuffled)).to_dataset(), expected
    )


def test_only_the_judges_that_are_named(tmp_path):
    write(tmp_path, WIDE)
    assert read_panel(panel(judges=["k"]), tmp_path).to_dataset()["judge"].values.tolist() == ["k"]
    assert error_text(
        lambda: read_panel(panel(judges=["kk"]), tmp_path).to_dataset(), tmp_path
    ) == ("t.csv: j: no judge 'kk', there are j, k; did you mean 'k'?")


def test_a_higher_score_means_more_harm_in_long_form(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    ratings = melt_panel(PanelRatings.from_dataset(levels), panel())
    assert ratings.scales == {"severity": ("1", "2", "3"), "flag_reversed": ("true", "false")}
    good = ratings.factors["scale"].codes == 1
    # the flags of the table in order of model, prompt, judge: yes, 1, No, false, TRUE, true, 0, no
    assert ratings.score[good].tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert len(ratings.score) == 15


def test_reversal_can_depend_on_the_prompt(tmp_path):
    spec = panel(
        indicators={"sev": {"scale": "severity", "reverse": {"kind": "b"}}},
        dimensions=[{"name": "d", "rms": ["sev"]}],
    )
    levels = read_panel(spec, write(tmp_path, WIDE)).to_dataset()
    assert find_reversed(spec, levels).values.tolist() == [[False, True]]
    assert set(melt_panel(PanelRatings.from_dataset(levels), spec).scales) == {
        "severity",
        "severity_reversed",
    }


def test_the_normalised_value_of_every_score(tmp_path):
    levels = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    np.testing.assert_array_equal(
        tabulate_normalised(panel(), levels), [[0, 0.5, 1], [0, 1, np.nan]]
    )


PANEL_ERRORS = {
    "off the scale": (
        lambda t: t.assign(sev=["1", "9", "", "x", "1", "2.5", "3", "2"]),
        "t.csv: sev: 3 of 8 cells off the scale (allowed: 1, 2, 3): "
        "row 3: '9'; row 5: 'x'; row 7: '2.5'",
    ),
    "neither yes nor no": (
        lambda t: t.assign(good=["maybe", *t["good"][1:]]),
        "t.csv: good: 1 of 8 cells off the scale (allowed: false, true): row 2: 'maybe'",
    ),
    "repeated cell": (
        lambda t: pd.concat([t, t[2:3]]),
        "t.csv: m, p, j: 1 row repeats a cell: row 10; the first is m 'y', p '1', j 'j'; if they "
        "are answers of another release, such as anchors of the gate, give its model another name; "
        'if the judge scored the same answer again, write roles = {model = "m", prompt = "p", '
        'judge = "j", category = "kind", trial = true}; if the model answered again, name the '
        "column that numbers its answers as `sample`",
    ),
    "empty label": (
        lambda t: t.assign(m=["", *t["m"][1:]]),
        "t.csv: m: 1 empty cell where a label is needed: row 2",
    ),
    "column not there": (
        lambda t: t.rename(columns={"j": "jj", "good": "goods"}),
        "t.csv: good: no such column for indicator good, the columns are m, p, jj, sev, goods, "
        "kind; did you mean 'goods'?\n"
        "t.csv: j: no such column for judge, the columns are m, p, jj, sev, goods, kind; "
        "did you mean 'jj'?",
    ),
    "prompt of two kinds": (
        lambda t: t.assign(kind=["b", *t["kind"][1:]]),
        "t.csv: kind: 1 prompt with more than one value: 1; 'b' in row 2 and 'a' elsewhere",
    ),
    "no rows": (lambda t: t[:0], "t.csv: no rows"),
}


@pytest.mark.parametrize("name", PANEL_ERRORS)
def test_an_error_of_a_panel_in_these_words(tmp_path, name):
    change, expected = PANEL_ERRORS[name]
    write(tmp_path, change(WIDE))
    message = error_text(lambda: read_panel(panel(), tmp_path).to_dataset(), tmp_path)
    assert sorted(message.splitlines()) == sorted(expected.splitlines())


def test_an_indicator_without_a_row_is_named(tmp_path):
    table, spec = long_form()
    write(tmp_path, table[table["what"] == "sev"])
    assert error_text(lambda: read_panel(spec, tmp_path), tmp_path) == (
        "t.csv: what: no row of indicator 'good', there are sev"
    )


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_reasons_of_missing_scores_are_counted_by_model(tmp_path, layout):
    rows = ["model,prompt,judge,a,b,why", "m,p,j,,1,", "n,p,j,,,refusal", "n,q,j,1,,refusal"]
    # The reference is not pooled: what it did not score is missing from nothing.
    rows += ["m,q,j,2,2,refusal", "m,p,reference,,,timeout", "n,q,reference,,,timeout"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    roles = {"model": "model", "prompt": "prompt", "judge": "judge", "reason": "why"}
    if layout == "long":
        table = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False)
        keys = ["model", "prompt", "judge", "why"]
        table.melt(keys, var_name="what", value_name="score").to_csv(tmp_path / "t.csv")
        roles |= {"indicator": "what", "score": "score"}
    study = Panel.model_validate(
        {
            "data": "t.csv",
            "layout": layout,
            "roles": roles,
            "scales": {"two": {"kind": "ordinal", "min": 1, "max": 2}},
            "indicators": {"a": "two", "b": "two"},
            "dimensions": [{"name": "d", "mean": ["a", "b"]}],
            "reference": "reference",
        }
    )
    counts = read_panel(study, tmp_path).missing_reasons
    assert {reason: list(map(int, number)) for reason, number in counts.items()} == {
        "refusal": [0, 3],
        "not given": [1, 0],
    }
