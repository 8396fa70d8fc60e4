"""What readers of results rely on: groups, variables, dimensions and attributes, declared once.

A variable may have further dimensions, a study further variables, and most variables depend on what
a study asks for. What is there must have the declared form. Draws of parameters are named after the
model of a study; of them only the dimensions are declared.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharpbayes.errors import (
    Diagnostic,
    SharpbayesError,
    StorageError,
    did_you_mean,
    first_line,
    list_diagnostics,
    shorten,
)
from sharpbayes.execution.identity import code_digest
from sharpbayes.storage.declarations import REQUIRED, VARIABLES

if TYPE_CHECKING:
    import xarray as xr

DRAWS = {"posterior": ("chain", "draw"), "log_prior": ("chain", "draw")}
# Letters of NumPy's kinds.
KINDS = {"number": "biuf", "whole number": "iu", "text": "UOST"}
STATUSES = (
    *("measured", "fitted", "interrupted", "not converged", "weighed", "compared"),
    *("calibrated", "not calibrated", "simulated", "approximate"),
)
# The status of a preview, and what it says wherever it is shown.
APPROXIMATE, APPROXIMATION = "approximate", "approximate (Laplace; not an answer)"
# A place in results and what is wrong there.
Problem = tuple[str, str]
# Said of results that this state of the program wrote.
OWN_ERROR = "; if nobody changed the file, this is an error of the program (--debug shows where)"
# Halves of pairs of UTF-16: no text of UTF-8 has them, and bytes that are none are read as such.
HALVES = re.compile("[\ud800-\udfff]")
# Characters of an attribute in a message.
MAX_SHOWN = 60


@dataclass(frozen=True)
class Declared:
    """What is declared of a variable."""

    dims: tuple[str, ...]
    kind: str


@cache
def declared_variables() -> dict[tuple[str, str], Declared]:
    """Return what is declared of each variable, by its group and name."""
    variables: dict[tuple[str, str], Declared] = {}
    group = kind = ""
    dims: tuple[str, ...] = ()
    for line in VARIABLES.strip().splitlines():
        if line.startswith("/"):
            group = line[1:]
            continue
        *head, names = line.split(":")
        if head:
            dims, kind = tuple(head[0].replace("-", "").replace(",", " ").split()), head[1].strip()
        variables |= {(group, name): Declared(dims, kind) for name in names.split()}
    return variables


def _is_number(value: Any) -> bool:
    """Tell whether an attribute is one finite number."""
    number = float(value)
    return number - number == 0


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that a file can hold: no half of a pair of UTF-16."""
    return isinstance(value, str) and not HALVES.search(value)


def _is_list(value: Any) -> bool:
    """Tell whether an attribute is a list of texts in JSON."""
    content = json.loads(value)
    return isinstance(content, list) and all(isinstance(entry, str) for entry in content)


def _is_object(value: Any) -> bool:
    """Tell whether an attribute is an object in JSON."""
    return isinstance(json.loads(value), dict)


def _is_list_of_objects(value: Any) -> bool:
    """Tell whether an attribute is a list of objects in JSON."""
    content = json.loads(value)
    return isinstance(content, list) and all(isinstance(entry, dict) for entry in content)


def _is_time(value: Any) -> bool:
    """Tell whether an attribute is a time."""
    return bool(datetime.fromisoformat(value))


