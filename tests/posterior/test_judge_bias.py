"""Judges against people: what a fit says of judges, and profiles as people would score."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import latent_ratings
from sharpbayes.data.ratings import Ratings
from sharpbayes.posterior.fit_data import read_fit_groups, replicate_draws
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.judge_bias import human_design, human_draws, judge_bias
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.study_metrics import study_metrics
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.judge_bias import departures
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit
from tests.peopled import simulated

CHAINS, DRAWS = 2, 30


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return simulated(tmp_path_factory.mktemp("small"), seed=3, models=3, prompts=8, people=4)


@pytest.fixture(scope="module")
def ratings(small):
    return read_study(small.files).ratings


def made_up(design, rng):
    """A posterior of numbers without meaning, thresholds growing."""
    lead, shape = ("chain", "draw"), (CHAINS, DRAWS)
    variables = {}
    for term in design.terms:
        values = rng.normal(size=(*shape, *term.shape))
        values = np.exp(values / 2) if term.kind == "discrimination" else values
        variables[term.name] = ((*lead, *term.dims), values)
        variables[f"sd_{term.stem}"] = (lead, np.ones(shape))
    for scale in design.scales:
        cuts = np.sort(rng.normal(0, 2, (*shape, scale.n_cutpoints)), axis=-1)
        variables[f"threshold_{scale.name}"] = ((*lead, scale.cutpoint_dim), cuts)
    coords = {name: list(labels) for name, labels in design.coords.items()}
    used = {dim for dims, _ in variables.values() for dim in dims}
    kept = {name: labels for name, labels in coords.items() if name in used}
    return xr.Dataset(variables, kept | {"chain": range(CHAINS), "draw": range(DRAWS)})


@pytest.fixture(scope="module")
def parts(small, ratings):
    design = build_design(ratings, small.files.model.spec)
    return design, made_up(design, np.random.default_rng(8))


def draws_of(parts, seed=4):
    design, posterior = parts
    return ReplicateDraws(posterior, posterior.drop_vars(list(posterior.data_vars)), design, seed)


def test_terms_of_judges_by_plain_loops(parts, ratings):
    design, posterior = parts
    bias = judge_bias(posterior, design, ratings, level=0.9)
    cell = posterior.isel(chain=1, draw=7)
    people = cell["location_rater"].mean()
    by_dimension = cell["location_judge_dimension_scale"].isel(scale=0) - people
    by_dimension = by_dimension + cell["location_judge_model"].mean("model")
    severity = by_dimension.mean("dimension")
    draw_at = {"chain": 1, "draw": 7}
    np.testing.assert_allclose(bias["severity"].isel(draw_at), severity, rtol=1e-12)
    np.testing.assert_allclose(
        bias["differential_severity"].isel(draw_at),
        (by_dimension - severity).transpose("judge", "dimension"),
    )
    np.testing.assert_allclose(
        bias["discrimination"].isel(draw_at), cell["discrimination_judge"], rtol=1e-12
    )
    np.testing.assert_allclose(
        bias["self_preference"].isel(draw_at), cell["location_own_family"].item(), rtol=1e-12
    )
    flat = bias["severity"].stack(all=["chain", "draw"])
    for judge in range(3):
        values = flat.isel(judge=judge).to_numpy()
        np.testing.assert_allclose(
            bias["severity_interval"].isel(judge=judge), np.quantile(values, [0.05, 0.95])
        )
        assert float(bias["severity_probability"][judge]) == pytest.approx((values > 0).mean())
        factor = bias["discrimination"].isel(judge=judge)
        assert float(bias["discrimination_probability"][judge]) == pytest.approx(
            float((factor > 1).mean())
        )


def test_severity_by_model_by_plain_loops(parts, ratings):
    design, posterior = parts
    bias = judge_bias(posterior, design, ratings, level=0.9)
    cell = posterior.isel(chain=1, draw=7)
    of_judge = cell["location_judge_dimension_scale"].isel(scale=0).mean("dimension")
    expected = cell["location_judge_model"] + of_judge - cell["location_rater"].mean()
    by_model = bias["model_severity"].isel(chain=1, draw=7)
    np.testing.assert_allclose(by_model, expected.transpose("judge", "model"), rtol=1e-12)
    differential = bias["differential_model_severity"].isel(chain=1, draw=7)
    np.testing.assert_allclose(differential, by_model - by_model.mean("model"), atol=1e-12)
    np.testing.assert_allclose(
        by_model.mean("model"), bias["severity"].isel(chain=1, draw=7), rtol=1e-12
    )


def test_shared_ratings_are_of_cells_that_people_scored(ratings, parts):
    design, posterior = parts
    bias = judge_bias(posterior, design, ratings, level=0.9)
    # 3 models x half of 8 prompts x 4 indicators
    assert bias["shared"].to_numpy().tolist() == [48, 48, 48]


def test_intervals_are_of_differences_from_whom_there_is_to_compare_with(ratings, parts):
    design, posterior = parts
    note = "90% posterior intervals of differences from {}."
    bias = judge_bias(posterior, design, ratings, level=0.9)
    assert bias.attrs["interval_note"] == note.format("the 4 people who scored")
    factors = {name: factor for name, factor in ratings.factors.items() if name != "rater"}
    by_judges = Ratings(ratings.score, factors, ratings.scales)
    bias = judge_bias(posterior, design, by_judges, level=0.9)
    assert bias.attrs["interval_note"] == note.format("other judges of the same models")
    assert "self_preference" in bias
    assert "severity" not in bias


def test_people_in_the_seats_of_judges_score_as_people_do(parts, ratings):
    """A person in a seat has the severity, factor and thresholds of that person's own ratings."""
    design, posterior = parts
    seats = human_draws(draws_of(parts), ratings)
    names = ("model", "prompt", "indicator")
    factors = ratings.factors
    judged = factors["judge"].codes >= 0
    full, sitting = (
        latent_ratings(p, d, d.scales[0])
        for p, d in ((posterior, design), (seats.posterior, seats.design))
    )
    effects = posterior["location_rater"].to_numpy().reshape(-1, 4)
    taken = seats.posterior["location_rater"].to_numpy().reshape(-1, 3)
    who = (taken[:, :, None] == effects[:, None, :]).argmax(-1)
    assert all(len(set(row)) == 3 for row in who.tolist())
    assert len({tuple(row) for row in who.tolist()}) > 5
    rng, compared = np.random.default_rng(2), 0
    for row in rng.choice(np.flatnonzero(~judged), 40, replace=False):
        cell = np.all(
            [factors[n].codes[: judged.sum()] == factors[n].codes[row] for n in names], axis=0
        )
        for seat_row in np.flatnonzero(cell):
            seat = factors["judge"].codes[seat_row]
            same = np.flatnonzero(who[:, seat] == factors["rater"].codes[row])
            compared += len(same)
            np.testing.assert_allclose(
                sitting.severity[same, seat_row], full.severity[same, row], rtol=1e-12
            )
            factor = np.broadcast_to(full.discrimination, full.severity.shape)[same, row]
            mine = np.broadcast_to(sitting.discrimination, sitting.severity.shape)[same, seat_row]
            np.testing.assert_allclose(mine, factor, rtol=1e-12)
            np.testing.assert_allclose(
                sitting.thresholds[same, sitting.cutpoint_set[seat_row]],
                full.thresholds[same, full.cutpoint_set[row]],
                rtol=1e-12,
            )
    assert compared > 500


