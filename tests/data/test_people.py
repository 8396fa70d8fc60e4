"""People's ratings beside those of judges: where they stand, and what cannot be placed."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.data.panel import melt_panel, read_panel
from sharpbayes.data.ratings import PanelRatings
from sharpbayes.errors import DataError
from tests.data.tables import WIDE, panel

ROLES = {"model": "m", "prompt": "p", "rater": "who", "indicator": "what", "score": "s"}
PEOPLE = pd.DataFrame(
    {
        "m": ["x", "x", "y", "y", "y"],
        "p": ["1", "1", "10", "10", "1"],
        "who": ["ann", "bob", "ann", "bob", "ann"],
        "what": ["sev", "good", "good", "sev", "sev"],
        "s": ["3", "yes", "no", "1", ""],
    }
)
OWN = {"f": {"models": ["y"], "judges": ["k"]}}


def read(
    tmp_path, people=PEOPLE, *, roles=ROLES, raters=None, judges=WIDE, panel_roles=None, **more
):
    judges.to_csv(tmp_path / "t.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    more |= {"roles": panel_roles} if panel_roles else {}
    spec = panel(people={"data": "people.csv", "roles": roles, "raters": raters}, **more)
    return spec, read_panel(spec, tmp_path).to_dataset()


def rows_of(ratings):
    """Each rating as a tuple of labels and its level."""
    names = ("model", "prompt", "judge", "rater", "indicator", "scale", "dimension")
    table = [
        np.append(ratings.factors[name].labels, "")[ratings.factors[name].codes] for name in names
    ]
    return list(zip(*table, ratings.score.tolist(), strict=True))


def test_ratings_by_people_stand_below_those_by_judges(tmp_path):
    spec, levels = read(tmp_path)
    ratings = melt_panel(PanelRatings.from_dataset(levels), spec)
    judged = ratings.factors["judge"].codes >= 0
    assert judged.tolist() == [True] * 15 + [False] * 4
    # of a reversed flag "yes" is good: counted from the other end it is level 0
    assert rows_of(ratings)[15:] == [
        ("x", "1", "", "ann", "sev", "severity", "d", 2),
        ("x", "1", "", "bob", "good", "flag_reversed", "d", 0),
        ("y", "10", "", "ann", "good", "flag_reversed", "d", 1),
        ("y", "10", "", "bob", "sev", "severity", "d", 0),
    ]
    alone = melt_panel(
        PanelRatings.from_dataset(read_panel(panel(), tmp_path).to_dataset()), panel()
    )
    np.testing.assert_array_equal(ratings.score[:15], alone.score)


def test_gold_labels_are_of_no_rater(tmp_path):
    roles = {role: column for role, column in ROLES.items() if role != "rater"}
    spec, levels = read(tmp_path, PEOPLE.iloc[[0, 2, 3]], roles=roles)
    ratings = melt_panel(PanelRatings.from_dataset(levels), spec)
    assert set(ratings.factors["rater"].codes) == {-1}
    assert ratings.score[15:].tolist() == [2, 1, 0]


def test_people_rate_an_answer_and_not_all_answers_of_a_model(tmp_path):
    judges = pd.concat([WIDE.assign(n="a"), WIDE.assign(n="b")])
    roles = {"model": "m", "prompt": "p", "judge": "j", "category": "kind", "sample": "n"}
    people = PEOPLE.assign(n=["a", "b", "b", "a", "a"])
    of_people = ROLES | {"sample": "n"}
    spec, levels = read(tmp_path, people, roles=of_people, judges=judges, panel_roles=roles)
    ratings = melt_panel(PanelRatings.from_dataset(levels), spec)
    answer = ratings.factors["sample"]
    assert answer.labels == ("a", "b")
    assert answer.codes[ratings.factors["judge"].codes < 0].tolist() == [0, 1, 1, 0]


def test_people_and_judges_must_share_an_answer(tmp_path):
    judges = pd.concat([WIDE.assign(n="a"), WIDE.assign(n="b").iloc[:1]])
    roles = {"model": "m", "prompt": "p", "judge": "j", "category": "kind", "sample": "n"}
    people = PEOPLE.iloc[2:].assign(n="b")
    with pytest.raises(DataError, match="no cell here was scored by a judge"):
        read(tmp_path, people, roles=ROLES | {"sample": "n"}, judges=judges, panel_roles=roles)


def test_raters_that_are_not_named_are_left_out(tmp_path):
    odd = PEOPLE.assign(m=["nobody", "x", "nowhere", "y", "none"])
    spec, levels = read(tmp_path, odd, raters=["bob"])
    assert levels["person"].to_numpy().tolist() == ["bob"]
    assert melt_panel(PanelRatings.from_dataset(levels), spec).score[15:].tolist() == [0, 0]


def test_own_family_is_a_judge_on_a_model_of_its_family(tmp_path):
    spec, levels = read(tmp_path, families=OWN)
    factors = melt_panel(PanelRatings.from_dataset(levels), spec).factors
    own_family = {
        (row[0], row[2])
        for row, code in zip(
            rows_of(melt_panel(PanelRatings.from_dataset(levels), spec)),
            factors["own_family"].codes,
            strict=True,
        )
        if code == 0
    }
    assert own_family == {("y", "k")}
    assert factors["own_family"].labels == ("own family",)
    spec, levels = read(tmp_path)
    assert "own_family" not in melt_panel(PanelRatings.from_dataset(levels), spec).factors


def test_machines_and_families_of_two_judges_are_columns(tmp_path):
    two = {"kin": {"models": ["y"], "judges": ["j", "k"]}}
    spec, levels = read(tmp_path, families=two)
    factors = melt_panel(PanelRatings.from_dataset(levels), spec).factors
    judged = factors["judge"].codes >= 0
    assert factors["machine"].labels == ("model judge",)
    assert (factors["machine"].codes == np.where(judged, 0, -1)).all()
    assert factors["family"].labels == ("kin",)
    assert set(factors["family"].codes[judged]) == {0}
    assert set(factors["family"].codes[~judged]) == {-1}


def test_a_judge_alone_in_a_family_makes_no_column(tmp_path):
    spec, levels = read(tmp_path, families=OWN)
    assert "family" not in melt_panel(PanelRatings.from_dataset(levels), spec).factors


def test_probabilities_of_labels_are_stored_with_the_ratings(tmp_path):
    with_probability = PEOPLE.assign(q=["0.5", "0.5", "1", "1", "0.1"])
    _, levels = read(tmp_path, with_probability, roles=ROLES | {"probability": "q"})
    assert levels["people_probability"].to_numpy().tolist() == [0.5, 0.5, 1.0, 1.0]
    again = PanelRatings.from_dataset(levels).people_probability
    assert again.tolist() == [0.5, 0.5, 1.0, 1.0]
    assert "people_probability" not in read(tmp_path)[1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["0", "0", "1.5", "1.5", "x"],
            "people.csv: q: 0, 1.5, x (rows 2, 3, 4, 5, 6) must be a number above 0 and at most 1",
        ),
        (
            ["0.5", "0.4", "1", "1", "1"],
            "people.csv: q: several probabilities of one answer (rows 2, 3); an answer has one",
        ),
    ],
)
def test_wrong_probabilities_are_named(tmp_path, values, message):
    with pytest.raises(DataError) as caught:
        read(tmp_path, PEOPLE.assign(q=values), roles=ROLES | {"probability": "q"})
    assert message in str(caught.value)


FAULTS = {
    "model": (
        {"m": ["x", "z", "y", "y", "y"]},
        {},
        "people.csv: m: 1 model that the judges' table does not have: z (row 3); there are x, y",
    ),
    "prompt": (
        {"p": ["1", "1", "11", "10", "11"]},
        {},
        "people.csv: p: 1 prompt that the judges' table does not have: 11 (rows 4, 6); "
        "there are 1, 10; did you mean '1'?",
    ),
    "indicator": (
        {"what": ["sev", "goood", "good", "sev", "sev"]},
        {},
        "people.csv: what: 1 indicator that the judges' table does not have: goood (row 3); "
        "there are sev, good; did you mean 'good'?",
    ),
    "level": (
        {"s": ["3", "yes", "no", "4", ""]},
        {},
        "people.csv: s: 1 of 3 cells off the scale (allowed: 1, 2, 3): row 5: '4'",
    ),
    "twice": (
        {"p": ["1", "1", "10", "1", "1"], "who": ["ann", "bob", "ann", "ann", "ann"]},
        {},
        "people.csv: m, p, who, what: 1 row repeats a rating: row 6",
    ),
    "empty": (
        {"who": ["ann", "", "ann", "bob", "ann"]},
        {},
        "people.csv: who: 1 empty cell where a label is needed: row 3",
    ),
    "rater": (
        {},
        {"raters": ["anne"]},
        "people.csv: who: no rater 'anne', there are ann, bob; did you mean 'ann'?",
    ),
    "column": ({}, {"roles": ROLES | {"score": "grade"}}, "people.csv: grade: "),
    "family": (
        {},
        {"families": {"f": {"models": ["w"], "judges": ["j", "l"]}}},
        "t.csv: j: no judge 'l', there are j, k\nt.csv: m: no model 'w', there are x, y",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_placed_is_a_fault(tmp_path, fault):
    cells, more, expected = FAULTS[fault]
    with pytest.raises(DataError) as error:
        read(tmp_path, PEOPLE.assign(**cells), **more)
    assert expected in str(error.value).replace(f"{tmp_path}/", "")


def test_people_and_judges_must_share_a_cell(tmp_path):
    judges = WIDE.copy()
    judges.loc[judges["m"] == "y", ["sev", "good"]] = ""
    with pytest.raises(DataError, match="no cell here was scored by a judge"):
        read(tmp_path, PEOPLE.iloc[2:], judges=judges)


def test_people_without_any_score_are_said_to_have_none(tmp_path):
    with pytest.raises(DataError) as error:
        read(tmp_path, PEOPLE.assign(s=""))
    assert str(error.value).replace(f"{tmp_path}/", "") == (
        "people.csv: s: no rating of people has a score: every cell of the column is empty"
    )
