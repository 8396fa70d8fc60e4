"""Ratings with known truth from a model file, for the raters, items and cells of a study."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.predict.replication import draw_classes, draw_ratings, latent_ratings
from sharpbayes.bayes.sampling.convergence import stack_parameters
from sharpbayes.data.crowd import LABEL, SCALE
from sharpbayes.errors import SpecError
from sharpbayes.library import folder
from sharpbayes.simulation.scoring_patterns import COMMENT, SimulatedStudy
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import load_sensitivity_weights
from sharpbayes.spec.study_text import format_study

GROUP, EXPERT, UNSAFE = "group:", "expert ", "unsafe"
Tables = dict[str, pd.DataFrame]
Categories = NDArray[np.int64]


def simulate_model(
    files: StudyFiles, study: PanelStudy | CrowdStudy, design: Design
) -> SimulatedStudy:
    """Draw parameters from the prior of a model, and a score for every rating of a study.

    The cells of the study are kept, its scores are not used. The scale of a crowd becomes 0..K-1.
    Where labels of a crowd are no ratings of the model, the truly most severe items are unsafe, as
    many as the labels of the study say; a model without a severity of items is refused there.
    """
    spec = study.spec
    truth = sample_prior(build_model(design), draws=1, seed=spec.seed)["prior"].to_dataset()
    rng = np.random.default_rng([spec.seed, 1])
    category: Categories = np.empty(design.n_ratings, dtype=np.int64)
    truth = draw_classes(truth, design, known=False, rng=rng)
    for scale in design.scales:
        latent = latent_ratings(truth, design, scale)
        category[scale.rows] = draw_ratings(latent, truth, design, rng)[0]
    # A label that does not apply is empty.
    columns = {
        name.removeprefix(GROUP): np.append(factor.labels, "")[factor.codes]
        for name, factor in study.ratings.factors.items()
        if name != "dimension"
    }
    table = pd.DataFrame(columns)
    for name, covariate in study.ratings.covariates.items():
        if name not in table:
            table[name] = np.append(covariate.values, np.nan)[covariate.codes]
    content = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    content["title"] = f"{spec.title}: simulated from its model"
    if isinstance(study, PanelStudy):
        tables = _write_panel(study, table, category, content["panel"])
    else:
        tables = _write_crowd(study, table, category, content["crowd"])
        if content["crowd"]["labels"]["from"] == "item":
            data = study.data
            labels = data.expert_label if data.expert_label.size else data.item_label
            share = float(np.mean(labels[labels >= 0] > 0)) if (labels >= 0).any() else 0.5
            label = _label_most_severe(truth, share, path=str(files.study.path))
            tables["ratings"][UNSAFE] = tables["ratings"]["item"].map(label)
    copies = _copy_named_files(files, content)
    names, values = stack_parameters(truth)
    known = dict(zip(names, values[:, 0, 0].tolist(), strict=True))
    parameters = {"seed": spec.seed, "parameters": known}
    return SimulatedStudy(tables, parameters, format_study(content, {"": [COMMENT]}), copies)


def _copy_named_files(files: StudyFiles, content: dict[str, Any]) -> dict[str, str]:
    """Return the texts of files that a study names by a path; it then names the copies."""
    copies: dict[str, str] = {}

    def copy(file: SpecFile[Any], kind: str, name: str) -> str:
        if file.path.parent == folder(kind):
            return file.path.stem
        copies[name] = file.text
        return name

    if files.model is not None:
        content["panel" if "panel" in content else "crowd"]["fit"] = copy(
            files.model, "models", "model.toml"
        )
    if "weights" in content and files.weights is not None:
        content["weights"] = copy(files.weights, "weights", "weights.toml")
    others = load_sensitivity_weights(files)
    if others:
        content["sensitivity"]["weights"] = [
            copy(file, "weights", f"weights_{stem}.toml") for stem, file in others.items()
        ]
    return copies


def _write_panel(
    study: PanelStudy, table: pd.DataFrame, category: Categories, panel: dict[str, Any]
) -> Tables:
    """Return the long tables of a panel, and make the panel read them under its own names."""
    names = ["model", "prompt", "judge", "indicator", "score"]
    optional = ("sample", "trial", "category", "cluster")
    names += [name for name in optional if name in panel["roles"]]
    roles = {name: name for name in names}
    panel |= {"data": "ratings.csv", "layout": "long", "roles": roles}
    for key in ("prompts", "dialect"):
        panel.pop(key, None)
    for indicator in panel["indicators"].values():
        if isinstance(indicator, dict):
            indicator.pop("column", None)
    labels, data = study.ratings.scales, study.data
    table["score"] = [labels[scale][c] for scale, c in zip(table["scale"], category, strict=True)]
    columns = {name: x for name, x in data.prompt_columns.items() if name not in table}
    prompts = pd.DataFrame(columns, list(data.labels["prompt"]))
    by_judge = table["judge"] != ""
    tables = {"ratings": table[by_judge].join(prompts, on="prompt")}
    if "people" in panel:
        roles = {role: role for role in panel["people"]["roles"]}
        panel["people"] |= {"data": "people.csv", "roles": roles}
        panel["people"].pop("dialect", None)
        tables["people"] = table.loc[~by_judge, list(roles)]
    return tables


def _write_crowd(
    study: CrowdStudy, table: pd.DataFrame, category: Categories, crowd: dict[str, Any]
) -> Tables:
    """Return the tables of a crowd, and make the crowd read groups and columns of items in them."""
    if crowd["scale"].get("kind") != "boolean":
        top = len(study.ratings.scales[SCALE]) - 1
        crowd["scale"] = {"kind": "ordinal", "min": 0, "max": top}
    names = ["item", "rater", "score", *(["cluster"] if "cluster" in crowd["roles"] else [])]
    crowd |= {"data": "ratings.csv", "roles": {name: name for name in names}}
    for key in ("raters", "items", "layout", "dialect"):
        crowd.pop(key, None)
    is_label = table["scale"] == LABEL
    rated = table.drop(columns="scale").assign(score=category)
    tables = {"ratings": rated[~is_label]}
    if is_label.any():
        labels = rated.loc[is_label, ["item", "rater", "score"]]
        labels["rater"] = labels["rater"].str.removeprefix(EXPERT)
        tables["experts"] = labels.set_axis(["item", "expert", "label"], axis=1)
        crowd["labels"] = {"from": "experts", "data": "experts.csv"}
    elif crowd["labels"]["from"] != "crowd":
        crowd["labels"] = {"from": "item", "column": UNSAFE}
    return tables


def _label_most_severe(truth: xr.Dataset, share: float, *, path: str) -> dict[str, int]:
    """Label the share of the items with the largest true severity 1, the others 0."""
    if "location_item" not in truth:
        message = "labels need the true severity of items, and the model has no location by item"
        raise SpecError.at(path, message, key="crowd.fit")
    severity = truth["location_item"].isel(chain=0, draw=0)
    cut = float(severity.quantile(1.0 - share))
    items = severity["item"].to_numpy().astype(str)
    return dict(zip(items, (severity > cut).astype(int).to_numpy().tolist(), strict=True))