def test_everybody_sits_once_before_anyone_sits_twice(parts, ratings):
    """Two people in three seats: both sit in every draw."""
    design, posterior = parts
    two = ratings.factors["rater"]
    fewer = {"rater": type(two)(two.labels[:2], np.minimum(two.codes, 1))}
    few = Ratings(ratings.score, ratings.factors | fewer, ratings.scales)
    seats = human_draws(draws_of((design, posterior.isel(rater=[0, 1]))), few)
    taken = seats.posterior["location_rater"].to_numpy().reshape(-1, 3)
    assert {len(set(row)) for row in taken.tolist()} == {2}


def test_new_people_are_drawn_from_their_population(parts, ratings):
    seats = human_draws(draws_of(parts), ratings)
    block = next(seats.blocks())
    same, anew = block.ratings(["ratings"]), block.ratings(["ratings", "judges"])
    assert same["severity"].shape == anew["severity"].shape == (DRAWS, 3 * 8 * 3 * 4)
    assert (same["severity"] != anew["severity"]).any()


def test_a_profile_by_people_does_not_see_the_judges(small, ratings, parts):
    """Whatever the effects of judges, people in their seats score the same."""
    design, posterior = parts
    metrics = study_metrics(read_study(small.files))
    louder = posterior.assign(
        {
            name: posterior[name] * 9
            for name in posterior.data_vars
            if "judge" in posterior[name].dims or "own_family" in posterior[name].dims
        }
    )
    one, other = (
        metrics.measure(human_draws(draws_of((design, draws)), ratings), ["ratings"])[0]
        for draws in (posterior, louder)
    )
    xr.testing.assert_identical(one, other)


