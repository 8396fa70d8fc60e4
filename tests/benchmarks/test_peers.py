"""The peers' model against its equation by hand, what is compared, and simulated ratings."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from tests.benchmarks import datasets
from tests.benchmarks.peers import brms_threads, common, page, plain_pymc, table, xfx

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


def test_csv_without_populations(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,level\n0,0,1\n1,0,0\n", encoding="utf-8")
    plain = common.read(path)
    assert (plain.size, plain.populations) == ({"item": 2, "rater": 1, "level": 2}, [])
    free = {
        "sd_item": np.ones((2, 9)),
        "sd_rater": np.ones((2, 9)),
        "thresholds": np.ones((2, 9, 3)),
    }
    assert list(common.parameters(free))[-1] == "thresholds[2]"
    assert list(common.compared(free))[2:4] == [
        "threshold[1]-threshold[0]",
        "threshold[2]-threshold[0]",
    ]
    assert common.compared(free)["threshold_at_mean[1]"].shape == (2, 9)


def test_students_of_insteval_are_the_raters(tmp_path):
    path = tmp_path / "insteval.csv"
    pd.DataFrame({"s": [1, 1, 7], "d": [9, 12, 9], "dept": 2, "y": [5, 3, 4]}).to_csv(path)
    table = datasets.insteval(path, None)
    assert table.to_dict("list") == {"item": [0, 1, 0], "rater": [0, 0, 1], "level": [2, 0, 1]}
    assert len(datasets.insteval(path, 2)) == 2


def test_chains_that_were_stopped_are_cut_to_the_shortest():
    long, short = np.arange(40.0).reshape(10, 4), np.arange(24.0).reshape(6, 4)
    kept = xfx.draws_of([long, short], tune=2)
    assert kept["thresholds"].shape == (2, 4, 2)
    assert kept["sd_item"][0].tolist() == [8.0, 12.0, 16.0, 20.0]
    # At most half is left out.
    assert xfx.draws_of([long, short], tune=500)["sd_rater"].shape == (2, 3)


def test_chain_of_gibbs_stops_in_time_and_after_its_last_iteration(monkeypatch, ratings):
    effects = [np.array([0.5]), np.zeros(3), np.zeros(2)]
    state = (effects, np.array([4.0, 0.25]), np.array([0.0, 1.0]))
    monkeypatch.setattr(xfx, "iterations_of", lambda _: iter([state] * 5))
    chain = {"ratings": ratings, "source": None, "seed": 1}
    rows = xfx.drawn(xfx.Chain(**chain, iterations=3, stop=np.inf))
    assert rows.tolist() == [[0.5, 2.0, -0.5, 0.5]] * 3
    assert len(xfx.drawn(xfx.Chain(**chain, iterations=3, stop=0.0))) == 1


def test_draws_of_stan_by_the_names_of_the_peers(tmp_path):
    size = {"item": 2, "rater": 2, "level": 3}
    ratings = common.Ratings(dict.fromkeys(size, np.zeros(1, int)), size)
    named = brms_threads.columns({"item": 2, "rater": 1, "brms": "2"}, ratings)
    assert named == {
        "sd_item": ["sd_2.1"],
        "sd_rater": ["sd_1.1"],
        "thresholds": ["b_Intercept.1", "b_Intercept.2"],
    }
    lines = ["# Adaptation", "lp__,divergent__,sd_1.1,sd_2.1,b_Intercept.1,b_Intercept.2"]
    lines += [f"0,0,{k},2,3,4" for k in range(4)] + ["0,0,1"]
    path = tmp_path / "draws.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    wanted = [place for places in named.values() for place in places]
    chain = brms_threads.chain_of(path, wanted, ended=False)
    draws = brms_threads.draws_of([chain, chain[1:]], named)
    assert draws["sd_rater"].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert draws["thresholds"].shape == (2, 3, 2)


def run_of(name, **parts):
    driver = {"wall": 10.0, "processor": 12.0, "status": 0, "limit": 60.0, "load_before": 0.5}
    driver |= {"day": "2026-01-01", "commit": "abc"} | parts.pop("driver", {})
    return {"run": name, "driver": driver} | parts


def test_rows_of_the_page():
    posterior = {"sd_item": {"mean": 1.0, "sd": 0.1, "ess_bulk": 100.0}}
    settings = {"chains": 2, "draws": 50, "ratings": 2000, "item": 20, "rater": 10, "level": 5}
    common_parts = {"posterior": posterior, "rhat_max": 1.06}
    ours = run_of("ours", ess_bulk_min=800.0, **common_parts | {"rhat_max": 1.0}, settings=settings)
    moved = {"sd_item": {"mean": 1.05, "sd": 0.1, "ess_bulk": 20.0}}
    slow = common_parts | {"posterior": moved, "settings": settings, "divergences": 3}
    xfx_run = run_of("xfx", ess_bulk_min=20.0, draws=30, stopped=True, **slow)
    killed = run_of("numpyro", driver={"status": -9, "wall": 60.0})
    mode = run_of("tmb", posterior={"sd_item": {"mean": 0.9, "sd": None}}, versions={"TMB": "1"})
    assert page.sampled_row(ours, ours)[1:9] == [
        "2 x 50",
        "10.0",
        "12.0",
        "800",
        "1.000",
        "80",
        "",
        "",
    ]
    assert page.sampled_row(xfx_run, ours) == [
        "`xfx.olm`",
        "2 x 30",
        "10.0",
        "12.0",
        "20",
        "1.060",
        "2",
        "40",
        "0.50",
        "stopped at 60 s, not converged, 3 divergences",
    ]
    assert page.sampled_row(killed, ours)[-1] == "no answer in 60 s"
    text = page.text([killed, mode, xfx_run, ours])
    assert text.startswith("2,000 ratings of 20 items by 10 raters, 5 categories; 2026-01-01")
    assert "| TMB by hand | 10.0 | 12.0 | 1.00 |  |" in text
    assert text.index("sharpbayes") < text.index("xfx") < text.index("NumPyro")


def test_a_table_of_the_page_is_replaced():
    before = "a\n<!-- table x -->\nold\n<!-- end of table -->\nb"
    assert page.put(before, "x", "new\n") == (
        "a\n<!-- table x -->\n\nnew\n\n<!-- end of table -->\nb"
    )


def test_too_few_draws_have_no_summary(tmp_path):
    laps, out = common.Laps({"sampling": 1.0}), tmp_path / "run.json"
    few = {"sd_item": np.empty((2, common.FEWEST - 1))}
    common.finish({"draws": 7}, few, laps, divergences=0, differs=[], out=out)
    assert json.loads(out.read_text()) == {"draws": 7, "seconds": {"sampling": 1.0}, "differs": []}
