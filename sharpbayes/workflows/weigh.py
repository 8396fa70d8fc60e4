"""Weigh: other weights over the stored results of a fit, without a refit or source data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.joint import joint_table
from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.errors import SpecError
from sharpbayes.posterior.crowd import population_groups
from sharpbayes.posterior.fit_data import read_fit_groups, replicate_draws, stored_study
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.load import load_weights, reload_study
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.context import Groups, RunContext


def weigh(results: xr.DataTree, weights: Mapping[str, SpecFile[Weights]]) -> xr.DataTree:
    """Return the results of a stored fit under other weights, without a refit or source data.

    Args:
        results: A fit, from :func:`sharpbayes.open_results`.
        weights: Weights files by name.

    Returns:
        A child for each name: of a panel ``profile``, its intervals, ``posterior_profile`` for each
        list of sources of uncertainty, ``decision`` and ``joint``; of a crowd
        ``responsiveness_population`` and its posterior. They equal bit for bit those of a new fit
        with these weights. Root attributes are those of the fit, attributes of a child are those of
        its weights.

    Raises:
        StorageError: The results are no fit, or one without replicated ratings.
        SpecError: Weights that do not suit the study.
    """
    fitted = read_fit_groups(results)
    files = reload_study(results.attrs)
    for name, file in weights.items():
        spec = files.study.spec.model_copy(update={"weights": name})
        check_files(replace(files, study=replace(files.study, spec=spec), weights=file))
    study = stored_study(files, results["ratings"].to_dataset().load())
    model = RunContext(files).model
    design = build_design(study.ratings, model.spec, path=str(model.path))
    draws = replicate_draws(fitted, design, seed=study.spec.seed)
    if isinstance(study, PanelStudy):
        groups = _weigh_panel(study, draws, weights)
    else:
        populations = {name: replace(study, weights=file) for name, file in weights.items()}
        groups = {name: population_groups(x, draws, model.spec) for name, x in populations.items()}
    tree = xr.DataTree.from_dict(
        {f"/{name}/{group}": data for name in weights for group, data in groups[name].items()}
    )
    tree.attrs = {k: v for k, v in results.attrs.items() if not str(k).startswith("weights")}
    for name, file in weights.items():
        about = {key: getattr(file.spec, key) for key in ("title", "rationale", "source")}
        text = {"": file.text, "_sha256": file.sha256, "_path": str(file.path)}
        tree[name].attrs = about | {f"weights{key}": value for key, value in text.items()}
    return tree


def _weigh_panel(
    study: PanelStudy, draws: ReplicateDraws, weights: Mapping[str, SpecFile[Weights]]
) -> dict[str, Groups]:
    """Return profiles, their posterior and the decision under each weights file."""
    plans, measured = [], {}
    for name, file in weights.items():
        spec = study.spec.model_copy(update={"weights": name})
        plan, measured[name] = profile_panel(replace(study, spec=spec, weights=file))
        plans.append(plan)
    metrics = PanelMetrics(plans, rating_positions(study))
    posterior = panel_groups(metrics, draws, measured)
    groups = {name: measured[name] | posterior[name] for name in weights}
    level = study.spec.bootstrap.level
    return {name: x | {"joint": joint_table(x, level=level)} for name, x in groups.items()}


def named_weights(names: Sequence[str]) -> dict[str, SpecFile[Weights]]:
    """Read weights files by shipped name or by path; a path is named by its stem."""
    files: dict[str, SpecFile[Weights]] = {}
    for name in names:
        file = load_weights(name)
        stem = file.path.stem
        if stem in files and files[stem].path != file.path:
            message = f"{stem!r} names two files, {files[stem].path} and {file.path}"
            raise SpecError.at("weigh", message, key="weights")
        files[stem] = file
    return files
