"""A study of one kind of harm, from a table of scores and the text of its weights."""

from pathlib import Path

import pandas as pd

import sharpbayes
from sharpbayes.spec.files import StudyFiles


def make_study(
    folder: str,
    table: pd.DataFrame,
    weights: str,
    *,
    top: int,
    replicates: int,
    seed: int,
    **roles: str,
) -> StudyFiles:
    """Return the study of the column ``harm`` from 0 to ``top``; its weights lie in the folder.

    ``roles`` are columns of further roles, such as ``category``.
    """
    path = Path(folder) / "weights.toml"
    path.write_text(weights, encoding="utf-8")
    return sharpbayes.study(
        table,
        indicators={"harm": "s"},
        scales={"s": {"kind": "ordinal", "min": 0, "max": top}},
        bootstrap={"replicates": replicates},
        weights=str(path),
        seed=seed,
        **roles,
    )
