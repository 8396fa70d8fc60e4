"""Judges who score their own answers: a model of their name, or of their family."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.lookalikes import fold_text
from sharpbayes.errors import join_names
from sharpbayes.spec.panel import Family

Pairs = list[tuple[str, str]]
HELP = "a term of `own_family` in the fit measures whether {} them."


def is_same_name(one: str, other: str) -> bool:
    """Return whether two names are the same but for case and punctuation.

    >>> is_same_name("GPT-4o", "gpt 4o"), is_same_name("gpt-4o", "gpt-4"), is_same_name("?", "!")
    (True, False, False)
    """
    first, second = (re.sub(r"[\W_]", "", fold_text(name)) for name in (one, other))
    return bool(first) and first == second


def pair_own_judges(
    models: Sequence[str],
    judges: Sequence[str],
    scored: NDArray[np.bool_],
    families: Iterable[Family] = (),
) -> Pairs:
    """Return each judge who scored a model of its own name or family, with that model.

    ``scored`` says over (model, judge) who scored whom.

    >>> pair_own_judges(["GPT-4", "llama"], ["gpt4", "ann"], np.ones((2, 2), dtype=bool))
    [('gpt4', 'GPT-4')]
    """
    kin = {(j, m) for family in families for j in family.judges for m in family.models}
    return [
        (judge, model)
        for column, judge in enumerate(judges)
        for row, model in enumerate(models)
        if scored[row, column] and ((judge, model) in kin or is_same_name(judge, model))
    ]


def describe_own_judges(pairs: Pairs) -> str:
    """Return the sentence on judges who score their own answers.

    >>> describe_own_judges([("gpt4", "GPT-4")]).split(":")[0]
    'The judge gpt4 scores its own answers'
    """
    names = list(dict.fromkeys(judge for judge, _ in pairs))
    subject, possessive, they_favour = f"The judge {names[0]} scores", "its", "it favours"
    if len(names) > 1:
        subject, possessive, they_favour = (
            f"The judges {join_names(names)} score",
            "their",
            "they favour",
        )
    by_name = all(is_same_name(*pair) for pair in pairs)
    of_family = "" if by_name else f" or those of {possessive} family"
    declared = "" if of_family else "with `[panel.families]` in the study "
    remedy = f"{declared}{HELP.format(they_favour)}"
    return f"{subject} {possessive} own answers{of_family}: {remedy}"
