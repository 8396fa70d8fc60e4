"""Posterior by NUTS (nutpie): through the kernel, or through PyMC's graph outside its families."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.kernel.initial_points import initial_point
from sharpbayes.bayes.kernel.layout import ParameterLayout
from sharpbayes.bayes.kernel.machine_code import constrain_code, logp_code, pack
from sharpbayes.bayes.sampling.chains import (
    STATISTICS,
    chain_name,
    chain_seeds,
    run_chain,
    run_chains,
)
from sharpbayes.bayes.sampling.draws import label_draws
from sharpbayes.bayes.sampling.nutpie_loader import nutpie
from sharpbayes.execution.tasks import IN_PROCESS, Arrays, Execution, compute_parts
from sharpbayes.spec.study import Sampler


def sample_kernel(
    design: Design,
    layout: ParameterLayout,
    sampler: Sampler,
    *,
    seed: int,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """Return ``posterior`` and ``sample_stats`` over (chain, draw); nothing is compiled.

    Args:
        design: Terms of a model indexed by ratings.
        layout: The same as flat arrays.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed of all chains.
        execution: Where chains run and are kept; the draws are the same wherever they run.

    Returns:
        Fewer draws than asked for after Ctrl-C: what the chains had finished.

    Raises:
        KeyboardInterrupt: Ctrl-C before any chain had finished its tuning.
    """
    if execution.map_function is not None:
        chains = _map_chains(design, layout, sampler, seed=seed, execution=execution)
    else:
        compiled = compiled_kernel(design, layout)
        chains = run_chains(compiled, sampler, seed=seed, execution=execution)
    kept = _taken(chains, "draw values")
    return xr.DataTree.from_dict(
        {"posterior": label_draws(kept, design, layout), "sample_stats": _statistics(chains)}
    )


def _map_chains(
    design: Design, layout: ParameterLayout, sampler: Sampler, *, seed: int, execution: Execution
) -> list[Arrays]:
    """Sample the chains that the store does not have by the map function, usually elsewhere."""
    seeds = chain_seeds(seed, sampler.chains)
    names = {chain_name(number, seed=seed): own for number, own in enumerate(seeds)}
    return compute_parts(lambda own: sample_chain(design, layout, sampler, own), names, execution)


def sample_chain(design: Design, layout: ParameterLayout, sampler: Sampler, seed: int) -> Arrays:
    """Sample one chain through the kernel, with a seed of its own, in this process."""
    return run_chain(compiled_kernel(design, layout), sampler, seed=seed)


def sample_graph(
    model: Any,
    sampler: Sampler,
    *,
    seed: int,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """As :func:`sample_kernel`, through PyMC's graph, which takes a minute to compile.

    Args:
        model: A PyMC model, such as :func:`sharpbayes.bayes.graph.model.build` returns.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed of all chains.
        execution: Where chains run and are kept; the map function is not used.
    """
    from sharpbayes.bayes.graph.model import public_names  # noqa: PLC0415

    compiled = nutpie().compile_pymc_model(model, var_names=public_names(model))
    chains = run_chains(compiled, sampler, seed=seed, execution=execution)
    dims = {name: model.named_vars_to_dims.get(name, ()) for name in public_names(model)}
    posterior = {}
    for name, own in dims.items():
        shape = [len(model.coords[dim]) for dim in own]
        values = [chain[f"draw {name}"].reshape(-1, *shape) for chain in chains]
        posterior[name] = (("chain", "draw", *own), np.stack(values))
    statistics = _statistics(chains)
    coords = {dim: list(model.coords[dim]) for own in dims.values() for dim in own}
    held = xr.Dataset(posterior, coords | dict(statistics.coords))
    return xr.DataTree.from_dict({"posterior": held, "sample_stats": statistics})


def compiled_kernel(design: Design, layout: ParameterLayout) -> Any:
    """The kernel as nutpie takes models: addresses of machine code and of the plan."""
    return nutpie().compile_pymc.CompiledPyMCModel(
        _n_dim=layout.size,
        dims={},
        _coords={},
        _shapes={"values": (layout.stored_size,)},
        compiled_logp_func=logp_code(),
        compiled_expand_func=constrain_code(),
        initial_point_func=lambda seed: initial_point(design, layout, seed=seed),
        shared_data={},
        shared_var_keys={},
        user_data=pack(layout.kernel_data),
        n_expanded=layout.stored_size,
        shape_info=(["values"], [slice(0, layout.stored_size)], [(layout.stored_size,)]),
        logp_func=None,
        expand_func=None,
        reparameterized_names=[],
    )


def _taken(chains: Sequence[Arrays], name: str) -> NDArray[np.float64]:
    """A column of all chains; what each held is let go, since draws are most of the memory."""
    first = chains[0][name]
    kept = np.empty((len(chains), *first.shape))
    for number, chain in enumerate(chains):
        kept[number] = chain.pop(name)
    return kept


def _statistics(chains: Sequence[Arrays]) -> xr.Dataset:
    """Statistics of the sampler, clock times left out."""
    held = {
        name: (("chain", "draw"), np.stack([chain[name] for chain in chains]))
        for name in STATISTICS
        if name in chains[0]
    }
    draws = len(chains[0][next(iter(held))])
    return xr.Dataset(held, {"chain": np.arange(len(chains)), "draw": np.arange(draws)})
