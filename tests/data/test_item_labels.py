"""Labels that are a column of items: a column of a model, and what is said where it is left out."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.errors import DataError, SpecError
from sharpbayes.library import find
from sharpbayes.posterior.crowd import unknown_labels_note
from sharpbayes.spec.load import load_study

LABELS = "crowd.labels={from='item', column='unsafe'}"
KNOWN = "crowd.fit=crowd_and_labels"
STUDY = """schema = "sharpbayes/study/2"
title = "Labels of items"
seed = 1

[crowd]
data = "data.csv"
roles = { item = "item", rater = "rater", score = "score" }
scale = { kind = "ordinal", min = 0, max = 4 }
groups = [["gender"]]
labels = { from = "item", column = "unsafe" }
fit = "crowd_and_labels"
"""


@pytest.fixture
def files(tmp_path):
    """Nine items by four raters; the label of the last item is missing."""
    rng = np.random.default_rng(3)
    item, rater = np.repeat(np.arange(9), 4), np.tile(np.arange(4), 9)
    unsafe = np.array(["yes", "no", "no"] * 3, dtype=object)
    unsafe[8] = None
    table = {
        "item": [f"i{n}" for n in item],
        "rater": [f"r{n}" for n in rater],
        "score": rng.integers(0, 5, item.size),
        "gender": np.where(rater % 2, "Man", "Woman"),
        "unsafe": unsafe[item],
    }
    pd.DataFrame(table).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return load_study(tmp_path / "study.toml")


def test_the_label_of_an_item_stands_beside_its_ratings(files):
    loaded = read_study(files)
    ratings = loaded.ratings
    item_label = ratings.factors["item_label"]
    assert item_label.labels == ("safe", "unsafe")
    assert loaded.data.counts["labels"] == 8
    assert (
        item_label.codes.tolist() == loaded.data.item_label[ratings.factors["item"].codes].tolist()
    )
    assert item_label.codes.tolist() == [
        [1, 0, 0, 1, 0, 0, 1, 0, -1][n] for n in loaded.data.item.codes
    ]


def test_values_that_mean_unsafe_may_be_named(files):
    path = files.study.path.parent / "data.csv"
    table = pd.read_csv(path, dtype=str)
    plain = read_study(files).data.item_label
    table["unsafe"] = table["unsafe"].map({"yes": "Severe", "no": "mild"})
    table.loc[table["item"] == "i0", "unsafe"] = "extreme "
    table.to_csv(path, index=False)
    labels = "crowd.labels={from='item', column='unsafe', unsafe=['severe', 'extreme']}"
    named = read_study(load_study(files.study.path, overrides=[labels]))
    assert named.data.item_label.tolist() == plain.tolist()
    misspelt = labels.replace("'severe'", "'sever'")
    with pytest.raises(DataError, match=r"unsafe: no label 'sever', there are .*did you mean 'Sev"):
        read_study(load_study(files.study.path, overrides=[misspelt]))


def test_labels_of_experts_may_be_grades(tmp_path):
    experts = pd.read_csv(
        find("studies", "quickstart_crowd").parent / "quickstart_crowd_experts.csv"
    )
    plain = read_study(load_study("quickstart_crowd")).data.expert_label
    experts["label"] = experts["label"].map({0: "S1", 1: "S3"})
    experts.to_csv(tmp_path / "experts.csv", index=False)
    labels = f"crowd.labels={{from='experts', data='{tmp_path / 'experts.csv'}', unsafe=['S3']}}"
    graded = read_study(load_study("quickstart_crowd", overrides=[labels])).data.expert_label
    assert graded.tolist() == plain.tolist()


def test_the_term_moves_items_by_their_label_and_leaves_others(files):
    design = build_design(read_study(files).ratings, files.model.spec)
    [term] = [term for term in design.terms if term.name == "location_item_label"]
    assert term.shape == (2,)
    assert set(term.index.tolist()) == {-1, 0, 1}


@pytest.mark.parametrize("labels", ["crowd.labels={from='crowd', cut=2}", None])
def test_a_study_without_labels_of_items_is_refused(labels):
    overrides = [KNOWN, *([labels] if labels else [])]
    with pytest.raises(SpecError, match=r'labels are a column where labels = \{ from = "item"'):
        load_study("quickstart_crowd", overrides=overrides)


def test_an_item_column_of_the_same_name_is_refused():
    with pytest.raises(SpecError, match="'item_label' is the name of the labels in a model"):
        load_study("quickstart_crowd", overrides=["crowd.by=['item_label']"])


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["crowd.fit=crowd_severity"], "crowd_and_experts"),
        ([], ""),
        (["crowd.fit=crowd_severity", "crowd.labels={from='crowd', cut=2}"], ""),
    ],
)
def test_a_model_that_does_not_know_the_labels_is_named(overrides, named):
    note = note_of(load_study("quickstart_crowd", overrides=overrides))
    assert (bool(note), named in note) == (bool(named), True)


def test_a_model_that_does_not_know_the_labels_of_items_is_named(files):
    assert note_of(files) == ""
    other = load_study(files.study.path, overrides=["crowd.fit=crowd_severity"])
    assert "crowd_and_labels" in note_of(other)


def note_of(files):
    return unknown_labels_note(files.study.spec.crowd, files.model.spec)
