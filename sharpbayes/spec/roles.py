"""Which column of a table holds what, and the columns of the tables that other programs write."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema

from sharpbayes.spec.base import Name, Names, Spec
from sharpbayes.spec.dialect import DataFile

# A name or a list of them; an error is about the form that was written.
OneOrSeveral = Annotated[
    Annotated[Name, Tag("one")] | Annotated[Names, Tag("several")],
    Discriminator(lambda value: "several" if isinstance(value, list | tuple) else "one"),
]


def _refuse_false(value: bool) -> bool:  # noqa: FBT001 - a validator gets its value alone
    """Refuse `false`: a role that is left out says the same."""
    if not value:
        raise ValueError(
            "found false, must be a column or true; leave it out where nothing repeats"
        )
    return value


Rows = Annotated[bool, AfterValidator(_refuse_false), Field(json_schema_extra={"const": True})]
# A column, or `true` for rows without one; an error is about the form that was written.
ColumnOrRows = Annotated[
    Annotated[Name, Tag("column")] | Annotated[Rows, Tag("rows")],
    Discriminator(lambda value: "rows" if isinstance(value, bool) else "column"),
]
Logs = Mapping[str, Mapping[str, str]]

# Roles by layout: the columns into which the readers turn logs. A study may name other columns.
LONG = {name: name for name in ("model", "prompt", "judge", "indicator", "score", "text")}
SAMPLED = LONG | {"sample": "sample"}
PANEL_LOGS: Logs = {
    "inspect": SAMPLED | {"reason": "reason"},
    "lm-eval": LONG,
    "promptfoo": SAMPLED,
    "deepeval": SAMPLED,
    "every-eval-ever": SAMPLED,
}
CROWD_LOGS: Logs = {"label-studio": {"item": "id", "rater": "annotator"}}


class RatingTable(DataFile):
    """A table of ratings. Layouts of other programs have roles, under those that are given."""

    LOGS: ClassVar[Logs]

    @model_validator(mode="before")
    @classmethod
    def _add_roles(cls, value: Any) -> Any:
        layout = value.get("layout") if isinstance(value, dict) else None
        roles = value.get("roles", {}) if isinstance(value, dict) else None
        if not isinstance(layout, str) or layout not in cls.LOGS or not isinstance(roles, dict):
            return value
        known = dict(cls.LOGS[layout])
        # The text is that of the reader's prompts, and says nothing of others.
        if roles.get("prompt", known.get("prompt")) != known.get("prompt"):
            known.pop("text", None)
        return value | {"roles": known | roles}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        """Require roles only where the layout has none of its own."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        table = handler.resolve_ref_schema(schema)
        roles = {
            "required": handler.resolve_ref_schema(table["properties"]["roles"]).pop("required")
        }
        table["required"].remove("roles")
        table["if"] = {"properties": {"layout": {"enum": list(cls.LOGS)}}, "required": ["layout"]}
        table["else"] = {"required": ["roles"], "properties": {"roles": roles}}
        return schema


class PanelRoles(Spec):
    """The columns of a table of judgements. Further columns of prompts need no role."""

    model: Name
    """Column with the name of the AI model that answered."""
    prompt: Name
    """Column with the id of the prompt."""
    judge: Name
    """Column with the name of the judge."""
    sample: Name | None = None
    """Column that numbers repeated answers of a model to one prompt. Default: one answer each."""
    trial: ColumnOrRows | None = None
    """Column that numbers repeated judgements: the same judge scores the same answer again. `true`:
    no column does, and rows that repeat a cell are its trials. Default: one judgement each."""
    category: Name | None = None
    """Column with the category of the prompt, to report profiles by category and to weight them."""
    cluster: Name | None = None
    """Column with what several prompts share, such as the scenario that they are variants of.
    Prompts of one cluster are resampled together, one without a value by itself. Default: prompts
    are independent."""
    text: Name | None = None
    """Column with the text of the prompt, in the data or in the table of prompts. Results keep the
    first 500 characters, of the worst prompts only. Logs of other programs have it."""
    indicator: Name | None = None
    """Column with the name of the indicator, in a table with a row per score."""
    score: Name | None = None
    """Column with the score, in a table with a row per score."""
    reason: Name | None = None
    """Column that says why a score is missing, such as `refusal`. Logs of Inspect have it."""


class CrowdRoles(Spec):
    """The columns of a table of a crowd's ratings."""

    item: Name
    """Column with the id of the item that was rated."""
    rater: OneOrSeveral
    """Column with the id of the rater; with `layout = "wide"` a list of columns, one a rater."""
    score: Name | None = None
    """Column with the score. Needed unless `layout = "wide"`."""
    cluster: Name | None = None
    """Column with what several items share, such as the prompt of several images. Items of one
    cluster are resampled together, one without a value by itself. Default: independent items."""
    text: Name | None = None
    """Column with the text of the item, in the data or in the table of items. Results keep the
    first 500 characters."""
    time: Name | None = None
    """Column with the time or the rank of a rating, to test whether a rater drifts."""


class ExpertRoles(Spec):
    """The columns of a table of expert labels, one row per label."""

    item: Name = "item"
    """Column with the id of the item."""
    expert: Name = "expert"
    """Column with the id of the expert."""
    label: Name = "label"
    """Column with the label, such as 1 for unsafe and 0 for safe."""


class SideTable(DataFile):
    """A second table with columns of prompts, items or raters, joined on a key column."""

    key: Name
    """Column of the file with the ids of the prompts, items or raters."""
    layout: Literal["table", "prolific"] = "table"
    """`table`, or `prolific` for a demographic export of Prolific."""
