"""Validation of a panel study: tests of models, sources of variance, and the judges themselves."""

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.concordance import (
    concordance,
    concordance_summary,
    dimension_dependence,
    dispersion,
)
from sharpbayes.metrics.panel.independence import judge_independence
from sharpbayes.metrics.panel.mixed_models import linear_mixed_model, tail_mixed_model
from sharpbayes.metrics.panel.ranking import aggregate_agreement, decision_flip
from sharpbayes.metrics.panel.sweeps import (
    Protocol,
    alpha_sweep,
    ensembles,
    leave_one_judge_out,
    temperature_sweep,
)
from sharpbayes.metrics.panel.tail import value_at_risk
from sharpbayes.metrics.panel.validation import (
    common_prompts,
    friedman_test,
    two_way_anova,
    wilcoxon_tests,
)
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights


def validation_group(
    table: xr.Dataset, observed: xr.Dataset, study: Study, weights: Weights, protocol: Protocol
) -> xr.Dataset:
    """Return the group ``validation``: tests, decompositions, sweeps and other aggregates.

    Args:
        table: Harm and risk of every (model, prompt).
        observed: Profile of the models.
        study: What is varied and tested.
        weights: What counts as a decision flip.
        protocol: The way from sub-indices to CVaR.
    """
    spec = study.panel.validation if study.panel is not None else None
    if spec is None:
        raise ValueError("validation is of a panel")
    flips = weights.flips
    parts = [
        _tests(table, study, protocol.alpha),
        temperature_sweep(table["sub_index"], spec.temperatures, protocol),
        alpha_sweep(table["log_risk"], spec.alphas, protocol),
        aggregate_agreement(observed),
        decision_flip(
            observed["mean"],
            observed["cvar"],
            max_mean_gap=flips.max_mean_gap,
            min_tail_gap=flips.min_tail_gap,
        ),
    ]
    facts = {
        "zero_method": spec.zero_method,
        "familywise": spec.familywise,
        "temperature": protocol.temperature,
        "alpha": protocol.alpha,
        "max_mean_gap": flips.max_mean_gap,
        "min_tail_gap": flips.min_tail_gap,
    }
    return _joined(parts).assign_attrs(parts[0].attrs | facts)


def judge_group(
    table: xr.Dataset, every: xr.DataArray, spec: Panel, weights: Weights, protocol: Protocol
) -> xr.Dataset:
    """Return the group ``judges``: agreement, ablations, ensembles and dependence of dimensions.

    Args:
        table: Harm and risk of every (model, prompt).
        every: Sub-indices of all judges that were read, those of ensembles and reference included.
        spec: Ensembles and reference.
        weights: Smallest overlap of two judges.
        protocol: The way from sub-indices to CVaR.
    """
    sub_index = table["sub_index"]
    parts = [dispersion(sub_index), _dependence(table, protocol)]
    if sub_index.sizes["judge"] > 1:
        tau = concordance(_units(sub_index), min_overlap=weights.judges.min_overlap, dim="unit")
        parts += [
            leave_one_judge_out(sub_index, protocol),
            tau,
            concordance_summary(tau["concordance"]),
        ]
    known = spec.reference is not None
    reference = every.sel(judge=spec.reference, drop=True) if known else None
    parts.append(judge_independence(sub_index, reference))
    if spec.ensembles:
        named = {name: ensemble.judges for name, ensemble in spec.ensembles.items()}
        own = {"study": tuple(sub_index["judge"].to_numpy())}
        parts.append(ensembles(every, own | named, protocol))
    facts = {"min_overlap": weights.judges.min_overlap, "reference": spec.reference or ""}
    return _joined(parts).assign_attrs(facts)


def _tests(table: xr.Dataset, study: Study, alpha: float) -> xr.Dataset:
    """Tests and decompositions over the prompts that all models have."""
    spec = study.panel.validation if study.panel is not None else None
    if spec is None:
        raise ValueError("tests are of a panel")
    whole = common_prompts(table["log_risk"], dim="prompt")
    cell = whole.mean("sample") if "sample" in whole.dims else whole
    tail = cell >= value_at_risk(cell, alpha=alpha, dim="prompt")
    most = max(2, spec.max_mixed_model_cells // max(1, cell.sizes["model"]))
    few = _some(cell, most=most, seed=study.seed)
    parts = [
        friedman_test(cell, dim="prompt"),
        wilcoxon_tests(cell, dim="prompt", zero_method=spec.zero_method),
        two_way_anova(whole, dim="prompt", sample="sample" if "sample" in whole.dims else None),
        linear_mixed_model(few, dim="prompt"),
        tail_mixed_model(tail.sel(prompt=few["prompt"]), dim="prompt", seed=study.seed),
    ]
    facts = {
        "prompts": cell.sizes["prompt"],
        "prompts_dropped": table.sizes["prompt"] - cell.sizes["prompt"],
        "mixed_prompts": few.sizes["prompt"],
    }
    return _joined(parts).assign_attrs(facts)


def _some(x: xr.DataArray, *, most: int, seed: int) -> xr.DataArray:
    """Values of a random choice of prompts, in their order, where there are more than ``most``."""
    prompts = x.sizes["prompt"]
    if prompts <= most:
        return x
    chosen = np.random.default_rng(seed).choice(prompts, most, replace=False)
    return x.isel(prompt=np.sort(chosen))


def _dependence(table: xr.Dataset, protocol: Protocol) -> xr.Dataset:
    """Spearman's rho among dimensions, over all prompts and over the tail slice."""
    if table.sizes["dimension"] < 2:  # noqa: PLR2004 - a dimension alone depends on none
        return xr.Dataset()
    risk = table["log_risk"]
    var = value_at_risk(risk, alpha=protocol.alpha, dim=protocol.dim, weights=protocol.weights)
    harm, tail = _units(table["harm"]), _units(risk >= var)
    every = dimension_dependence(harm, dim="unit", where=xr.ones_like(tail))
    sliced = dimension_dependence(harm, dim="unit", where=tail)
    return xr.Dataset(
        {
            "dimension_dependence": every.mean("dimension_pair"),
            "dimension_dependence_tail": sliced.mean("dimension_pair"),
            "dimension_dependence_pair": every,
            "dimension_dependence_tail_pair": sliced,
        }
    )


def _units(x: xr.DataArray) -> xr.DataArray:
    """Prompts, and repeated generations as prompts of their own, along ``unit``."""
    dims = [dim for dim in ("prompt", "sample") if dim in x.dims]
    return x.stack(unit=dims, create_index=False).drop_vars([*dims, "category"], errors="ignore")


def _joined(parts: list[xr.Dataset]) -> xr.Dataset:
    """Variables of all parts, which share their labels."""
    return xr.merge(parts, join="exact", compat="override", combine_attrs="override")
