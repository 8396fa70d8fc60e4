"""Small tables of a panel and of a crowd that tests of data share."""

import pandas as pd
import pytest
from pydantic import TypeAdapter

from sharpbayes.errors import DataError
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel

WIDE = pd.DataFrame(
    {
        "m": ["x", "x", "y", "y", "x", "x", "y", "y"],
        "p": ["1", "10", "1", "10"] * 2,
        "j": ["j"] * 4 + ["k"] * 4,
        "sev": ["1", "3", "", "2", "1", "1", "3", "2"],
        "good": ["yes", "No", "TRUE", "0", "1", "false", "true", "no"],
        "kind": ["a", "b", "a", "b"] * 2,
    }
)
PANEL = {
    "data": "t.csv",
    "layout": "wide",
    "roles": {"model": "m", "prompt": "p", "judge": "j", "category": "kind"},
    "scales": {
        "severity": {"kind": "ordinal", "min": 1, "max": 3},
        "flag": {"kind": "boolean"},
    },
    "indicators": {"sev": "severity", "good": {"scale": "flag", "reverse": True}},
    "dimensions": [{"name": "d", "rms": ["sev", "good"]}],
}
CROWD = {
    "data": "t.csv",
    "roles": {"item": "i", "rater": "r", "score": "s"},
    "scale": {"kind": "ordinal", "min": 0, "max": 2},
    "groups": [["g"]],
    "labels": {"from": "crowd", "cut": 1},
}
ROWS = pd.DataFrame(
    {
        "i": ["1", "1", "2", "2", "10", "10"],
        "r": ["a", "b", "a", "b", "a", "b"],
        "s": ["0", "2", "1", "", "2", "2"],
        "g": ["w", "m", "w", "m", "w", "m"],
    }
)


def panel(**more):
    return TypeAdapter(Panel).validate_python(PANEL | more)


def crowd(**more):
    return TypeAdapter(Crowd).validate_python(CROWD | more)


def write(folder, table, name="t.csv"):
    if name.endswith(".csv"):
        table.to_csv(folder / name, index=False)
    elif name.endswith(".parquet"):
        table.to_parquet(folder / name)
    else:
        table.to_json(folder / name, orient="records", lines=True)
    return folder


def error_text(call, folder):
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value).replace(f"{folder}/", "")


def long_form():
    melted = WIDE.melt(["m", "p", "j", "kind"], ["sev", "good"], "what", "score")
    roles = PANEL["roles"] | {"indicator": "what", "score": "score"}
    return melted, panel(layout="long", roles=roles)
