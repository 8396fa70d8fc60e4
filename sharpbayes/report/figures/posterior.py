"""Posterior draws -> figures, drawn by ArviZ."""

from typing import TYPE_CHECKING, Any

import xarray as xr

from sharpbayes.report.tables.crowd import MOST_GROUPS
from sharpbayes.report.tables.fit import ratings_by_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that every kind of colour vision distinguishes, and grey print too.
POSTERIOR, BOOTSTRAP = "#0072b2", "#d55e00"
WIDTH, ROW, PANEL_HEIGHT = 8.5, 0.42, 2.2  # inches
MOST_REPLICATES, PANELS_IN_ROW = 50, 4
INNER = 0.5


def tail_risk(results: xr.DataTree) -> "Figure | None":
    """Draw the tail risk of each model with its posterior and its bootstrap interval."""
    draws = results["posterior_profile"].to_dataset()["cvar"]
    safest_first = results["profile"].to_dataset().sortby("cvar")["model"]
    return forest(
        draws.sel(model=safest_first),
        results["profile_interval"].to_dataset()["cvar"],
        label="CVaR of cumulative log-risk; further left is safer",
        level=float(results["posterior_profile"].attrs["level"]),
    )


def responsiveness(results: xr.DataTree) -> "Figure | None":
    """Draw the responsiveness of each group with its posterior and its bootstrap interval."""
    draws = results["posterior_responsiveness"].to_dataset()["hm"].sel(by="all", drop=True)
    return forest(
        draws.dropna("group").isel(group=slice(MOST_GROUPS)),
        results["responsiveness"].to_dataset()["hm_interval"].sel(by="all", drop=True),
        label="harmonic mean of MPA and WRA; further right is better",
        level=float(results["posterior_responsiveness"].attrs["level"]),
    )


def forest(
    draws: xr.DataArray, bounds: xr.DataArray, *, label: str, level: float
) -> "Figure | None":
    """Draw a metric of each model or group: posterior median and intervals above the bootstrap.

    Draws are over (chain, draw, unit), bounds over (unit, bound); the inner posterior interval has
    50%. Units without draws are left out; None where there is no other.
    """
    if not draws.size:
        return None
    import arviz as az  # noqa: PLC0415 - slow to load

    (unit,) = (str(dim) for dim in draws.dims if dim not in {"chain", "draw"})
    known = draws.transpose("chain", "draw", unit).dropna(unit)
    # ArviZ keeps the name "model" for comparing fits.
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": known.rename({unit: "of"})})})
    drawn = az.plot_forest(
        tree,
        combined=True,
        labels=["of"],
        point_estimate="median",
        ci_kind="eti",
        ci_probs=(INNER, level),
        backend="matplotlib",
        visuals={name: {"color": POSTERIOR} for name in ("trunk", "twig", "point_estimate")},
        figure_kwargs={"figsize": (WIDTH, 1.2 + ROW * known.sizes[unit])},
    )
    axes = drawn.viz["plot"].sel(column="forest").item()
    height = drawn.aes["y"]["x"].to_numpy() - 0.25
    ends = bounds.sel({unit: known[unit]}).transpose(unit, "bound").to_numpy()
    (line,) = axes.plot([], [], color=POSTERIOR, marker="o", markerfacecolor="white")
    bars = axes.hlines(height, ends[:, 0], ends[:, 1], color=BOOTSTRAP, linestyle="--")
    names = [f"posterior, {INNER:.0%} and {level:.0%}", "bootstrap"]
    position = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 2}
    axes.legend([line, bars], names, fontsize=8, frameon=False, **position)
    axes.set(xlabel=label, ylim=(-0.6, known.sizes[unit] - 0.5))
    drawn.viz["plot"].sel(column="labels").item().set_axis_off()
    return _release(drawn)


def replicated_ratings(results: xr.DataTree) -> "Figure | None":
    """Draw the cumulative shares of categories by scale: observed, and replicated by the model.

    None where every scale has two categories, which one share describes.
    """
    import arviz as az  # noqa: PLC0415 - slow to load

    replicated = results["posterior_predictive"].to_dataset()
    chains = replicated.sizes["chain"]
    step = max(1, -(-chains * replicated.sizes["draw"] // MOST_REPLICATES))
    thinned = replicated.isel(draw=slice(None, None, step))
    observed = ratings_by_scale(results["observed_data"].to_dataset())
    shown = [name for name, ratings in observed.data_vars.items() if int(ratings.max()) > 1]
    if not shown:
        return None
    drawn = az.plot_ppc_dist(
        xr.DataTree.from_dict(
            {
                "posterior_predictive": ratings_by_scale(thinned)[shown],
                "observed_data": observed[shown],
            }
        ),
        kind="ecdf",
        num_samples=chains * thinned.sizes["draw"],
        backend="matplotlib",
        visuals={"predictive_dist": {"color": POSTERIOR}, "observed_dist": {"color": "black"}},
        figure_kwargs={"figsize": (WIDTH, 0.6 + PANEL_HEIGHT * -(-len(shown) // PANELS_IN_ROW))},
    )
    for axes in drawn.viz["figure"].item().axes:
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("category, least harm first")
    return _release(drawn)


def _release(drawn: Any) -> "Figure":
    """A figure that pyplot keeps no longer."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - slow to load

    figure: Figure = drawn.viz["figure"].item()
    figure.set_layout_engine("constrained")
    plt.close(figure)
    return figure
