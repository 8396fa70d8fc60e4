"""Logs of Inspect AI -> a long table: a row for each score of a sample by a scorer."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.archive import Archive, open_archive
from sharpbayes.data.readers.json_text import parse_json, pick_scalars, plain
from sharpbayes.errors import DataError, Diagnostic

# Scorers of Inspect's own that ask a model, and the role of that model where no other is named.
GRADED, ROLE = "model_graded", "grader"
VALUE, METADATA = "value", "metadata."
# A sample is one member, or a folder with its parts.
SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)")

Values = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """One answer of the model: a sample in an epoch, with its values by scorer and indicator."""

    id: str
    epoch: str
    scores: dict[str, Values]
    columns: Values


@dataclass(frozen=True)
class Log:
    """A log: one model on one task.

    Attributes:
        name: Name of the file without its ending.
        task: The task.
        model: The model.
        graders: For each scorer the model that grades for it; empty where the log names none.
        samples: The samples.
    """

    name: str
    task: str
    model: str
    graders: dict[str, str]
    samples: list[Sample]

    @property
    def judges(self) -> dict[str, str]:
        """For each scorer what it is called as a judge: its grader, or itself."""
        graders = {name: self.graders.get(name, "") for name in self.scorers}
        number = Counter(graders.values())
        return {
            scorer: grader if grader and number[grader] == 1 else _by(scorer, grader)
            for scorer, grader in graders.items()
        }

    @property
    def scorers(self) -> list[str]:
        """Names of the scorers, those that scored nothing too."""
        seen = [scorer for sample in self.samples for scorer in sample.scores]
        return list(dict.fromkeys([*self.graders, *seen]))


def _by(scorer: str, grader: str) -> str:
    """Name a scorer that shares its grader with another, or has none."""
    return f"{scorer} by {grader}" if grader else scorer


def inspect_log(path: Path) -> Log:
    """Read one log, ``.eval`` or ``.json``.

    Raises:
        DataError: It is no log of Inspect AI, or cannot be read whole.
    """
    if path.suffix == ".eval":
        with open_archive(path) as archive:
            head = _member(archive, path, _header(archive, path))
            return _log(head, _members(archive, path), path)
    with path.open("rb") as file:
        held = parse_json(file.read(), path)
    samples = held.get("samples") if isinstance(held, dict) else None
    if not isinstance(samples, list):
        raise _no_log(path, "has no samples")
    return _log(held, iter(samples), path)


def _header(archive: Archive, path: Path) -> str:
    """Name of the member that says what was evaluated; a run that was cut short has a first one."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive.names:
            return name
    raise _no_log(path, "has no header.json")


def _member(archive: Archive, path: Path, name: str) -> Any:
    """Read a member as JSON."""
    return parse_json(archive.read(name), path, key=name)


def _members(archive: Archive, path: Path) -> Iterator[Any]:
    """Samples of an archive, one at a time; of those in parts, the parts that are needed."""
    names = set(archive.names)
    for name in archive.names:
        if SAMPLE.fullmatch(name):
            sample = _member(archive, path, name)
            beside = name.removesuffix("sample.json") + "metadata.json"
            if beside in names and isinstance(sample, dict):
                sample["metadata"] = _member(archive, path, beside)
            yield sample


def _log(head: Any, samples: Iterator[Any], path: Path) -> Log:
    """Take from a log what is read of it."""
    spec = head.get("eval") if isinstance(head, dict) else None
    if not isinstance(spec, dict) or not all(isinstance(spec.get(n), str) for n in _NAMED):
        raise _no_log(path, "does not say which model was evaluated on which task")
    held = [_sample(sample, path) for sample in samples]
    return Log(path.stem, spec["task"], spec["model"], _graders(spec), held)


_NAMED = ("task", "model")


def _no_log(path: Path, why: str) -> DataError:
    """The fault of a file that is something else."""
    return DataError([Diagnostic(str(path), 0, "", f"not a log of Inspect AI: it {why}")])


def _graders(spec: Values) -> dict[str, str]:
    """For each scorer the model that grades for it, named as Inspect names scorers of one kind."""
    roles = spec.get("model_roles")
    found: dict[str, str] = {}
    scorers = spec.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else []:
        base = str(scorer.get("name", "")) if isinstance(scorer, dict) else ""
        if base:
            options = scorer.get("options")
            found[_unused(base, found)] = _grader(base, options, roles)
    return found