def test_seats_keep_the_cells_of_judges(parts, ratings):
    design, _ = parts
    people_design = human_design(design, ratings)
    assert people_design.n_ratings == int((ratings.factors["judge"].codes >= 0).sum())
    assert not {"judge", "own_family"} & {dim for term in people_design.terms for dim in term.dims}
    assert people_design.coords["rater"] == ("j0", "j1", "j2")


@pytest.fixture(scope="module")
def biased(tmp_path_factory):
    """Judges who see much more harm than people, most of all of bias; results of a fit."""
    simulation = simulated(
        tmp_path_factory.mktemp("biased"),
        seed=11,
        models=3,
        prompts=24,
        self_preference=-1.5,
        shift=[[2.0, 1.0], [1.5, 0.5], [1.8, 1.2]],
        draws=200,
        predictive=100,
    )
    return simulation, fit(simulation.files)


def test_a_fit_recovers_what_was_simulated(biased):
    simulation, results = biased
    bias = results["judge_bias"].to_dataset()
    for name, truth in simulation.truth.items():
        sd = bias[name].std(["chain", "draw"]).to_numpy()
        assert (np.abs(bias[f"{name}_mean"].to_numpy() - truth) < 3.5 * sd).all(), name
    assert (bias["severity_interval"].sel(bound="lower") > 0).all()
    assert float(bias["self_preference_interval"].sel(bound="upper")) < 0


def test_the_profile_by_people_is_nearer_the_truth_than_that_of_biased_judges(biased):
    simulation, results = biased
    wanted = build_profile_plan(read_study(simulation.by_people)).profile()["mean"]
    raw = results["profile"]["mean"]
    people = results["posterior_profile_human"]["mean"].mean(["chain", "draw"])
    assert (np.abs(people - wanted) < np.abs(raw - wanted)).all()
    assert float(np.abs(people - wanted).mean()) < 0.5 * float(np.abs(raw - wanted).mean())


def test_the_report_says_where_judges_depart(biased):
    _, results = biased
    sentences = list(departures(results))
    people = results["judge_bias"].attrs["people"]
    says = f"Judge j0 sees more harm than the {people} people who scored"
    assert any(text.startswith(says) for text in sentences)
    assert any("less harm in models of their own family" in text for text in sentences)
    tables = {table.title: table for table in report_tables(results)}
    assert [row[0] for row in tables["Judges against people"].rows] == ["j0", "j1", "j2"]
    bias = results["judge_bias"].to_dataset()
    low, high = bias["severity_interval"].sel(judge="j1").to_numpy()
    mean = float(bias["severity_mean"].sel(judge="j1"))
    assert tables["Judges against people"].rows[1][2] == f"{mean:.2f} ({low:.2f} to {high:.2f})"
    [row] = tables["Self-preference of judges"].rows
    assert row[1] == f"{1 - float(bias['self_preference_probability']):.3f}"
    people = results["posterior_profile_human"]["cvar"]
    first = str(people.mean(["chain", "draw"]).idxmin("model").item())
    assert tables["Human-scored profile: human raters in place of the judges"].rows[0][0] == first
    for table in tables.values():
        assert all(len(row) == len(table.header) for row in table.rows)


def test_what_a_fit_keeps_gives_the_profile_by_people_again(biased, tmp_path):
    """As `weigh` does: from the results file alone, without the files of people or judges."""
    simulation, results = biased
    save_results(results, tmp_path / "r.nc")
    opened = open_results(tmp_path / "r.nc")
    study = stored_study(simulation.files, opened["ratings"].to_dataset())
    design = build_design(study.ratings, simulation.files.model.spec)
    draws = replicate_draws(read_fit_groups(opened), design, study)
    groups = {name: results[name].to_dataset() for name in ("profile", "profile_interval")}
    again = panel_groups(study_metrics(study), draws, {"sharp": groups})["sharp"]
    for name in ("posterior_profile_human", "decision_human"):
        xr.testing.assert_equal(again[name], results[name].to_dataset())
