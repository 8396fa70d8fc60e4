"""What every written class shares: frozen, strict about unknown keys, finite numbers only."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag


class Spec(BaseModel):
    """A frozen object read from TOML; unknown keys and non-finite numbers are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True, strict=True
    )


def _sums_to_one(weights: dict[str, float]) -> dict[str, float]:
    """Refuse shares that do not add up to 1 (to 1e-9)."""
    total = sum(weights.values())
    if abs(total - 1.0) > 1e-9:  # noqa: PLR2004
        raise ValueError(f"the values add up to {total:g}, they must add up to 1")
    return weights


Name = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, strict=False)]
NonNegative = Annotated[float, Field(ge=0, strict=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Inside = Annotated[float, Field(gt=0, lt=1, strict=False)]
Shares = Annotated[dict[Name, Share], Field(min_length=1), AfterValidator(_sums_to_one)]


def _form(value: Any) -> str:
    """Tell a table from a plain value, so that a fault is about the form that was written."""
    return "table" if isinstance(value, dict | BaseModel) else "plain"


Plain = Tag("plain")
Table = Tag("table")
PlainOrTable = Discriminator(_form)
