"""A study, its weights and its model checked against each other."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from sharpbayes.errors import SpecError, did_you_mean, join_names
from sharpbayes.spec.base import Spec
from sharpbayes.spec.crowd import Crowd, CrowdLabels, ExpertLabels, ItemLabels
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.lines import KeyPath
from sharpbayes.spec.model import Model, dim_name
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import DEFAULT_WEIGHTS, Weights

# An error: the path of a key, and what is wrong there.
Located = tuple[KeyPath, str]

PANEL_COLUMNS = (
    *("model", "prompt", "judge", "indicator", "dimension", "machine", "family", "own_family"),
    *("sample", "trial"),
)
JUDGES = {"judge", "machine", "family"}
ANY_GROUP = "group:*"
ITEM_LABEL = "item_label"
# What results of every fit have under these names.
NAMES_OF_RESULTS = {
    "item": "items",
    "rater": "raters",
    "scale": "scales",
    "chain": "chains",
    "draw": "draws",
    "score": "scores",
}
# Roles that may have the column of another one: a prompt that is its own text or its own category,
# categories that are clusters, and items that are named by the order in which they were rated.
SHARED = {
    "text": ("prompt", "item"),
    "category": ("prompt",),
    "cluster": ("category",),
    "time": ("item",),
}
# Shipped models by what they are for.
MODELS = {
    "panel": ("judge_panel", "judge_severity", "judge_trials", "judges_and_people"),
    "crowd": (
        *("crowd_adjacent", "crowd_and_experts", "crowd_and_labels", "crowd_careless"),
        *("crowd_continuation", "crowd_severity", "crowd_thresholds", "rater_thresholds"),
    ),
}
# Columns that some studies have.
HINTS = {
    "rater": "; people score where the study has [panel.people]",
    "cluster": "; prompts and items have clusters where the study has a role `cluster`",
    ITEM_LABEL: '; labels are a column where labels = { from = "item", ... } in a crowd study',
}


def check_files(files: StudyFiles) -> None:
    """Raise every error that shows only when the files of a study are read together."""
    study = files.study.spec
    if isinstance(study.table, Crowd):
        errors = _crowd_errors(study.table)
    else:
        checks = (
            *(_name_errors, _role_errors, _reversal_errors),
            *(_judge_errors, _people_errors, _family_errors),
        )
        errors = chain.from_iterable(check(study.table) for check in checks)
    diagnostics = [files.study.locate(*error) for error in errors]
    if study.panel is not None and files.weights is not None:
        named = study.weights not in (None, DEFAULT_WEIGHTS)
        errors = _weights_errors(study.panel, files.weights.spec, named=named)
        diagnostics += [files.weights.locate(*error) for error in errors]
    if files.model is not None and (message := _explain_other_half(study, files.model)):
        diagnostics.append(
            files.study.locate(("panel" if study.panel else "crowd", "fit"), message)
        )
    elif files.model is not None:
        errors = _model_errors(study, files.model.spec)
        diagnostics += [files.model.locate(*error) for error in errors]
    SpecError.raise_any(diagnostics)


def policy_for(study: Study, weights: Weights) -> dict[str, float]:
    """Return the policy weight of each dimension of a panel; see :func:`policy_over`."""
    names = [dimension.name for dimension in study.panel.dimensions] if study.panel else []
    return policy_over(names, weights)


def policy_over(names: Sequence[str], weights: Weights) -> dict[str, float]:
    """Return the policy weight of each dimension.

    All dimensions have equal weights where the weights file has no policy, or is the default one:
    its equal policy for the dimensions of SHARP is one for any others.
    """
    if weights.policy is not None and set(weights.policy) == set(names):
        return {name: weights.policy[name] for name in names}
    return dict.fromkeys(names, 1.0 / len(names))


def _name_errors(panel: Panel) -> Iterator[Located]:
    """Scales and indicators not declared, scales with a slash, dimensions that share a name."""
    for name in (name for name in panel.scales if "/" in name):
        message = "a slash in its name, of which names of variables are made; rename it"
        yield ("panel", "scales", name), message
    names = [dimension.name for dimension in panel.dimensions]
    for name, indicator in panel.full_indicators.items():
        path: KeyPath = ("panel", "indicators", name)
        yield from _undeclared(path, "scale", indicator.scale, panel.scales)
    for index, dimension in enumerate(panel.dimensions):
        path = ("panel", "dimensions", index)
        if names.index(dimension.name) != index:
            yield (*path, "name"), f"{dimension.name!r} is the name of another dimension already"
        for member in dimension.indicators:
            yield from _undeclared(path, "indicator", member, panel.indicators)


def _undeclared(path: KeyPath, kind: str, name: str, known: Collection[str]) -> Iterator[Located]:
    """A name that is not among the declared ones."""
    if name not in known:
        message = f"no {kind} {name!r}, declared are {', '.join(known)}"
        yield path, message + did_you_mean(name, known)


def _judge_errors(panel: Panel) -> Iterator[Located]:
    """Ensembles that pool the reference, and a reference among the pooled judges."""
    if "study" in panel.ensembles:
        yield ("panel", "ensembles", "study"), "this name means the study's own judges; rename it"
    if panel.reference in (panel.judges or ()):
        yield ("panel", "reference"), f"{panel.reference!r} is pooled by `judges` already"
    for name, ensemble in panel.ensembles.items():
        if panel.reference in ensemble.judges:
            message = f"{panel.reference!r} is the reference and is not pooled"
            yield ("panel", "ensembles", name, "judges"), message


def _people_errors(panel: Panel) -> Iterator[Located]:
    """Roles that people's ratings need."""
    if panel.people is None:
        return
    roles, path = panel.people.roles, ("panel", "people", "roles")
    yield from _repeated_columns(path, roles)
    if roles.indicator is None and len(panel.indicators) > 1:
        yield path, "ratings of several indicators need a role `indicator`"
    if roles.sample is None and panel.roles.sample is not None:
        yield path, "the study has repeated generations: a role `sample` must name which was rated"
    if roles.sample is not None and panel.roles.sample is None:
        yield (*path, "sample"), "the judges' table has no role `sample`"
    if panel.people.raters is not None and roles.rater is None:
        yield ("panel", "people", "raters"), "a selection of raters needs a role `rater`"


