"""Adjacent-category and continuation-ratio models against R's VGAM: the likelihood at its maximum.

``python -m tests.references.test_steps`` writes ``steps.csv``, runs ``Rscript steps.R`` on it and
leaves ``steps.json``. Priors are so wide here that the mode of the kernel's density is R's maximum
of the likelihood; nothing is sampled.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.predict.replication import log_likelihood
from sharpbayes.bayes.sampling.draws import label_draws
from sharpbayes.data.ratings import Ratings
from tests.bayes.conftest import column, model_from
from tests.bayes.kernel.test_kernel import kept_at
from tests.references.provenance import record_run

HERE = Path(__file__).parent
FLAT = {"kind": "normal", "sd": 1000.0}
# Not in growing order: the second level is rare.
SHARES = {"a": (0.42, 0.05, 0.23, 0.2, 0.1), "b": (0.3, 0.09, 0.16, 0.25, 0.2)}
LAWS = [("adjacent", "logit"), ("continuation", "logit"), ("continuation", "probit")]


def ratings():
    """Levels 0 to 4 of two groups."""
    rng = np.random.default_rng(20260121)
    parts = [
        pd.DataFrame({"group": group, "level": rng.choice(5, 800, p=share)})
        for group, share in SHARES.items()
    ]
    return pd.concat(parts, ignore_index=True)


def at_the_mode(likelihood, link, *, by_group):
    """Variables at the mode, and the log-likelihood there."""
    table = ratings()
    group = column("ab", table["group"] == "b")
    observed = Ratings(
        table["level"].to_numpy(np.int16),
        {"group:group": group, "scale": column(["score"], np.zeros(len(table)))},
        {"score": tuple("01234")},
    )
    by = ["scale", *(["group:group"] if by_group else [])]
    model = model_from(
        [{"by": ["group:group"], "prior": FLAT}],
        likelihood=likelihood,
        link=link,
        thresholds={"by": by, "prior": {"mean": 0.0, "sd": 1000.0}, "gap": FLAT},
    )
    design = build_design(observed, model)
    flat = parameter_layout(design)

    def less(point):
        value, slope = kernel_density(flat, point)
        return -value, -slope

    mode = minimize(less, initial_point(design, flat, seed=1), jac=True, method="BFGS", tol=1e-7)
    draws = label_draws(kept_at(flat, mode.x)[None, None], design, flat)
    # of single precision each, as results keep them
    return draws, float(log_likelihood(draws, design)["rating_score"].astype(float).sum())


@pytest.mark.parametrize(("likelihood", "link"), LAWS)
def test_one_set_of_thresholds_is_that_of_vglm(likelihood, link):
    wanted = json.loads((HERE / "steps.json").read_text("utf-8"))[f"{likelihood} {link} common"]
    draws, value = at_the_mode(likelihood, link, by_group=False)
    effect = draws["location_group"].to_numpy().ravel()
    cuts = draws["threshold_score"].to_numpy().ravel() - effect[0]
    sign = -1.0 if likelihood == "adjacent" else 1.0
    np.testing.assert_allclose(sign * cuts, wanted[:4], atol=2e-4)
    np.testing.assert_allclose(-sign * (effect[1] - effect[0]), wanted[4], atol=2e-4)
    assert value == pytest.approx(wanted[5], abs=1e-3)


@pytest.mark.parametrize(("likelihood", "link"), LAWS)
def test_thresholds_of_each_group_are_those_of_vglm(likelihood, link):
    wanted = json.loads((HERE / "steps.json").read_text("utf-8"))[f"{likelihood} {link} own"]
    draws, value = at_the_mode(likelihood, link, by_group=True)
    cuts = draws["threshold_score_group"].to_numpy()[0, 0]
    # Intercepts, then what the second group adds to each.
    first, more = np.reshape(wanted[:8], (2, 4))
    sign = -1.0 if likelihood == "adjacent" else 1.0
    np.testing.assert_allclose(sign * cuts, [first, first + more], atol=5e-4)
    assert value == pytest.approx(wanted[8], abs=1e-3)


def main():
    ratings().to_csv(HERE / "steps.csv", index=False)
    subprocess.run(["Rscript", HERE / "steps.R", HERE], check=True)
    (HERE / "steps.csv").unlink()
    record_run(HERE / "steps.json")


if __name__ == "__main__":
    main()
