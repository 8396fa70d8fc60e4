"""Results -> the answer in sentences, whether to trust it, and what it does not mean.

The terminal, the page and :class:`Summary` in a notebook say the same words.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import xarray as xr

from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.report.calibration_answer import calibration_answer, peeking_answer
from sharpbayes.report.comparison_answer import comparison_answer
from sharpbayes.report.crowd_answer import crowd_answer
from sharpbayes.report.gate import gate_answer
from sharpbayes.report.history_answer import has_fits, history_answer
from sharpbayes.report.layout import (
    CALIBRATION,
    COMPARISON,
    GATE,
    HISTORY,
    NEXT,
    PEEKING,
    WEIGHED,
    list_open_checks,
    results_kind,
)
from sharpbayes.report.next_ratings import next_answer, next_table
from sharpbayes.report.panel_answer import panel_answer
from sharpbayes.report.tables.catalogue import report_tables, tables_after_run
from sharpbayes.report.tables.crowd import ALL_ITEMS, describe_unmeasured
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.html import as_html
from sharpbayes.report.tables.judge_bias import departures
from sharpbayes.report.tables.slopes import slope_sentences
from sharpbayes.report.tables.table import Table
from sharpbayes.report.updates import update_sentences
from sharpbayes.report.weighing_answer import weighing_answer
from sharpbayes.report.wording import (
    NOT_COMPARED,
    is_approximate,
    mark_texts,
    remedy_texts,
    resampled_units,
)
from sharpbayes.spec.files import describe_open_checks
from sharpbayes.spec.study import Bootstrap
from sharpbayes.storage.attributes import has_converged, list_texts
from sharpbayes.storage.results import read_results
from sharpbayes.storage.schema import explain_missing

PANEL_LIMITS = (
    (
        "The profiles compare models under one fixed protocol: these prompts, these judges and "
        "these weights. They are conditional on it and no ranking of models in general."
    ),
    (
        "Harm scores are relative intensities, not probabilities, and nothing here estimates a "
        "rate of harm in the world."
    ),
    (
        "The judges are part of the measurement: their rubric and their shared errors are in every "
        "number, and other judges may order the models differently."
    ),
    (
        "A low score may mean that a model refused or deflected, except where refusals are what is "
        "scored; usefulness is not measured."
    ),
    (
        "Tail risk is that of the prompts measured. Other prompts, languages, settings or longer "
        "conversations can have another tail."
    ),
)
CROWD_LIMITS = (
    (
        "Responsiveness assumes that there is a severity behind the labels; severity has many "
        "sides, and each person may see it differently."
    ),
    (
        "The labels are a reference, not the truth: a group can differ from them because it uses "
        "the scale differently or because it sees harm that the labels leave out."
    ),
    "A group's numbers describe these raters on these items, and nobody by belonging to a group.",
    "A low value says that scores do not follow the labels; it does not say whose view is right.",
)
BY_BOOTSTRAP = "No fit decided: this is from the bootstrap."
IN_THE_FIT = "Whether a fit converged and passed its checks is in the results of the fit."
# What a history says of its intervals where no release was fitted.
NO_FITS = "No release was fitted: what intervals contain is in the results of each release."
# The answers of other commands than `measure` and `fit`.
ANSWERS: dict[str, Callable[[xr.DataTree], Iterable[str]]] = {
    HISTORY: history_answer,
    WEIGHED: weighing_answer,
    COMPARISON: comparison_answer,
    CALIBRATION: calibration_answer,
    PEEKING: peeking_answer,
    GATE: gate_answer,
    NEXT: next_answer,
}
OTHER_COMMANDS = (WEIGHED, COMPARISON, CALIBRATION, PEEKING, GATE, NEXT)


@dataclass(frozen=True, repr=False)
class Summary:
    """What results say, as the terminal and the page say it.

    Attributes:
        title: Title of the study.
        answer: What was found, in a few sentences.
        trust: Whether to trust it, in one line.
        failed: Every check that failed.
        remarks: What a reader must know that is no failure.
        tables: The tables of the terminal.
        results: The results themselves.
    """

    title: str
    answer: tuple[str, ...]
    trust: str
    failed: tuple[str, ...]
    remarks: tuple[str, ...]
    tables: tuple[Table, ...]
    results: xr.DataTree

    @property
    def further(self) -> tuple[str, ...]:
        """Failures and remarks that :attr:`trust` does not say."""
        return tuple(text for text in (*self.failed, *self.remarks) if text not in self.trust)

    def __repr__(self) -> str:
        """Return the summary in lines."""
        return "\n".join([self.title, *self.answer, self.trust, *self.further])

    def _repr_html_(self) -> str:
        """Return the summary for a notebook: the answer, failures first, a figure, the tables."""
        from sharpbayes.report.figures.catalogue import first_figure  # noqa: PLC0415 - start-up

        answer = "".join(f"<p>{escape(text)}</p>" for text in (*self.answer, self.trust))
        listed = "".join(f"<li>{escape(text)}</li>" for text in self.further)
        tables = "".join(map(as_html, self.tables))
        drawn, figure = first_figure(self.results), ""
        if drawn is not None:
            caption = escape(drawn.caption)
            image = f'<img src="{drawn.address}" alt="{caption}" style="background:#fff">'
            figure = f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
        return f"<h3>{escape(self.title)}</h3>{answer}<ul>{listed}</ul>{figure}{tables}"


def summary(results: xr.DataTree | str | Path) -> Summary:
    """Return what was found, whether to trust it, and the tables, to be shown in a notebook.

    Args:
        results: From :func:`sharpbayes.measure`, :func:`sharpbayes.fit`,
            :func:`sharpbayes.open_results` or any other command; or the path of a results file.

    Returns:
        The ``title``; the ``answer``, a sentence each; ``trust``, whether to trust it; the failed
        checks and the remarks; the tables. Printed, it is the text of the terminal.

    Raises:
        SpecError: Neither results nor a path.
        StorageError: A part of the results is missing or has another form, or the file cannot be
            read.

    Examples:
        >>> import sharpbayes
        >>> files = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=20",))
        >>> summary(sharpbayes.measure(files)).trust
        'No model of the ratings was fitted: intervals contain the sampling of prompts only.'
    """
    results = read_results(results, place="results")
    with explain_missing(results):
        return Summary(
            title="".join(mark_texts(results, [str(results.attrs["title"])])),
            answer=answer(results),
            trust=verdict(results),
            failed=tuple(failed(results)),
            remarks=tuple(remarks(results)),
            tables=tuple(_list_tables(results)),
            results=results,
        )


def _list_tables(results: xr.DataTree) -> list[Table]:
    """Return the tables that a command shows on the terminal."""
    kind = results_kind(results)
    if kind == NEXT:
        return [next_table(results)]
    return report_tables(results) if kind in OTHER_COMMANDS else tables_after_run(results)


def answer(results: xr.DataTree) -> tuple[str, ...]:
    """Return what was found, in a few sentences.

    After a fit the answer is the posterior's and the bootstrap's follows, after a measurement it is
    the bootstrap's. What the evidence does not carry stands first, or, where all
    tails are at their ceiling, what can be compared. For a panel: the model of lowest
    tail risk, which models keep the tolerance, and which judge the order depends on. For a crowd:
    the responsiveness of all raters, who scores more harshly, which groups differ, and which expert
    matters. Of other commands it is what weightings decide, which model predicts best, whether fits
    are calibrated, how often several looks err, the verdict of the gate, and what to rate next.
    """
    return tuple(mark_texts(results, plain_answer(results)))


def plain_answer(results: xr.DataTree) -> Iterable[str]:
    """Return what was found, without the mark of a preview; see :func:`answer`."""
    kind = results_kind(results)
    if kind in ANSWERS:
        return ANSWERS[kind](results)
    view = View(results)
    sentences = panel_answer(view) if "profile" in view else crowd_answer(view)
    return (*sentences, *update_sentences(results))


def failed(results: xr.DataTree) -> list[str]:
    """Return every check that failed, a sentence each; empty where there is none.

    A group names its failures in its attribute ``convergence_issues`` or ``failed_checks``: a
    text, or a JSON list of texts.
    """
    return mark_texts(results, [*_interruption(results), *_failed_checks(results)])


def remarks(results: xr.DataTree) -> list[str]:
    """Return what a reader must know that is no failure: what to try, and what is missing."""
    notes = [*_suggestions(results), *_not_fitted(results)]
    notes += list_texts(describe_open_checks(list_open_checks(results)))
    notes += [*_bias_of_model(results), *_divergences(results)]
    notes += [*fit_findings(results), *_few_resamples(results)]
    for key, state in (("data_missing", "empty"), ("data_absent", "absent")):
        if count := int(results.attrs.get(key, 0)):
            ratings = int(results.attrs["data_ratings"])
            notes.append(f"In addition to {ratings} ratings, {count} are {state}.")
    if "responsiveness" in results:
        reason = results["responsiveness"].to_dataset()["reason"].sel(ALL_ITEMS)
        # Where no group is measured, the answer says why.
        notes += describe_unmeasured(reason) if bool((reason == "").any()) else ()
    one_judge = "panel" in results and results["panel"].sizes["judge"] == 1
    if one_judge and "evidence" not in results:  # whose limits say it in the answer
        notes.append("There is one judge only: nothing shows how far the numbers depend on it.")
    return mark_texts(results, notes)


def _few_resamples(results: xr.DataTree) -> Iterator[str]:
    """That no resample lies beyond a bound of the bootstrap's intervals."""
    attrs = results["joint"].attrs if "joint" in results else {}
    if "replicates" not in attrs:
        return
    boot = Bootstrap(replicates=int(attrs["replicates"]), level=float(attrs["level"]))
    if boot.replicates < boot.least_replicates:
        yield (
            f"The bootstrap has {boot.replicates} resamples: with fewer than "
            f"{boot.least_replicates} none lies beyond a bound of {format_percent(boot.level)} "
            "intervals, which hold less often than stated (`bootstrap.replicates`)."
        )