def _unused(base: str, used: dict[str, str]) -> str:
    """Number a scorer whose name another has."""
    name, number = base, 1
    while name in used:
        name, number = f"{base}{number}", number + 1
    return name


def _grader(base: str, options: Any, roles: Any) -> str:
    """Model of a scorer: its own, or the one that has the role it names or has by default."""
    options = options if isinstance(options, dict) else {}
    if options.get("model") is not None:
        return _model_name(options["model"])
    role = options.get("model_role", ROLE if base.startswith(GRADED) else None)
    return _model_name(roles[role]) if isinstance(roles, dict) and role in [*roles] else ""


def _model_name(model: Any) -> str:
    """Name of a model as logs write it: a text, or an object that holds it."""
    name = model.get("model") if isinstance(model, dict) else model
    return name if isinstance(name, str) else ""


def _sample(held: Any, path: Path) -> Sample:
    """Take from a sample what is read of it; one that was declared invalid has no values."""
    if not isinstance(held, dict) or "id" not in held or "epoch" not in held:
        raise _no_log(path, "holds a sample without id and epoch")
    scores = held.get("scores")
    if not isinstance(scores, dict) or held.get("invalidation") is not None:
        scores = {}
    values = {str(name): _values(score) for name, score in scores.items()}
    columns = pick_scalars(held.get("metadata"), METADATA)
    return Sample(str(plain(held["id"])), str(plain(held["epoch"])), values, columns)


def _values(score: Any) -> Values:
    """Values of a score by indicator, then those of its metadata that are numbers or words."""
    value = score.get("value") if isinstance(score, dict) else None
    if isinstance(value, dict):
        found = {str(key): plain(each) for key, each in value.items()}
    elif isinstance(value, list):
        found = {f"{VALUE}.{at + 1}": plain(each) for at, each in enumerate(value)}
    else:
        found = {VALUE: value}
    return found | pick_scalars(
        score.get("metadata") if isinstance(score, dict) else None, METADATA
    )


def inspect_table(logs: Sequence[Log]) -> pd.DataFrame:
    """Join logs to one table.

    A score that a sample lacks and others of its task and scorer have is an empty cell, so that it
    counts as missing.

    Args:
        logs: The logs.

    Returns:
        Columns ``log``, ``task``, ``model``, ``prompt`` (the sample, after its task where there
        are several), ``sample`` (the epoch), ``scorer``, ``judge``, ``indicator``, ``measure``
        (scorer and indicator), ``score``, and ``metadata.*`` of the samples; the attribute
        ``unscored_samples`` counts samples without any score.
    """
    known = _known(logs)
    several = len({log.task for log in logs}) > 1
    rows = [row for log in logs for row in _rows(log, known, several=several)]
    table = pd.DataFrame(rows, dtype=object)
    unscored = sum(not sample.scores for log in logs for sample in log.samples)
    table.attrs["unscored_samples"] = unscored
    return table


def _known(logs: Sequence[Log]) -> dict[tuple[str, str], list[str]]:
    """Indicators of each scorer of each task, in the order in which they turn up."""
    known: dict[tuple[str, str], dict[str, None]] = {}
    for log in logs:
        for sample in log.samples:
            for scorer, values in sample.scores.items():
                known.setdefault((log.task, scorer), {}).update(dict.fromkeys(values))
    return {key: list(names) for key, names in known.items()}


def _rows(
    log: Log, known: dict[tuple[str, str], list[str]], *, several: bool
) -> Iterator[dict[str, Any]]:
    """Rows of one log."""
    cells = [
        (scorer, judge, indicator)
        for scorer, judge in log.judges.items()
        for indicator in known.get((log.task, scorer), [])
    ]
    for sample in log.samples:
        prompt = f"{log.task}/{sample.id}" if several else sample.id
        start = {"log": log.name, "task": log.task, "model": log.model, "prompt": prompt}
        for scorer, judge, indicator in cells:
            yield start | {
                "sample": sample.epoch,
                "scorer": scorer,
                "judge": judge,
                "indicator": indicator,
                "measure": scorer if indicator == VALUE else f"{scorer}.{indicator}",
                "score": sample.scores.get(scorer, {}).get(indicator),
                **sample.columns,
            }
