"""JSON Schemas of the three kinds of file, from the classes that read them."""

from typing import Any

from sharpbayes.spec.base import Spec, field_docs
from sharpbayes.spec.diagnostics import tables_at
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

KINDS: dict[str, type[Spec]] = {"study": Study, "weights": Weights, "model": Model}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a kind of file, for editors and validators."""
    schema = KINDS[kind].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def describe_field(kind: str, key: str) -> str:
    """Return the description of a dotted key, for comments in files that the program writes.

    Tables by name need a name: ``panel.indicators.any.reverse``. An unknown key is a ``KeyError``.

    >>> describe_field("study", "panel.roles.judge")
    'Column with the name of the judge.'
    """
    *parents, name = key.split(".")
    for table in tables_at(KINDS[kind], tuple(parents)):
        for field, text in field_docs(table).items():
            if name == (table.model_fields[field].alias or field):
                return text
    raise KeyError(key)
