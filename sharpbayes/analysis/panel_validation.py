"""Validation of a panel study: tests of models, sources of variance, and the judges themselves."""

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
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


def validate_panel(plan: ProfilePlan, observed: xr.Dataset) -> xr.Dataset:
    """Return the group ``validation``: tests, decompositions, sweeps and other aggregates."""
    table, protocol = plan.table, plan.protocol
    spec, flips = plan.study.panel.validation, plan.weights.flips
    tests = _test_models(plan)
    validation = _merge(
        [
            tests,
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
    )
    facts = {
        "zero_method": spec.zero_method,
        "familywise": spec.familywise,
        "temperature": protocol.temperature,
        "alpha": protocol.alpha,
        "max_mean_gap": flips.max_mean_gap,
        "min_tail_gap": flips.min_tail_gap,
    }
    return validation.assign_attrs(tests.attrs | facts)


def measure_judges(plan: ProfilePlan) -> xr.Dataset:
    """Return the group ``judges``: agreement, ablations, ensembles and dependence of dimensions."""
    spec, protocol = plan.study.panel, plan.protocol
    sub_index, all_judges = plan.table["sub_index"], plan.judge_sub_index
    min_overlap = plan.weights.judges.min_overlap
    parts = [dispersion(sub_index), _measure_dependence(plan)]
    if sub_index.sizes["judge"] > 1:
        tau = concordance(_stack_units(sub_index), min_overlap=min_overlap, dim="unit")
        summary = concordance_summary(tau["concordance"])
        parts += [leave_one_judge_out(sub_index, protocol), tau, summary]
    reference = None
    if spec.reference is not None:
        reference = all_judges.sel(judge=spec.reference, drop=True)
    parts.append(judge_independence(sub_index, reference))
    if spec.ensembles:
        judges = {"study": tuple(sub_index["judge"].to_numpy())}
        judges |= {name: ensemble.judges for name, ensemble in spec.ensembles.items()}
        parts.append(ensembles(all_judges, judges, protocol))
    return _merge(parts).assign_attrs(min_overlap=min_overlap, reference=spec.reference or "")


def _test_models(plan: ProfilePlan) -> xr.Dataset:
    """Tests and decompositions over the prompts that all models have."""
    spec, seed = plan.study.panel.validation, plan.study.spec.seed
    complete = common_prompts(plan.table["log_risk"], dim="prompt")
    sample = "sample" if "sample" in complete.dims else None
    cell = complete.mean("sample") if sample else complete
    tail = cell >= value_at_risk(cell, alpha=plan.weights.tail.alpha, dim="prompt")
    n_prompts = max(2, spec.max_mixed_model_cells // max(1, cell.sizes["model"]))
    mixed = cell
    if cell.sizes["prompt"] > n_prompts:
        drawn = np.random.default_rng(seed).choice(cell.sizes["prompt"], n_prompts, replace=False)
        mixed = cell.isel(prompt=np.sort(drawn))
    tests = _merge(
        [
            friedman_test(cell, dim="prompt"),
            wilcoxon_tests(cell, dim="prompt", zero_method=spec.zero_method),
            two_way_anova(complete, dim="prompt", sample=sample),
            linear_mixed_model(mixed, dim="prompt"),
            tail_mixed_model(tail.sel(prompt=mixed["prompt"]), dim="prompt", seed=seed),
        ]
    )
    return tests.assign_attrs(
        prompts=cell.sizes["prompt"],
        prompts_dropped=plan.table.sizes["prompt"] - cell.sizes["prompt"],
        mixed_prompts=mixed.sizes["prompt"],
    )


def _measure_dependence(plan: ProfilePlan) -> xr.Dataset:
    """Spearman's rho among dimensions, over all prompts and over the tail slice."""
    risk, protocol = plan.table["log_risk"], plan.protocol
    if plan.table.sizes["dimension"] < 2:  # noqa: PLR2004 - one dimension has no pair
        return xr.Dataset()
    var = value_at_risk(risk, alpha=protocol.alpha, dim=protocol.dim, weights=protocol.weights)
    harm, tail = _stack_units(plan.table["harm"]), _stack_units(risk >= var)
    overall = dimension_dependence(harm, dim="unit", where=xr.ones_like(tail))
    in_tail = dimension_dependence(harm, dim="unit", where=tail)
    return xr.Dataset(
        {
            "dimension_dependence": overall.mean("dimension_pair"),
            "dimension_dependence_tail": in_tail.mean("dimension_pair"),
            "dimension_dependence_pair": overall,
            "dimension_dependence_tail_pair": in_tail,
        }
    )


def _stack_units(x: xr.DataArray) -> xr.DataArray:
    """Prompts, and repeated generations as prompts of their own, along ``unit``."""
    dims = [dim for dim in ("prompt", "sample") if dim in x.dims]
    return x.stack(unit=dims, create_index=False).drop_vars([*dims, "category"], errors="ignore")


def _merge(parts: list[xr.Dataset]) -> xr.Dataset:
    """Variables of all parts, which share their labels."""
    return xr.merge(parts, join="exact", compat="override", combine_attrs="override")
