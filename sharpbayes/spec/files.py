"""What is read from disk: one TOML file, and the files of one study."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sharpbayes.errors import format_count
from sharpbayes.spec.base import Spec
from sharpbayes.spec.lines import SourceText, open_checks
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

# How an assumption ends by which words stand in the order in which the data have them.
BY_APPEARANCE = "is how they first appear; put the least harm first"


@dataclass(frozen=True)
class SpecFile[T: Spec](SourceText):
    """A TOML file and its content, ``spec``."""

    spec: T

    @property
    def sha256(self) -> str:
        """Digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def open_checks(self) -> list[str]:
        """Assumptions that nobody confirmed: comments that begin with ``CHECK``."""
        return open_checks(self.text)


def describe_open_checks(checks: Sequence[str]) -> str:
    """Return one sentence about assumptions that nobody confirmed; empty where there are none.

    >>> describe_open_checks(["a high score is harm"])
    '1 assumption of the study is not confirmed (line marked CHECK): a high score is harm.'
    """
    if not checks:
        return ""
    count, plural = format_count(len(checks), "assumption"), len(checks) > 1
    verb, lines = ("are", "lines") if plural else ("is", "line")
    numbered = (f"({number}) {text}" for number, text in enumerate(checks, start=1))
    listed = " ".join(numbered if plural else checks).rstrip(".")
    return f"{count} of the study {verb} not confirmed ({lines} marked CHECK): {listed}."


@dataclass(frozen=True, repr=False)
class StudyFiles:
    """A study, the weights and the model that it names, and ``key=value`` put over the study.

    >>> from sharpbayes.spec.load import load_study
    >>> load_study("quickstart_crowd")
    study      Quickstart: a crowd and five experts (quickstart_crowd.toml)
    crowd      quickstart_crowd.csv
    groups     gender, age, gender x age
    weights    none
    model      Crowd and experts, one latent severity (crowd_and_experts)
    set        nothing
    """

    study: SpecFile[Study]
    weights: SpecFile[Weights] | None
    model: SpecFile[Model] | None
    overrides: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Describe the study in a few lines."""
        return "\n".join(f"{name:10} {value}" for name, value in self._facts())

    def _repr_html_(self) -> str:
        """Describe the study in a table, for notebooks."""
        rows = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._facts())
        return f"<table>{''.join(rows)}</table>"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Facts about the study, by name."""
        spec = self.study.spec
        yield "study", f"{spec.title} ({self.study.path.name})"
        yield ("panel" if spec.panel else "crowd"), spec.table.data
        if spec.panel is not None:
            yield "dimensions", ", ".join(dimension.name for dimension in spec.panel.dimensions)
        if spec.crowd is not None:
            yield "groups", ", ".join(" x ".join(columns) for columns in spec.crowd.groups)
        for kind, file in (("weights", self.weights), ("model", self.model)):
            yield kind, "none" if file is None else f"{file.spec.title} ({file.path.stem})"
        yield "set", ", ".join(self.overrides) or "nothing"
        yield from (("assumed", text) for text in self.study.open_checks)
