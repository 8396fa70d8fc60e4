"""Sensitivity of priorsense's own draws, beside the numbers that its pages print.

    Rscript tests/references/priorsense.R sysdata.rda normal.csv
    python -m tests.references.priorsense normal.csv

``sysdata.rda`` is ``R/sysdata.rda`` of priorsense. The printed numbers are those of its README and
of its article "Getting started with priorsense" in May 2026: a normal with unknown mean and sd, 25
observations about 10, and a prior N(0, 1) of the mean.
"""

import json
import sys
from pathlib import Path

import pandas as pd
import xarray as xr

from sharpbayes.posterior.power_scaling import STEP, power_scale, sensitivity

OUT = Path(__file__).with_suffix(".json")
PRINTED = {("mu", "lprior"): 0.390, ("mu", "log_lik"): 0.558}
PRINTED |= {("sigma", "lprior"): 0.288, ("sigma", "log_lik"): 0.527}


def read_draws(path: Path) -> xr.Dataset:
    """Return the draws and both log densities over (chain, draw)."""
    table = pd.read_csv(path).set_index(["chain", "draw"])
    return xr.Dataset.from_dataframe(table)


def compare(draws: xr.Dataset) -> list[dict[str, object]]:
    """Return each printed number with ours."""
    return [
        {
            "parameter": name,
            "power of": density,
            "sensitivity": float(sensitivity(draws[name], power_scale(draws[density], STEP))),
            "priorsense": printed,
        }
        for (name, density), printed in PRINTED.items()
    ]


if __name__ == "__main__":
    rows = compare(read_draws(Path(sys.argv[1])))
    OUT.write_text(json.dumps({"published": rows}, indent=1) + "\n", encoding="utf-8")
