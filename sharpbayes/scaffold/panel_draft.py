"""A study of judges who score the answers of models to prompts."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sharpbayes.errors import DataError, format_list
from sharpbayes.scaffold.draft import Draft
from sharpbayes.scaffold.inference import Scale, infer_grades, infer_scale, is_constant
from sharpbayes.scaffold.logs import LogTable

PANEL_ROLES = ("model", "prompt", "judge", "indicator", "score", "sample", "category")
CELL = ("model", "prompt", "judge", "sample", "indicator")


def draft_panel(draft: Draft, main: LogTable, copy: str) -> Draft:
    """Draft a panel; a role that no column has is added to a copy of the data."""
    for doubt in main.doubts:
        draft.doubt("panel.data", doubt)
    data, roles = _add_roles(draft, main)
    if "category" in roles and not is_constant(data, roles["category"], roles["prompt"]):
        del roles["category"]
    if "score" not in roles:
        roles.pop("indicator", None)
    if len(data.columns) > len(main.data.columns):
        draft.added = data
    name = main.name if draft.added is None else copy
    table = LogTable(name, data, main.layout, roles)
    scales = _infer_scales(draft, table)
    if not scales:
        message = f"no column of scores found among {', '.join(map(str, data.columns))}"
        raise DataError.at(main.name, message)
    panel: dict[str, Any] = {
        "data": name,
        "layout": main.layout or ("long" if "score" in roles else "wide"),
    }
    panel |= {"roles": table.own_roles} if table.own_roles else {}
    panel |= {"judges": [*main.judges]} if main.judges else {}
    panel |= _list_indicators(scales, is_good=main.layout == "lm-eval")
    draft.comment("panel.fit", 'fit = "judge_panel"   # "judge_severity" for one indicator')
    return draft.finish(name, panel, "panel")


def _add_roles(draft: Draft, main: LogTable) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add a prompt, a judge and the number of a repeat where no column has them."""
    data, roles = main.data.copy(), dict(main.roles)

    def add(role: str, values: list[str], doubt: str) -> None:
        name = role
        while name in data.columns:
            name += "_added"
        roles[role], data[name] = name, values
        draft.doubt("panel.data", doubt)

    if "prompt" not in roles:
        numbers = [str(row) for row in range(1, len(data) + 1)]
        add("prompt", numbers, "no column names the prompt: every row counts as its own prompt")
    if "judge" not in roles:
        unnamed = ["unnamed"] * len(data)
        add("judge", unnamed, "no column names the judge: all rows count as one judge's")
    cell = [roles[role] for role in CELL if role in roles]
    if not main.layout and data.duplicated(cell).any():
        cell = [column for column in cell if column != roles.get("sample")]
        repeats = data.groupby(cell, sort=False).cumcount()
        numbers = [str(repeat + 1) for repeat in repeats]
        add("sample", numbers, "some cells are rated more than once; the repeats are numbered")
    return data, roles


def _infer_scales(draft: Draft, main: LogTable) -> dict[str, Scale]:
    """Infer the scale of each indicator; an indicator without a scale is left out."""
    data, roles = main.data, main.roles
    if "score" not in roles:
        names = [str(name) for name in data.columns if name not in roles.values()]
        columns = {n: data[n] for n in names if not is_constant(data, n, roles["prompt"])}
        scales = {name: infer_scale(values) for name, values in columns.items()}
    else:
        score = data[roles["score"]]
        of = data[roles["indicator"]] if "indicator" in roles else [roles["score"]] * len(data)
        is_inspect = main.layout == "inspect"
        scales = {
            str(name): (infer_grades(values) if is_inspect else None) or infer_scale(values)
            for name, values in score.groupby(of)
        }
        without = sorted(name for name, scale in scales.items() if scale is None)
        if without:
            doubt = f"no scale fits, so that they are left out: {format_list(without)}"
            draft.doubt("panel.scales", doubt)
    found = {name: scale for name, scale in scales.items() if scale is not None}
    if any("levels" in scale and scale["levels"][:3] != [*"CPI"] for scale in found.values()):
        doubt = "named levels stand in the order of the alphabet; put the least harm first"
        draft.doubt("panel.scales", doubt)
    used = "Least harm first. The data show which levels are used, not which there are."
    draft.comment("panel.scales", used)
    direction = (
        "a high score is taken as harm; where it is good, write { scale = ..., reverse = true }"
    )
    if main.layout == "lm-eval":
        direction = "a high metric is taken as good; where it is not, leave out `reverse`"
    draft.doubt("panel.indicators", direction)
    doubt = "all indicators are one dimension of harm; split it into those you mean"
    draft.doubt("panel.dimensions", doubt)
    return found


def _list_indicators(scales: Mapping[str, Scale], *, is_good: bool) -> dict[str, Any]:
    """List the different scales, the indicators on them, and one dimension of all."""
    different: list[Scale] = []
    different += [scale for scale in scales.values() if scale not in different]
    names = {name: f"scale_{different.index(scale) + 1}" for name, scale in scales.items()}
    return {
        "scales": {f"scale_{at}": scale for at, scale in enumerate(different, start=1)},
        "indicators": {
            name: {"scale": scale, "reverse": True} if is_good else scale
            for name, scale in names.items()
        },
        "dimensions": [{"name": "harm", "rms": [*names]}],
    }
