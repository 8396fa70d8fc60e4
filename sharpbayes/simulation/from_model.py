"""Ratings with known truth from a model file, at the raters, items and cells of a study."""

from typing import Any

import numpy as np
import pandas as pd
import tomli_w
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.graph.prior_draws import sample_prior
from sharpbayes.bayes.predict.replication import latent_ratings
from sharpbayes.bayes.sampling.convergence import stack_parameters
from sharpbayes.data.crowd import LABEL, SCALE, CrowdData
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError
from sharpbayes.simulation.scoring_patterns import SimulatedStudy
from sharpbayes.spec.files import StudyFiles

GROUP, EXPERT, UNSAFE = "group:", "expert ", "unsafe"
Table = dict[str, Any]


def simulate_model(
    files: StudyFiles, study: PanelStudy | CrowdStudy, design: Design
) -> SimulatedStudy:
    """Draw parameters from the prior of a model, and a category for every rating of a study.

    Args:
        files: The files of the study.
        study: The study. Who rated what is kept, the scores are not used. Where labels of a crowd
            are no ratings of the model, as many labels as there are say unsafe, of the truly most
            severe items.
        design: The study's model for its ratings.

    Returns:
        Tables, the true value of every parameter, and a study that reads them. The scale of a crowd
        becomes 0..K-1.

    Raises:
        SpecError: Labels are needed, and the model has no severity of items.
    """
    spec, ratings = study.spec, study.ratings
    truth = sample_prior(build_model(design), draws=1, seed=spec.seed)["prior"].to_dataset()
    table = _table(ratings, _levels(truth, design, np.random.default_rng([spec.seed, 1])))
    text = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    text["title"] = f"{spec.title}: simulated from its model"
    if isinstance(study, PanelStudy):
        tables = {"ratings": table.join(_prompt_columns(study), on="prompt")}
        _read_long(text["panel"])
    else:
        tables = _crowd_tables(table)
        top = len(ratings.scales[SCALE]) - 1
        _read_crowd(text["crowd"], top=top, experts="experts" in tables)
        if text["crowd"]["labels"]["from"] == "item":
            share = _unsafe_share(study.data)
            label = _most_severe(truth, share=share, path=str(files.study.path))
            tables["ratings"][UNSAFE] = tables["ratings"]["item"].map(label)
    names, values = stack_parameters(truth)
    known = dict(zip(names, values[:, 0, 0].tolist(), strict=True))
    return SimulatedStudy(tables, {"seed": spec.seed, "parameters": known}, tomli_w.dumps(text))


def _levels(truth: xr.Dataset, design: Design, rng: np.random.Generator) -> NDArray[np.int64]:
    """A level for every rating, drawn from the model."""
    level = np.empty(design.n_ratings, dtype=np.int64)
    for scale in design.scales:
        level[scale.rows] = latent_ratings(truth, design, scale).draw(rng)[0]
    return level


def _table(ratings: Ratings, level: NDArray[np.int64]) -> pd.DataFrame:
    """Ratings as a table of labels, one row each; what a column does not apply to is empty."""
    columns = {
        name.removeprefix(GROUP): np.append(held.labels, "")[held.codes]
        for name, held in ratings.factors.items()
        if name != "dimension"
    }
    table = pd.DataFrame(columns)
    for name in table["scale"].unique():
        on = (table["scale"] == name).to_numpy()
        table.loc[on, "score"] = np.array(ratings.scales[name])[level[on]]
        table.loc[on, "level"] = level[on]
    return table.astype({"level": int})


def _read_long(panel: Table) -> None:
    """Make a panel read the long table: its roles, and indicators by their own names."""
    kept = {name: name for name in ("sample", "category") if name in panel["roles"]}
    named = {name: name for name in ("model", "prompt", "judge", "indicator", "score")}
    panel |= {"data": "ratings.csv", "layout": "long", "roles": named | kept}
    panel.pop("prompts", None)
    for indicator in panel["indicators"].values():
        if isinstance(indicator, dict):
            indicator.pop("column", None)


def _crowd_tables(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Ratings of the crowd, and labels of experts where the model makes them."""
    expert = table["scale"] == LABEL
    crowd = table[~expert].drop(columns=["scale", "score"]).rename(columns={"level": "score"})
    if not expert.any():
        return {"ratings": crowd}
    labels = table.loc[expert, ["item", "rater", "level"]]
    labels["rater"] = labels["rater"].str.removeprefix(EXPERT)
    return {"ratings": crowd, "experts": labels.set_axis(["item", "expert", "label"], axis=1)}


def _read_crowd(crowd: Table, *, top: int, experts: bool) -> None:
    """Make a crowd read the tables, groups and columns of items among the ratings."""
    if crowd["scale"].get("kind") != "boolean":
        crowd["scale"] = {"kind": "ordinal", "min": 0, "max": top}
    crowd |= {"data": "ratings.csv", "roles": {"item": "item", "rater": "rater", "score": "score"}}
    for side in ("raters", "items"):
        crowd.pop(side, None)
    if experts:
        crowd["labels"] = {"from": "experts", "data": "experts.csv"}
    elif crowd["labels"]["from"] != "crowd":
        crowd["labels"] = {"from": "item", "column": UNSAFE}


def _most_severe(truth: xr.Dataset, *, share: float, path: str) -> dict[str, int]:
    """Label 1 for the share of the items with the largest true severity, 0 for the others."""
    if "location_item" not in truth:
        message = "labels need the true severity of items, and the model has no location by item"
        raise SpecError([Diagnostic(path, 0, "crowd.fit", message)])
    severity = truth["location_item"].isel(chain=0, draw=0)
    cut = float(severity.quantile(1.0 - share))
    items = severity["item"].to_numpy().astype(str)
    return dict(zip(items, (severity > cut).astype(int).to_numpy().tolist(), strict=True))


def _prompt_columns(study: PanelStudy) -> pd.DataFrame:
    """Columns of prompts of a panel, by prompt."""
    return pd.DataFrame(study.data.prompt_columns, list(study.data.labels["prompt"]))


def _unsafe_share(crowd: CrowdData) -> float:
    """Share of the labels of a crowd that say unsafe; a half where the crowd labels itself."""
    found = [each for each in (crowd.expert_label, crowd.item_label) if each.size]
    return float(np.mean(found[0] > 0)) if found else 0.5
