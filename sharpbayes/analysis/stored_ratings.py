"""Observed ratings as results keep them, so that weights and a report need no data file."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.study import CrowdStudy, PanelStudy, crowd_study
from sharpbayes.data.covariates import pack_numbers, unpack_numbers
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.ratings import Factor, PanelRatings
from sharpbayes.data.variable_names import decode_column, encode_column
from sharpbayes.spec.files import StudyFiles


def ratings_group(study: PanelStudy | CrowdStudy) -> xr.Dataset:
    """Return the observed ratings as results store them, panels with a byte a score if enough."""
    if isinstance(study, CrowdStudy):
        return _pack_crowd(study.data)
    score = study.scores["score"]
    small = int(score.max()) <= np.iinfo(np.int8).max
    packed = study.scores.assign(score=score.astype(np.int8) if small else score)
    if study.data.unasked is not None:
        packed["unasked"] = (score.dims, study.data.unasked.astype(np.int8))
    return packed.assign(pack_numbers(study.data.numbers))


def stored_study(files: StudyFiles, ratings: xr.Dataset) -> PanelStudy | CrowdStudy:
    """Return the study of stored results: the inverse of :func:`ratings_group`."""
    spec = files.study.spec
    # Labels are text of NumPy, as they were before they were stored.
    texts = {name: coord for name, coord in ratings.coords.items() if coord.dtype.kind == "O"}
    ratings = ratings.assign_coords(
        {name: (coord.dims, coord.to_numpy().astype(str)) for name, coord in texts.items()}
    )
    if spec.panel is not None and files.weights is not None:
        return PanelStudy(
            spec, spec.panel, PanelRatings.from_dataset(ratings), files.weights, files.study.path
        )
    if spec.crowd is not None:
        return crowd_study(files, spec.crowd, _unpack_crowd(ratings))
    raise ValueError("a study has a panel with weights, or a crowd")


def _pack_crowd(data: CrowdData) -> xr.Dataset:
    """Return the ratings, labels and columns of a crowd as results store them."""
    variables: dict[str, tuple[str | tuple[str, ...], NDArray[np.generic]]] = {
        "score": ("rating", data.score),
        "item_code": ("rating", data.item.codes),
        "rater_code": ("rating", data.rater.codes),
        "expert_item": ("label", data.expert_item),
        "expert_label": ("label", data.expert_label),
        **pack_numbers(data.numbers),
    }
    for unit, of_unit in (("item", data.item_columns), ("rater", data.rater_columns)):
        variables |= {f"{unit}:{encode_column(n)}": (unit, x) for n, x in of_unit.items()}
    columns: dict[str, NDArray[np.generic]] = {
        "item_label": data.item_label,
        "item_text": data.item_text,
        "item_cluster": data.cluster,
    }
    variables |= {name: ("item", values) for name, values in columns.items() if values.size}
    coords = {"item": list(data.item.labels), "rater": list(data.rater.labels)}
    if data.expert is not None:
        variables["expert_code"] = ("label", data.expert.codes)
        coords["expert"] = list(data.expert.labels)
    return xr.Dataset(variables, coords).assign_attrs(score_labels=list(data.score_labels))


def _unpack_crowd(group: xr.Dataset) -> CrowdData:
    """Return the crowd that :func:`_pack_crowd` stored."""

    def columns_of(kind: str) -> dict[str, NDArray[np.str_]]:
        names = [str(name) for name in group if str(name).startswith(f"{kind}:")]
        columns = {decode_column(name.removeprefix(f"{kind}:")): name for name in names}
        return {column: group[name].to_numpy().astype(str) for column, name in columns.items()}

    def column(name: str) -> Factor:
        return Factor(tuple(map(str, group[name].to_numpy())), group[f"{name}_code"].to_numpy())

    def texts(name: str) -> NDArray[np.str_]:
        return group[name].to_numpy().astype(str) if name in group else np.empty(0, np.str_)

    no_labels = np.empty(0, np.int16)
    return CrowdData(
        score=group["score"].to_numpy(),
        item=column("item"),
        rater=column("rater"),
        score_labels=tuple(map(str, np.atleast_1d(group.attrs["score_labels"]))),
        item_columns=columns_of("item"),
        rater_columns=columns_of("rater"),
        expert_item=group["expert_item"].to_numpy(),
        expert=column("expert") if "expert_code" in group else None,
        expert_label=group["expert_label"].to_numpy(),
        item_label=group["item_label"].to_numpy() if "item_label" in group else no_labels,
        item_text=texts("item_text"),
        cluster=texts("item_cluster"),
        time=None,
        counts={},
        numbers=unpack_numbers(group),
    )
