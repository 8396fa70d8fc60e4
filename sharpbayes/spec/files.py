"""A TOML file with what it says, and the files that belong to one study."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pydantic import BaseModel

from sharpbayes.spec.lines import Path as KeyPath
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights


@dataclass(frozen=True)
class SpecFile[T: BaseModel]:
    """A file that a person wrote, and what it says.

    Attributes:
        spec: What it says.
        path: Where it is.
        text: Its text.
        lines: Line of every key.
    """

    spec: T
    path: Path
    text: str
    lines: Mapping[KeyPath, int]

    @property
    def sha256(self) -> str:
        """Digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, repr=False)
class StudyFiles:
    """A study with the weights and the model that it names.

    Attributes:
        study: The study.
        weights: Its weights; None for a crowd that names none.
        model: Its model; None if it names none.
        overrides: What was put over the study, as ``key=value``.

    >>> load_study("quickstart_crowd")
    study      Quickstart: a crowd and five experts (quickstart_crowd.toml)
    crowd      quickstart_crowd.csv
    groups     gender, age, gender x age
    weights    none
    model      Item severity, rater bias and group bias on one latent scale (crowd_severity)
    set        nothing
    """

    study: SpecFile[Study]
    weights: SpecFile[Weights] | None
    model: SpecFile[Model] | None
    overrides: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Say what the study is in a few lines."""
        return "\n".join(f"{name:10} {value}" for name, value in self._facts())

    def _repr_html_(self) -> str:
        """Say the same as a table, for notebooks."""
        rows = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._facts())
        return f"<table>{''.join(rows)}</table>"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """What the study is, by name."""
        spec = self.study.spec
        table = spec.panel or spec.crowd
        yield "study", f"{spec.title} ({self.study.path.name})"
        if table is not None:
            yield ("panel" if spec.panel else "crowd"), table.data
        if spec.panel is not None:
            yield "dimensions", ", ".join(each.name for each in spec.panel.dimensions)
        if spec.crowd is not None:
            yield "groups", ", ".join(" x ".join(columns) for columns in spec.crowd.groups)
        for kind, written in (("weights", self.weights), ("model", self.model)):
            yield kind, "none" if written is None else f"{written.spec.title} ({written.path.stem})"
        yield "set", ", ".join(self.overrides) or "nothing"