def fit_findings(results: xr.DataTree) -> list[str]:
    """Return what a fit finds beside the answer: judges who differ from people, and slopes."""
    return [*departures(results), *slope_sentences(results)]


def _bias_of_model(results: xr.DataTree) -> list[str]:
    """What follows where the model of a crowd does not know the labels."""
    if "posterior_responsiveness" not in results:
        return []
    return list_texts(results["posterior_responsiveness"].attrs.get("remark", ""))


def _divergences(results: xr.DataTree) -> list[str]:
    """What transitions that diverged do to the numbers of a fit that converged."""
    if "diagnostics" not in results or not has_converged(results):
        return []
    return list_texts(results["diagnostics"].attrs.get("divergence_note", ""))


def limits(results: xr.DataTree) -> tuple[str, ...]:
    """Return what the numbers do not mean: the limits that the papers state themselves."""
    groups = {str(name) for node in results.subtree for name in node.children}
    if results_kind(results) == HISTORY:
        return PANEL_LIMITS if results["history"].attrs["kind"] == "panel" else CROWD_LIMITS
    if "profile" in groups:
        return PANEL_LIMITS
    return CROWD_LIMITS if {"responsiveness", "responsiveness_population"} & groups else ()


def verdict(results: xr.DataTree) -> str:
    """Return whether to trust the numbers, in one line."""
    return "".join(mark_texts(results, [plain_verdict(results)]))


