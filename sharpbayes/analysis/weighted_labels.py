"""Labels that weights name, compared with those of the data."""

from collections.abc import Iterable, Iterator, Sequence

from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.data.crowd import CrowdData
from sharpbayes.errors import (
    DataError,
    Diagnostic,
    SpecError,
    did_you_mean,
    format_list,
    join_names,
)
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Weights


def check_weighted_labels(study: PanelStudy | CrowdStudy) -> None:
    """Refuse weights that name labels which the data do not have, or leave out some of the data.

    DataError for categories of prompts, SpecError for labels of raters; one line for each problem.
    """
    if isinstance(study, PanelStudy):
        DataError.raise_any(_category_problems(study))
    elif study.weights is not None:
        check_rater_labels(study.data, study.weights)


def _category_problems(study: PanelStudy) -> Iterator[Diagnostic]:
    """Shares that do not cover the categories of the data, and limits of a category of no prompt.

    That the study has a column of categories, where weights name any, the files have shown.
    """
    spec, shares = study.weights.spec, study.weights.spec.population.get("category")
    limits = spec.tolerance.category if spec.tolerance is not None else {}
    if shares is None and not limits:
        return
    known = sorted({str(label) for label in study.data.prompt_columns["category"]})
    for message in _unmatched(known if shares is None else shares, known, "prompt", "category"):
        yield study.weights.locate(("population", "category"), message)
    for name in limits:
        for message in _unknown([name], known, "prompt", "category"):
            yield study.weights.locate(("tolerance", "category", name), message)


def check_rater_labels(data: CrowdData, weights: SpecFile[Weights]) -> None:
    """Raise SpecError where labels of raters have no share, or shares no rater or column."""
    problems = []
    columns = list(data.rater_columns)
    for name, shares in weights.spec.population.items():
        labels = data.rater_columns.get(name)
        if labels is None:
            known = f"there are {format_list(columns)}" if columns else "there is none"
            message = f"raters have no column {name!r}, {known}{did_you_mean(name, columns)}"
            problems.append(weights.locate(("population", name), message))
            continue
        messages = _unmatched(shares, sorted({*labels.tolist()}), "rater", "label")
        problems += [weights.locate(("population", name), message) for message in messages]
    SpecError.raise_any(problems)


def _unmatched(
    shares: Iterable[str], known: Sequence[str], unit: str, attribute: str
) -> Iterator[str]:
    """Shares of labels that nobody has, and labels without a share."""
    named = [*shares]
    yield from _unknown(named, known, unit, attribute)
    if absent := [repr(name) for name in known if name not in named]:
        yield f"no share of {join_names(absent)}; every {attribute} in the data needs one"


def _unknown(
    names: Iterable[str], known: Sequence[str], unit: str, attribute: str
) -> Iterator[str]:
    """Names that no prompt or rater has, with those that there are."""
    for name in names:
        if name not in known:
            alternatives = f"there are {format_list(known)}{did_you_mean(name, known)}"
            yield f"no {unit} has the {attribute} {name!r}, {alternatives}"
