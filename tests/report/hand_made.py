"""Hand-made results of a panel and of a crowd, small enough to read their answers off."""

import json

import numpy as np
import xarray as xr

BOUND = ["lower", "upper"]
ALL = ["lowest", "distinguishable", "admissible"]


def add(tree, **groups):
    """Add groups to results."""
    for name, data in groups.items():
        tree[name] = xr.DataTree(data)
    return tree


def panel(*, cvar=(3.0, 1.0, 2.0), alike=(("b", "c"),), admissible=None, status="measured"):
    """Return measured results of models a, b and c."""
    models = ["a", "b", "c"][: len(cvar)]
    values = np.stack([np.array(cvar), np.array(cvar) / 2, np.array(cvar) / 20])
    names = ["cvar", "mean", "policy_score"]
    profile = xr.Dataset(
        {name: ("model", row) for name, row in zip(names, values, strict=True)},
        {"model": models},
        {"alpha": 0.95},
    )
    if admissible is not None:
        profile["admissible"] = ("model", list(admissible))
    separable = xr.DataArray(
        [[{a, b} not in [set(pair) for pair in alike] for b in models] for a in models],
        {"model": models, "other": models},
        ("model", "other"),
    )
    labels = {"metric": names, "model": models, "bound": BOUND}
    ends = np.stack([values - 0.5, values + 0.25], axis=-1)
    joint = xr.Dataset(
        {
            "observed": (("metric", "model"), values),
            "bootstrap_interval": (("metric", "model", "bound"), ends),
        },
        labels,
        {"level": 0.95, "bootstrap_note": "Over prompts."},
    )
    panel = xr.Dataset({"harm": (("model", "judge"), np.zeros((len(cvar), 2)))})
    tree = xr.DataTree.from_dict(
        {
            "/profile": profile,
            "/profile_interval": xr.Dataset({"separable": separable}),
            "/panel": panel,
            "/joint": joint,
        }
    )
    tree.attrs = {"status": status, "data_ratings": 10, "data_missing": 0, "data_absent": 0}
    return tree


def fitted_panel(
    *, median=(3.1, 1.2, 2.1), probability=(0.0, 0.9, 0.1), sources=("ratings",), **measured
):
    """Return the same of a fit, with the posterior of CVaR and who is lowest how probably."""
    tree = panel(**measured)
    joint = tree["joint"].to_dataset()
    shifted = joint["observed"] + (np.array(median) - joint["observed"].sel(metric="cvar"))
    ends = np.stack([shifted - 0.4, shifted + 0.6], axis=-1)
    joint["posterior_median"] = shifted
    joint["posterior_interval"] = (("metric", "model", "bound"), ends)
    joint["prob_lowest"] = xr.zeros_like(shifted) + np.array(probability)
    low, high = joint["bootstrap_interval"].transpose("bound", ...).drop_vars("bound")
    joint["disagree"] = (shifted < low) | (shifted > high)
    models = joint["model"].to_numpy()
    best = np.array(probability) == max(probability)
    decision = xr.Dataset(
        {
            "prob_admissible": ("model", np.full(len(models), np.nan)),
            "selected": ("model", best),
        },
        {"model": models},
        {"criterion": "cvar", "confidence": 0.5, "tolerance": np.nan},
    )
    posterior = xr.Dataset(attrs={"sources": list(sources)})
    tree.attrs["status"] = "fitted"
    return add(tree, joint=joint, decision=decision, posterior_profile=posterior)


def scored_by_people(results, *, probability, kept=None, judged=None):
    """Add what people's scoring decides to a fit: who is lowest, and who keeps the tolerance.

    ``kept`` and ``judged`` are the probabilities of keeping it by people's and by judges' scoring.
    """
    models = results["decision"]["model"].to_numpy()
    lowest = np.repeat(np.arange(len(models)), np.round(100 * np.array(probability)).astype(int))
    draws = 1.0 + (np.arange(len(models)) != lowest[:, None])
    names = ("cvar", "mean", "policy_score")
    draws_by_metric = dict.fromkeys(names, (("chain", "draw", "model"), draws[None]))
    profile = xr.Dataset(draws_by_metric, {"model": models})
    judges = results["joint"]["prob_lowest"].sel(metric="cvar").to_numpy()
    parts = {"decision": (judges, judged), "decision_human": (np.array(probability), kept)}
    decisions = {}
    for name, (best, chance) in parts.items():
        decision = results["decision"].to_dataset().assign(prob_best=("model", best))
        eligible = np.ones(len(models), dtype=bool)
        if chance is not None:
            eligible = np.array(chance) >= 0.5
            sure = [np.array(chance) >= 0.95, np.array(chance) <= 0.05]
            verdict = np.select(sure, ["admissible", "not admissible"], "cannot tell")
            decision["prob_admissible"] = ("model", np.array(chance))
            decision["verdict"] = ("model", verdict)
        likely = np.where(eligible, best, -1.0)
        decisions[name] = decision.assign(selected=("model", likely == likely.max()))
    return add(results, posterior_profile_human=profile, **decisions)


