"""Posterior by NUTS (nutpie): through the kernel, or through PyMC's graph where it must be."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import nutpie
import xarray as xr
from nutpie.compile_pymc import CompiledPyMCModel
from nutpie.compiled_pyfunc import PyFuncModel, from_pyfunc

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.kernel.layout import JITTER, ParameterLayout, initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import constrain_code, logp_code, pack
from sharpbayes.bayes.kernel.parts import PartLikelihood, PartsDensity, RatingsParts
from sharpbayes.bayes.sampling.chains import (
    STATISTICS,
    chain_name,
    chain_seeds,
    run_chain,
    run_chains,
)
from sharpbayes.bayes.sampling.draws import label_draws, redraw_careless
from sharpbayes.bayes.sampling.retries import StoppingRule
from sharpbayes.bayes.sampling.start import find_start
from sharpbayes.execution.tasks import (
    IN_PROCESS,
    Arrays,
    Execution,
    compute_parts,
    start_actors_here,
)
from sharpbayes.spec.study import Sampler


def sample_posterior(
    design: Design,
    sampler: Sampler,
    *,
    seed: int,
    starts: Floats | None = None,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """Return ``posterior`` and ``sample_stats`` of a design over (chain, draw).

    The kernel samples it, or PyMC's graph if the kernel does not support it. The draws are the
    same wherever chains run. Where the number of draws is left open, chains run to the first of
    ``sampler.lengths`` at which they have converged, or more draws cannot help. After Ctrl-C there
    are fewer than asked for; Ctrl-C before any chain had finished its tuning raises
    KeyboardInterrupt. Each chain of the kernel begins at one of ``starts``, (start, coordinate),
    where they are given.
    """
    if not design.unsupported_by_kernel:
        return sample_kernel(design, sampler, seed=seed, starts=starts, execution=execution)
    from sharpbayes.bayes.graph.model import sampling_model  # noqa: PLC0415 - PyMC is slow to load

    return sample_graph(sampling_model(design), sampler, seed=seed, execution=execution)


def sample_kernel(
    design: Design,
    sampler: Sampler,
    *,
    seed: int,
    starts: Floats | None = None,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """Sample a design through the kernel; see :func:`sample_posterior`."""
    layout = parameter_layout(design, with_ratings=sampler.data_parts == 1)

    def label(chains: list[Arrays]) -> xr.DataTree:
        values = np.empty((len(chains), *chains[0]["draw values"].shape))
        for number, chain in enumerate(chains):
            # Draws are most of the memory: those of each chain are freed.
            values[number] = chain.pop("draw values")
        posterior = redraw_careless(label_draws(values, design, layout), design, seed=seed)
        return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": _statistics(chains)})

    if sampler.data_parts > 1:
        return _sample_parts(layout, sampler, label, seed=seed, starts=starts, execution=execution)
    if execution.map_function is None:
        compiled = compile_kernel(layout, starts)
        return _sample_here(compiled, sampler, label, seed=seed, execution=execution)
    seeds, rule = chain_seeds(seed, sampler.chains), StoppingRule(sampler)
    for length in sampler.lengths:
        fixed = sampler.model_copy(update={"draws": length})
        end = "" if sampler.draws else f"-{length}"
        arguments = {
            f"{chain_name(n, seed=seed)}{end}": chain_seed for n, chain_seed in enumerate(seeds)
        }
        trace = label(
            compute_parts(partial(sample_chain, layout, fixed, starts=starts), arguments, execution)
        )
        if length == sampler.lengths[-1] or rule(trace):
            break
    trace.attrs = _describe(rule, length)
    return trace


def _sample_here(
    compiled: Any,
    sampler: Sampler,
    label: Callable[[list[Arrays]], xr.DataTree],
    *,
    seed: int,
    execution: Execution,
    check: Callable[[], None] = lambda: None,
) -> xr.DataTree:
    """Sample chains in this process to the length where they have converged; label their draws."""
    rule = StoppingRule(sampler)
    chains, length = run_chains(
        compiled,
        sampler,
        seed=seed,
        execution=execution,
        is_enough=lambda chains: rule(label(chains)),
        check=check,
    )
    trace = label(chains)
    trace.attrs = _describe(rule, length)
    return trace


def _sample_parts(
    layout: ParameterLayout,
    sampler: Sampler,
    label: Callable[[list[Arrays]], xr.DataTree],
    *,
    seed: int,
    starts: Floats | None,
    execution: Execution,
) -> xr.DataTree:
    """Sample in this process, the ratings in parts that are wherever the execution has them."""
    parts = RatingsParts(layout, sampler.data_parts)
    start = execution.start_actors or start_actors_here
    density = PartsDensity(layout, parts.inputs, start(PartLikelihood, parts))
    if execution.start_actors:  # Chains wait for workers: all of them run at once.
        execution = replace(execution, cores=sampler.chains)
    compiled = compile_parts(density, starts)
    try:
        return _sample_here(
            compiled, sampler, label, seed=seed, execution=execution, check=density.check
        )
    finally:  # Whatever follows from an error of a part is told as that error.
        density.check()


def _describe(rule: StoppingRule, length: int) -> dict[str, Any]:
    """Return the length that chains were to have, why it was not longer, and any diagnostics."""
    description = {"length": length, "reason": rule.reason}
    return description if rule.final is None else description | {"diagnostics": rule.final}


def sample_chain(
    layout: ParameterLayout, sampler: Sampler, seed: int, *, starts: Floats | None = None
) -> Arrays:
    """Sample one chain through the kernel, with its own seed, in this process."""
    return run_chain(compile_kernel(layout, starts), sampler, seed=seed)


def sample_graph(
    model: Any, sampler: Sampler, *, seed: int, execution: Execution = IN_PROCESS
) -> xr.DataTree:
    """Sample a PyMC model, which takes a minute to compile, in this process."""
    from sharpbayes.bayes.graph.model import public_names  # noqa: PLC0415 - PyMC is slow to load

    names = public_names(model)
    compiled = nutpie.compile_pymc_model(model, var_names=names)

    def label(chains: list[Arrays]) -> xr.DataTree:
        statistics = _statistics(chains)
        coords: dict[str, list[Any]] = {}
        posterior = {}
        for name in names:
            dims = model.named_vars_to_dims.get(name, ())
            coords |= {dim: list(model.coords[dim]) for dim in dims}
            shape = [len(coords[dim]) for dim in dims]
            values = [chain[f"draw {name}"].reshape(-1, *shape) for chain in chains]
            posterior[name] = (("chain", "draw", *dims), np.stack(values))
        dataset = xr.Dataset(posterior, coords | dict(statistics.coords))
        return xr.DataTree.from_dict({"posterior": dataset, "sample_stats": statistics})

    return _sample_here(compiled, sampler, label, seed=seed, execution=execution)


def compile_kernel(layout: ParameterLayout, starts: Floats | None = None) -> CompiledPyMCModel:
    """Return the kernel as nutpie takes a model: addresses of machine code and of its data."""
    return CompiledPyMCModel(
        _n_dim=layout.size,
        dims={},
        _coords={},
        _shapes={"values": (layout.stored_size,)},
        compiled_logp_func=logp_code(),
        compiled_expand_func=constrain_code(),
        initial_point_func=_start_function(layout, starts),
        shared_data={},
        shared_var_keys={},
        user_data=pack(layout.kernel_data),
        n_expanded=layout.stored_size,
        shape_info=(["values"], [slice(0, layout.stored_size)], [(layout.stored_size,)]),
        logp_func=None,
        expand_func=None,
        reparameterized_names=[],
    )


def compile_parts(density: PartsDensity, starts: Floats | None = None) -> PyFuncModel:
    """Return a density by parts as nutpie takes a model: functions of Python."""
    layout = density.layout
    return from_pyfunc(
        layout.size,
        lambda: density,
        lambda *_: lambda z: {"values": density.constrain(z)},
        [np.dtype(np.float64)],
        [(layout.stored_size,)],
        ["values"],
        make_initial_point_fn=_start_function(layout, starts),
    )


def _start_function(layout: ParameterLayout, starts: Floats | None) -> Callable[[int], Floats]:
    """Return the function that jitters the start of a chain by its seed."""
    design = layout.design
    start = find_start(design, layout) if starts is None else None

    def jitter_start(seed: int) -> Floats:
        if starts is not None:
            chosen: Floats = starts[np.random.default_rng(seed).integers(len(starts))]
            return chosen
        if start is None:
            return initial_point(design, layout, seed=seed)
        return start + np.random.default_rng(seed).normal(0.0, JITTER, layout.size)

    return jitter_start


def _statistics(chains: Sequence[Arrays]) -> xr.Dataset:
    """Statistics of the sampler without durations."""
    values = {name: np.stack([chain[name] for chain in chains]) for name in STATISTICS}
    return xr.Dataset(
        {name: (("chain", "draw"), value) for name, value in values.items()},
        {"chain": np.arange(len(chains)), "draw": np.arange(len(chains[0]["energy"]))},
    )
