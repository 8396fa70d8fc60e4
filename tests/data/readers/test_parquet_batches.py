"""Parquet read batch by batch gives what the same table as CSV gives."""

import numpy as np
import pandas as pd
import pytest

from sharpbayes.data.crowd import melt_crowd, read_crowd, sort_rows
from sharpbayes.data.readers import parquet
from sharpbayes.errors import DataError
from sharpbayes.spec.crowd import Crowd


def table(seed=0, rows=300):
    rng = np.random.default_rng(seed)
    cells = rng.permutation(40 * 12)[:rows]
    return pd.DataFrame(
        {
            "item": cells // 12,
            "rater": [f"r{r}" for r in cells % 12],
            "score": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 5, rows)),
            "gender": np.where(cells % 2, "W", "M"),
            "when": rng.permutation(rows) / 2,
            "kind": np.where(cells // 12 < 20, "a", None),
            "text": "never read",
        }
    )


def spec(data, **more):
    roles = {"item": "item", "rater": "rater", "score": "score", "time": "when"}
    return Crowd.model_validate(
        {
            "data": data,
            "roles": roles,
            "scale": {"kind": "ordinal", "min": 0, "max": 4},
            "groups": [["gender"]],
            "by": ["kind"],
            "labels": {"from": "crowd", "cut": 2},
            **more,
        }
    )


def assert_same(one, two):
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(two, name)
        if name in ("item", "rater"):
            assert a.labels == b.labels
            assert np.array_equal(a.codes, b.codes)
        elif isinstance(a, dict):
            assert a.keys() == b.keys()
            assert all(np.array_equal(a[k], b[k]) for k in a)
        else:
            assert np.array_equal(a, b), name


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_parquet_in_batches_is_csv(tmp_path, monkeypatch, duplicates, categories):
    monkeypatch.setattr(parquet, "BATCH", 37)
    ratings = pd.concat([table(), table().iloc[5:25].assign(score=1)], ignore_index=True)
    ratings.to_csv(tmp_path / "r.csv", index=False)
    if categories:
        ratings["rater"] = pd.Categorical(ratings["rater"], [*"xyz", *(f"r{r}" for r in range(12))])
    ratings.iloc[:150].to_parquet(tmp_path / "r1.parquet", row_group_size=61)
    ratings.iloc[150:].to_parquet(tmp_path / "r2.parquet")
    one = read_crowd(spec("r.csv", duplicates=duplicates), tmp_path)
    two = read_crowd(spec("r*.parquet", duplicates=duplicates), tmp_path)
    assert one.counts["repeated"] == 20
    assert_same(one, two)


def test_many_labels_outgrow_small_codes(tmp_path):
    rows = 40_000
    ratings = pd.DataFrame(
        {"item": np.arange(rows)[::-1], "rater": 0, "score": np.arange(rows) % 5}
    )
    ratings.to_parquet(tmp_path / "r.parquet")
    roles = {"item": "item", "rater": "rater", "score": "score"}
    crowd = read_crowd(spec("r.parquet", roles=roles, groups=[], by=[]), tmp_path)
    assert crowd.item.labels == tuple(str(i) for i in range(rows))
    assert crowd.score.tolist() == ratings["score"].tolist()[::-1]


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_sorted_as_numpy_does(seed, monkeypatch):
    monkeypatch.setattr("sharpbayes.data.crowd.COMPILED_FROM", 0)
    rng = np.random.default_rng(seed)
    item, rater = (rng.integers(0, n, 200).astype(np.int32) for n in (9, 5))
    assert sort_rows(item, rater).tolist() == np.lexsort((rater, item)).tolist()


def test_columns_of_groups_are_spread_over_ratings(tmp_path):
    table().to_csv(tmp_path / "r.csv", index=False)
    crowd = spec("r.csv")
    data = read_crowd(crowd, tmp_path)
    gender = melt_crowd(data, crowd).factors["group:gender"]
    expected = [data.rater_columns["gender"][r] for r in data.rater.codes]
    assert [gender.labels[code] for code in gender.codes] == expected


def test_faults_are_those_of_csv(tmp_path):
    ratings = table()
    ratings.loc[7, "score"] = 9
    ratings = pd.concat([ratings, ratings.iloc[:3]], ignore_index=True)
    # Rows of CSV are counted with the line of the names.
    for ending, first in (("csv", 2), ("parquet", 1)):
        path = tmp_path / f"r.{ending}"
        (ratings.to_csv if ending == "csv" else ratings.to_parquet)(path, index=False)
        with pytest.raises(DataError) as caught:
            read_crowd(spec(path.name), tmp_path)
        bad, repeated = 7 + first, ", ".join(str(300 + first + n) for n in range(3))
        off = f"1 of 303 cells off the scale (allowed: 0, 1, 2, 3, 4): row {bad}: "
        assert off in str(caught.value)
        again = f"3 rows repeat a rating of an item by a rater: rows {repeated}"
        assert again in str(caught.value)


def test_a_column_that_is_not_there_and_a_damaged_file(tmp_path):
    table().rename(columns={"score": "scores"}).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(
        DataError, match=r"score: no such column for score, .* did you mean 'scores'"
    ):
        read_crowd(spec("r.parquet"), tmp_path)
    (tmp_path / "d.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match=r"d\.parquet: cannot be read: "):
        read_crowd(spec("d.parquet"), tmp_path)
    table().iloc[:0].to_parquet(tmp_path / "e.parquet")
    with pytest.raises(DataError, match=r"e\.parquet: no rows"):
        read_crowd(spec("e.parquet"), tmp_path)
