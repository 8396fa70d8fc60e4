"""Results of promptfoo -> a long table: a row for each assertion on an answer."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.json_text import parse_json, pick_scalars, read_objects, to_cell
from sharpbayes.data.readers.prompt_text import clip_log_text
from sharpbayes.data.readers.rows import Row, Rows, collect_rows
from sharpbayes.data.readers.scored_answers import CODE, UNNAMED, shorten_text, tabulate_runs
from sharpbayes.errors import DataError

# Assertions that ask a model start with these; all others are programs.
GRADED = (
    "agent-rubric",
    "answer-relevance",
    "context-",
    "conversation-relevance",
    "factuality",
    "g-eval",
    "llm-rubric",
    "model-graded-",
    "promptfoo:redteam:",
    "search-rubric",
)


def read_results(path: Path) -> Rows:
    """Read a file that ``promptfoo eval --output x.json`` wrote."""
    content = parse_json(path.read_bytes(), path)
    for _ in range(2):
        content = content.get("results") if isinstance(content, dict) else None
    if not isinstance(content, list):
        raise DataError.at(path, "no results of promptfoo: it has no list `results.results`")
    return collect_rows(_list_scores(content, path))


def read_result_lines(path: Path) -> Rows:
    """Read a file that ``promptfoo eval --output x.jsonl`` wrote."""
    return collect_rows(_list_scores(read_objects(path), path))


READERS = {".json": read_results, ".jsonl": read_result_lines}


def _list_scores(results: Sequence[Any], path: Path) -> Iterator[Row]:
    """List the scores of all results; an answer that was not scored has empty ones."""
    for number, result in enumerate(results, start=1):
        model = _name_provider(result.get("provider")) if isinstance(result, dict) else ""
        if not model:
            raise DataError.at(path, f"result {number} has no `provider`, no result of promptfoo")
        test, prompt, grading = (
            part if isinstance(part, dict) else {}
            for part in map(result.get, ("testCase", "prompt", "gradingResult"))
        )
        variables = test.get("vars") or result.get("vars")
        question = _read_question(variables, prompt)
        start = {
            "log": path.stem,
            "answer": number,
            "model": model,
            "prompt": shorten_text(question),
            "text": clip_log_text(question),
            "template": shorten_text(str(prompt.get("label", ""))),
        }
        start |= pick_scalars(variables, "vars.") | pick_scalars(test.get("metadata"), "metadata.")
        components = grading.get("componentResults")
        if not isinstance(components, list):
            asked = test.get("assert")
            components = [{"assertion": a} for a in asked] if isinstance(asked, list) else []
        options = test.get("options")
        for component in components:
            # A set of assertions has none of its own, and its members stand beside it.
            if isinstance(component, dict) and isinstance(component.get("assertion"), dict):
                yield start | _parse_score(component, options if isinstance(options, dict) else {})


def _name_provider(provider: Any) -> str:
    """Name a provider: its label, or its id."""
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return provider if isinstance(provider, str) else ""


def _read_question(variables: Any, prompt: dict[str, Any]) -> str:
    """Return what was asked: the value of the only variable, all variables, or the text itself."""
    if isinstance(variables, dict) and variables:
        only = to_cell(next(iter(variables.values())))
        ordered = dict(sorted(variables.items()))
        return str(only if len(variables) == 1 else to_cell(ordered))
    return str(to_cell(prompt.get("raw", "")))


def _parse_score(component: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the judge, the indicator and the score of an assertion; a broken grader has none."""
    assertion, metadata = component["assertion"], component.get("metadata")
    kind = str(assertion.get("type", ""))
    judge = _name_provider(assertion.get("provider"))
    if not judge and kind.removeprefix("not-").startswith(GRADED):
        judge = _name_provider(options.get("provider")) or UNNAMED
    broken = isinstance(metadata, dict) and metadata.get("graderError") is True
    score, verdict = (None, None) if broken else (component.get("score"), component.get("pass"))
    name = assertion.get("metric")
    return {
        "judge": judge or CODE,
        "indicator": name if isinstance(name, str) and name else kind,
        "score": to_cell(score),
        "pass": to_cell(verdict),
    }


def tabulate_results(files: Sequence[Rows]) -> pd.DataFrame:
    """Join files to one table.

    The ``prompt`` is the variables of the test, after its template where a model has several.
    """
    templates: dict[str, set[str]] = {}
    for row in chain.from_iterable(files):
        templates.setdefault(row["model"], set()).add(row["template"])
    if any(len(of_model) > 1 for of_model in templates.values()):
        for row in chain.from_iterable(files):
            row["prompt"] = f"{row['template']}/{row['prompt']}"
    return tabulate_runs(files, "promptfoo")