def evidence(
    models, *, tail=10.0, saturated=0, limits=(), carried=ALL, companion=False, ceiling=None
):
    """Return the evidence of a panel; where a ceiling is given all models are at it."""
    at_ceiling = {} if ceiling is None else {"ceiling": ceiling, "at_ceiling": True}
    return xr.Dataset(
        {
            "tail_prompts": ("model", np.broadcast_to(tail, len(models))),
            "saturated_tail": ("model", np.full(len(models), saturated)),
            "needs_policy_score": ("model", np.full(len(models), companion)),
            **{name: ("model", np.full(len(models), x)) for name, x in at_ceiling.items()},
        },
        {"model": list(models)},
        {"limits": json.dumps(list(limits)), "carried": json.dumps(list(carried))},
    )


def refits(selected, *, failed=()):
    """Return other fits of a study that selects b: which model each selects, which failed."""
    labels, models = ["baseline", *selected], np.array(["a", "b", "c"])
    is_selected = np.array([models == name for name in ("b", *selected.values())])
    return xr.Dataset(
        {
            "selected": (("refit", "weights", "model"), is_selected[:, None]),
            "converged": ("refit", [int(label not in failed) for label in labels]),
        },
        {"refit": labels, "weights": ["weights"], "model": models},
    )


def by_mean(settings, lowest):
    """Return the stability with a model that is lowest by the mean without each judge."""
    judges = settings["value"].to_numpy()
    shape = (1, len(judges))
    return settings.assign(
        lojo_lowest=(("metric", "judge_out"), np.full(shape, lowest)),
        lojo_changed=(("metric", "judge_out"), np.full(shape, lowest != "b")),
        lojo_movement=(("metric", "judge_out"), np.full(shape, 0.2)),
    ).assign_coords(metric=["mean"], judge_out=judges)


def stability(*settings, best="lowest"):
    """Return the stability of settings: kind, value, lowest or highest, changed, movement."""
    kind, value, name, changed, movement = zip(*settings, strict=True)
    labels = [f"without {v}" if k in ("judge", "expert") else f"{k} {v}" for k, v, *_ in settings]
    variables = {"kind": kind, "value": value, best: name, "changed": changed, "movement": movement}
    return xr.Dataset(
        {key: ("setting", np.array(column)) for key, column in variables.items()},
        {"setting": labels},
    )


def crowd(*, p=0.01, hm=-0.2, reason=""):
    """Return measured results of groups x and y."""
    groups = ["all", "g=x", "g=y"]
    coords = {"group": groups, "grouping": ("group", ["all", "g", "g"]), "by": ["all"]}
    scores = {"score": ["0", "1", "2"]}
    table = {
        "hm": (("group", "by"), [[np.nan if reason else 0.8], [0.7], [0.9]]),
        "raters": ("group", [9, 4, 5]),
        "items": (("group", "by"), [[20], [20], [20]]),
        "reason": (("group", "by"), [[reason], [""], [""]]),
    }
    pair = np.full((3, 3, 1), np.nan)
    p_values, values = pair.copy(), pair.copy()
    p_values[1, 2], values[1, 2] = p, hm
    difference = xr.Dataset(
        {
            "hm": (("group", "other", "by"), values),
            "hm_p_holm": (("group", "other", "by"), p_values),
        },
        {**coords, "other": groups},
    )
    observed = xr.DataArray([[np.nan if reason else 0.8, 0.7, 0.9]], dims=("metric", "group"))
    ends = np.broadcast_to([0.6, 0.95], (1, 3, 2))
    joint = xr.Dataset(
        {
            "observed": observed,
            "bootstrap_interval": (("metric", "group", "bound"), ends),
        },
        {"metric": ["hm"], "group": groups, "bound": BOUND},
        {"level": 0.95, "bootstrap_note": "Over items."},
    )
    tree = xr.DataTree.from_dict(
        {
            "/responsiveness": xr.Dataset(table, coords | scores),
            "/responsiveness_difference": difference,
            "/joint": joint,
        }
    )
    tree.attrs = {"status": "measured", "data_ratings": 180, "data_missing": 3}
    return tree


def fitted_crowd(*, median=(0.75, 0.65, 0.5), remark="", **measured):
    """Return the same of a fit, with the posterior of HM."""
    tree = crowd(**measured)
    joint = tree["joint"].to_dataset()
    values = np.array([median])
    joint["posterior_median"] = (("metric", "group"), values)
    ends = np.stack([values - 0.1, values + 0.1], axis=-1)
    joint["posterior_interval"] = (("metric", "group", "bound"), ends)
    joint["disagree"] = (joint["posterior_median"] < 0.6) | (joint["posterior_median"] > 0.95)
    draws = np.array(median) + np.linspace(-0.1, 0.1, 21)[:, None] * [1, 1, -1]
    posterior = xr.Dataset(
        {"hm": (("chain", "draw", "group", "by"), draws[None, :, :, None])},
        {"group": joint["group"].to_numpy(), "by": ["all"]},
        {"sources": ["ratings", "items", "raters"], "remark": remark, "level": 0.95},
    )
    tree.attrs["status"] = "fitted"
    return add(tree, joint=joint, posterior_responsiveness=posterior)
