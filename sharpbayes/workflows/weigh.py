"""Weigh: other weights over the stored results of a fit, without a refit or source data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.errors import Diagnostic, SpecError
from sharpbayes.posterior.fit_data import read_fit_data, stored_study
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.target_population import population_groups
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import load_weights, parse
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.context import Groups


def weigh(results: xr.DataTree, weights: Mapping[str, SpecFile[Weights]]) -> xr.DataTree:
    """Return the results of a stored fit under other weights, without a refit or source data.

    Args:
        results: A fit, from :func:`sharpbayes.open_results`.
        weights: Weights files by name.

    Returns:
        A child for each name: of a panel ``profile``, its intervals, ``posterior_profile`` for each
        list of sources of uncertainty, and ``decision``; of a crowd ``responsiveness_population``
        and its posterior. They equal bit for bit those of a new fit with these weights. Root
        attributes are those of the fit, attributes of a child are those of its weights.

    Raises:
        StorageError: The results are no fit, or one without replicated ratings.
        SpecError: Weights that do not suit the study.
    """
    data = read_fit_data(results)
    attrs = {str(key): value for key, value in results.attrs.items()}
    files = {name: _stored_files(attrs, name, file) for name, file in weights.items()}
    first = next(iter(files.values()))
    study = stored_study(first, results["ratings"].to_dataset().load())
    model = parse(attrs["model"], Path(attrs["model_path"]), Model)
    draws = data.draws(
        build_design(study.ratings, model.spec, path=str(model.path)), seed=study.spec.seed
    )
    if isinstance(study, PanelStudy):
        groups = _weigh_panel(study, draws, files)
    else:
        groups = _weigh_crowd(study, draws, weights)
    tree = xr.DataTree.from_dict(
        {f"/{name}/{group}": data for name in files for group, data in groups[name].items()}
    )
    tree.attrs = {key: value for key, value in attrs.items() if not key.startswith("weights")}
    for name, file in weights.items():
        tree[name].attrs = _weights_attrs(file)
    return tree


def _weigh_panel(
    study: PanelStudy, draws: ReplicateDraws, files: Mapping[str, StudyFiles]
) -> dict[str, Groups]:
    """Return profiles, their posterior and the decision under each weights file."""
    plans, measured = [], {}
    for name, own in files.items():
        plan, measured[name] = profile_panel(_with_weights(study, own))
        plans.append(plan)
    metrics = PanelMetrics(plans, rating_positions(study))
    posterior = panel_groups(metrics, draws, measured)
    return {name: measured[name] | posterior[name] for name in files}


def _with_weights(study: PanelStudy, files: StudyFiles) -> PanelStudy:
    """Return a study under the weights of other files."""
    if files.weights is None:
        raise ValueError("a panel has weights")
    return replace(study, spec=files.study.spec, weights=files.weights)


def _weigh_crowd(
    study: CrowdStudy, draws: ReplicateDraws, weights: Mapping[str, SpecFile[Weights]]
) -> dict[str, Groups]:
    """Return the responsiveness of all raters in the population of each weights file."""
    return {
        name: population_groups(replace(study, weights=file), draws)
        for name, file in weights.items()
    }


def _weights_attrs(weights: SpecFile[Weights]) -> dict[str, str]:
    """Return the description and the text of a weights file."""
    spec = weights.spec
    return {
        "title": spec.title,
        "rationale": spec.rationale,
        "source": spec.source,
        "weights": weights.text,
        "weights_sha256": weights.sha256,
        "weights_path": str(weights.path),
    }


def named_weights(names: Sequence[str]) -> dict[str, SpecFile[Weights]]:
    """Read weights files by shipped name or by path; a path is named by its stem.

    Raises:
        SpecError: Every error of the files, and two files of one name.

    Examples:
        >>> list(named_weights(["sharp", "equal"]))
        ['sharp', 'equal']
    """
    files: dict[str, SpecFile[Weights]] = {}
    for name in names:
        file = load_weights(name)
        stem = file.path.stem
        if stem in files and files[stem].path != file.path:
            message = f"{stem!r} names two files, {files[stem].path} and {file.path}"
            raise SpecError([Diagnostic("weigh", 0, "weights", message)])
        files[stem] = file
    return files


def _stored_files(attrs: Mapping[str, Any], name: str, weights: SpecFile[Weights]) -> StudyFiles:
    """Return the study of stored results under other weights, checked against each other.

    Raises:
        SpecError: Weights that do not suit the study.
    """
    overrides = tuple(json.loads(attrs["overrides"]))
    study = parse(attrs["study"], Path(attrs["study_path"]), Study, overrides=overrides)
    named = replace(study, spec=study.spec.model_copy(update={"weights": name}))
    model = parse(attrs["model"], Path(attrs["model_path"]), Model)
    files = StudyFiles(named, weights, model, overrides)
    check_files(files)
    return files
