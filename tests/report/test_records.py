"""Records of Every Eval Ever, against the schema of that project (version 0.3.0, MIT licence)."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from sharpbayes.errors import DataError
from sharpbayes.report.records import write_records
from sharpbayes.storage.results import open_results
from tests.report.hand_made import fitted_panel, panel

FOLDER = Path(__file__).parent / "every_eval_ever"
SCHEMA = json.loads((FOLDER / "eval.schema.json").read_text(encoding="utf-8"))
LOG_RISK = ("nat", "[-d log(1 + epsilon), -d log(epsilon)]")
RANGES = {"cvar": LOG_RISK, "mean": LOG_RISK, "policy_score": ("1", "[0, 1]")}


def complete(tree, *, prompts=5):
    """Add what every run stores and hand-made results lack."""
    versions = json.dumps({"sharpbayes": "0.1.0"})
    created = "2026-01-01T00:00:00+00:00"
    tree.attrs |= {"title": "A study", "versions": versions, "created": created}
    profile = tree["profile"].to_dataset()
    for metric, (units, span) in RANGES.items():
        profile[metric].attrs = {"long_name": metric, "units": units, "range": span}
    tree["profile"].dataset = profile
    harm = tree["panel"].to_dataset().expand_dims(prompt=prompts)
    tree["panel"].dataset = harm
    joint = tree["joint"].to_dataset().assign_attrs(posterior_note="Of the posterior.")
    tree["joint"].dataset = joint
    if "posterior_profile" in tree:
        draws = profile[[*RANGES]].expand_dims(chain=2, draw=3)
        tree["posterior_profile"].dataset = draws + draws.chain * 2.0
    return tree


def records(tree, folder):
    return [json.loads(path.read_text(encoding="utf-8")) for path in write_records(tree, folder)]


@pytest.mark.parametrize("make", [panel, fitted_panel])
def test_records_follow_the_schema(tmp_path, make):
    written = records(complete(make()), tmp_path)
    assert [record["model_info"]["id"] for record in written] == ["a", "b", "c"]
    for record in written:
        jsonschema.validate(record, SCHEMA)


def test_a_score_has_its_interval_level_and_method(tmp_path):
    first = records(complete(fitted_panel()), tmp_path)[0]["evaluation_results"]
    ids = [score["evaluation_result_id"] for score in first]
    assert ids == [f"{m}:{kind}" for m in RANGES for kind in ("observed", "posterior")]
    observed, posterior = (score["score_details"] for score in first[:2])
    interval = {"lower": 2.5, "upper": 3.25, "confidence_level": 0.95, "method": "Over prompts."}
    uncertainty = {"confidence_interval": interval, "num_samples": 5}
    assert observed == {"score": 3.0, "uncertainty": uncertainty}
    assert posterior["score"] == pytest.approx(3.1)
    # Draws of two chains that are two apart.
    error = {"value": 1.0, "method": "standard deviation of the posterior"}
    assert posterior["uncertainty"]["standard_error"] == error
    assert posterior["uncertainty"]["confidence_interval"]["method"] == "Of the posterior."
    config = first[0]["metric_config"]
    assert (config["max_score"], config["metric_parameters"]) == ("Infinity", {"alpha": 0.95})
    assert first[4]["metric_config"]["max_score"] == 1.0


def test_the_range_of_log_risk_is_that_of_the_study(tmp_path, shared_results):
    """Its end was "Infinity", and its lowest value 0, which no harm at all is a little below."""
    results = open_results(shared_results("measured_panel"))
    [first, *_] = records(results, tmp_path)
    configs = {
        x["metric_config"]["metric_id"]: x["metric_config"] for x in first["evaluation_results"]
    }
    epsilon, dimensions = 1e-6, 4
    cvar, score = (configs[f"sharpbayes.{name}"] for name in ("cvar", "policy_score"))
    assert cvar["min_score"] == pytest.approx(-dimensions * np.log1p(epsilon))
    assert cvar["max_score"] == pytest.approx(-dimensions * np.log(epsilon))
    assert (score["min_score"], score["max_score"]) == (0.0, 1.0)


def test_what_is_missing_is_left_out(tmp_path):
    tree = complete(panel())
    joint = tree["joint"].to_dataset()
    joint["observed"].loc[{"metric": "mean", "model": "a"}] = np.nan
    joint["bootstrap_interval"].loc[{"metric": "cvar", "model": "a"}] = np.nan
    tree["joint"].dataset = joint
    first = records(tree, tmp_path)[0]["evaluation_results"]
    assert [score["metric_config"]["metric_id"] for score in first] == [
        "sharpbayes.cvar",
        "sharpbayes.policy_score",
    ]
    assert first[0]["score_details"]["uncertainty"] == {"num_samples": 5}


def test_models_whose_names_give_one_file_have_two(tmp_path):
    tree = complete(panel())
    for name in ("profile", "joint"):
        tree[name].dataset = tree[name].to_dataset().assign_coords(model=["x/a", "x a", "c"])
    written = write_records(tree, tmp_path)
    assert [path.name for path in written] == ["x-a-1.json", "x-a-2.json", "c.json"]
    assert json.loads(written[0].read_text())["model_info"]["developer"] == "x"


def test_a_crowd_has_no_records(tmp_path):
    tree = panel()
    del tree["profile"]
    with pytest.raises(DataError) as error:
        write_records(tree, tmp_path)
    assert str(error.value) == (
        "report --records: a record is of a model, and these results have none"
    )
