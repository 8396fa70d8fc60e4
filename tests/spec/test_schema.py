"""The JSON Schemas in ``docs/schemas`` are those of the classes.

To write them again: ``uv run python -m tests.spec.test_schema``.
"""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from sharpbayes.library import folder
from sharpbayes.spec.schema import KINDS, json_schema

ROOT = Path(__file__).parents[2]
FOLDERS = {"study": "studies", "weights": "weights", "model": "models"}
SHIPPED = [(kind, path) for kind, name in FOLDERS.items() for path in folder(name).glob("*.toml")]


def text_of(kind):
    return json.dumps(json_schema(kind), indent=2) + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_current(kind):
    path = ROOT / "docs" / "schemas" / f"{kind}.json"
    assert path.read_text(encoding="utf-8") == text_of(kind)


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda each: getattr(each, "stem", each))
def test_shipped_files_are_valid(kind, path):
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), json_schema(kind))


def test_a_schema_refuses_an_unknown_key():
    data = {"schema": "sharpbayes/weights/2", "title": "W", "colour": "red"}
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate(data, json_schema("weights"))


if __name__ == "__main__":
    for each in KINDS:
        (ROOT / "docs" / "schemas" / f"{each}.json").write_text(text_of(each), encoding="utf-8")
