"""Tables of answers that are compared in pairs, which have no scores."""

import re
from pathlib import Path

import pandas as pd

from sharpbayes.errors import DataError
from sharpbayes.scaffold.column_names import is_named_score, quote
from sharpbayes.scaffold.inference import MAX_CHOICES, list_texts

# Words of columns that say which of two answers is better, and of those of the answers.
PREFERENCES = {"winner", "preference", "preferred", "better"}
COMPARED = {"model", "answer", "response", "output", "completion", "chosen", "rejected"}
# A verdict such as `A>B`.
VERDICT = re.compile(r"[\W_]*[ab12]\s*[<>=≻≺]+\s*[ab12][\W_]*", re.IGNORECASE)
TIES = {"tie", "tied", "equal", "same", "both", "neither"}
PAIRS = (
    "{} says which of two answers is better ({}); a score of each answer is needed, such as "
    "how harmful a judge calls it"
)


def refuse_pairs(data: pd.DataFrame, path: Path) -> None:
    """Raise DataError where answers are compared in pairs: none has a score of its own."""
    names = [*map(str, data.columns)]
    verdicts = [name for name in names if _compares(data[name])]
    words = [{*re.findall(r"[a-z]+|\d+", name.lower())} for name in names]
    sides = [
        [n for n, of in zip(names, words, strict=True) if of & ends and of & COMPARED]
        for ends in ({"a", "1", "chosen"}, {"b", "2", "rejected"})
    ]
    decided = [n for n, of in zip(names, words, strict=True) if of & PREFERENCES]
    examples = [quote(names_of[0]) for names_of in sides if names_of]
    if verdicts:
        decided, examples = verdicts, [*map(quote, sorted(list_texts(data[verdicts[0]])))][:2]
    scored = [name for name in names if is_named_score(name) and name not in verdicts]
    if decided and len(examples) > 1 and not scored:
        raise DataError.at(path, PAIRS.format(quote(decided[0]), ", ".join(examples)))


def _compares(values: pd.Series) -> bool:
    """Tell whether the texts of a column say which of two answers is better, as `A>B` does."""
    texts = {text.lower() for text in list_texts(values)} - TIES
    return 1 < len(texts) <= MAX_CHOICES and all(map(VERDICT.fullmatch, texts))
