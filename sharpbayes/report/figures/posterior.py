"""Posterior draws -> figures, drawn by ArviZ."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that stay apart for every kind of colour vision, and in grey.
POSTERIOR, BOOTSTRAP = "#0072b2", "#d55e00"
WIDTH, ROW = 8.5, 0.42  # inches
MOST_REPLICATES = 50
INNER, OUTER = 0.5, 0.95


def forest(draws: xr.DataArray, bounds: xr.DataArray, *, label: str) -> "Figure":
    """Draw a metric of each model or group: posterior (50% and 95%) above bootstrap interval.

    Args:
        draws: Draws over (chain, draw, unit), where the unit is a model or a group.
        bounds: Bootstrap intervals over (unit, bound).
        label: What the metric is.

    Returns:
        The figure; units whose draws are missing are left out.
    """
    import arviz as az  # noqa: PLC0415 - slow to load

    (unit,) = (str(dim) for dim in draws.dims if dim not in {"chain", "draw"})
    known = draws.transpose("chain", "draw", unit).dropna(unit)
    # ArviZ keeps the name "model" for comparing fits.
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": known.rename({unit: "of"})})})
    drawn = az.plot_forest(
        tree,
        combined=True,
        labels=["of"],
        ci_probs=(INNER, OUTER),
        backend="matplotlib",
        visuals={name: {"color": POSTERIOR} for name in ("trunk", "twig", "point_estimate")},
        figure_kwargs={"figsize": (WIDTH, 1.2 + ROW * known.sizes[unit])},
    )
    axes = drawn.viz["plot"].sel(column="forest").item()
    place = drawn.aes["y"]["x"].to_numpy() - 0.25
    ends = bounds.sel({unit: known[unit]}).transpose(unit, "bound").to_numpy()
    (line,) = axes.plot([], [], color=POSTERIOR, marker="o", markerfacecolor="white")
    bars = axes.hlines(place, ends[:, 0], ends[:, 1], color=BOOTSTRAP, linestyle="--")
    said = [f"posterior, {INNER:.0%} and {OUTER:.0%}", "bootstrap"]
    place_of_legend = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 2}
    axes.legend([line, bars], said, fontsize=8, frameon=False, **place_of_legend)
    axes.set(xlabel=label, ylim=(-0.6, known.sizes[unit] - 0.5))
    drawn.viz["plot"].sel(column="labels").item().set_axis_off()
    return _released(drawn)


def predictive(results: xr.DataTree) -> "Figure | None":
    """Draw the cumulative shares of levels: observed, and replicated by the model, by scale.

    Args:
        results: A fit with replicated ratings.

    Returns:
        The figure; None where every scale has two levels, of which a curve shows one share.
    """
    import arviz as az  # noqa: PLC0415 - slow to load

    replicated = results["posterior_predictive"].to_dataset()
    chains = replicated.sizes["chain"]
    every = max(1, -(-chains * replicated.sizes["draw"] // MOST_REPLICATES))
    thinned = replicated.isel(draw=slice(None, None, every))
    observed = _by_scale(results["observed_data"].to_dataset())
    several = [name for name, levels in observed.data_vars.items() if int(levels.max()) > 1]
    if not several:
        return None
    groups = {
        "posterior_predictive": _by_scale(thinned)[several],
        "observed_data": observed[several],
    }
    rows = -(-len(several) // 4)
    drawn = az.plot_ppc_dist(
        xr.DataTree.from_dict(groups),
        kind="ecdf",
        num_samples=chains * thinned.sizes["draw"],
        backend="matplotlib",
        visuals={"predictive_dist": {"color": POSTERIOR}, "observed_dist": {"color": "black"}},
        figure_kwargs={"figsize": (WIDTH, 0.6 + 2.2 * rows)},
    )
    for axes in drawn.viz["figure"].item().axes:
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("level, least harm first")
    return _released(drawn)


def _by_scale(data: xr.Dataset) -> xr.Dataset:
    """Levels by the name of their scale."""
    levels = [str(name) for name in data.data_vars if str(name).startswith("rating_")]
    return data[levels].rename({name: name.removeprefix("rating_") for name in levels})


def _released(drawn: Any) -> "Figure":
    """A figure that pyplot keeps no longer."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - slow to load

    figure: Figure = drawn.viz["figure"].item()
    figure.set_layout_engine("constrained")
    plt.close(figure)
    return figure


def level_shares(results: xr.DataTree) -> dict[str, np.ndarray]:
    """Return the data of :func:`predictive`: shares of levels by scale.

    Args:
        results: A fit with replicated ratings.

    Returns:
        By scale a row for each level: observed share, mean replicated share, and the ends of its
        central 95%.
    """
    observed = _by_scale(results["observed_data"].to_dataset())
    replicated = _by_scale(results["posterior_predictive"].to_dataset())
    found = {}
    for name, levels in observed.data_vars.items():
        draws = replicated[name].to_numpy().reshape(-1, levels.size)
        size = int(max(levels.max(), draws.max())) + 1
        shares = np.array([np.bincount(row, minlength=size) for row in draws]) / levels.size
        seen = np.bincount(levels.to_numpy(), minlength=size) / levels.size
        ends = np.quantile(shares, [(1 - OUTER) / 2, (1 + OUTER) / 2], axis=0)
        found[str(name)] = np.column_stack([seen, shares.mean(0), *ends])
    return found