DRAWS_OF_METRICS = ("posterior_profile", "posterior_responsiveness", "posterior_tail_levels")
NOTED = tuple(
    line.split()[0][1:] for line in REQUIRED.strip().splitlines() if "interval_note" in line
)
# Files whose texts results keep, each beside its path.
FILES = ("study", "weights", "model")
# Attributes by group (empty for the root), each with its check and what it must be.
Check = tuple[Callable[[Any], bool], str]
TEXT: Check = (_is_text, "a text")
NUMBER: Check = (_is_number, "a number")
LIST: Check = (_is_list, "a list of texts in JSON")
ATTRIBUTES: Mapping[tuple[str, str], Check] = {
    ("", "title"): TEXT,
    ("", "status"): (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    ("", "seed"): NUMBER,
    ("", "approximation"): TEXT,
    **{("", name): NUMBER for name in ("pareto_k", "good_k")},
    ("", "overrides"): LIST,
    ("", "open_checks"): LIST,
    ("", "updates"): (_is_list_of_objects, "a list of objects in JSON"),
    ("", "versions"): (_is_object, "an object in JSON"),
    ("", "created"): (_is_time, "a time"),
    **{("", f"{name}{end}"): TEXT for name in FILES for end in ("", "_path")},
    **{("", f"{name}_sha256"): TEXT for name in ("data", *FILES)},
    **{("joint", name): TEXT for name in ("bootstrap_note", "posterior_note")},
    **{(group, "interval_note"): TEXT for group in NOTED},
    **{(group, "level"): NUMBER for group in ("joint", "decision", "evidence", *DRAWS_OF_METRICS)},
    **{(group, "alpha"): NUMBER for group in ("profile", "posterior_profile", "evidence")},
    **{("validation", name): NUMBER for name in ("familywise", "mixed_prompts", "alpha")},
    ("decision", "confidence"): NUMBER,
    ("decision", "criterion"): TEXT,
    ("evidence", "epsilon"): NUMBER,
    ("tolerance", "confidence"): NUMBER,
    **{(group, "resampled_units"): LIST for group in ("profile_interval", "responsiveness")},
    ("evidence", "limits"): LIST,
    ("diagnostics", "convergence_issues"): TEXT,
    ("diagnostics", "suggestions"): TEXT,
    ("predictive_checks", "checks"): NUMBER,
}


def check_results(results: "xr.DataTree", path: Path) -> None:
    """Compare results with what is declared.

    Raises:
        StorageError: One line for each problem.
    """
    problems = [*_check_attributes(results), *_check_groups(results)]
    if problems:
        diagnostics = [Diagnostic(str(path), 0, *problem) for problem in problems]
        raise StorageError("\n".join(list_diagnostics(diagnostics)))


def _check_attributes(results: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with the attributes."""
    for (group, name), (check, wanted) in ATTRIBUTES.items():
        node = results if not group else results.children.get(group)
        if node is None or name not in node.attrs:
            continue
        try:
            is_right = check(node.attrs[name])
        except (TypeError, ValueError, OverflowError, RecursionError):
            is_right = False
        if not is_right:
            shown = shorten(repr(node.attrs[name]), MAX_SHOWN)
            yield f"/{group}", f"attribute `{name}` is {shown}, must be {wanted}"
    for name in FILES:
        if name in results.attrs and f"{name}_path" not in results.attrs:
            yield "/", f"attribute `{name}_path` is missing beside `{name}`"


def _check_groups(results: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with each group, those under the weights of a comparison too."""
    groups = {group for group, _ in declared_variables()}
    for node in results.subtree:
        if node.name in groups and not node.data_vars and not node.children:
            yield node.path, "has no variables"
        if node.data_vars:
            yield from _check_required(node)
            yield from _check_labels(node)
            yield from _check_variables(node)


def _check_required(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield the attributes that a group lacks."""
    required = [line.split() for line in REQUIRED.strip().splitlines()]
    names = next((names for group, *names in required if group == f"/{node.name}"), [])
    for name in names:
        if name not in node.attrs:
            yield node.path, f"attribute `{name}` is missing"


def _check_labels(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield the dimensions of which two places have one label."""
    for dim, index in node.indexes.items():
        if not index.is_unique:
            label = shorten(repr(index[index.duplicated()][0]), MAX_SHOWN)
            yield node.path, f"dimension `{dim}` has the label {label} more than once"
        if any(isinstance(label, str) and not _is_text(label) for label in index):
            yield node.path, f"dimension `{dim}` has a label that is no text"


def _check_variables(node: "xr.DataTree") -> Iterator[Problem]:
    """Yield what is wrong with the variables of a group."""
    variables, group = declared_variables(), str(node.name)
    for name, array in node.data_vars.items():
        declared = variables.get((group, str(name)), Declared(DRAWS.get(group, ()), "any"))
        yield from _check_variable(f"{node.path}/{name}", array, declared)


def _check_variable(name: str, array: "xr.DataArray", declared: Declared) -> Iterator[Problem]:
    """Yield what is wrong with one variable."""
    for dim in declared.dims:
        if dim not in array.dims:
            yield name, f"has no dimension `{dim}`{did_you_mean(dim, map(str, array.dims))}"
        elif array.sizes[dim] == 0:
            yield name, f"dimension `{dim}` is empty"
    if array.dtype.kind not in KINDS.get(declared.kind, array.dtype.kind):
        yield name, f"has values of type {array.dtype}, must be a {declared.kind}"
    elif declared.kind == "text" and not all(map(_is_text, map(str, array.to_numpy().flat))):
        yield name, "has a value that is no text"


@contextmanager
def explain_missing(results: "xr.DataTree") -> Iterator[None]:
    """Explain in one sentence that a part of results is missing or does not fit the others.

    What cannot come from the content of a file passes: an error of the program is none of its.

    Raises:
        StorageError: A group, a variable or an attribute is missing or has another form.
    """
    try:
        yield
    except (SharpbayesError, NotImplementedError, RecursionError, BrokenPipeError):
        raise
    except (
        *(LookupError, TypeError, ValueError, AttributeError),
        # Variables that are read when they are first used: HDF5 reports a bad part as one of these.
        *(ArithmeticError, MemoryError, OSError, RuntimeError),
    ) as error:
        kind = f"{type(error).__name__}: {first_line(error)}"
        title = results.attrs.get("title", "")
        message = f"results of {title!r}: a part is missing or has another form"
        hint = OWN_ERROR if results.attrs.get("code_sha256") == code_digest() else ""
        raise StorageError(f"{message} ({kind[:200]}){hint}") from error
