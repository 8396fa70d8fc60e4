"""The JSON Schemas in ``docs/schemas`` are those of the classes.

To write them again: ``uv run python -m tests.spec.test_schema``.
"""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from sharpbayes.library import folder
from sharpbayes.spec.schema import KINDS, describe_field, json_schema

ROOT = Path(__file__).parents[2]
FOLDERS = {"study": "studies", "weights": "weights", "model": "models"}
SHIPPED = [(kind, path) for kind, name in FOLDERS.items() for path in folder(name).glob("*.toml")]


def text_of(kind):
    return json.dumps(json_schema(kind), indent=2) + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_current(kind):
    path = ROOT / "docs" / "schemas" / f"{kind}.json"
    assert path.read_text(encoding="utf-8") == text_of(kind)


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda value: getattr(value, "stem", value))
def test_shipped_files_are_valid(kind, path):
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), json_schema(kind))


def described(schema):
    """Every key of every table of a schema, with its description."""
    for name, table in {"": schema, **schema["$defs"]}.items():
        for key, value in table.get("properties", {}).items():
            yield f"{name}.{key}", value.get("description", "")


def test_every_key_has_a_description():
    keys = {(kind, key): text for kind in KINDS for key, text in described(json_schema(kind))}
    assert len(keys) > 190
    assert [key for key, text in keys.items() if not text] == []
    assert [key for key, text in keys.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_has_a_description(kind):
    schema = json_schema(kind)
    assert all(table.get("description") for table in [schema, *schema["$defs"].values()])


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("study", "seed", "Seed of all random numbers. Equal seeds give equal results."),
        ("study", "schema", "Kind and version of the file."),
        ("study", "panel.scales.any.binz", None),
        (
            "study",
            "crowd.scale.bins",
            "Increasing limits between the bins, in the unit of the data.",
        ),
        ("model", "thresholds.prior.sd", "Standard deviation, in units of the latent scale."),
    ],
)
def test_a_field_is_described_by_its_key(kind, key, text):
    if text is None:
        with pytest.raises(KeyError, match=key):
            describe_field(kind, key)
    else:
        assert describe_field(kind, key) == text


def test_a_schema_refuses_an_unknown_key():
    data = {"schema": "sharpbayes/weights/2", "title": "W", "colour": "red"}
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        jsonschema.validate(data, json_schema("weights"))


if __name__ == "__main__":
    for kind in KINDS:
        (ROOT / "docs" / "schemas" / f"{kind}.json").write_text(text_of(kind), encoding="utf-8")
