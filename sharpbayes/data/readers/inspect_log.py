"""Logs of Inspect AI -> a long table: a row for each score of a sample by a scorer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.archive import Archive, open_archive
from sharpbayes.data.readers.json_text import parse_json, pick_scalars, to_cell
from sharpbayes.errors import DataError

# Scorers of Inspect's own that ask a model, and the role of that model where no other is named.
GRADED, ROLE = "model_graded", "grader"
VALUE, METADATA = "value", "metadata."
# The member that describes the evaluation; a run that was cut short has only the second.
HEADERS = ("header.json", "_journal/start.json")
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
    """A log: one model on one task; ``graders`` has the model, if any, that grades for a scorer."""

    name: str
    task: str
    model: str
    graders: dict[str, str]
    samples: list[Sample]

    def name_judges(self) -> dict[str, str]:
        """Return the judge of each scorer: its grader, or the scorer itself.

        Scorers that share a grader are named after both. Scorers that scored nothing are included.
        """
        scored = [scorer for sample in self.samples for scorer in sample.scores]
        graders = {name: self.graders.get(name, "") for name in [*self.graders, *scored]}
        number = Counter(graders.values())
        judges = {s: f"{s} by {g}" if number[g] > 1 else g for s, g in graders.items()}
        return {scorer: judges[scorer] if graders[scorer] else scorer for scorer in graders}


def read_eval_log(path: Path) -> Log:
    """Read a log that ends in ``.eval``."""
    with open_archive(path) as archive:
        header = next((name for name in HEADERS if name in archive.members), None)
        if header is None:
            raise _not_a_log(path, "has no header.json")
        content = parse_json(archive.read(header), path, key=header)
        return _parse_log(content, _read_samples(archive, path), path)


def read_json_log(path: Path) -> Log:
    """Read a log that ends in ``.json``."""
    content = parse_json(path.read_bytes(), path)
    samples = content.get("samples") if isinstance(content, dict) else None
    if not isinstance(samples, list):
        raise _not_a_log(path, "has no samples")
    return _parse_log(content, samples, path)


def _not_a_log(path: Path, reason: str) -> DataError:
    """Return the error of a file that is something else."""
    return DataError.at(path, f"not a log of Inspect AI: it {reason}")


def _read_samples(archive: Archive, path: Path) -> Iterator[Any]:
    """Read the samples of an archive one at a time; of a sample in parts, two parts."""
    for name in filter(SAMPLE.fullmatch, archive.members):
        sample = parse_json(archive.read(name), path, key=name)
        metadata = name.removesuffix("sample.json") + "metadata.json"
        if metadata in archive.members and isinstance(sample, dict):
            sample["metadata"] = parse_json(archive.read(metadata), path, key=metadata)
        yield sample


def _parse_log(content: Any, samples: Iterable[Any], path: Path) -> Log:
    """Take what is needed from a log."""
    spec = content.get("eval") if isinstance(content, dict) else None
    if not isinstance(spec, dict) or not all(
        isinstance(spec.get(n), str) for n in ("task", "model")
    ):
        raise _not_a_log(path, "does not say which model was evaluated on which task")
    parsed = [_parse_sample(sample, path) for sample in samples]
    return Log(path.stem, spec["task"], spec["model"], _find_graders(spec), parsed)


def _find_graders(spec: Values) -> dict[str, str]:
    """Find the model that grades for each scorer; Inspect numbers scorers of one name."""
    graders: dict[str, str] = {}
    scorers = spec.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else []:
        base = str(scorer.get("name", "")) if isinstance(scorer, dict) else ""
        if base:
            name, number = base, 1
            while name in graders:
                name, number = f"{base}{number}", number + 1
            graders[name] = _find_grader(base, scorer.get("options"), spec.get("model_roles"))
    return graders


def _find_grader(base: str, options: Any, roles: Any) -> str:
    """Find the model of a scorer: its own, or the one in the role that the scorer asks for."""
    options = options if isinstance(options, dict) else {}
    model = options.get("model")
    if model is None:
        role = options.get("model_role", ROLE if base.startswith(GRADED) else None)
        model = roles[role] if isinstance(roles, dict) and role in [*roles] else None
    # A log writes a model as a text, or as an object that holds its name.
    name = model.get("model") if isinstance(model, dict) else model
    return name if isinstance(name, str) else ""


def _parse_sample(content: Any, path: Path) -> Sample:
    """Take what is needed from a sample; one that was declared invalid has no values."""
    if not isinstance(content, dict) or "id" not in content or "epoch" not in content:
        raise _not_a_log(path, "holds a sample without id and epoch")
    scores = content.get("scores")
    if not isinstance(scores, dict) or content.get("invalidation") is not None:
        scores = {}
    values = {str(name): _parse_score(score) for name, score in scores.items()}
    columns = pick_scalars(content.get("metadata"), METADATA)
    return Sample(str(to_cell(content["id"])), str(to_cell(content["epoch"])), values, columns)


def _parse_score(score: Any) -> Values:
    """Return the values of a score by indicator, then those of its metadata that are scalars."""
    score = score if isinstance(score, dict) else {}
    value = score.get("value")
    if isinstance(value, dict):
        values = {str(key): to_cell(entry) for key, entry in value.items()}
    elif isinstance(value, list):
        values = {f"{VALUE}.{n}": to_cell(entry) for n, entry in enumerate(value, start=1)}
    else:
        values = {VALUE: value}
    return values | pick_scalars(score.get("metadata"), METADATA)


READERS = {".eval": read_eval_log, ".json": read_json_log}


def tabulate_logs(logs: Sequence[Log]) -> pd.DataFrame:
    """Join logs to one table; the attribute ``unscored_samples`` counts samples without any score.

    A score that a sample lacks, but other samples of its task and scorer have, is an empty cell and
    so counts as missing. The ``prompt`` is the sample, after its task where there are several,
    ``sample`` the epoch, and ``measure`` the scorer and the indicator.
    """
    indicators: dict[tuple[str, str], dict[str, None]] = {}
    for log in logs:
        for sample in log.samples:
            for scorer, values in sample.scores.items():
                indicators.setdefault((log.task, scorer), {}).update(dict.fromkeys(values))
    several = len({log.task for log in logs}) > 1
    rows = []
    for log in logs:
        prefix = f"{log.task}/" if several else ""
        cells = [
            {
                "scorer": scorer,
                "judge": judge,
                "indicator": indicator,
                "measure": scorer if indicator == VALUE else f"{scorer}.{indicator}",
            }
            for scorer, judge in log.name_judges().items()
            for indicator in indicators.get((log.task, scorer), ())
        ]
        rows += [row for sample in log.samples for row in _list_rows(log, sample, cells, prefix)]
    table = pd.DataFrame(rows, dtype=object)
    table.attrs["unscored_samples"] = sum(not s.scores for log in logs for s in log.samples)
    return table


def _list_rows(log: Log, sample: Sample, cells: Sequence[Values], prefix: str) -> Iterator[Values]:
    """List the rows of one sample."""
    prompt = prefix + sample.id
    start = {"log": log.name, "task": log.task, "model": log.model, "prompt": prompt}
    for cell in cells:
        score = sample.scores.get(cell["scorer"], {}).get(cell["indicator"])
        yield {**start, "sample": sample.epoch, **cell, "score": score, **sample.columns}
