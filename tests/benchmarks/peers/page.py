"""The tables of the page of peers, from the files of the driver.

    uv run python -m tests.benchmarks.peers.page DIR/insteval DIR/13k DIR/million

Each folder is the ``--out`` of runs on one set of ratings; its name is that of a table of the page.
"""

import argparse
import json
from pathlib import Path

from tests.benchmarks.peers import table

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks" / "peers.md"
NAMES = {
    "ours": "sharpbayes",
    "xfx": "`xfx.olm`",
    "numpyro": "NumPyro",
    "brms_threads": "brms with threads, Stan",
    "brms": "brms, rstan",
    "plain_pymc": "PyMC, nutpie",
    "plain_pymc_jax": "PyMC, nutpie with JAX",
    "bambi": "bambi, nutpie",
    "bambi_pymc": "bambi, PyMC's NUTS",
    "clmm": "`ordinal::clmm`",
    "tmb": "TMB by hand",
}
MODES = ("clmm", "tmb")
HIGH_RHAT = 1.05
SAMPLED = (
    "program",
    "chains x draws",
    "s",
    "processor s",
    "min bulk ESS",
    "max R-hat",
    "ESS a second",
    "ours ahead by",
    "means apart, sd",
    "remark",
)
FITTED = ("program", "s", "processor s", "estimates apart, sd", "remark")


def number(x, digits):
    """A number as text, or nothing."""
    return "" if x is None else f"{x:,.{digits}f}"


def figures(x):
    """Three figures of a number, or nothing."""
    return "" if x is None else f"{float(f'{x:.3g}'):,.12g}"


def rate(run):
    """Smallest ESS by second of the whole process, on the clock of the driver."""
    return run["ess_bulk_min"] / run["driver"]["wall"] if run.get("ess_bulk_min") else None


def ended(run):
    """How a run ended, where it did not end well."""
    driver = run["driver"]
    limit = f"{driver['limit']:.0f} s"
    if driver["status"] == -9 and not run.get("posterior"):
        return f"no answer in {limit}"
    if driver["status"]:
        return f"failed with status {driver['status']}"
    if not run.get("posterior"):
        return f"{run['draws']} draws in {limit}"
    return f"stopped at {limit}" if run.get("stopped") else ""


def remark(run):
    """What to know of a run."""
    high = (run.get("rhat_max") or 1) > HIGH_RHAT
    broken = run.get("divergences")
    parts = [ended(run), "not converged" if high else ""]
    parts.append(f"{broken} divergences" if broken else "")
    return ", ".join(part for part in parts if part)


def apart(run, ours):
    """Largest difference from our posterior means, in our sds."""
    if run is ours or not run.get("posterior"):
        return None
    return table.distance(run, ours)["means apart, sd"]


def drawn(run):
    """Chains and draws, those that were kept where the limit stopped it."""
    settings = run.get("settings", {})
    count = run.get("draws", settings.get("draws"))
    return f"{settings['chains']} x {count}" if count else ""


def sampled_row(run, ours):
    """Cells of a program that samples."""
    speed, reference = rate(run), rate(ours)
    ahead = reference / speed if speed and reference and run is not ours else None
    return [
        NAMES[run["run"]],
        drawn(run),
        number(run["driver"]["wall"], 1),
        number(run["driver"]["processor"], 1),
        number(run.get("ess_bulk_min"), 0),
        number(run.get("rhat_max"), 3),
        figures(speed),
        figures(ahead),
        number(apart(run, ours), 2),
        remark(run),
    ]


def fitted_row(run, ours):
    """Cells of a program that maximises the likelihood."""
    driver = run["driver"]
    seconds = [number(driver["wall"], 1), number(driver["processor"], 1)]
    return [NAMES[run["run"]], *seconds, number(apart(run, ours), 2), remark(run)]


def markdown(header, rows):
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def described(ours, runs):
    """The ratings, the day and the versions."""
    size = ours["settings"]
    ratings = f"{size['ratings']:,} ratings of {size['item']:,} items by {size['rater']:,} raters"
    driver = ours["driver"]
    load = max(run["driver"]["load_before"] for run in runs)
    versions = {name: x for run in runs for name, x in run.get("versions", {}).items()}
    listed = ", ".join(f"{name} {x}" for name, x in sorted(versions.items(), key=str))
    measured = f"{driver['day']}, commit {driver['commit']}, load {load:.1f} at most before a run"
    return f"{ratings}, {size['level']} categories; {measured}. {listed}.\n"


def text(runs):
    """The tables of one folder."""
    by_name = {run["run"]: run for run in runs}
    ours = by_name["ours"]
    rows = [sampled_row(by_name[name], ours) for name in NAMES if name in by_name.keys() - {*MODES}]
    parts = [described(ours, runs), markdown(SAMPLED, rows)]
    modes = [fitted_row(by_name[name], ours) for name in MODES if name in by_name]
    return "\n".join([*parts, *([markdown(FITTED, modes)] if modes else [])])


def put(page, name, content):
    """The page with a table between its marks."""
    begin, end = f"<!-- table {name} -->\n", "<!-- end of table -->"
    before, rest = page.split(begin)
    return before + begin + "\n" + content + "\n" + rest[rest.index(end) :]


def main():
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers.page")
    parser.add_argument("folders", type=Path, nargs="+")
    page = PAGE.read_text(encoding="utf-8")
    for folder in parser.parse_args().folders:
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
        page = put(page, folder.name, text(runs))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
