"""What a study writes so that cells are read that are not on their scale."""

import re
from collections.abc import Iterable

from sharpbayes.data.cells import parse_number
from sharpbayes.data.readers.text_table import DECIMAL_COMMA
from sharpbayes.errors import did_you_mean
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.scales import BinnedScale, CategoricalScale, OrdinalScale, Scale

# An error shows at most so many scores of a scale.
MAX_SHOWN_SCORES = 10
FINER_STEPS = (0.5, 0.25, 0.2, 0.1, 0.05, 0.01)
# Texts by which programs and people mean an empty cell.
MISSING_TEXTS = {
    *("NA", "N/A", "n/a", "na", "#N/A", "#NA", "NaN", "nan", "NULL", "null", "None", "none"),
    *("-", "--", "–", "—", ".", "?", "missing", "Missing", "(missing)"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NULL!", "#NUM!", "<NA>", "NaT"),
}
# Words for an answer that has no score.
FAILURES = {
    *("not applicable", "not available"),
    *("error", "errored", "exception", "timeout", "timed out", "skip", "skipped", "aborted"),
    *("cancelled", "canceled", "invalid", "parse error", "parsing error", "parse failed"),
    *("unparsed", "unparseable", "unparsable", "not run", "not graded", "ungraded", "unscored"),
    *("no response", "no answer", "no score", "no verdict"),
}


def find_missing_texts(texts: Iterable[str]) -> set[str]:
    """Return the texts that stand for an empty cell.

    >>> sorted(find_missing_texts(["PASS", "FAIL", "ERROR", "parse_error", "N/A"]))
    ['ERROR', 'N/A', 'parse_error']
    """
    plain = {text: re.sub(r"[\W_]+", " ", text).strip().lower() for text in texts}
    return {text for text, word in plain.items() if text in MISSING_TEXTS or word in FAILURES}


def describe_scale(scale: Scale) -> str:
    """Say which texts are on a scale."""
    if isinstance(scale, BinnedScale):
        return "allowed: a number"
    if len(scale.labels) <= MAX_SHOWN_SCORES:
        return f"allowed: {', '.join(scale.labels)}"
    return f"allowed: {scale.labels[0]}, {scale.labels[1]}, ..., {scale.labels[-1]}"


def suggest_fix(texts: set[str], scale: Scale, dialect: Dialect) -> str:
    """Return how a study reads texts that are off its scale, where they follow a known custom."""
    missing = find_missing_texts(texts)
    rest = texts - missing
    commas = {text for text in rest if DECIMAL_COMMA.match(text)}
    points = {DECIMAL_COMMA.sub(r"\1.\2", text) for text in rest}
    numbers = [number for text in points if (number := parse_number(text)) is not None]
    changes: dict[str, object] = {"decimal": ","} if commas == rest and commas else {}
    if missing:
        changes["missing"] = [*dialect.missing, *sorted(missing)]
    hint = f"; write {dialect.to_toml(**changes)}" if changes else ""
    if isinstance(scale, CategoricalScale) and rest:
        hint += did_you_mean(min(rest), scale.levels)
    if isinstance(scale, OrdinalScale) and numbers and len(numbers) == len(rest):
        finer = next((s for s in FINER_STEPS if _fit_step(numbers, scale, s)), None)
        hint += f"; write step = {finer} in the scale" if finer else ""
    return hint


def _fit_step(numbers: Iterable[float], scale: OrdinalScale, step: float) -> bool:
    """Tell whether a finer scale has all numbers, and the scale itself not."""
    finer = scale.model_copy(update={"step": step})
    lacks = any(scale.find(number) is None for number in numbers)
    return lacks and all(finer.find(number) is not None for number in numbers)
