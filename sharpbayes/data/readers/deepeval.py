"""Test runs of DeepEval -> a long table: a row for each metric of a test case."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.json_text import parse_json, pick_scalars, to_cell
from sharpbayes.data.readers.prompt_text import clip_log_text
from sharpbayes.data.readers.rows import Row, Rows, collect_rows
from sharpbayes.data.readers.scored_answers import CODE, shorten_text, tabulate_runs
from sharpbayes.errors import DataError

CASES = ("testCases", "conversationalTestCases")


def read_test_run(path: Path) -> Rows:
    """Read a file ``test_run_<time>.json`` or ``.latest_run_full.json``.

    DeepEval does not know the model: it is the hyperparameter ``model``, else the identifier of the
    run, else the name of the file.
    """
    run = parse_json(path.read_bytes(), path)
    lists = [run.get(name) for name in CASES] if isinstance(run, dict) else []
    cases = [case for cases in lists if isinstance(cases, list) for case in cases]
    if not any(isinstance(cases, list) for cases in lists):
        raise DataError.at(path, "no test run of DeepEval: it has no list `testCases`")
    parameters = run.get("hyperparameters")
    named = parameters.get("model") if isinstance(parameters, dict) else None
    models = [name for name in (named, run.get("identifier")) if isinstance(name, str) and name]
    start = {"log": path.stem, "model": [*models, path.stem][0]}
    return collect_rows(start | row for row in _list_scores(cases, path))


READERS = {".json": read_test_run}


def _list_scores(cases: Sequence[Any], path: Path) -> Iterator[Row]:
    """List the metrics of all test cases."""
    for number, case in enumerate(cases, start=1):
        if not isinstance(case, dict) or not isinstance(case.get("name"), str):
            raise DataError.at(path, f"test case {number} has no `name`, no test run of DeepEval")
        asked = str(to_cell(case.get("input") or case.get("scenario") or case["name"]))
        start = {"answer": number, "prompt": shorten_text(asked), "text": clip_log_text(asked)}
        start |= {"case": case["name"]} | pick_scalars(case.get("metadata"), "metadata.")
        metrics = case.get("metricsData")
        for metric in metrics if isinstance(metrics, list) else []:
            if isinstance(metric, dict) and isinstance(metric.get("name"), str):
                yield start | _parse_metric(metric)


def _parse_metric(metric: dict[str, Any]) -> Row:
    """Return the judge, the indicator and the score of a metric; one that broke has none."""
    judge, broken = metric.get("evaluationModel"), metric.get("error") is not None
    return {
        "judge": judge if isinstance(judge, str) and judge else CODE,
        "indicator": metric["name"],
        "score": None if broken else to_cell(metric.get("score")),
        "pass": None if broken else to_cell(metric.get("success")),
    }


def tabulate_test_runs(runs: Sequence[Rows]) -> pd.DataFrame:
    """Join test runs to one table; the ``prompt`` is the input or the scenario of the test case."""
    return tabulate_runs(runs, "deepeval")
