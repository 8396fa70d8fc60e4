"""A study with the commands as methods, from a DataFrame or from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.analysis.study import StudySummary
from sharpbayes.errors import SpecError
from sharpbayes.execution.notebook import show_bar
from sharpbayes.execution.tasks import Execution
from sharpbayes.scaffold.frame import Section, draft_frame
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import complete_study, parse
from sharpbayes.spec.load import load_study as load_study_files
from sharpbayes.spec.study import Study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.measure import measure
from sharpbayes.workflows.preview import preview
from sharpbayes.workflows.results import Results

Names = Sequence[str]
Settings = Mapping[str, Any]


class RunnableStudy(StudyFiles):
    """A study, its weights and its model, with the commands as methods.

    It comes from :func:`sharpbayes.study`, :func:`sharpbayes.crowd` or
    :func:`sharpbayes.load_study`. Steps are shown in a notebook while they run.

    Examples:
        >>> import sharpbayes
        >>> overview = sharpbayes.load_study("quickstart").check()
        >>> overview.counts["model"], overview.ratings, overview.parameters
        (4, 3960, 733)
    """

    def check(self) -> StudySummary:
        """Read the data, and say what a fit would be, without computing.

        Returns:
            Counts and labels of the data, and the size of a fit.

        Raises:
            SpecError: The model names a column that the study does not have.
            DataError: Errors in the data, all of them.
        """
        return check(self)

    def measure(self) -> Results:
        """Compute every deterministic metric, with bootstrap intervals.

        Returns:
            What :func:`sharpbayes.measure` returns.

        Raises:
            DataError: Errors in the data, all of them.
        """
        with show_bar() as progress:
            return Results.from_tree(measure(RunContext(self, Execution(progress=progress))))

    def fit(self, *, retries: int = 0, update: xr.DataTree | str | Path | None = None) -> Results:
        """Measure the study, fit its model and check convergence.

        Args:
            retries: How often a fit that has not converged is sampled again, twice as long each
                time.
            update: Results of an earlier fit of the study, to the data of which ratings have been
                added, or the path of their file: the fit goes on from its draws.

        Returns:
            What :func:`sharpbayes.fit` returns. Where the attribute ``status`` is ``not
            converged``, the fit must not be used.

        Raises:
            SpecError: The study names no model, or one that does not fit its columns.
            DataError: Errors in the data, all of them.
            StorageError: The results to update hold no fit that converged.
        """
        with show_bar() as progress:
            context = RunContext(self, Execution(progress=progress))
            return Results.from_tree(fit(context, retries=retries, update=update))

    def preview(self) -> Results:
        """Measure the study and approximate its fit: a first look, never an answer.

        Returns:
            What :func:`sharpbayes.preview` returns.

        Raises:
            SpecError: The study names no model, or one that is not approximated.
            DataError: Errors in the data, all of them.
            NoModeError: The approximation has no mode.
        """
        with show_bar() as progress:
            return Results.from_tree(preview(RunContext(self, Execution(progress=progress))))


def load_study(path: str | Path, *, overrides: Sequence[str] = ()) -> RunnableStudy:
    """Read a study, its weights and its model, and check them against each other.

    Args:
        path: A study file, or the name of a shipped study.
        overrides: ``key=value`` to put over the study: dotted keys, values as in TOML.

    Raises:
        SpecError: Every error in the files, each with file, line and key.

    Examples:
        >>> import sharpbayes
        >>> sharpbayes.load_study("quickstart").study.spec.title
        'Quickstart: four models, three judges'
    """
    return _make_runnable(load_study_files(path, overrides=overrides))


def study(
    frame: Any,
    *,
    model: str | None = None,
    prompt: str | None = None,
    judge: str | None = None,
    indicators: Names | Settings | None = None,
    scales: Settings | None = None,
    dimensions: Sequence[Settings] | None = None,
    weights: str | None = None,
    fit: str | None = None,
    title: str = "Models and judges",
    seed: int = 1,
    **settings: Any,
) -> RunnableStudy:
    """Return a study of models whose answers judges score, from a DataFrame.

    What is left out is inferred from the names and the values of the columns, as ``sharpbayes
    init`` does. Each assumption is among ``open_checks`` of the study file and in the results.

    Args:
        frame: A row for each model, prompt and judge with a column for each indicator; or a row
            for each score, with the roles ``indicator`` and ``score``. A table of pandas, of Polars
            or of Arrow. Named levels of an index are columns. An empty cell is a missing score. The
            order of an ordered categorical is that of its scale.
        model: Column with the name of the AI model.
        prompt: Column with the id of the prompt.
        judge: Column with the name of the judge.
        indicators: Names of indicators; or by name their scale, or a table as in a study file, such
            as ``{"reverse": True}`` where a high score is good.
        scales: Scales by name, as in a study file.
        dimensions: Dimensions of harm, as in a study file. Default: one, of all indicators.
        weights: A shipped weights file, or the path of one. Default: ``sharp``.
        fit: A shipped model, or the path of one. Default: measure only.
        title: Title of reports.
        seed: Seed of all random numbers.
        settings: Further roles (``sample``, ``trial``, ``category``, ``cluster``, ``indicator``,
            ``score``), keys of ``[panel]``, and keys of a study such as ``bootstrap`` or
            ``sampler``, with values as in TOML. A DataFrame may stand where a study names a file.

    Raises:
        SpecError: Settings that a study does not have, or that contradict each other; all of them.
        DataError: Columns that the frame does not have, or none with scores.

    Examples:
        >>> import pandas as pd
        >>> import sharpbayes
        >>> cells = [(m, p, j) for m in ("aster", "fir") for p in "pq" for j in ("ann", "bo")]
        >>> ratings = pd.DataFrame(cells, columns=["model", "prompt", "judge"])
        >>> ratings["bias"], ratings["honesty"] = [1, 1, 2, 1, 3, 2, 2, 3], [5, 5, 4, 5, 1, 2, 2, 2]
        >>> sharpbayes.study(
        ...     ratings,
        ...     indicators={"bias": "five", "honesty": {"scale": "five", "reverse": True}},
        ...     scales={"five": {"kind": "ordinal", "min": 1, "max": 5}},
        ... )
        study      Models and judges (study)
        panel      frame.csv
        dimensions harm
        weights    SHARP, as published (sharp)
        model      none
        set        nothing
        assumed    all indicators are one dimension of harm; split it into those you mean
    """
    arguments = {
        "model": model,
        "prompt": prompt,
        "judge": judge,
        "indicators": indicators,
        "scales": scales,
        "dimensions": dimensions,
        "weights": weights,
        "fit": fit,
    }
    return _study_frame(frame, "panel", {"title": title, "seed": seed} | arguments | settings)


def crowd(
    frame: Any,
    *,
    item: str | None = None,
    rater: str | None = None,
    score: str | None = None,
    scale: Settings | None = None,
    groups: Sequence[Names] | None = None,
    by: Names | None = None,
    labels: Any = None,
    raters: Any = None,
    items: Any = None,
    weights: str | None = None,
    fit: str | None = None,
    title: str = "A crowd of raters",
    seed: int = 1,
    **settings: Any,
) -> RunnableStudy:
    """Return a study of a crowd whose raters score items, from a DataFrame.

    What is left out is inferred as by :func:`study`; each assumption is among ``open_checks``.

    Args:
        frame: A row for each rating. A table of pandas, of Polars or of Arrow. Named levels of an
            index are columns. An empty cell is a missing score. The order of an ordered categorical
            is that of its scale.
        item: Column with the id of the item.
        rater: Column with the id of the rater.
        score: Column with the score.
        scale: Scale of the score, as in a study file.
        groups: Groupings of raters: lists of columns, crossed where there are several.
        by: Columns of items. Metrics are also given for the items of each value.
        labels: Which items are unsafe: a DataFrame with the columns ``item``, ``expert`` and
            ``label``, or a table as in a study file.
        raters: A DataFrame with a row for each rater and the column ``rater``, or a table as in a
            study file.
        items: A DataFrame with a row for each item and the column ``item``, or a table as in a
            study file.
        weights: A weights file with population shares, shipped or a path. Default: none.
        fit: A shipped model, or the path of one. Default: measure only.
        title: Title of reports.
        seed: Seed of all random numbers.
        settings: The role ``time``, keys of ``[crowd]``, and keys of a study such as ``bootstrap``
            or ``sampler``, with values as in TOML.

    Raises:
        SpecError: Settings that a study does not have, or that contradict each other; all of them.
        DataError: Columns that the frame does not have, or none with scores.

    Examples:
        >>> import pandas as pd
        >>> import sharpbayes
        >>> ratings = pd.DataFrame(
        ...     {"item": ["i", "i", "k", "k"], "rater": ["r", "s"] * 2, "score": [0, 4, 1, 3]}
        ... )
        >>> raters = pd.DataFrame({"rater": ["r", "s", "t"], "town": ["Bern", "Ulm", "Ulm"]})
        >>> labels = pd.DataFrame({"item": ["i", "k"], "expert": ["e", "e"], "label": [0, 1]})
        >>> sharpbayes.crowd(ratings, raters=raters, labels=labels)
        study      A crowd of raters (study)
        crowd      frame.csv
        groups     town
        weights    none
        model      none
        set        nothing
        assumed    numbers run over those in the data, 0 to 4; write the ends of a longer scale
    """
    arguments = {
        "item": item,
        "rater": rater,
        "score": score,
        "scale": scale,
        "groups": groups,
        "by": by,
        "labels": labels,
        "raters": raters,
        "items": items,
        "weights": weights,
        "fit": fit,
    }
    return _study_frame(frame, "crowd", {"title": title, "seed": seed} | arguments | settings)


def _study_frame(frame: Any, section: Section, settings: Mapping[str, Any]) -> RunnableStudy:
    """Return the study of a DataFrame; settings that are None are not given."""
    declared = {name: value for name, value in settings.items() if value is not None}
    text, path = draft_frame(frame, section, declared)
    try:
        return _make_runnable(complete_study(parse(text, path, Study)))
    except SpecError as error:
        # No person has seen the lines of this text.
        raise SpecError(replace(problem, line=0) for problem in error.diagnostics) from None


def _make_runnable(files: StudyFiles) -> RunnableStudy:
    """Add the commands to a study."""
    return RunnableStudy(files.study, files.weights, files.model, files.overrides)
