"""The worst prompts of each model: what drove their harm, and which judges said so."""

from collections.abc import Iterator

from sharpbayes.posterior.lowest import models_by_risk
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, over


def _prompts(view: View) -> Iterator[Labels]:
    """Prompts of each model, the worst first; models by tail risk."""
    for model in models_by_risk(view):
        row = view.select({"model": model})
        for rank in row.coordinate("worst_prompts/rank"):
            if str(row.select({"rank": rank})["worst_prompts/prompt"].item()):
                yield {"model": model, "rank": rank}


def _with_texts(view: View) -> list[Labels]:
    """One column where the results have texts, else none."""
    return [{}] if "worst_prompts/text" in view else []


def _text_of_prompt(row: View) -> str:
    """The text of a prompt, unless the prompt is named by it."""
    text = str(row["worst_prompts/text"].item())
    return "" if text == str(row["worst_prompts/prompt"].item()) else text


WORST_PROMPTS = TableSpec(
    name="worst_prompts",
    title="Worst prompts of each model, what drives their harm, and which judges say so",
    needs=("worst_prompts", "profile"),
    rows=_prompts,
    columns=(
        "{model}; worst_prompts/prompt | text; log-risk: worst_prompts/log_risk | 2",
        "dimension: worst_prompts/dimension | text; share: worst_prompts/share | 2",
        "indicator: worst_prompts/indicator | text; its mean: worst_prompts/level | 2",
        over("worst_prompts/judge", "{judge}: worst_prompts/sub_index | 2"),
        over(_with_texts, Column("text", _text_of_prompt)),
    ),
    note="Log-risk in nats. Dimension: the largest part of it, with its share. Indicator: the "
    "highest of that dimension, mean over judges from 0 to 1. Under each judge: the sub-index of "
    "that dimension, from 0 to 1. Repeated answers are averaged.",
)
