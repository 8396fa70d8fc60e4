"""JSON Schemas of the three kinds of file, from the classes that read them."""

from typing import Any

from pydantic import BaseModel

from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

KINDS: dict[str, type[BaseModel]] = {"study": Study, "weights": Weights, "model": Model}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a kind of file, for editors and validators.

    Args:
        kind: ``study``, ``weights`` or ``model``.

    Examples:
        >>> json_schema("model")["required"]
        ['schema', 'title', 'location']
    """
    schema = KINDS[kind].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
