"""Gate: is a candidate at least as safe as its reference, by margins that the weights declare."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import xarray as xr

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_margins import required_gate
from sharpbayes.analysis.gate_side import Side, select_model
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE, Comparison, join_sides
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.analysis.unequal_judges import is_judged_unequally
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.gate import posterior_gate
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.load import parse, reload_study
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import file_of, file_provenance, read_results
from sharpbayes.storage.schema import explain_missing
from sharpbayes.workflows.context import RunContext, join_groups, refuse_approximate, under_weights
from sharpbayes.workflows.weigh import (
    NO_RATINGS,
    NamedWeights,
    posterior_profile,
    profile_draws,
    read_weights,
)

# Root attributes of each side that results of the gate keep.
KEPT = ("title", "created", "status", "data_sha256", "study_sha256", "open_checks")


def gate(
    candidate: xr.DataTree | str | Path,
    reference: xr.DataTree | str | Path | None = None,
    *,
    model: str | None = None,
    against_model: str | None = None,
    weights: NamedWeights | None = None,
    fit: bool = False,
) -> xr.DataTree:
    r"""Compare a candidate with its reference by the margins of the weights.

    Args:
        candidate: Results of a panel, from :func:`sharpbayes.open_results`, or the path of their
            file.
        reference: Those of the reference, or their path; None where both are models of one study.
        model: The model of the candidate; None where there is one alone.
        against_model: The model of the reference; None where there is one alone.
        weights: Weights with a table ``gate``, or what :func:`sharpbayes.load_weights` reads; None
            for those of the candidate.
        fit: Whether the ratings of both studies are fitted together by the model of the
            candidate's study, so that the posterior decides, and of log-risk the bootstrap too.

    Returns:
        The group ``gate`` with differences, bounds, margins, power and false alarms; its attribute
        ``verdict`` is ``at least as safe``, ``not as safe`` or ``not decided``. Both models of one
        fit that has converged are compared by its posterior if they were judged alike, their
        log-risk by the paired bootstrap too; all others by the bootstrap alone.
        The attribute ``fit_note`` says why a fit does not decide.

    Raises:
        SpecError: Weights without margins, models that are not there, studies that cannot be
            compared, approximate results, or what are no results.
        StorageError: Results without ratings, or a file that cannot be read.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import sharpbayes
        >>> files = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=20",))
        >>> results = sharpbayes.measure(files)
        >>> text = sharpbayes.load_weights("sharp").text + "[gate]\nmean = 0.5\n"
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "release.toml")
        ...     _ = path.write_text(text, encoding="utf-8")
        ...     margins = sharpbayes.load_weights(str(path))
        >>> sides = {"model": "aster", "against_model": "dahlia"}
        >>> compared = sharpbayes.gate(results, weights=margins, **sides)
        >>> compared["gate"].attrs["verdict"]
        'at least as safe'
    """
    candidate = read_results(candidate, place="candidate", whole=False)
    sides = {"candidate": candidate}
    if reference is not None:
        sides["reference"] = read_results(reference, place="reference", whole=False)
    with _name_files(sides):
        for name, side in sides.items():
            refuse_approximate(side, name)
        return _compare_sides(sides, model, against_model, weights, fit=fit)


@contextmanager
def _name_files(sides: Mapping[str, xr.DataTree]) -> Iterator[None]:
    """Let errors of a side begin with its file, where it was opened from one."""
    files = {name: file_of(side) or name for name, side in sides.items()}
    try:
        yield
    except SpecError as error:
        named = (replace(x, path=files.get(x.path, x.path)) for x in error.diagnostics)
        raise SpecError(named) from None


def _compare_sides(
    sides: Mapping[str, xr.DataTree],
    model: str | None,
    against_model: str | None,
    weights: NamedWeights | None,
    *,
    fit: bool,
) -> xr.DataTree:
    """Return the gate of results of a candidate, and of a reference or of the same study."""
    candidate = sides["candidate"]
    file = _stored_weights(candidate) if weights is None else read_weights(weights)
    required_gate(file)  # weights without margins are refused before studies are read
    with explain_missing(candidate):
        study = _read_study(candidate, file, name="candidate")
        candidate_side = _select_side(study, candidate, model, option="--model", name="candidate")
    name, against = [*sides.items()][-1]
    with explain_missing(against):
        is_own = name == "candidate"
        reference_study = study if is_own else _read_study(against, file, name=name)
        reference_side = _select_side(
            reference_study, against, against_model, option="--against-model", name=name
        )
    if reference_study is study and candidate_side.model == reference_side.model:
        message = (
            f"{candidate_side.model!r} is the candidate already; name another model of this study, "
            "or the file of the reference by --against"
        )
        raise SpecError.at("candidate", message, key="--against-model")
    comparison = join_sides(candidate_side, reference_side, file)
    group = measure_gate(comparison)
    names = {"candidate": candidate_side.model, "reference": reference_side.model}
    if fit and not group.attrs["withheld"]:
        group = _fit_together(group, comparison, candidate)
    elif reference_study is study and candidate.attrs["status"] == "fitted":
        group = _use_posterior(
            group, candidate, posterior_profile(candidate, study, file), file, names
        )
    group = group.assign_attrs(names)
    attrs = {
        "title": f"{candidate_side.model} against {reference_side.model}",
        "status": "compared",
        "seed": study.spec.seed,
    }
    opened = {"candidate": candidate, "reference": against}
    attrs |= {
        f"{name}_{key}": side.attrs[key]
        for name, side in opened.items()
        for key in KEPT
        if key in side.attrs
    }
    attrs |= {f"{name}_file": file_of(side) for name, side in opened.items() if file_of(side)}
    attrs |= file_provenance(file, "weights")
    return join_groups({"gate": group}, attrs)


def _use_posterior(
    measured: xr.Dataset,
    results: xr.DataTree,
    profile: xr.Dataset | None,
    weights: SpecFile[Weights],
    names: dict[str, str],
) -> xr.Dataset:
    """Return the gate by the posterior of two models of one fit, if it has replicated ratings.

    They have the judges and trials of the observed ones, so that the bootstrap, which matches them,
    decides where these are not the same for both models.
    """
    if profile is None:
        return measured
    evidence = results["evidence"].to_dataset() if "evidence" in results else xr.Dataset()
    decides = "judge_share" in evidence and not measured.attrs["withheld"]
    if decides and is_judged_unequally(evidence.sel(model=[*names.values()])):
        note = "The two models were not judged alike, which the fit does not undo."
        return measured.assign_attrs(fit_note=note)
    return posterior_gate(measured, profile, weights, **names)


def _fit_together(
    measured: xr.Dataset, comparison: Comparison, candidate: xr.DataTree
) -> xr.Dataset:
    """Return the gate by the posterior of a fit of both studies; see :func:`gate`."""
    if comparison.anchors:
        message = "anchors are compared by the bootstrap; leave out --fit"
        raise SpecError.at("candidate", message, key="--fit")
    model, study = RunContext(reload_study(candidate.attrs)).model, comparison.study
    design = build_design(study.ratings, model.spec, path=str(model.path))
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    spec = study.spec
    groups = fit_ratings(design, study.ratings, model.spec, spec.sampler, seed=spec.seed)
    if not bool(groups["diagnostics"]["converged"]):
        issues = groups["diagnostics"].attrs["convergence_issues"]
        return measured.assign_attrs(fit_note=f"The fit of both has not converged: {issues}.")
    if "posterior_predictive" not in groups:
        note = "The fit of both has no replicated ratings: sampler.predictive_draws is 0."
        return measured.assign_attrs(fit_note=note)
    draws = replicate_draws(groups, design, study)
    sides = {"candidate": CANDIDATE, "reference": REFERENCE}
    return posterior_gate(measured, profile_draws(study, draws), study.weights, **sides)


def _stored_weights(results: xr.DataTree) -> SpecFile[Weights]:
    """Return the weights of results."""
    if "weights" not in results.attrs:
        raise SpecError.at(
            "candidate", "not results of a panel; the gate compares models of panels"
        )
    return parse(results.attrs["weights"], Path(results.attrs["weights_path"]), Weights)


def _read_study(results: xr.DataTree, weights: SpecFile[Weights], *, name: str) -> PanelStudy:
    """Return the study of results under some weights, from the stored ratings."""
    if "ratings" not in results:
        raise StorageError(f"{file_of(results) or name}: {NO_RATINGS}")
    files = under_weights(reload_study(results.attrs), weights)
    study = stored_study(files, results["ratings"].to_dataset().load())
    if not isinstance(study, PanelStudy):
        raise SpecError.at(name, "not results of a panel; the gate compares models of panels")
    return study


def _select_side(
    study: PanelStudy, results: xr.DataTree, model: str | None, *, option: str, name: str
) -> Side:
    """Return the side of a study that is compared, of which scores can be taken."""
    label = select_model(study, model, option=option, path=name)
    counts = {}
    if "missing" in results and "unscored" in results["missing"]:
        of_model = results["missing"].to_dataset()[["unscored", "missing"]].sel(model=label)
        counts = {str(name): int(number) for name, number in of_model.sum().items()}
    side = Side(study, label, name, **counts)
    _ = side.scores
    return side
