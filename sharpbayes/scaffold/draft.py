"""A study that is being drafted: its text and comments, and what could not be inferred."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.spec.schema import describe_field
from sharpbayes.spec.study_text import format_study

COMMENT_WIDTH = 98


@dataclass
class Draft:
    """A study that is being drafted.

    Attributes:
        text: The study file, once it is finished.
        comments: Lines of comments by dotted key.
        doubts: What could not be inferred, a sentence each; each is also a comment.
        added: The data with the columns that were missing; None where none was.
    """

    text: str = ""
    comments: dict[str, list[str]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    added: pd.DataFrame | None = None

    def comment(self, key: str, text: str) -> None:
        """Add a comment to a key."""
        self.comments.setdefault(key, []).append(text)

    def doubt(self, key: str, text: str) -> None:
        """Note what could not be inferred, and mark it in a comment on a key."""
        self.doubts.append(text)
        self.comment(key, f"CHECK: {text}")

    def finish(self, name: str, table: Mapping[str, Any], section: str) -> "Draft":
        """Write the text of ``[panel]`` or ``[crowd]``, each key with the description of its field."""
        head = [
            f'A first study of "{name}", written by `sharpbayes init`: read every CHECK,',
            "then run `sharpbayes check` and `sharpbayes measure` on this file.",
        ]
        comments = {
            "": head + self.comments.pop("", []),
            "weights": ['weights = "./weights.toml"   # yours; see `sharpbayes show sharp`'],
        }
        for key in [*table, "fit"]:
            path = f"{section}.{key}"
            described = textwrap.wrap(describe_field("study", path), COMMENT_WIDTH)
            comments[path] = described + self.comments.pop(path, [])
        comments |= self.comments
        study = {
            "schema": "sharpbayes/study/2",
            "title": f"A first look at {Path(name).name}",
            "seed": 1,
            section: table,
            "bootstrap": {"replicates": 2000, "level": 0.95},
        }
        self.text = format_study(study, comments)
        return self
