"""What the answer owes to each prior: a table, and the sentences where a prior moves a decision."""

from collections.abc import Iterator

import xarray as xr

from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.errors import format_list, join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.pairs import pairs_where
from sharpbayes.report.refits import has_prior_refits
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of
from sharpbayes.report.tables.format import MISSING, number, probability
from sharpbayes.report.wording import probability_text

GROUP = "prior_sensitivity"
ALL_PRIORS = "all priors"
# How often a prior counts, in words.
COUNTED = {0.5: "half", 2.0: "twice"}
# Changes that a sentence and a cell list.
MAX_MOVES = 3
REQUEST = ": fit again with `[sensitivity] priors = [0.5, 2.0]`"
# Of fewer draws the weights are noise, and the answer says nothing.
MIN_DRAWS = 100


def _at(view: View, name: str) -> xr.DataArray:
    """A variable of the group at the labels of a view."""
    return view[f"{GROUP}/{name}"]


def _best(view: View) -> str:
    """The model that is most probably best."""
    return str(view["decision/prob_best"].idxmax("model").item())


def _largest(row: View) -> str:
    """The largest sensitivity of a metric, and the model or group that it belongs to."""
    values = _at(row, "sensitivity").dropna(_member(row))
    if not values.size:
        return MISSING
    return f"{number(values.max())} ({values.idxmax().item()})"


def _member(view: View) -> str:
    """Dimension of those who are compared."""
    return "model" if f"{GROUP}/selected" in view else "group"


def _powers(view: View) -> list[Labels]:
    """How often a prior counts."""
    return [{"power": power} for power in view.coordinate(f"{GROUP}/power")]


def _moves(row: View, *, named: set[str] | None = None) -> Iterator[str]:
    """What a prior does when it counts so often, what matters most first.

    Of orders only those with a model that is named, where names are given.
    """
    if f"{GROUP}/selection_moves" in row and bool(_at(row, "selection_moves")):
        names = labels_where(_at(row, "selected"))
        others = labels_where(row["decision/selected"])
        yield f"selects {_names(names)}, not {_names(others)}"
    if f"{GROUP}/verdict_moves" in row:
        for model in labels_where(_at(row, "verdict_moves")):
            verdict = _at(row, "verdict").sel(model=model).item()
            chances = (row["decision/prob_admissible"], _at(row, "prob_admissible"))
            before, after = (probability_text(chance.sel(model=model)) for chance in chances)
            yield (
                f"changes the verdict on {model} to {verdict} (probability {before} becomes "
                f"{after})"
            )
    for pair in pairs_where(_at(row, "order_moves")):
        if named is None or named & {*pair.values()}:
            yield f"changes the order of {join_names(list(pair.values()))}"
    if f"{GROUP}/tier_moves" in row:
        for model in labels_where(_at(row, "tier_moves")):
            tier = int(_at(row, "prob_tier").sel(model=model).idxmax("tier"))
            yield f"puts {model} in tier {tier}"


def _named_models(view: View) -> set[str] | None:
    """The models that the answer names; None of a crowd, of whose groups it states every order."""
    if f"{GROUP}/selected" not in view:
        return None
    return {_best(view), *labels_where(view["decision/selected"])}


def _names(models: list[str]) -> str:
    """Selected models in words."""
    return join_names(models) or "no model"


def _is_trusted(row: View) -> bool:
    """Whether the weights of a prior and power can be trusted."""
    return bool(float(_at(row, "pareto_k")) <= float(row.group(GROUP).attrs["good_k"]))


def _moved(row: View) -> str:
    """What moves when a prior counts half or twice."""
    texts = []
    for power in _powers(row):
        scaled = row.select(power)
        counted, moves = COUNTED[power["power"]], list(_moves(scaled))
        if not _is_trusted(scaled):
            moves = [f"{text} (weights not reliable)" for text in moves] or ["weights not reliable"]
        texts += [f"{counted}: {text}" for text in moves]
    return format_list(texts, limit=MAX_MOVES) if texts else "nothing"


def _pareto_k(row: View) -> str:
    """Pareto k of the weights where a prior counts half and twice."""
    return ", ".join(number(k, 2) for k in _at(row, "pareto_k").to_numpy())


def _best_column(power: float) -> Column:
    """Column of the probability of being best of the model that is most probably so."""

    def chance(row: View) -> str:
        return probability(_at(row, "prob_best").sel(power=power, model=_best(row)))

    return Column(f"P(best), {COUNTED[power]}", chance)