def _family_errors(panel: Panel) -> Iterator[Located]:
    """Models and judges that are in two families."""
    for kind in ("models", "judges"):
        first: dict[str, str] = {}
        for family, members in panel.families.items():
            for name in getattr(members, kind):
                if first.setdefault(name, family) != family:
                    path = ("panel", "families", family, kind)
                    yield path, f"{name!r} is in the family {first[name]!r} already"


def _repeated_columns(path: KeyPath, roles: Spec) -> Iterator[Located]:
    """Roles that name a column of another role which cannot hold both."""
    first: dict[str, str] = {}
    for role, value in roles.model_dump(exclude_none=True).items():
        # A role may be several columns, or `true` for rows that no column numbers.
        for column in [value] if isinstance(value, str) else [] if value is True else value:
            other = first.setdefault(column, role)
            if other != role and other not in SHARED.get(role, ()):
                yield (*path, role), f"the column {column!r} is that of the role `{other}` already"


def _role_errors(panel: Panel) -> Iterator[Located]:
    """Roles that the layout needs, or does not use."""
    roles, path, layout = panel.roles, ("panel", "roles"), f'layout = "{panel.layout}"'
    yield from _repeated_columns(path, roles)
    if panel.layout == "wide":
        for role in ("indicator", "score"):
            if getattr(roles, role) is not None:
                yield (*path, role), f"{layout} has a column per indicator instead"
        return
    if roles.score is None:
        yield path, f"{layout} needs a role `score`"
    if roles.indicator is None and len(panel.indicators) > 1:
        yield path, f"{layout} with several indicators needs a role `indicator`"


def _reversal_errors(panel: Panel) -> Iterator[Located]:
    """Columns of prompts that reverse scores, and whose name in results is that of a role."""
    for name, indicator in panel.full_indicators.items():
        for column in indicator.reverse if isinstance(indicator.reverse, dict) else ():
            if column in {"category", "cluster"} and getattr(panel.roles, column) != column:
                message = f"results call the role `{column}` so; give this column another name"
                yield ("panel", "indicators", name, "reverse"), message


