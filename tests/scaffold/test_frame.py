"""A DataFrame and what its owner decides become the text of a study."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError, SpecError
from sharpbayes.scaffold.frame import draft_frame
from sharpbayes.spec.lines import open_checks
from tests import panels

DECIDED = {"title": "Ratings", "seed": 1}
FRAME = panels.frame(prompts=4)
RATINGS = pd.DataFrame(
    {
        "item": ["i1", "i1", "i2", "i2", "i3", "i3"],
        "rater": ["r1", "r2"] * 3,
        "score": [0, 4, 1, 3, 2, 2],
    }
)


def drafted(frame, section="panel", **settings):
    text, path = draft_frame(frame, section, DECIDED | settings)
    return tomllib.loads(text), open_checks(text), path


def test_what_is_left_out_is_inferred_and_marked():
    study, checks, path = drafted(FRAME)
    assert study["panel"]["roles"]["model"] == "model"
    assert study["panel"]["roles"]["category"] == "kind"
    assert [*study["panel"]["indicators"]] == ["bias_a", "bias_b", "truth"]
    assert [check.split(" is taken")[0] for check in checks] == [
        "numbers run over those in the data, 0 to 10; write the ends of a longer scale",
        "a high score",
        "all indicators are one dimension of harm; split it into those you mean",
    ]
    assert [*path.files] == ["frame.csv"]


def test_what_is_decided_is_not_inferred():
    study, checks, _ = drafted(
        FRAME,
        indicators={"bias_a": "ten", "truth": {"scale": "ten", "reverse": True}},
        scales={"ten": {"kind": "ordinal", "min": 0, "max": 10}},
        dimensions=[{"name": "all", "mean": ["bias_a", "truth"]}],
        bootstrap={"replicates": 10},
        fit="judge_panel",
    )
    assert checks == []
    assert study["panel"]["scales"] == {"ten": {"kind": "ordinal", "min": 0, "max": 10}}
    assert study["panel"]["indicators"]["truth"] == {"scale": "ten", "reverse": True}
    assert study["panel"]["dimensions"] == [{"name": "all", "mean": ["bias_a", "truth"]}]
    assert study["panel"]["fit"] == "judge_panel"
    assert study["bootstrap"] == {"replicates": 10}


def test_names_of_indicators_alone_leave_scale_and_direction_open():
    study, checks, _ = drafted(FRAME, indicators=["bias_a", "kind"])
    assert [*study["panel"]["indicators"]] == ["bias_a", "kind"]
    assert study["panel"]["dimensions"] == [{"name": "harm", "rms": ["bias_a", "kind"]}]
    assert "category" not in study["panel"]["roles"]
    assert sum(check.startswith("a high score") for check in checks) == 1
    assert sum("first appear" in check for check in checks) == 1


def test_a_direction_alone_keeps_the_inferred_scale():
    study, checks, _ = drafted(FRAME, indicators={"truth": {"reverse": True}})
    assert study["panel"]["indicators"] == {"truth": {"scale": "scale_1", "reverse": True}}
    assert not [check for check in checks if check.startswith("a high score")]


def test_a_row_for_each_score():
    long = FRAME.melt(["model", "prompt", "judge"], ["bias_a", "truth"], "indicator", "score")
    study, _, _ = drafted(long, indicators=["truth"])
    assert study["panel"]["layout"] == "long"
    assert [*study["panel"]["indicators"]] == ["truth"]
    message = r"^frame\.csv: lies: no scale fits \(no score of this indicator\); name one of `scal"
    with pytest.raises(DataError, match=message):
        drafted(long, indicators=["lies"])


def test_named_levels_of_the_index_are_columns():
    _, plain_checks, plain = drafted(FRAME[["model", "prompt", "judge", "truth"]])
    levels = ["model", "prompt", "judge"]
    for index in (levels[:1], levels):
        _, checks, path = drafted(FRAME[[*levels, "truth"]].set_index(index))
        assert (checks, path.files) == (plain_checks, plain.files)
    # A level that only repeats a column adds nothing, an unnamed one neither.
    for frame in (FRAME.set_index("prompt", drop=False), FRAME.set_axis(FRAME.index + 7)):
        assert drafted(frame)[2].files == drafted(FRAME)[2].files
    with pytest.raises(DataError, match=r"^frame\.csv:1: repeated column names: model$"):
        drafted(FRAME.rename_axis("model"))


def test_columns_may_be_numbered():
    frame = FRAME[["model", "prompt", "judge", "truth"]].set_axis([0, 1, 2, "truth"], axis=1)
    study, _, _ = drafted(frame, model=0, prompt=1, judge=2)
    assert study["panel"]["roles"] == {"model": "0", "prompt": "1", "judge": "2"}
    message = r"^frame\.csv: 3: no such column for model, the columns are 0, 1, 2, truth$"
    with pytest.raises(DataError, match=message):
        drafted(frame, model=3, prompt=1, judge=2)


WORDS = ["nasty", "mild", "none", "vile"]


@pytest.mark.parametrize("section", ["panel", "crowd"])
def test_the_order_of_a_categorical_is_that_of_its_type(section):
    frame = RATINGS.rename(columns={"item": "model", "rater": "judge"}).assign(prompt="p")
    frame = RATINGS if section == "crowd" else frame
    words = pd.Categorical.from_codes([0, 1, 1, 0, -1, 2], WORDS, ordered=True)
    study, checks, _ = drafted(frame.assign(score=words), section)
    table = study[section]
    scale = table["scale"] if section == "crowd" else table["scales"]["scale_1"]
    assert scale == {"kind": "categorical", "levels": WORDS}
    order = 'the order of "score" is taken from the type, least harm first: nasty, mild, none, vile'
    assert order in checks


def test_numbers_of_an_ordered_type_are_a_scale_of_words_only_where_they_do_not_ascend():
    frame, numbers = FRAME[["model", "prompt", "judge"]], [row % 5 for row in range(len(FRAME))]
    scales = [
        drafted(frame.assign(score=pd.Categorical(numbers, order, ordered=True)))[0]["panel"]
        for order in ([*range(5)], [*range(5)][::-1])
    ]
    assert [panel["scales"]["scale_1"] for panel in scales] == [
        {"kind": "ordinal", "min": 0, "max": 4},
        {"kind": "categorical", "levels": ["4", "3", "2", "1", "0"]},
    ]


def test_columns_that_a_panel_lacks_are_added():
    study, checks, path = drafted(
        FRAME.drop(columns=["judge"]).drop_duplicates(["model", "prompt"])
    )
    assert study["panel"]["roles"]["judge"] == "judge"
    assert checks[0] == "no column names the judge: all rows count as one judge's"
    assert path.files["frame.csv"].splitlines()[0].endswith(b",judge")


def test_tables_of_raters_items_and_labels_are_frames_too():
    raters = pd.DataFrame({"rater": ["r1", "r2"], "town": ["a", "b"]})
    items = pd.DataFrame({"item": ["i1", "i2", "i3"], "kind": ["x", "x", "y"]})
    labels = pd.DataFrame({"item": ["i1"], "expert": ["e"], "label": [1]})
    study, checks, path = drafted(RATINGS, "crowd", raters=raters, items=items, labels=labels)
    crowd = study["crowd"]
    assert crowd["raters"] == {"data": "raters.csv", "key": "rater"}
    assert crowd["items"] == {"data": "items.csv", "key": "item"}
    assert crowd["labels"] == {"from": "experts", "data": "labels.csv", "roles": {"item": "item"}}
    assert crowd["by"] == ["kind"]
    assert [*path.files] == ["frame.csv", "raters.csv", "items.csv", "labels.csv"]
    assert checks == [
        "numbers run over those in the data, 0 to 4; write the ends of a longer scale"
    ]


@pytest.mark.parametrize(
    "labels",
    [
        {"expert": "ann", "label": [False, True, True]},
        {"expert": ["ann", "bob", "ann"], "label": [0, 1, 1]},
    ],
)
def test_labels_by_experts_are_no_columns_of_items(labels):
    labels = pd.DataFrame({"item": ["i1", "i2", "i3"], **labels})
    study, _, _ = drafted(RATINGS, "crowd", labels=labels)
    assert study["crowd"]["by"] == []
    assert "items" not in study["crowd"]


def test_a_crowd_without_labels_is_its_own():
    study, checks, _ = drafted(RATINGS, "crowd", scale={"kind": "ordinal", "min": 0, "max": 4})
    assert study["crowd"]["labels"] == {"from": "crowd", "cut": 2}
    assert [check[:40] for check in checks] == [
        "no column says which items are unsafe: t",
        "without groups of raters nobody is left ",
    ]


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        (
            "panel",
            {"modl": "m", "seeds": 2},
            "study: modl: no such setting; did you mean 'model'?\n"
            "study: seeds: no such setting; did you mean 'seed'?",
        ),
        ("panel", {"indicators": 3}, "study: indicators: found 3, must be a table"),
        ("crowd", {"labels": 1}, "study: labels: found 1, must be a table"),
        (
            "panel",
            {"families": {"a": object()}},
            "study: families: found a value of type object, allowed are texts, numbers, lists and "
            "tables of them",
        ),
    ],
)
def test_settings_that_no_study_has_are_refused(section, settings, message):
    with pytest.raises(SpecError) as error:
        drafted(FRAME if section == "panel" else RATINGS, section, **settings)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        (
            "panel",
            {"judge": "jugde"},
            "frame.csv: jugde: no such column for judge, the columns are model, prompt, judge, "
            "bias_a, bias_b, truth, kind; did you mean 'judge'?",
        ),
        (
            "panel",
            {"indicators": ["bias_c", "truth"]},
            "frame.csv: bias_c: no such column for indicator bias_c, the columns are model, "
            "prompt, judge, bias_a, bias_b, truth, kind; did you mean 'bias_b'?",
        ),
        (
            "crowd",
            {},
            "frame.csv: rater: no column found for it among item, score; name it with rater=COLUMN",
        ),
    ],
)
def test_columns_that_the_frame_lacks_are_named(section, settings, message):
    frame = FRAME if section == "panel" else pd.DataFrame({"item": ["a"], "score": [1]})
    with pytest.raises(DataError) as error:
        drafted(frame, section, **settings)
    assert str(error.value) == message


def test_a_panel_needs_a_column_of_models():
    message = (
        r"^frame\.csv: model: no column found for it among item, rater, score; name it with mo"
    )
    with pytest.raises(DataError, match=message):
        drafted(RATINGS)


@pytest.mark.parametrize("is_parquet", [False, True])
def test_objects_and_lists_in_cells_are_columns_and_rows(tmp_path, is_parquet):
    """Structs and lists of Parquet come as objects and arrays."""
    prompts = pd.DataFrame({"prompt": np.repeat([*"pqrs"], 2), "model": [*"ab"] * 4})
    prompts["scores"] = [{"hate": n % 3, "fraud": n % 2} for n in range(8)]
    items = pd.DataFrame({"item": [*"ijk"], "step": pd.Categorical([*"abc"], ordered=True)})
    items["by"] = [[{"rater": r, "label": len(r) + n} for r in ("x", "yy")] for n in range(3)]
    if is_parquet:
        for name, table in (("p", prompts), ("i", items)):
            table.to_parquet(tmp_path / name)
        prompts, items = (pd.read_parquet(tmp_path / name) for name in "pi")
    panel, _ = draft_frame(prompts, "panel", DECIDED)
    assert [*tomllib.loads(panel)["panel"]["indicators"]] == ["scores.hate", "scores.fraud"]
    assert 'objects in "scores" are split: each entry has a column of its own' in panel
    crowd, path = draft_frame(items, "crowd", DECIDED | {"rater": "by.rater"})
    roles = tomllib.loads(crowd)["crowd"]["roles"]
    assert roles == {"item": "item", "rater": "by.rater", "score": "by.label"}
    assert 'lists in "by" are turned into rows, one for each rater' in crowd
    assert not any(x.startswith(("objects in", "lists in")) for x in open_checks(panel + crowd))
    assert read_table(path.parent, "frame.csv")["by.label"].tolist() == [*"122334"]


def test_a_model_that_is_known_by_its_values_is_marked_unless_it_is_named():
    frame = FRAME.rename(columns={"model": "target"})
    frame["target"] = frame["target"].map(lambda name: f"gpt-{name}")
    text = '"target" is taken as the model, because its values begin as names of models do'
    assert text in drafted(frame)[1]
    assert text not in drafted(frame, model="target")[1]
