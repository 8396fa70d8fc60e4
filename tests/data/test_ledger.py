"""Columns of the files of a study, with the role of each."""

from pathlib import Path

import pandas as pd
import pytest

from sharpbayes.data.ledger import list_columns
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.spec.panel import Panel


def test_every_file_of_a_crowd_is_listed():
    study = load_study("quickstart_crowd").study
    columns = list(list_columns(study.spec.table, study.path.parent))
    assert [row for row in columns if row[0] != "quickstart_crowd.csv"] == [
        ("quickstart_crowd_raters.csv", "rater", "key"),
        ("quickstart_crowd_raters.csv", "gender", "rater group"),
        ("quickstart_crowd_raters.csv", "age", "rater group"),
        ("quickstart_crowd_items.csv", "item", "key"),
        ("quickstart_crowd_items.csv", "violation", "column of items"),
        ("quickstart_crowd_experts.csv", "item", "item"),
        ("quickstart_crowd_experts.csv", "expert", "expert"),
        ("quickstart_crowd_experts.csv", "label", "label"),
    ]


def test_a_column_of_two_roles_has_both():
    study = load_study("quickstart_crowd", overrides=("crowd.roles.text='item'",)).study
    columns = list_columns(study.spec.table, study.path.parent)
    assert ("quickstart_crowd.csv", "item", "item, text") in columns


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_indicators_and_unused_columns_of_any_format(tmp_path, ending):

    table = pd.read_csv(folder("studies") / "quickstart.csv").assign(note="x")
    write = {
        "csv": lambda path: table.to_csv(path, index=False),
        "parquet": table.to_parquet,
        "jsonl": lambda path: table.to_json(path, orient="records", lines=True),
    }
    write[ending](tmp_path / f"d.{ending}")
    panel = load_study("quickstart").study.spec.table
    assert isinstance(panel, Panel)
    columns = list_columns(panel.model_copy(update={"data": f"d.{ending}"}), Path(tmp_path))
    roles = {column: role for _, column, role in columns}
    assert roles["bias_gender"] == "indicator"
    assert (roles["judge_id"], roles["note"]) == ("judge", "")
