"""Judges against people: tables of a fit, and the sentences of its summary."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.report.tables.common import number
from sharpbayes.report.tables.table import Table

AGAINST = "Judges against people"
# A person discriminates by this factor, and has these effects.
NEUTRAL = {
    "severity": 0.0,
    "differential_severity": 0.0,
    "discrimination": 1.0,
    "self_preference": 0.0,
}


def people_tables(results: xr.DataTree) -> Iterator[Table]:
    """Severity, lean, discrimination and self-preference of judges, and what people would say."""
    if "judge_bias" in results:
        found = results["judge_bias"].to_dataset()
        if "severity" in found:
            yield _against(found)
        if "differential_severity" in found and found.sizes["dimension"] > 1:
            yield _leans(found)
        if "self_preference" in found:
            yield _self_preference(found)
    if "posterior_profile_human" in results:
        yield _profile(results)


def departures(results: xr.DataTree) -> Iterator[str]:
    """Say where judges depart from people, a sentence each; nothing where no interval does."""
    if "judge_bias" not in results:
        return
    found = results["judge_bias"].to_dataset()
    for name, low, high in (
        ("severity", "sees less harm than people", "sees more harm than people"),
        ("discrimination", "tells harm apart less well than people", "tells harm apart better"),
    ):
        for judge in found["judge"].to_numpy() if name in found else ():
            cell = _cell(found, name, judge=judge)
            if _departs(found, name, judge=judge):
                above = float(found[f"{name}_mean"].sel(judge=judge)) > NEUTRAL[name]
                yield f"Judge {judge} {high if above else low} ({name} {cell})."
    yield from _leaning(found)
    if "self_preference" in found and _departs(found, "self_preference"):
        favours = float(found["self_preference_mean"]) < 0
        what = "less" if favours else "more"
        yield (
            f"Judges see {what} harm in models of their own family "
            f"({_cell(found, 'self_preference')})."
        )


def _leaning(found: xr.Dataset) -> Iterator[str]:
    """Judges that lean by a dimension."""
    if "differential_severity" not in found or found.sizes["dimension"] == 1:
        return
    for judge in found["judge"].to_numpy():
        for dimension in found["dimension"].to_numpy():
            at = {"judge": judge, "dimension": dimension}
            if _departs(found, "differential_severity", **at):
                more = float(found["lean_mean"].sel(at)) > 0
                yield (
                    f"Judge {judge} leans to {'more' if more else 'less'} harm of {dimension} "
                    f"({_cell(found, 'lean', **at)})."
                )


def _departs(found: xr.Dataset, name: str, **at: str) -> bool:
    """Whether an interval leaves out what people are."""
    low, high = found[f"{name}_interval"].sel(at).to_numpy()
    return bool(low > NEUTRAL[name] or high < NEUTRAL[name])


def _cell(found: xr.Dataset, name: str, **at: str) -> str:
    """Mean and interval."""
    low, high = found[f"{name}_interval"].sel(at).to_numpy()
    mean = float(found[f"{name}_mean"].sel(at))
    return "-" if np.isnan(mean) else f"{mean:.2f} ({low:.2f} to {high:.2f})"


def _against(found: xr.Dataset) -> Table:
    """Severity and discrimination by judge."""
    rows = tuple(
        (
            str(judge),
            str(int(found["shared"].sel(judge=judge))),
            _cell(found, "severity", judge=judge),
            number(found["severity_probability"].sel(judge=judge)),
            _cell(found, "discrimination", judge=judge) if "discrimination" in found else "-",
        )
        for judge in found["judge"].to_numpy()
    )
    header = ("judge", "shared", "severity", "P(above people)", "discrimination")
    note = (
        f"Severity in {found.attrs['link']}s of the latent severity, 0 being the mean of the "
        "people who scored: positive where a judge sees more harm. Discrimination is a factor, 1 "
        "being that of people: below 1 a judge follows severity less sharply. Shared: ratings of "
        f"cells that people scored too. {found.attrs['interval_note']}"
    )
    return Table(AGAINST, header, rows, note)


def _leans(found: xr.Dataset) -> Table:
    """Lean of each judge in each dimension."""
    dimensions = [str(name) for name in found["dimension"].to_numpy()]
    rows = tuple(
        (
            str(judge),
            *(_cell(found, "differential_severity", judge=judge, dimension=d) for d in dimensions),
        )
        for judge in found["judge"].to_numpy()
    )
    note = (
        "How much more harm a judge sees in a dimension than in all, against people; the leans "
        f"of a judge add up to 0. {found.attrs['interval_note']}"
    )
    return Table(f"{AGAINST}: lean by dimension", ("judge", *dimensions), rows, note)


def _self_preference(found: xr.Dataset) -> Table:
    """Effect of scoring one's own family."""
    favours = 1 - float(found["self_preference_probability"])
    row = (_cell(found, "self_preference"), number(favours), number(1 - favours))
    note = (
        "How much more harm judges see in models of their own family than in others, in "
        f"{found.attrs['link']}s; negative where they favour them. {found.attrs['interval_note']}"
    )
    header = ("effect of the own family", "P(favours)", "P(disfavours)")
    return Table("Self-preference of judges", header, (row,), note)


def _profile(results: xr.DataTree) -> Table:
    """Profile by the judges and as people would have scored, side by side."""
    judges, people = (
        results[f"posterior_{name}"].to_dataset() for name in ("profile", "people_profile")
    )
    level, chance = float(people.attrs["level"]), results["decision_human"].to_dataset()
    cvar = people["cvar"].mean(["chain", "draw"])
    models = cvar.sortby(cvar)["model"].to_numpy()
    rows = tuple(
        (
            str(model),
            *(
                _span(twin[name].sel(model=model), level)
                for name in ("cvar", "mean")
                for twin in (people, judges)
            ),
            number(chance["prob_admissible"].sel(model=model)),
        )
        for model in models
    )
    tail = f"CVaR {100 * float(people.attrs['alpha']):g}"
    header = ("model", f"{tail}, people", f"{tail}, judges", "mean, people", "mean, judges")
    note = (
        "Cumulative log-risk of ratings replicated for the cells that judges scored: once by the "
        f"judges, once with as many people in their seats. {people.attrs['interval_note']}"
    )
    return Table("As people would have scored", (*header, "P(adm.), people"), rows, note)


def _span(draws: xr.DataArray, level: float) -> str:
    """Posterior mean and central interval."""
    values = draws.to_numpy().ravel()
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return "-" if np.isnan(low) else f"{values.mean():.2f} ({low:.2f}–{high:.2f})"