def _crowd_role_errors(crowd: Crowd) -> Iterator[Located]:
    """Roles that the layout needs, or does not use."""
    roles, path, layout = crowd.roles, ("crowd", "roles"), f'layout = "{crowd.layout}"'
    yield from _repeated_columns(path, roles)
    if isinstance(crowd.labels, ExpertLabels):
        yield from _repeated_columns(("crowd", "labels", "roles"), crowd.labels.roles)
    if crowd.layout != "wide":
        if roles.score is None:
            yield path, f"{layout} needs a role `score`"
        if not isinstance(roles.rater, str):
            message = f'{layout} has one column of raters; a column per rater is layout = "wide"'
            yield (*path, "rater"), message
        return
    if isinstance(roles.rater, str):
        yield (*path, "rater"), f'{layout} has a column per rater, such as ["ann", "bob"]'
    for role in ("score", "time"):
        if getattr(roles, role) is not None:
            yield (*path, role), f"{layout} has a column per rater instead"


def _crowd_errors(crowd: Crowd) -> Iterator[Located]:
    """Scores off the scale, groupings that repeat a column, and a priority that is no grouping."""
    yield from _crowd_role_errors(crowd)
    top, simulation = len(crowd.scale.labels) - 1, crowd.simulation
    if isinstance(crowd.labels, CrowdLabels) and crowd.labels.cut > top:
        message = f"found {crowd.labels.cut}, scores are counted from 0 to {top}"
        yield ("crowd", "labels", "cut"), message
    if "shift_from" in simulation.model_fields_set and simulation.shift_from > top:
        message = f"found {simulation.shift_from}, scores are counted from 0 to {top}"
        yield ("crowd", "simulation", "shift_from"), message
    if simulation.thresholds is not None and len(simulation.thresholds) != top:
        number = len(simulation.thresholds)
        message = f"{number} thresholds, a scale of {top + 1} scores needs {top}"
        yield ("crowd", "simulation", "thresholds"), message
    if ITEM_LABEL in crowd.by:
        yield ("crowd", "by"), f"{ITEM_LABEL!r} is the name of the labels in a model; rename it"
    if "cluster" in crowd.by and crowd.roles.cluster not in {None, "cluster"}:
        yield ("crowd", "by"), "models call the role `cluster` so; give this column another name"
    for index, columns in enumerate(crowd.groups):
        if len(set(columns)) != len(columns):
            yield ("crowd", "groups", index), "a grouping names a column twice"
    if crowd.priority is not None and crowd.priority not in crowd.groups:
        known = "; ".join(", ".join(columns) for columns in crowd.groups) or "none"
        message = f"no grouping {', '.join(crowd.priority)} (groupings are: {known})"
        yield ("crowd", "priority"), message


def _weights_errors(panel: Panel, weights: Weights, *, named: bool) -> Iterator[Located]:
    """Coefficients and policy weights that the study needs and the weights do not have."""
    for dimension in panel.dimensions:
        parts = list(dimension.named_parts)
        weighted = list(weights.parts.get(dimension.name, {}))
        if len(parts) > 1 and set(weighted) != set(parts):
            message = f"the study's parts are {', '.join(parts)}; found "
            yield ("parts", dimension.name), message + (", ".join(weighted) or "none")
        amplifiers = weights.amplify.get(dimension.name, {})
        missing = [name for name in dimension.amplify if name not in amplifiers]
        if missing:
            lines = join_names([f"`{name} = 0.25`" for name in missing])
            message = f"no coefficient for {', '.join(missing)}; write in `[amplify."
            yield ("amplify", dimension.name), f"{message}{dimension.name}]`, for example, {lines}"
    yield from _population_errors(panel, weights)
    names = [dimension.name for dimension in panel.dimensions]
    if weights.tolerance is not None and weights.tolerance.category and not panel.roles.category:
        message = "limits of prompt categories need a role `category` in the study"
        yield ("tolerance", "category"), message
    for table in ("tolerance", "gate"):
        limits = getattr(getattr(weights, table), "dimension", None)
        for name in limits if isinstance(limits, dict) else ():
            yield from _undeclared((table, "dimension", name), "dimension", name, names)
    policy = weights.policy or dict.fromkeys(names)
    if set(policy) != set(names) and (named or len(set(policy.values())) > 1):
        message = f"covers {', '.join(policy)}; the study's dimensions are {', '.join(names)}"
        missing = [name for name in names if name not in policy]
        hints = (did_you_mean(name, missing) for name in policy if name not in names)
        hint = next(filter(None, hints), "")
        yield ("policy",), f"{message}; without [policy] they have equal weights{hint}"


