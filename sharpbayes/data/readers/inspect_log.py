"""Logs of Inspect AI -> a long table: a row for each score of a sample by a scorer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.archive import Archive, open_archive
from sharpbayes.data.readers.json_text import parse_json, pick_scalars, to_cell
from sharpbayes.data.readers.prompt_text import clip_log_text, join_messages, keep_one_text
from sharpbayes.data.readers.rows import collect_rows, tabulate_rows
from sharpbayes.errors import DataError

# Scorers that ask a model start with these, and the role of that model where no other is named:
# Inspect's own, and Petri's.
ROLES = {"model_graded": "grader", "audit_judge": "judge"}
# An audit by Petri evaluates no model but the one in the role of the target.
NO_MODEL, TARGET = "none/none", "target"
VALUE, METADATA = "value", "metadata."
# Why a score is missing, where it is for the whole sample; Inspect names the reasons of scores.
INVALIDATED, SAMPLE_ERROR, NOT_SCORED = "invalidated", "sample_error", "not_scored"
# A text that Inspect wrote among the attachments of its sample.
ATTACHMENT = "attachment://"
# The member that describes the evaluation; a run that was cut short has only the second.
HEADERS = ("header.json", "_journal/start.json")
# A sample is one member, or a folder with its parts.
SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)")

Values = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """One answer of the model: a sample in an epoch, with its values by scorer and indicator.

    ``text`` is what was asked, shortened. ``reasons`` says by scorer why a value is missing,
    ``reason`` why the sample has no score at all.
    """

    id: str
    text: str
    epoch: str
    scores: dict[str, Values]
    columns: Values
    reasons: dict[str, str]
    reason: str


@dataclass(frozen=True)
class Log:
    """A log: one model on one task; ``graders`` has the model, if any, that grades for a scorer."""

    name: str
    task: str
    model: str
    graders: dict[str, str]
    samples: list[Sample]

    @cached_property
    def judges(self) -> dict[str, str]:
        """The judge of each scorer, also of one that scored nothing: its grader, or the scorer.

        Scorers that share a grader are named after both.
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
    target = _name_role(spec.get("model_roles"), TARGET) if spec["model"] == NO_MODEL else ""
    return Log(path.stem, spec["task"], target or spec["model"], _find_graders(spec), parsed)


def _find_graders(spec: Values) -> dict[str, str]:
    """Find the model that grades for each scorer; Inspect numbers scorers of one name.

    Only the first of them can be of the usual role: the others name a model, or it is not known.
    """
    graders: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    scorers = spec.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else []:
        base = str(scorer.get("name", "")) if isinstance(scorer, dict) else ""
        if base:
            name, number = f"{base}{numbers[base] or ''}", numbers[base] + 1
            while name in graders:
                name, number = f"{base}{number}", number + 1
            numbers[base] = number
            usual = next((r for start, r in ROLES.items() if base.startswith(start)), None)
            role = usual if number == 1 else None
            options, roles = scorer.get("options"), spec.get("model_roles")
            graders[name] = _find_grader(options, roles, usual=role)
    return graders


def _find_grader(options: Any, roles: Any, *, usual: str | None) -> str:
    """Find the model of a scorer: its own, or the one in the role that it asks for."""
    options = options if isinstance(options, dict) else {}
    if options.get("model") is not None:
        return _name_model(options["model"])
    return _name_role(roles, options.get("model_role", usual))


def _name_role(roles: Any, role: Any) -> str:
    """Name the model in a role; empty where the log has none."""
    return _name_model(roles[role]) if isinstance(roles, dict) and role in [*roles] else ""


def _name_model(model: Any) -> str:
    """Name a model, which a log writes as a text or as an object that holds its name."""
    name = model.get("model") if isinstance(model, dict) else model
    return name if isinstance(name, str) else ""


def _parse_sample(content: Any, path: Path) -> Sample:
    """Take what is needed from a sample; one that was declared invalid has no values."""
    if not isinstance(content, dict) or "id" not in content or "epoch" not in content:
        raise _not_a_log(path, "holds a sample without id and epoch")
    scores = content.get("scores")
    reason = _why_unscored(content)
    if not isinstance(scores, dict) or reason == INVALIDATED:
        scores = {}
    values = {str(name): _parse_score(score) for name, score in scores.items()}
    columns = pick_scalars(content.get("metadata"), METADATA)
    name, epoch = (str(to_cell(content[key])) for key in ("id", "epoch"))
    reasons = {str(scorer): _why_missing(score) for scorer, score in scores.items()}
    return Sample(name, _read_question(content), epoch, values, columns, reasons, reason)


def _why_unscored(sample: Values) -> str:
    """Return why a sample has no score, or lacks that of a scorer."""
    if sample.get("invalidation") is not None:
        return INVALIDATED
    return SAMPLE_ERROR if sample.get("error") is not None else NOT_SCORED


def _why_missing(score: Any) -> str:
    """Return the reason that Inspect gives of an unusual score; empty where it gives none.

    Releases before its field ``reason`` wrote it into the metadata of the score.
    """
    score = score if isinstance(score, dict) else {}
    metadata = score.get("metadata")
    older = metadata.get("unscored_reason") if isinstance(metadata, dict) else None
    return str(to_cell(score.get("reason") or older or ""))


def _read_question(sample: Values) -> str:
    """Return the text of the input of a sample, a text or the messages of a chat."""
    text, attachments = join_messages(sample.get("input")), sample.get("attachments")
    if text.startswith(ATTACHMENT):
        known = attachments if isinstance(attachments, dict) else {}
        return clip_log_text(known.get(text.removeprefix(ATTACHMENT)))
    return clip_log_text(text)


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
    rows = (
        {
            "log": log.name,
            "task": log.task,
            "model": log.model,
            "prompt": f"{log.task}/{sample.id}" if several else sample.id,
            "text": sample.text,
            "sample": sample.epoch,
            "scorer": scorer,
            "judge": judge,
            "indicator": indicator,
            "measure": scorer if indicator == VALUE else f"{scorer}.{indicator}",
            "score": sample.scores.get(scorer, {}).get(indicator),
            "reason": sample.reasons.get(scorer, sample.reason),
            **sample.columns,
        }
        for log in logs
        for sample in log.samples
        for scorer, judge in log.judges.items()
        for indicator in indicators.get((log.task, scorer), ())
    )
    table = keep_one_text(tabulate_rows([collect_rows(rows)]))
    table.attrs["unscored_samples"] = sum(not s.scores for log in logs for s in log.samples)
    return table
