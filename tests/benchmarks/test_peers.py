"""The peers' model against its equation by hand, the compared quantities, and the made ratings."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from tests.benchmarks import datasets
from tests.benchmarks.peers import common, plain_pymc, table

MADE = {"ratings": 400, "items": 50, "raters": 20, "levels": 5, "groups": (2, 3), "lowest": 0.58}


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.parquet"
    datasets.simulated(**MADE, seed=3).to_parquet(path)
    return common.read(path)


def point(rng, size):
    """Values of every parameter."""
    drawn = {f"z_{name}": rng.normal(size=size[name]) for name in ("item", "rater")}
    drawn |= {name: rng.normal(size=size[name]) for name in ("gender", "race")}
    drawn |= {f"sd_{name}": rng.uniform(0.3, 2) for name in ("item", "rater")}
    return drawn | {"thresholds": np.sort(rng.normal(0, 2, size["level"] - 1))}


def by_hand(parameters, codes):
    """Log-density of the equation in the docstring of the peers."""
    eta = sum(
        parameters[f"sd_{name}"] * parameters[f"z_{name}"][codes[name]]
        for name in ("item", "rater")
    )
    eta = eta + sum(parameters[name][codes[name]] for name in ("gender", "race"))
    cut = np.r_[-np.inf, parameters["thresholds"], np.inf]
    p = expit(cut[codes["level"] + 1] - eta) - expit(cut[codes["level"]] - eta)
    normal = sum(
        stats.norm.logpdf(parameters[x]).sum() for x in ("z_item", "z_rater", "gender", "race")
    )
    half = sum(stats.halfnorm(scale=1.5).logpdf(parameters[f"sd_{x}"]) for x in ("item", "rater"))
    return np.log(p).sum() + normal + half + stats.norm(0, 5).logpdf(parameters["thresholds"]).sum()


def unrestricted(model, parameters):
    """A point where PyMC wants it: on the scale of its transforms."""
    values = {}
    for variable in model.free_RVs:
        transform, x = model.rvs_to_transforms[variable], np.asarray(parameters[variable.name])
        forward = transform.forward(x, *variable.owner.inputs).eval() if transform else x
        values[model.rvs_to_values[variable].name] = forward
    return values


def test_the_pymc_peer_has_the_density_of_the_equation(ratings):
    model = plain_pymc.model(ratings)
    density = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    rng = np.random.default_rng(5)
    for _ in range(3):
        parameters = point(rng, ratings.size)
        assert density(unrestricted(model, parameters)) == pytest.approx(
            by_hand(parameters, ratings.codes), 1e-8
        )


def draws(rng):
    shapes = {"thresholds": 4, "gender": 2, "race": 3}
    return {
        **{name: rng.normal(size=(2, 50, count)) for name, count in shapes.items()},
        "sd_item": rng.random((2, 50)),
        "sd_rater": rng.random((2, 50)),
    }


def test_compared_quantities_do_not_see_the_coding():
    free = draws(np.random.default_rng(1))
    dummy = dict(free)
    for name in ("gender", "race"):
        reference = free[name][..., :1]
        dummy[name] = free[name] - reference
        dummy["thresholds"] = dummy["thresholds"] - reference
    for name, x in common.compared(free).items():
        np.testing.assert_allclose(common.compared(dummy)[name], x, atol=1e-12, err_msg=name)


def test_worst_parameter_is_named():
    broken = draws(np.random.default_rng(2))
    broken["race"][1, :, 2] += 5.0
    statistics = common.summary(broken)
    assert next(iter(statistics["worst"]["rhat"])) == "race[2]"
    assert statistics["rhat_max"] > 1.5
    assert statistics["posterior"]["sd_item"]["mean"] == pytest.approx(broken["sd_item"].mean())


def test_distance_is_in_sds_and_in_monte_carlo_errors():
    base = {"posterior": {"a": {"mean": 1.0, "sd": 2.0, "ess_bulk": 100.0}}}
    other = {"posterior": {"a": {"mean": 2.0, "sd": 2.0, "ess_bulk": 400.0}}}
    distances = table.distance(other, base)
    assert distances["means apart, sd"] == pytest.approx(0.5)
    assert distances["in MC errors"] == pytest.approx(1 / np.sqrt(0.2**2 + 0.1**2))


@pytest.mark.parametrize(("items", "raters"), [(50, 20), (20, 50), (7, 7)])
def test_cells_differ_and_leave_nobody_out(items, raters):
    number = max(items, raters) if items == raters else 200
    item, rater = datasets.cells(
        np.random.default_rng(4), ratings=number, items=items, raters=raters
    )
    assert len(set(zip(item.tolist(), rater.tolist(), strict=True))) == number
    assert (len(set(item)), len(set(rater))) == (items, raters)


def test_made_ratings_have_the_shares_and_groups_asked_for():
    simulated = datasets.simulated(**MADE, seed=1)
    assert (simulated["level"] == 0).mean() == pytest.approx(0.58, abs=1 / 400)
    assert simulated.nunique().to_dict() == {
        "item": 50,
        "rater": 20,
        "gender": 2,
        "race": 3,
        "level": 5,
    }
    assert len(simulated[["rater", "gender", "race"]].drop_duplicates()) == 20
    pd.testing.assert_frame_equal(simulated, datasets.simulated(**MADE, seed=1))


def test_too_few_ratings_are_refused():
    with pytest.raises(ValueError, match="10 ratings cannot reach 50 items and 20 raters"):
        datasets.simulated(**(MADE | {"ratings": 10}), seed=1)


def test_fifths_of_pluriharms_by_hand(tmp_path):
    ratings = {"item": [3, 3, 9, 9], "rater": [0, 1, 0, 1], "rating": [0, 20, 21, None]}
    pd.DataFrame(ratings).to_csv(tmp_path / "pluriharms_ratings.csv", index=False)
    raters = {"rater": [0, 1], "gender": ["Man", "Woman"], "ethnicity": ["x", "y"]}
    pd.DataFrame(raters).to_csv(tmp_path / "pluriharms_raters.csv", index=False)
    fifths = datasets.real(tmp_path)
    assert fifths["level"].tolist() == [0, 0, 1]
    assert fifths["item"].tolist() == [0, 0, 1]
    assert fifths["race"].tolist() == [0, 0, 0]
