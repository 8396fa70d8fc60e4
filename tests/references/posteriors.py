"""Ratings and models whose posteriors are compared with those of Stan, priors and all the same.

``python -m tests.references.posteriors FOLDER`` writes the ratings as Stan reads them, runs
``posteriors.R`` (rstan, a Stan program written from the equations) and leaves ``posteriors.csv``
next to this file: mean, sd, their Monte Carlo errors, bulk ESS and R-hat of every parameter.
``--only`` names cases and leaves the others as they are.
"""

import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tests.references.provenance import record_run
from tests.shared_data import SHARED_DATA

HERE = Path(__file__).parent
TABLE = HERE / "posteriors.csv"
SEED = 20260121


@dataclass(frozen=True)
class Case:
    """A table of ratings and the model that is fitted to it.

    ``terms`` have an sd with a prior, ``population`` is a term with sd 1, ``thresholds`` and
    ``discrimination`` are columns with thresholds and discrimination of their own.
    """

    table: pd.DataFrame
    terms: tuple[str, ...]
    link: str = "logit"
    population: str = ""
    thresholds: str = ""
    discrimination: str = ""

    @property
    def levels(self):
        return int(self.table["level"].max()) + 1

    def codes(self, column):
        return np.unique(self.table[column], return_inverse=True)[1]


def simulate_ratings(
    sizes,
    *,
    sds,
    cuts,
    link="logit",
    group=None,
    shift=(0.0,),
    discrimination=(1.0,),
    gap_factor=(1.0,),
):
    """A full crossing of columns, with groups of the labels of one of them."""
    rng = np.random.default_rng(SEED)
    index = [axis.ravel() for axis in np.indices(tuple(sizes.values()))]
    table = pd.DataFrame(dict(zip(sizes, index, strict=True)))
    eta = np.zeros(len(table))
    for name, sd in sds.items():
        eta += rng.normal(0, sd, sizes[name])[table[name]]
    label = table[group] % len(shift) if group else np.zeros(len(table), int)
    eta += np.array(shift)[label]
    noise = rng.logistic(size=len(table)) if link == "logit" else rng.normal(size=len(table))
    latent = (eta + noise / np.resize(discrimination, len(shift))[label]) / np.resize(
        gap_factor, len(shift)
    )[label]
    table["level"] = np.digitize(latent, cuts)
    return table.assign(group=label) if group else table


def dices():
    """The first 30 conversations and raters of DICES-350."""
    table = pd.read_csv(SHARED_DATA / "dices350.csv")
    table = table[table["item"].isin(sorted(table["item"].unique())[:30]) & (table["rater"] < 25)]
    return table.rename(columns={"score": "level"})[["item", "rater", "level"]]


def pluriharms():
    """Thirty items and raters of PluriHarms, in five levels, with the gender of raters."""
    table = pd.read_csv(SHARED_DATA / "pluriharms_ratings.csv").dropna()
    gender = pd.read_csv(SHARED_DATA / "pluriharms_raters.csv")[["rater", "gender"]]
    gender = gender[gender["gender"].isin(["Man", "Woman"])].iloc[:30]
    table = table[table["item"] <= 30].merge(gender, on="rater")
    table["level"] = np.digitize(table["rating"], [20, 40, 60, 80])
    return table.rename(columns={"gender": "group"})[["item", "rater", "group", "level"]]


def cases():
    """Cases by name; those of real ratings only where the folder with them is."""
    crossing = {"item": 30, "rater": 24}
    sds = {"item": 1.2, "rater": 0.6}
    cases_by_name = {
        "two_levels": Case(simulate_ratings(crossing, sds=sds, cuts=[0.3]), ("item", "rater")),
        "eleven_levels": Case(
            simulate_ratings(
                {"item": 12, "rater": 10, "place": 8},
                sds={"item": 1.2, "rater": 0.8, "place": 0.5},
                cuts=np.linspace(-3, 3, 10),
            ),
            ("item", "rater", "place"),
        ),
        "thresholds_by_group": Case(
            simulate_ratings(
                {"item": 20, "rater": 30},
                sds={"item": 1.2},
                cuts=[-1.2, 0.0, 1.2],
                group="rater",
                shift=(0.0, 0.5, -0.4),
                gap_factor=(1.0, 1.5, 0.7),
            ),
            ("item",),
            population="group",
            thresholds="group",
        ),
        "discrimination_by_group": Case(
            simulate_ratings(
                {"item": 20, "rater": 30},
                sds={"item": 1.0},
                cuts=[-0.8, 0.2, 1.0],
                link="probit",
                group="rater",
                shift=(0.0, 0.4, -0.2),
                discrimination=(1.0, 2.0, 0.6),
            ),
            ("item",),
            link="probit",
            population="group",
            discrimination="group",
        ),
    }
    if SHARED_DATA.is_dir():
        cases_by_name["dices"] = Case(dices(), ("item", "rater"))
        cases_by_name["pluriharms"] = Case(
            pluriharms(),
            ("item", "rater"),
            link="probit",
            population="group",
            thresholds="group",
            discrimination="group",
        )
    return cases_by_name


def for_stan(case, *, chains, draws):
    """Data of ``ordinal.stan``; columns that a case lacks are ones."""

    def coded(column):
        return (case.codes(column) + 1) if column else np.ones(len(case.table), int)

    def size(column):
        return int(coded(column).max()) if column else 0

    return {
        "N": len(case.table),
        "K": case.levels,
        "probit": int(case.link == "probit"),
        "T": len(case.terms),
        "levels": [size(term) for term in case.terms],
        "term": np.stack([coded(term) for term in case.terms], axis=1).tolist(),
        "F": size(case.population),
        "fixed": coded(case.population).tolist(),
        "S": size(case.thresholds),
        "set_of": coded(case.thresholds).tolist(),
        "D": size(case.discrimination),
        "factor_of": coded(case.discrimination).tolist(),
        "level": (case.table["level"].to_numpy() + 1).tolist(),
        "chains": chains,
        "draws": draws,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="For the ratings and the compiled program.")
    parser.add_argument("--only", nargs="*", default=list(cases()))
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, case in cases().items():
        text = json.dumps(for_stan(case, chains=options.chains, draws=options.draws))
        (options.folder / f"{name}.json").write_text(text)
    command = ["Rscript", HERE / "posteriors.R", options.folder, TABLE, *options.only]
    subprocess.run(command, check=True)
    record_run(TABLE)


if __name__ == "__main__":
    main()
