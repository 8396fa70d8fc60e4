"""A study, its weights and its model checked against each other."""

from collections.abc import Iterable, Iterator

from sharpbayes.errors import Diagnostic, SpecError, did_you_mean
from sharpbayes.spec.diagnostics import dotted, line_of
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.lines import Path
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import (
    Crowd,
    CrowdLabels,
    Dimension,
    ExpertLabels,
    ItemLabels,
    Panel,
    Study,
)
from sharpbayes.spec.weights import Weights

Found = tuple[Path, str]

PANEL_COLUMNS = ("model", "prompt", "judge", "indicator", "dimension", "own_family")
ANY_GROUP = "group:*"
ITEM_LABEL = "item_label"
LABEL_HINT = '; labels are a column where labels = { from = "item", ... } in a crowd study'


def check_files(files: StudyFiles) -> None:
    """Raise every fault that shows only when the files of a study are read together.

    Raises:
        SpecError: Names that do not exist, coefficients that are missing, policies that do not
            cover the dimensions, terms over columns that the study does not have.
    """
    study = files.study.spec
    faults = _sited(files.study, _of_study(study))
    if study.panel is not None and files.weights is not None:
        named = study.weights is not None
        faults += _sited(files.weights, _of_weights(study.panel, files.weights.spec, named=named))
    if files.model is not None:
        faults += _sited(files.model, _of_model(study, files.model.spec))
    if faults:
        raise SpecError(sorted(faults))


def policy_for(study: Study, weights: Weights) -> dict[str, float]:
    """Return the policy weight of each dimension of a panel.

    Weights that name no policy, or that the study did not name and that are about other
    dimensions, give every dimension the same.
    """
    names = [dimension.name for dimension in study.panel.dimensions] if study.panel else []
    if weights.policy is not None and set(weights.policy) == set(names):
        return {name: weights.policy[name] for name in names}
    return dict.fromkeys(names, 1.0 / len(names))


def _sited(written: SpecFile, found: Iterable[Found]) -> list[Diagnostic]:  # type: ignore[type-arg]
    """Give each finding its file and line."""
    return [
        Diagnostic(str(written.path), line_of(where, written.lines), dotted(where), message)
        for where, message in found
    ]


def _of_study(study: Study) -> Iterator[Found]:
    """Faults inside the study file."""
    if study.panel is not None:
        yield from _of_indicators(study.panel)
        yield from _of_dimensions(study.panel)
        yield from _of_layout(study.panel)
        yield from _of_judges(study.panel)
        yield from _of_people(study.panel)
        yield from _of_families(study.panel)
    if study.crowd is not None:
        yield from _of_crowd(study.crowd)


def _of_indicators(panel: Panel) -> Iterator[Found]:
    """Indicators whose scale is not declared."""
    scales = list(panel.scales)
    for name, indicator in panel.full_indicators.items():
        if indicator.scale not in scales:
            message = f"no scale {indicator.scale!r}, declared are {', '.join(scales)}"
            yield (
                ("panel", "indicators", name),
                message + did_you_mean(indicator.scale, scales),
            )


def _of_dimensions(panel: Panel) -> Iterator[Found]:
    """Dimensions that share a name or use an indicator that is not declared."""
    names = [dimension.name for dimension in panel.dimensions]
    known = list(panel.indicators)
    for position, dimension in enumerate(panel.dimensions):
        where = ("panel", "dimensions", position)
        if names.index(dimension.name) != position:
            yield (*where, "name"), f"{dimension.name!r} is the name of another dimension already"
        for indicator in dimension.indicators:
            if indicator not in known:
                message = f"no indicator {indicator!r}, declared are {', '.join(known)}"
                yield where, message + did_you_mean(indicator, known)


def _of_judges(panel: Panel) -> Iterator[Found]:
    """Ensembles that pool the reference, and a reference among the pooled judges."""
    if "study" in panel.ensembles:
        yield ("panel", "ensembles", "study"), "the name stands for the study's own judges"
    if panel.reference is None:
        return
    if panel.reference in (panel.judges or ()):
        yield ("panel", "reference"), f"{panel.reference!r} is pooled by `judges` already"
    for name, ensemble in panel.ensembles.items():
        if panel.reference in ensemble.judges:
            message = f"{panel.reference!r} is the reference and is not pooled"
            yield ("panel", "ensembles", name, "judges"), message


def _of_people(panel: Panel) -> Iterator[Found]:
    """Roles that people's ratings need."""
    if panel.people is None:
        return
    roles, where = panel.people.roles, ("panel", "people", "roles")
    if roles.indicator is None and len(panel.indicators) > 1:
        yield where, "ratings of several indicators need a role `indicator`"
    if roles.sample is None and panel.roles.sample is not None:
        yield where, "the study has repeated generations: a role `sample` must say which was rated"
    if roles.sample is not None and panel.roles.sample is None:
        yield (*where, "sample"), "the judges' table has no role `sample`"
    if panel.people.raters is not None and roles.rater is None:
        yield ("panel", "people", "raters"), "raters are chosen by a role `rater`, there is none"


