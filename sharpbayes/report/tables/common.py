"""Results -> plain tables of text, the same for the terminal and for files."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.report.tables.table import Table


def tables(results: xr.DataTree) -> list[Table]:
    """Return every table that the groups of a results file allow, in reading order."""
    return marked(results, [table for make in TABLES for table in make(results)])


def marked(results: xr.DataTree, tables: Sequence[Table]) -> list[Table]:
    """Return tables, each with the mark of a fit that has not converged.

    Those of the measured half carry it too: a reader of one table does not know which half it is.

    Args:
        results: What the tables are of.
        tables: Its tables.
    """
    sure = "diagnostics" not in results or bool(results["diagnostics"]["converged"])
    if sure and results.attrs.get("status") != "not converged":
        return list(tables)
    return [
        replace(table, mark=UNSURE, note=f"{UNSURE}: do not use what the fit says. {table.note}")
        for table in tables
    ]


def profile_table(results: xr.DataTree) -> list[Table]:
    """Tail risk, mean and volatility of cumulative log-risk by model (SHARP, Table 1)."""
    if "profile" not in results:
        return []
    profile = results["profile"].to_dataset().sortby("cvar")
    interval = results["profile_interval"].to_dataset()
    rows = [
        (
            str(model),
            number(profile["cvar"].sel(model=model)),
            span(interval["cvar"].sel(model=model)),
            number(profile["mean"].sel(model=model)),
            number(profile["volatility"].sel(model=model)),
            number(profile["policy_score"].sel(model=model)),
            f"{int(profile['tier'].sel(model=model))}",
            _admissible(profile, str(model)),
        )
        for model in profile["model"].to_numpy()
    ]
    alpha = profile.attrs["alpha"]
    table = Table(
        "Risk profile by model, lowest tail risk first",
        (
            "model",
            f"CVaR {100 * alpha:g}",
            "interval",
            "mean",
            "volatility",
            "policy",
            "tier",
            "admissible",
        ),
        tuple(rows),
        f"Cumulative log-risk; lower is safer. {interval.attrs['interval_note']}",
    )
    return [table]


def dimension_table(results: xr.DataTree) -> list[Table]:
    """Mean, tail risk and share of the compounded tail by dimension (SHARP, Tables 2-4)."""
    if "profile" not in results:
        return []
    profile = results["profile"].to_dataset().sortby("cvar")
    rows = [
        (str(model), str(dimension), *(number(cell[name]) for name in names))
        for model in profile["model"].to_numpy()
        for dimension in profile["dimension"].to_numpy()
        for cell in [profile.sel(model=model, dimension=dimension)]
        for names in [("dimension_mean", "dimension_cvar", "tail_share")]
    ]
    table = Table(
        "Harm by dimension",
        ("model", "dimension", "mean", "CVaR", "tail share"),
        tuple(rows),
        "Harm in [0, 1]; shares of the mean log-risk of the tail prompts, adding to 1 by model.",
    )
    return [table]


def crowd_tables(results: xr.DataTree) -> list[Table]:
    """Return every table of a crowd study."""
    from sharpbayes.report.tables.crowd import crowd_tables as made  # noqa: PLC0415 - built on this

    return made(results)


def decision_tables(results: xr.DataTree) -> list[Table]:
    """Return what the weights decide and how sure that is, with the checks of the model."""
    from sharpbayes.report.tables.decision import decision_tables as made  # noqa: PLC0415

    return made(results)


def convergence_table(results: xr.DataTree) -> list[Table]:
    """Posterior of scales, thresholds and population effects, with R-hat and ESS."""
    if "diagnostics" not in results:
        return []
    diagnostics = results["diagnostics"].to_dataset()
    posterior = results["posterior"].to_dataset()
    rows = [
        (label, *_posterior_cells(values), *_diagnostic_cells(diagnostics, label))
        for label, values in _parameters(posterior)
    ]
    verdict = "Converged. " if diagnostics["converged"] else ""
    table = Table(
        "Posterior: spread of effects, thresholds and small terms",
        ("parameter", "mean", "sd", "90% interval", "R-hat", "bulk ESS"),
        tuple(rows),
        f"{verdict}Divergences: {int(diagnostics['divergences'])}. "
        "Intervals contain the uncertainty of parameters given these ratings.",
    )
    return [table]


TABLES: tuple[Callable[[xr.DataTree], list[Table]], ...] = (
    decision_tables,
    profile_table,
    dimension_table,
    crowd_tables,
    convergence_table,
)

UNSURE = "NOT CONVERGED"
# Terms with more levels than this (items, prompts, raters) are left to ArviZ.
MOST_LEVELS = 12


def number(value: xr.DataArray | float) -> str:
    """Return a number with three decimals, or a dash where it is missing.

    >>> number(0.12345), number(-1e-6), number(float("nan"))
    ('0.123', '0.000', '-')
    """
    return "-" if np.isnan(float(value)) else f"{float(value):z.3f}"


def span(interval: xr.DataArray) -> str:
    """Return an interval over ``bound`` as ``lower–upper``, or a dash."""
    low, high = (float(interval.sel(bound=name)) for name in ("lower", "upper"))
    return "-" if np.isnan(low) else f"{low:.3f}–{high:.3f}"


def _admissible(profile: xr.Dataset, model: str) -> str:
    """Yes, no, or a dash where no tolerance was decided."""
    if "admissible" not in profile:
        return "-"
    return "yes" if bool(profile["admissible"].sel(model=model)) else "no"


def _parameters(posterior: xr.Dataset) -> list[tuple[str, np.ndarray]]:
    """Label every element of the variables that are small enough to read."""
    found = []
    for name, array in posterior.data_vars.items():
        dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
        if not dims:
            found.append((str(name), array.to_numpy()))
        elif np.prod([array.sizes[dim] for dim in dims]) <= MOST_LEVELS:
            stacked = array.stack(level=dims, create_index=False).transpose("level", ...)
            labels = [_label(stacked, dims, at) for at in range(stacked.sizes["level"])]
            found += [
                (f"{name}[{label}]", stacked.isel(level=at).to_numpy())
                for at, label in enumerate(labels)
            ]
    return found


def _label(stacked: xr.DataArray, dims: Sequence[object], at: int) -> str:
    """Join the labels of one stacked element."""
    return ", ".join(str(stacked[dim].isel(level=at).item()) for dim in dims)


def _posterior_cells(values: np.ndarray) -> tuple[str, ...]:
    """Mean, sd and central 90% interval of draws."""
    low, high = np.quantile(values, [0.05, 0.95])
    return number(values.mean()), number(values.std(ddof=1)), f"{low:.3f}–{high:.3f}"


def _diagnostic_cells(diagnostics: xr.Dataset, label: str) -> tuple[str, ...]:
    """R-hat and bulk ESS of one parameter."""
    row = diagnostics.sel(parameter=label)
    return f"{float(row['rhat']):.3f}", f"{float(row['ess_bulk']):.0f}"