def _population_errors(panel: Panel, weights: Weights) -> Iterator[Located]:
    """Shares of something else than categories of prompts, or of categories that are no role."""
    for name in weights.population:
        if name != "category":
            message = "prompts of a panel have shares by `category` alone, whatever its column"
            yield ("population", name), message + did_you_mean(name, ["category"])
        elif panel.roles.category is None:
            message = "shares of prompt categories need a role `category` in the study"
            yield ("population", name), message


def _explain_other_half(study: Study, model: SpecFile[Model]) -> str:
    """Return that a panel names a model for crowds, or the other way round; empty otherwise."""
    half, other, mark = ("panel", "crowd", "item") if study.panel else ("crowd", "panel", "prompt")
    terms = {column for _, column in model.spec.columns}
    if mark not in terms or mark in _columns(study):
        return ""
    return (
        f"{model.path.stem} has terms by {mark}, as models for a {other} have; shipped for a "
        f"{half} are {join_names(MODELS[half])}"
    )


def _model_errors(study: Study, model: Model) -> Iterator[Located]:
    """Terms by columns that the study does not have."""
    columns = _columns(study)
    if model.experts and not (study.crowd and isinstance(study.crowd.labels, ExpertLabels)):
        yield ("experts",), 'experts need labels = { from = "experts", ... } in a crowd study'
    of_answers = [term for term in model.location if {"model", "prompt"} <= set(term.by)]
    if study.sensitivity.shared_error and all(JUDGES & set(term.by) for term in of_answers):
        message = "sensitivity.shared_error needs a term by model and prompt, without judge"
        yield ("location",), message
    for path, column in model.columns:
        if column not in {*columns, ANY_GROUP}:
            message = f"no column {column!r} in this study, its columns are {', '.join(columns)}"
            yield path, message + HINTS.get(column, did_you_mean(column, columns))
    yield from _name_clashes(model, columns)


def _name_clashes(model: Model, columns: Sequence[str]) -> Iterator[Located]:
    """Columns of which a model has terms, and whose name in its results something else has."""
    owners = dict.fromkeys(NAMES_OF_RESULTS, "") | {
        name: name for name in ("item", "rater", "scale")
    }
    groups = [column for column in columns if column.startswith("group:")]
    for path, column in model.columns:
        for name in groups if column == ANY_GROUP else [column]:
            plain = dim_name(name)
            owner = owners.setdefault(plain, name)
            if owner != name:
                meaning = NAMES_OF_RESULTS.get(plain, f"{owner!r}")
                message = f"the name {plain!r} is that of {meaning} in results of a fit"
                yield path, f"{message}; give this column of the data another one"


def _columns(study: Study) -> list[str]:
    """Columns by which a model of this study may have terms."""
    if isinstance(study.table, Panel):
        optional = {"cluster": study.table.roles.cluster, "rater": study.table.people}
        return ["scale", *PANEL_COLUMNS, *(name for name, source in optional.items() if source)]
    crowd = study.table
    groups = dict.fromkeys(f"group:{column}" for grouping in crowd.groups for column in grouping)
    label = [ITEM_LABEL] if isinstance(crowd.labels, ItemLabels) else []
    cluster = ["cluster"] if crowd.roles.cluster else []
    return ["scale", "item", *cluster, "rater", *groups, *crowd.by, *label]