def _note(view: View) -> str:
    """What the numbers are and on which draws they rest."""
    facts = view.group(GROUP).attrs
    is_panel = f"{GROUP}/selected" in view
    best = f"P(best) is of {_best(view)}. " if is_panel else ""
    return (
        "A prior that counts half is wider, one that counts twice narrower (a normal by a factor "
        f"of 1.41). {best}{'Criterion' if is_panel else 'HM'}, parameter: how sensitive each is to "
        "the prior, that is how far its posterior moves where the prior counts a little more or "
        f"less; the largest of several, and above {facts['sensitive']:g} the prior is informative. "
        "To ratings: the same of the parameter where the ratings count more or less. Nothing was "
        f"sampled again: the {int(facts['draws'])} draws with replicated ratings have weights, "
        f"which are not reliable with a Pareto k (half, twice) above {number(facts['good_k'], 2)}."
    )


def _table(member: str, *columns: Column, metric: str) -> TableSpec:
    """The table of a panel or of a crowd."""
    return TableSpec(
        title="Sensitivity to each prior, without refits",
        needs=(f"{GROUP}/{member}",),
        rows=labels_of(f"{GROUP}/prior"),
        columns=(
            "prior of: {prior}",
            f"prior: {GROUP}/law | text",
            Column("what moves", _moved),
            *columns,
            Column(metric, _largest),
            f"parameter: {GROUP}/parameter_sensitivity",
            f"to ratings: {GROUP}/parameter_likelihood_sensitivity",
            Column("Pareto k", _pareto_k),
        ),
        note=_note,
    )


TABLES = (
    _table("model", *(_best_column(power) for power in COUNTED), metric="criterion"),
    _table("group", metric="HM"),
)


def prior_sentences(view: View) -> Iterator[str]:
    """Yield which priors move the answer, and of which the weights of draws do not tell.

    It does not ask for refits that the results hold.
    """
    if GROUP not in view or not is_fitted(view):
        return
    if int(view.group(GROUP).attrs["draws"]) < MIN_DRAWS:
        return
    named, moved, moving = _named_models(view), [], set()
    unreliable: dict[str, list[str]] = {}
    for prior in _priors(view, named):
        for power in _powers(view):
            row, counted = view.select({"prior": prior, **power}), COUNTED[power["power"]]
            texts = list(_moves(row, named=named))
            if not _is_trusted(row) and (texts or _is_sensitive(row)):
                unreliable.setdefault(prior, []).append(counted)
            elif texts:
                listed = join_names(texts[:MAX_MOVES])
                moving.add(prior)
                moved.append(f"{_subject(prior)}, counted {counted}, {listed}")
    if moved:
        more = len(moved) - MAX_MOVES
        rest = f"; {more} more are in the table" * (more > 0)
        subject = "a prior" if len(moving) == 1 else "priors"
        yield f"The answer depends on {subject}: {'; '.join(moved[:MAX_MOVES])}{rest}."
    if unreliable:
        yield _unreliable_weights(view, unreliable)


def _unreliable_weights(view: View, unreliable: dict[str, list[str]]) -> str:
    """Of which priors, counted how often, the weights do not tell, and what would."""
    limit = number(view.group(GROUP).attrs["good_k"], 2)
    priors = [f"{_subject(x)} (counted {join_names(n)})" for x, n in unreliable.items()]
    request = "" if has_prior_refits(view) else REQUEST
    return (
        f"Whether {join_names(priors)} {'move' if len(priors) > 1 else 'moves'} the answer, "
        f"weights of draws do not tell (Pareto k above {limit}){request}."
    )


def _subject(prior: str) -> str:
    """A prior in a sentence."""
    return "the product of all priors" if prior == ALL_PRIORS else f"the prior of {prior}"


def _is_sensitive(row: View) -> bool:
    """Whether a prior is informative of a metric."""
    return bool((_at(row, "sensitivity") >= float(row.group(GROUP).attrs["sensitive"])).any())


def _priors(view: View, named: set[str] | None) -> list[str]:
    """Single priors; all together where no single one moves anything."""
    together, *single = map(str, view.coordinate(f"{GROUP}/prior"))
    rows = (view.select({"prior": prior, **power}) for prior in single for power in _powers(view))
    is_moved = any(next(_moves(row, named=named), "") for row in rows)
    return single if is_moved else [*single, together]
