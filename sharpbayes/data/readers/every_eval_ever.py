"""Instance records of Every Eval Ever -> a long table: a row for each score of a sample."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from sharpbayes.data.readers.json_text import parse_json, pick_scalars, read_objects, to_cell
from sharpbayes.data.readers.prompt_text import clip_log_text, keep_one_text
from sharpbayes.data.readers.rows import Row, Rows, collect_rows, tabulate_rows
from sharpbayes.errors import DataError

NEEDED = ("model_id", "evaluation_name", "sample_id", "evaluation")


def read_instances(path: Path) -> Rows:
    """Read the records of a file ``<id>_samples.jsonl``.

    A record of an error has an empty score, and is left out where it belongs to no result.
    """
    return collect_rows(_list_scores(path))


def _list_scores(path: Path) -> Iterator[Row]:
    """List the scores of all records."""
    for number, record in enumerate(read_objects(path), start=1):
        if not all(name in record for name in NEEDED) or not isinstance(record[NEEDED[-1]], dict):
            message = f"no instance record of Every Eval Ever: it needs {', '.join(NEEDED)}"
            raise DataError.at(path, message, line=number)
        broken, result = record.get("error") is not None, record.get("evaluation_result_id")
        if not (broken and result is None):
            evaluation = record["evaluation"] if not broken else {}
            asked = record.get("input")
            yield {
                "log": path.stem,
                "model": str(to_cell(record["model_id"])),
                "prompt": str(to_cell(record["sample_id"])),
                "text": clip_log_text(asked.get("raw") if isinstance(asked, dict) else None),
                "evaluation": str(to_cell(record["evaluation_name"])),
                "judge": _name_method(record.get("answer_attribution")),
                "indicator": str(to_cell(result or record["evaluation_name"])),
                "score": to_cell(evaluation.get("score")),
                "is_correct": to_cell(evaluation.get("is_correct")),
            } | pick_scalars(record.get("metadata"), "metadata.")


def refuse_aggregate(path: Path) -> NoReturn:
    """Refuse a record without individual scores; the message names the file that has them."""
    record = parse_json(path.read_bytes(), path)
    details = record.get("detailed_evaluation_results") if isinstance(record, dict) else None
    name = details.get("file_path") if isinstance(details, dict) else None
    samples = Path(name).name if isinstance(name, str) else "<id>_samples.jsonl"
    message = "an aggregate record has no ratings, only their summaries; the ratings are in"
    raise DataError.at(path, f"{message} {samples}")


READERS = {".jsonl": read_instances, ".json": refuse_aggregate}


def _name_method(attributions: Any) -> str:
    """Name how the final answer was taken from the output; ``none`` where nothing says it."""
    entries = attributions if isinstance(attributions, list) else []
    methods = [e.get("extraction_method") for e in entries if isinstance(e, dict)]
    return str(to_cell(methods[-1])) if methods else "none"


def tabulate_instances(files: Sequence[Rows]) -> pd.DataFrame:
    """Join files to one table.

    The ``prompt`` is the sample, after its evaluation where there are several. The ``sample``
    numbers the scores of one indicator that a model has for a prompt in a file.
    """
    table = tabulate_rows(files)
    if table.empty:
        return table
    if len(set(table["evaluation"])) > 1:
        table["prompt"] = table["evaluation"] + "/" + table["prompt"]
    table = keep_one_text(table)
    cell = ["log", "model", "prompt", "judge", "indicator"]
    return table.assign(sample=table.groupby(cell).cumcount() + 1)
