"""Ratings that other programs are compared on, and their numbers.

``python -m tests.references.make`` writes ``<name>.csv``, runs ``Rscript ordinal.R`` on them
(Debian: ``apt-get install r-base-core r-cran-ordinal r-cran-mass``) and leaves ``ordinal.json``.
"""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd

from tests.references.provenance import record_run

HERE = Path(__file__).parent
SEED = 20260121


def crossed(rng, *, items, raters, places=1, cuts, sds, link="logit"):
    """Every rater on every item, once a place, with normal effects of each."""
    item, rater, place = (axis.ravel() for axis in np.indices((items, raters, places)))
    eta = rng.normal(0, sds[0], items)[item] + rng.normal(0, sds[1], raters)[rater]
    eta += rng.normal(0, sds[2], places)[place]
    noise = rng.logistic(size=eta.size) if link == "logit" else rng.normal(size=eta.size)
    level = np.digitize(eta + noise, cuts)
    return pd.DataFrame({"item": item, "rater": rater, "place": place, "level": level})


def grouped(rng, *, count, cuts, shift, factor=(1.0, 1.0)):
    """Two groups, the second moved, each with cuts and a sharpness of its own."""
    group = np.arange(count) % 2
    noise = rng.logistic(size=count) / np.array(factor)[group]
    eta = np.array([0.0, shift])[group] + noise
    level = np.where(group == 0, np.digitize(eta, cuts[0]), np.digitize(eta, cuts[1]))
    return pd.DataFrame({"group": np.array(["a", "b"])[group], "level": level})


def tables():
    """Ratings by name."""
    rng = np.random.default_rng(SEED)
    same, wide = (-1.0, 0.0, 1.2), (-1.8, 0.1, 2.4)
    return {
        "logit2": crossed(rng, items=80, raters=15, cuts=[0.3], sds=(1.2, 0, 0)),
        "logit5": crossed(rng, items=60, raters=30, cuts=[-1.5, -0.5, 0.5, 1.5], sds=(1.4, 0.8, 0)),
        "probit4": crossed(
            rng, items=60, raters=30, cuts=[-1, 0, 0.8], sds=(0.9, 0.5, 0), link="probit"
        ),
        "logit11": crossed(
            rng,
            items=40,
            raters=20,
            places=20,
            cuts=np.linspace(-3, 3, 10),
            sds=(1.2, 0.6, 0.4),
        ),
        "groups": grouped(rng, count=3000, cuts=(same, wide), shift=0.4),
        "sharpness": grouped(rng, count=3000, cuts=(same, same), shift=0.5, factor=(1.0, 1.6)),
    }


def main():
    for name, table in tables().items():
        table.to_csv(HERE / f"{name}.csv", index=False)
    subprocess.run(["Rscript", HERE / "ordinal.R", HERE], check=True)
    for name in tables():
        (HERE / f"{name}.csv").unlink()
    record_run(HERE / "ordinal.json")


if __name__ == "__main__":
    main()