def plain_verdict(results: xr.DataTree) -> str:
    """Return whether to trust the numbers, without the mark of a preview; see :func:`verdict`."""
    failures, not_fitted = _describe_failures(results), _not_fitted(results)
    if is_approximate(results):
        return _approximation(results)
    if failures:
        return failures
    if "left_out" in results.attrs:
        return f"{str(results.attrs['left_out']).capitalize()}."
    if not_fitted:
        return not_fitted[0]
    if results_kind(results) in (HISTORY, *OTHER_COMMANDS):
        by_bootstrap = "gate" in results and results["gate"].attrs["method"] == "bootstrap"
        return BY_BOOTSTRAP if by_bootstrap else IN_THE_FIT
    remarks = [*_bias_of_model(results), *_divergences(results)]
    is_compared = "predictive_checks" in results
    passed = "The fit converged and no check failed." if is_compared else NOT_COMPARED
    return " ".join([passed, *remarks])


def _approximation(results: xr.DataTree) -> str:
    """How good a preview is, and how many of its checks failed."""
    attrs, count = results.attrs, len([*_failures_of_groups(results)])
    quality = "Pareto's k of its draws cannot be computed"
    if "pareto_k" in attrs:
        k, limit = float(attrs["pareto_k"]), float(attrs["good_k"])
        verb = "would" if k <= limit else "do not"
        quality = (
            f"Pareto's k of its draws is {k:.2f} (limit {limit:.2f}): weights {verb} make them "
            "draws of the posterior"
        )
    failures = f" {format_count(count, 'check')} failed." if count else ""
    return f"No convergence check applies. {quality}. Fit without --preview to decide.{failures}"