def _of_families(panel: Panel) -> Iterator[Found]:
    """Models and judges that are in two families."""
    for kind in ("models", "judges"):
        first: dict[str, str] = {}
        for family, held in panel.families.items():
            for name in getattr(held, kind):
                if first.setdefault(name, family) != family:
                    where = ("panel", "families", family, kind)
                    yield where, f"{name!r} is in the family {first[name]!r} already"


def _of_layout(panel: Panel) -> Iterator[Found]:
    """Roles that the layout needs, or has no use for."""
    roles = panel.roles
    if panel.layout != "wide":
        layout = f'layout = "{panel.layout}"'
        if roles.score is None:
            yield ("panel", "roles"), f"{layout} needs a role `score`"
        if roles.indicator is None and len(panel.indicators) > 1:
            message = f"{layout} with several indicators needs a role `indicator`"
            yield ("panel", "roles"), message
        return
    for role in ("indicator", "score"):
        if getattr(roles, role) is not None:
            yield ("panel", "roles", role), 'layout = "wide" has a column per indicator instead'


def _of_crowd(crowd: Crowd) -> Iterator[Found]:
    """Cuts off the scale and groups that repeat a column."""
    top = len(crowd.scale.labels) - 1
    if isinstance(crowd.labels, CrowdLabels) and crowd.labels.cut > top:
        yield ("crowd", "labels", "cut"), f"found {crowd.labels.cut}, levels go from 0 to {top}"
    if ITEM_LABEL in crowd.by:
        yield ("crowd", "by"), f"{ITEM_LABEL!r} is the name of the labels in a model; rename it"
    for position, columns in enumerate(crowd.groups):
        if len(set(columns)) != len(columns):
            yield ("crowd", "groups", position), "a column stands twice in one grouping"
    yield from _of_priority(crowd)
    yield from _of_simulation(crowd)


def _of_priority(crowd: Crowd) -> Iterator[Found]:
    """A grouping to weigh items by that is not among the groups."""
    if crowd.priority is not None and crowd.priority not in crowd.groups:
        known = "; ".join(", ".join(columns) for columns in crowd.groups) or "none"
        found = ", ".join(crowd.priority)
        yield ("crowd", "priority"), f"no grouping {found} (groupings are: {known})"


def _of_simulation(crowd: Crowd) -> Iterator[Found]:
    """Simulated thresholds and shifts that the scale has no room for."""
    top, made = len(crowd.scale.labels) - 1, crowd.simulation
    if made.thresholds is not None and len(made.thresholds) != top:
        message = f"{len(made.thresholds)} thresholds, a scale of {top + 1} levels needs {top}"
        yield ("crowd", "simulation", "thresholds"), message
    if "shift_from" in made.model_fields_set and made.shift_from > top:
        where = ("crowd", "simulation", "shift_from")
        yield where, f"found {made.shift_from}, levels go from 0 to {top}"


def _of_weights(panel: Panel, weights: Weights, *, named: bool) -> Iterator[Found]:
    """Coefficients and policy weights that the study needs and the weights do not have."""
    for dimension in panel.dimensions:
        yield from _of_coefficients(dimension, weights)
    if "category" in weights.population and panel.roles.category is None:
        message = "shares of prompt categories need a role `category` in the study"
        yield ("population", "category"), message
    names = [dimension.name for dimension in panel.dimensions]
    if named and weights.policy is not None and set(weights.policy) != set(names):
        yield (
            ("policy",),
            f"covers {', '.join(weights.policy)}; the study's dimensions are {', '.join(names)}",
        )


def _of_coefficients(dimension: Dimension, weights: Weights) -> Iterator[Found]:
    """Parts and amplifiers of one dimension."""
    parts = list(dimension.named_parts)
    given = list(weights.parts.get(dimension.name, {}))
    if len(parts) > 1 and set(given) != set(parts):
        found = ", ".join(given) or "none"
        yield (
            ("parts", dimension.name),
            f"the study's parts are {', '.join(parts)}; found {found}",
        )
    missing = [n for n in dimension.amplify if n not in weights.amplify.get(dimension.name, {})]
    if missing:
        yield ("amplify", dimension.name), f"no coefficient for {', '.join(missing)}"


def _of_model(study: Study, model: Model) -> Iterator[Found]:
    """Terms over columns that the study does not have."""
    allowed = ["scale", *PANEL_COLUMNS, *(["rater"] if study.panel and study.panel.people else [])]
    if study.crowd is not None:
        groups = dict.fromkeys(column for group in study.crowd.groups for column in group)
        items = [*study.crowd.by, *_item_label(study.crowd)]
        allowed = ["scale", "item", "rater", *(f"group:{column}" for column in groups), *items]
    if model.experts and not (study.crowd and isinstance(study.crowd.labels, ExpertLabels)):
        yield ("experts",), 'experts need labels = { from = "experts", ... } in a crowd study'
    for where, column in model.columns:
        if column not in {*allowed, ANY_GROUP}:
            message = f"no column {column!r} in this study, its columns are {', '.join(allowed)}"
            people = "; people score where the study has [panel.people]" if study.panel else ""
            hint = people if column == "rater" else did_you_mean(column, allowed)
            hint = LABEL_HINT if column == ITEM_LABEL else hint
            yield where, message + hint


def _item_label(crowd: Crowd) -> list[str]:
    """The column of the labels, where they are a column of items."""
    return [ITEM_LABEL] if isinstance(crowd.labels, ItemLabels) else []
