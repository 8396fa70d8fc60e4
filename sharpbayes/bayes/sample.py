"""Posterior by NUTS (nutpie): through the kernel, or through PyMC's graph outside its families."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design import Design
from sharpbayes.bayes.layout import Layout
from sharpbayes.bayes.native import expand_code, logp_code, pack
from sharpbayes.bayes.posterior import labelled
from sharpbayes.bayes.start import initial_point
from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]
Progress = Callable[[Sequence[Any]], None]
STATISTICS = ("diverging", "n_steps", "depth", "step_size", "energy", "logp")
# With fewer finished draws than this a chain says nothing, not even whether it has converged.
FEWEST_DRAWS = 4


def sample_kernel(
    design: Design,
    layout: Layout,
    sampler: Sampler,
    *,
    seed: int,
    progress: Progress | None = None,
) -> xr.DataTree:
    """Return ``posterior`` and ``sample_stats`` over (chain, draw); nothing is compiled.

    Args:
        design: Ratings placed on the terms of a model.
        layout: The same as flat arrays.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed of all chains.
        progress: Called a few times a second with one progress object a chain
            (``finished_draws``, ``total_draws``, ``divergences``, ``step_size``).

    Returns:
        Fewer draws than asked for after Ctrl-C: what the chains had finished.

    Raises:
        KeyboardInterrupt: Ctrl-C before any chain had finished its tuning.
    """
    chains = _run(_compiled(design, layout), sampler, seed=seed, progress=progress)
    size = layout.kept_size
    kept = np.stack([_numbers(draws.column("values")).reshape(-1, size) for draws, _ in chains])
    statistics = _statistics([stats for _, stats in chains])
    return xr.DataTree.from_dict(
        {"posterior": labelled(kept, design, layout), "sample_stats": statistics}
    )


def sample_graph(
    model: Any, sampler: Sampler, *, seed: int, progress: Progress | None = None
) -> xr.DataTree:
    """As :func:`sample_kernel`, through PyMC's graph, which takes a minute to compile.

    Args:
        model: A PyMC model, such as :func:`sharpbayes.bayes.build.build` returns.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed of all chains.
        progress: See :func:`sample_kernel`.
    """
    import nutpie  # noqa: PLC0415 - imports ArviZ and PyMC

    from sharpbayes.bayes.build import public_names  # noqa: PLC0415

    compiled = nutpie.compile_pymc_model(model, var_names=public_names(model))
    chains = _run(compiled, sampler, seed=seed, progress=progress)
    dims = {name: model.named_vars_to_dims.get(name, ()) for name in public_names(model)}
    posterior = {}
    for name, own in dims.items():
        shape = [len(model.coords[dim]) for dim in own]
        values = [_numbers(draws.column(name)).reshape(-1, *shape) for draws, _ in chains]
        posterior[name] = (("chain", "draw", *own), np.stack(values))
    statistics = _statistics([stats for _, stats in chains])
    coords = {dim: list(model.coords[dim]) for own in dims.values() for dim in own}
    held = xr.Dataset(posterior, coords | dict(statistics.coords))
    return xr.DataTree.from_dict({"posterior": held, "sample_stats": statistics})


def _compiled(design: Design, layout: Layout) -> Any:
    """The kernel as nutpie takes models: addresses of machine code and of the plan."""
    from nutpie.compile_pymc import CompiledPyMCModel  # noqa: PLC0415 - imports PyMC

    return CompiledPyMCModel(
        _n_dim=layout.size,
        dims={},
        _coords={},
        _shapes={"values": (layout.kept_size,)},
        compiled_logp_func=logp_code(),
        compiled_expand_func=expand_code(),
        initial_point_func=lambda seed: initial_point(design, layout, seed=seed),
        shared_data={},
        shared_var_keys={},
        user_data=pack(layout.plan),
        n_expanded=layout.kept_size,
        shape_info=(["values"], [slice(0, layout.kept_size)], [(layout.kept_size,)]),
        logp_func=None,
        expand_func=None,
        reparameterized_names=[],
    )


def _run(compiled: Any, sampler: Sampler, *, seed: int, progress: Progress | None) -> list[Any]:
    """Sample; return draws and statistics of each chain, tuning left out, all of one length."""
    import nutpie  # noqa: PLC0415 - imports ArviZ

    running = nutpie.sample(
        compiled,
        draws=sampler.draws,
        tune=sampler.tune,
        chains=sampler.chains,
        cores=min(sampler.chains, os.process_cpu_count() or 1),
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=progress,
        progress_rate=500,
        target_accept=sampler.target_accept,
        maxdepth=sampler.max_depth,
        return_raw_trace=True,
        blocking=False,
    )
    try:
        trace = running.wait()
    except KeyboardInterrupt:
        trace = running.abort()
    return _finished(*trace.get_arrow_trace())


def _finished(draws: Sequence[Any], statistics: Sequence[Any]) -> list[Any]:
    """Leave tuning out, and cut chains to one length, so that the most draws are kept."""
    found = []
    for chain, stats in zip(draws, statistics, strict=True):
        tuning = int(_column(stats, "tuning").sum())
        found.append((chain.slice(tuning), stats.slice(tuning)))
    found.sort(key=lambda each: -each[0].num_rows)
    lengths = [chain.num_rows for chain, _ in found]
    worth = [length * (rank + 1) for rank, length in enumerate(lengths)]
    chosen = int(np.argmax(worth))
    if lengths[chosen] < FEWEST_DRAWS:
        raise KeyboardInterrupt
    shortest = lengths[chosen]
    return [
        (chain.slice(0, shortest), stats.slice(0, shortest)) for chain, stats in found[: chosen + 1]
    ]


def _numbers(column: Any) -> Floats:
    """All numbers of a column, one draw after the other."""
    array = pa.array(column)
    flat: Floats = (array.flatten() if hasattr(array, "flatten") else array).to_numpy()
    return flat


def _column(table: Any, name: str) -> NDArray[Any]:
    """One statistic of every draw of a chain."""
    values: NDArray[Any] = pa.array(table.column(name)).to_numpy(zero_copy_only=False)
    return values


def _statistics(chains: Sequence[Any]) -> xr.Dataset:
    """Statistics of the sampler, clock times left out."""
    held = {
        name: np.stack([_column(chain, name) for chain in chains])
        for name in STATISTICS
        if name in chains[0].column_names
    }
    return xr.Dataset(
        {name: (("chain", "draw"), values) for name, values in held.items()},
        {"chain": np.arange(len(chains)), "draw": np.arange(chains[0].num_rows)},
    )
