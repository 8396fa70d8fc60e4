"""The base class of everything that a person writes in TOML, and the types of its fields."""

import ast
import inspect
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from sharpbayes.errors import describe_wrong_sum


def _describe_fields(schema: dict[str, Any], cls: type["Spec"]) -> None:
    """Add the docstrings of the fields to the JSON Schema."""
    for name, text in field_docs(cls).items():
        schema["properties"][cls.model_fields[name].alias or name]["description"] = text


class Spec(BaseModel):
    """A frozen object read from TOML; unknown keys and numbers that are not finite are refused.

    The docstring below a field describes its key in the JSON Schema and in the reference pages.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        strict=True,
        json_schema_extra=_describe_fields,
    )


def field_docs(cls: type[Spec]) -> dict[str, str]:
    """Return the docstring below each field of a class and of its bases."""
    bases = [base for base in reversed(cls.__mro__) if issubclass(base, Spec) and base is not Spec]
    return {field: text for base in bases for field, text in _own_docs(base).items()}


def _own_docs(cls: type[Spec]) -> dict[str, str]:
    """Return the docstring below each field that a class declares itself."""
    definition = ast.parse(inspect.getsource(cls)).body[0]
    statements = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(statements)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def _sums_to_one(weights: dict[str, float]) -> dict[str, float]:
    """Refuse shares that do not add up to 1."""
    if problem := describe_wrong_sum(sum(weights.values())):
        raise ValueError(f"the values {problem}")
    return weights


def increases(values: tuple[float, ...]) -> tuple[float, ...]:
    """Refuse numbers that do not increase."""
    if any(high <= low for low, high in pairwise(values)):
        raise ValueError("the values must increase")
    return values


Plain = TypeVar("Plain")
Table = TypeVar("Table")

Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]
AnyNames = Annotated[tuple[Name, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=1, lt=2**63)]
Repeats = Annotated[int, Field(ge=0, le=10_000_000)]
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Number = float
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
Shares = Annotated[dict[Name, Share], Field(min_length=1), AfterValidator(_sums_to_one)]
Increasing = Annotated[
    tuple[Number, ...], Field(min_length=1, strict=False), AfterValidator(increases)
]


# A plain value or a table, such as ``PlainOr[bool, Indicator]``; an error is about the form that
# was written.
PlainOr = Annotated[
    Annotated[Plain, Tag("plain")] | Annotated[Table, Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, dict | BaseModel) else "plain"),
]
