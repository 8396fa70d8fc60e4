"""A design as a PyMC model, the definition of what is sampled, and draws of its prior."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from pytensor.compile.mode import Mode

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, ScaleRatings, rating_dim
from sharpbayes.bayes.graph.careless import add_mixed_ratings, add_share, reference_offsets
from sharpbayes.bayes.graph.likelihoods import DEFINITIONS
from sharpbayes.bayes.graph.priors import add_cutpoints, from_gaps, restore_cutpoints
from sharpbayes.bayes.graph.terms import GraphTerm, add_terms, take_effects, take_severities
from sharpbayes.bayes.kernel.data import KernelData
from sharpbayes.bayes.kernel.layout import parameter_layout

Tensor = Any
# Ends of the names of coordinates of the sampler; see sharpbayes.bayes.graph.terms.
COORDINATES = ("_unit", "_offset", "_log")
# The order in which PyMC gives variables their streams of random numbers, last first.
KINDS = (
    "correlation",
    "discrimination",
    "rating",
    "location",
    "sd",
    "gap",
    "threshold",
    "slope",
    "careless",
)


def build_model(design: Design, *, kernel_data: KernelData | None = None) -> pm.Model:
    """Return the PyMC model of a design, its dimensions labelled as in the study.

    eta_n = sum_t x_t[n] effect_t[n];  P(y_n) from a_n (c_{n,k} - eta_n), by the model's likelihood
    (see :mod:`sharpbayes.bayes.graph.likelihoods`). With ``kernel_data``, the design as flat
    arrays, the likelihood is one node, ``ratings``, equal and quicker, and no rating is observed.

    Variables: ``location_<term>``, ``slope_<column>``, ``slope_<column>_by_<columns>`` and
    ``sd_<term>`` for each term, ``threshold_<scale>`` for each
    scale, ``gap_<scale>_<column>`` and ``threshold_<scale>_<column>`` where a column has
    thresholds of its own, ``discrimination_<term>``, ``careless_share`` where raters may be
    careless, and the observed ``rating_<scale>``.
    """
    coords = {name: list(labels) for name, labels in design.coords.items()}
    for term in design.terms:
        if term.correlation:
            coords[f"{term.dims[-1]}_other"] = coords[term.dims[-1]]
    with pm.Model(coords=coords) as model:
        terms = add_terms(design)
        discrimination = _add_discrimination(design, terms)
        sets = [_add_thresholds(design, terms, *scale) for scale in enumerate(design.scales)]
        share = add_share(design.careless) if design.careless else None
        offsets = reference_offsets(design, terms)
        if kernel_data is not None:
            node = pm.Potential("ratings", _kernel_likelihood(kernel_data, terms, sets, share))
            # The node holds addresses of these arrays: they live as long as the model.
            node.tag.kernel_data = kernel_data
            return model
        for scale, cutpoints in zip(design.scales, sets, strict=True):
            eta = sum(
                take_severities(terms[term.name].effects, term.of(scale.rows))
                for term in design.severity_terms
                if term.child_term is None
            )
            a = discrimination[scale.rows]
            _add_ratings(design, scale, eta, a, cutpoints, classes=(share, offsets))
    return model


def sampling_model(design: Design) -> pm.Model:
    """Return the PyMC model that samples what the kernel does not, by its likelihood if it can."""
    data = parameter_layout(design).kernel_data if design.traits.kernel else None
    return build_model(design, kernel_data=data)


class CutpointSets(NamedTuple):
    """Sets of cutpoints on one scale, the gaps between them, and the set of each rating."""

    cutpoints: Tensor
    gaps: Tensor
    set_of_rating: Index


def _add_ratings(
    design: Design,
    scale: ScaleRatings,
    eta: Tensor,
    a: Tensor,
    sets: CutpointSets,
    *,
    classes: tuple[Tensor, Tensor],
) -> None:
    """Add the observed ratings of one scale, given their severity and discrimination."""
    logp, draw = law = DEFINITIONS[design.likelihood, design.link]
    dim, name, careless = rating_dim(scale.name), f"rating_{scale.name}", design.careless
    pm.modelcontext(None).add_coord(dim, length=len(scale.rows))
    severity = a * (eta + pt.zeros(len(scale.rows)))
    cutpoints = a[:, None] * sets.cutpoints[sets.set_of_rating]
    if careless and design.scales[careless.scale].name == scale.name:
        rater, inputs = careless.index[scale.rows], (severity, cutpoints, *classes)
        add_mixed_ratings(
            name, law, careless, rater=rater, inputs=inputs, category=scale.category, dim=dim
        )
        return
    pm.CustomDist(
        name,
        severity,
        cutpoints,
        logp=logp,
        random=draw,
        signature="(),(n)->()",
        dtype="int64",
        observed=scale.category,
        dims=dim,
    )


def _kernel_likelihood(
    data: KernelData,
    terms: dict[str, GraphTerm],
    sets: list[CutpointSets],
    share: Tensor | None,
) -> Tensor:
    """Log-likelihood of all ratings, from effects and cutpoints one after the other."""
    # PyTensor's numba back end takes a while to import, and the kernel needs none of it.
    from sharpbayes.bayes.graph.kernel_op import ratings_likelihood  # noqa: PLC0415 - start-up

    effects = [part for term in terms.values() for part in (term.effects, term.means)]
    log_odds = [] if share is None else [pm.math.logit(share)[None]]
    gaps = [pt.concatenate([part.gaps, pt.ones((part.gaps.shape[0], 1))], axis=1) for part in sets]
    return ratings_likelihood(
        data,
        pt.concatenate([np.zeros(1), *effects, *log_odds]),
        pt.concatenate([part.cutpoints.ravel() for part in sets]),
        pt.concatenate([part.ravel() for part in gaps]),
    )


def _add_discrimination(design: Design, terms: dict[str, GraphTerm]) -> Tensor:
    """Discrimination of each rating; adds ``discrimination_<term>``."""
    log = pt.zeros(design.n_ratings)
    for term in design.terms_of("discrimination"):
        effects = terms[term.name].effects
        pm.Deterministic(term.name, pt.exp(effects).reshape(term.shape), dims=term.dims)
        log += take_effects(effects, term.index)
    return pt.exp(log)


def _add_thresholds(
    design: Design, terms: dict[str, GraphTerm], position: int, scale: ScaleRatings
) -> CutpointSets:
    """Sets of cutpoints on a scale, less the means that they absorb; adds the variables."""
    gap_terms, ordered = design.gap_terms(scale), design.ordered_cutpoints
    reference, gaps = scale.reference_cutpoint, max(scale.n_cutpoints - 1, 0)
    shift = sum(
        terms[term.name].means[term.swept_mean[position]]
        for term in design.terms_of("location")
        if term.swept_mean[position] >= 0
    ) + pt.zeros(())
    gap_means = sum(terms[term.name].means for term in gap_terms) + pt.zeros(gaps)
    name = f"threshold_{scale.name}"
    sampled = add_cutpoints(scale, design.thresholds, shift, gap_means, ordered=ordered)
    common = restore_cutpoints(sampled, shift, gap_means, reference, ordered=ordered)
    pm.Deterministic(name, common, dims=scale.cutpoint_dim)
    for term in gap_terms:
        _add_level_thresholds(design, scale, common, term.dims[0])
    set_of_rating, levels = design.cutpoint_sets(scale)
    effects = pt.zeros((len(levels), gaps))
    for column, term in enumerate(gap_terms):
        rows = terms[term.name].effects.reshape((-1, gaps))
        effects += pt.concatenate([rows, pt.zeros((1, gaps))])[levels[:, column]]
    set_gaps = _change_gaps(design, sampled, effects)
    return CutpointSets(from_gaps(sampled[reference], set_gaps, reference), set_gaps, set_of_rating)


def _change_gaps(design: Design, cutpoints: Tensor, effects: Tensor) -> Tensor:
    """Gaps times the exponential of gap effects, or plus them where cutpoints are unordered."""
    gaps = pt.diff(cutpoints)
    return pt.exp(pt.log(gaps) + effects) if design.ordered_cutpoints else gaps + effects


def _add_level_thresholds(design: Design, scale: ScaleRatings, common: Tensor, dim: str) -> None:
    """Add the thresholds of each level of a column, other columns at their mean."""
    model, reference = pm.modelcontext(None), scale.reference_cutpoint
    gaps = _change_gaps(design, common, model[f"gap_{scale.name}_{dim}"])
    thresholds = from_gaps(common[reference], gaps, reference)
    location = design.location_of(scale, dim)
    if location is not None:
        name, row = location
        effect = model[name]
        thresholds -= (effect if row is None else effect[row])[:, None]
    dims = (dim, scale.cutpoint_dim)
    pm.Deterministic(f"threshold_{scale.name}_{dim}", thresholds, dims=dims)


def public_names(model: pm.Model) -> list[str]:
    """Return the variables that mean something to a reader, coordinates of the sampler apart."""
    names = [rv.name for rv in [*model.free_RVs, *model.deterministics]]
    return [name for name in names if not name.endswith(COORDINATES)]


def sample_prior(model: pm.Model, *, draws: int, seed: int) -> xr.DataTree:
    """Return ``prior`` and ``prior_predictive`` over (chain, draw), one chain, uncompiled."""
    variables = [*model.basic_RVs, *model.deterministics]
    variables.sort(key=lambda variable: (KINDS.index(variable.name.split("_")[0]), variable.name))
    mode = Mode(linker="py", optimizer=None)  # type: ignore[arg-type]
    values = pm.draw(variables, draws=draws, random_seed=seed, mode=mode)
    if draws == 1:  # PyMC drops the axis of draws
        values = [np.asarray(value)[None] for value in values]
    drawn = dict(zip([variable.name for variable in variables], values, strict=True))
    observed = [variable.name for variable in model.observed_RVs]
    prior = _label(model, {name: drawn[name] for name in public_names(model)})
    predictive = _label(model, {name: drawn[name] for name in observed})
    return xr.DataTree.from_dict({"prior": prior, "prior_predictive": predictive})


def _label(model: pm.Model, drawn: dict[str, Any]) -> xr.Dataset:
    """Draws with the dimensions and labels of the model, whole numbers as scores."""
    variables: dict[str, Any] = {}
    for name, values in drawn.items():
        dims = ("chain", "draw", *model.named_vars_to_dims.get(name, ()))
        kind = values.dtype
        if np.issubdtype(kind, np.integer):
            kind = np.dtype(np.int8 if values.max() <= np.iinfo(np.int8).max else np.int16)
        variables[name] = (dims, values[None].astype(kind))
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels and dim in used}
    draws = len(next(iter(drawn.values())))
    return xr.Dataset(variables, {"chain": [0], "draw": np.arange(draws)} | coords)