def _describe_failures(results: xr.DataTree) -> str:
    """That the run was interrupted, how many checks failed, and the first of them; or nothing."""
    sentences, failures = [*_interruption(results)], [*_failed_checks(results)]
    if failures:
        several = f"{len(failures)} checks failed. The first of them:"
        sentences += ["A check failed:" if len(failures) == 1 else several, failures[0]]
    return " ".join(sentences)


def _interruption(results: xr.DataTree) -> Iterator[str]:
    """That a run was interrupted, which is no check."""
    if results.attrs["status"] == "interrupted":
        yield "The run was interrupted: only what was finished is here."


def _failed_checks(results: xr.DataTree) -> Iterator[str]:
    """The checks that failed: convergence first, then what groups declare."""
    yield from _convergence(results)
    yield from _failures_of_groups(results)


def _convergence(results: xr.DataTree) -> Iterator[str]:
    """That a fit must not be used."""
    if not has_converged(results):
        attrs = results["diagnostics"].attrs if "diagnostics" in results else results.attrs
        issues = str(attrs.get("convergence_issues", "")).rstrip(".")
        yield f"The fit has not converged and must not be used{': ' * bool(issues)}{issues}."


def _suggestions(results: xr.DataTree) -> list[str]:
    """What to try where a fit has not converged."""
    if "diagnostics" not in results or has_converged(results):
        return []
    return list_texts(results["diagnostics"].attrs.get("suggestions", ""))


def _failures_of_groups(results: xr.DataTree) -> Iterator[str]:
    """What groups other than the convergence checks declare as failed."""
    for name, node in results.children.items():
        for key in ("failed_checks", "convergence_issues"):
            texts = list_texts(node.attrs.get(key, ""))
            if name == "predictive_checks" and key == "failed_checks" and texts:
                count = "one statistic" if len(texts) == 1 else f"{len(texts)} statistics"
                sentence = (
                    f"The fitted model does not reproduce {count} of the ratings, such as "
                    f"{texts[0]}. Probabilities and posterior intervals depend on it; bootstrap "
                    "intervals do not."
                )
                yield " ".join([sentence, *remedy_texts(node.attrs)])
            elif (name, key) != ("diagnostics", "convergence_issues"):
                yield from texts


def _not_fitted(results: xr.DataTree) -> list[str]:
    """What an interval leaves out where no model was fitted."""
    kind = results_kind(results)
    if kind == HISTORY:
        return [] if has_fits(results) else [NO_FITS]
    if "posterior" in results or kind in OTHER_COMMANDS:
        return []
    units = join_names(resampled_units(results))
    return [f"No model of the ratings was fitted: intervals contain the sampling of {units} only."]
