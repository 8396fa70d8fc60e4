"""Sampling again: until a fit has converged, or more draws cannot help."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.sampling.convergence import LIMITS, check_convergence
from sharpbayes.bayes.sampling.retries import (
    StoppingRule,
    attempt_seed,
    explain_stop,
    lengthen,
    sample_until_converged,
)
from sharpbayes.execution.progress import Phase
from sharpbayes.execution.progress import silent as ignore
from sharpbayes.spec.study import Sampler
from tests.bayes.sampling.test_convergence import trace_of, walk


def attempts(rng, *, keeps):
    """A sampler whose draws are correlated by attempt, and what it was asked."""
    asked = []

    def sample(sampler, seed):
        asked.append((sampler.tune, sampler.draws, seed))
        keep = keeps[len(asked) - 1]
        size = (sampler.chains, sampler.draws)
        return trace_of(rng, size=size, x=walk(rng, keep=keep, size=size))

    return sample, asked


def test_retry_stops_at_the_first_that_converged(rng):
    sample, asked = attempts(rng, keeps=(0.98, 0.0))
    messages = []
    _, table = sample_until_converged(
        sample, Sampler(tune=300, draws=400), seed=5, retries=3, progress=messages.append
    )
    assert bool(table["converged"])
    assert asked == [(300, 400, 5), (600, 800, attempt_seed(5, 1))]
    assert table.attrs["attempts"] == 2
    assert (table.attrs["tune"], table.attrs["draws"]) == (600, 800)
    assert any("attempt 2 with 600 tuning steps and 800 draws" in message for message in messages)


def test_retry_ends_and_keeps_the_mark(rng):
    """Chains that mix better each time, but never well enough."""
    sample, asked = attempts(rng, keeps=(0.97, 0.9, 0.9, 0.9))
    _, table = sample_until_converged(
        sample, Sampler(tune=50, draws=50, target_ess=1000), seed=5, retries=3, progress=ignore
    )
    assert not bool(table["converged"])
    assert len({seed for _, _, seed in asked}) == len(asked)
    assert [tune for tune, _, _ in asked] == [50, 100, 200, 400][: len(asked)]


def test_retry_stops_where_chains_explore_different_regions(rng):
    def sample(sampler, _seed):
        size = (sampler.chains, sampler.draws)
        regions = np.array([0.0, 0.0, 0.0, 4.0])[:, None]
        return trace_of(rng, size=size, x=rng.normal(size=size) + regions)

    remarks = []
    _, table = sample_until_converged(
        sample, Sampler(tune=300, draws=400), seed=5, retries=3, progress=remarks.append
    )
    reason = (
        "--retry stops after attempt 1: each chain mixes well by itself and they disagree on x, so "
        "that they explore different regions of the posterior; more draws do not join them."
    )
    assert table.attrs["attempts"] == 1
    assert remarks == [Phase.CONVERGENCE, reason]
    assert table.attrs["suggestions"].startswith(reason)


def test_retry_stops_where_the_remaining_attempts_do_not_reach_a_limit(rng):
    sample, asked = attempts(rng, keeps=(0.998,) * 9)
    _, table = sample_until_converged(
        sample, Sampler(tune=300, draws=1000), seed=5, retries=3, progress=ignore
    )
    assert len(asked) == table.attrs["attempts"] == 2
    assert "--retry stops after attempt 2: " in table.attrs["suggestions"]
    assert "the remaining attempts do not reach it." in table.attrs["suggestions"]


def test_retry_takes_no_pace_from_short_chains(rng):
    """A second attempt that misses more than the first says little of the third."""
    sample, asked = attempts(rng, keeps=(0.9, 0.99, 0.5, 0.5))
    _, table = sample_until_converged(
        sample, Sampler(tune=50, draws=50, max_rhat=1.05), seed=5, retries=3, progress=ignore
    )
    assert len(asked) >= 3
    assert "--retry stops" not in table.attrs["suggestions"]


@pytest.mark.parametrize("retries", [0, 1])
def test_retry_is_suggested_only_where_it_was_not_used(retries, rng):
    sample, asked = attempts(rng, keeps=(0.9,) * 2)
    _, table = sample_until_converged(
        sample, Sampler(tune=50, draws=400), seed=5, retries=retries, progress=ignore
    )
    assert not bool(table["converged"])
    assert len(asked) == retries + 1
    assert "about --set sampler.draws=" in table.attrs["suggestions"]
    assert table.attrs["suggestions"].endswith(" should do, or --retry.") == (retries == 0)


def test_retry_stops_where_draws_are_missing(rng):
    def sample(sampler, _seed):
        x = rng.normal(size=(sampler.chains, sampler.draws))
        x[0, 0] = np.nan
        return trace_of(rng, size=x.shape, x=x)

    _, table = sample_until_converged(
        sample, Sampler(tune=300, draws=400), seed=5, retries=3, progress=ignore
    )
    reason = "--retry stops after attempt 1: x cannot be computed in some draws."
    assert table.attrs["suggestions"].startswith(reason)


def test_without_retry_there_is_one_attempt(rng):
    sample, asked = attempts(rng, keeps=(0.98,) * 9)
    sample_until_converged(sample, Sampler(tune=50, draws=50), seed=5, retries=0, progress=ignore)
    assert len(asked) == 1


def test_what_was_interrupted_is_not_tried_again(rng):
    sample, asked = attempts(rng, keeps=(0.98,) * 9)
    sample_until_converged(
        lambda sampler, seed: sample(sampler.model_copy(update={"draws": 60}), seed),
        Sampler(draws=400),
        seed=5,
        retries=3,
        progress=ignore,
    )
    assert len(asked) == 1


def test_lengths_double_up_to_the_most():
    assert Sampler(draws=300).lengths == (300,)
    assert Sampler().lengths == (250, 500, 1000, 2000, 4000, 8000)
    assert Sampler(max_draws=600).lengths == (250, 500, 600)
    assert Sampler(max_draws=100).lengths == (100,)


def test_chains_stop_at_convergence_or_where_more_draws_cannot_help(rng):
    sampler = Sampler(chains=4)
    size = (4, 250)
    slow = trace_of(rng, size=size, x=walk(rng, keep=0.9, size=size))
    rule = StoppingRule(sampler)
    assert not rule(slow)
    assert rule(trace_of(rng, size=(4, 500), x=rng.normal(size=(4, 500))))
    assert rule.reason == ""
    apart = rng.normal(size=size) + np.array([0.0, 0.0, 0.0, 4.0])[:, None]
    rule = StoppingRule(sampler)
    assert rule(trace_of(rng, size=size, x=apart))
    assert rule.reason.startswith("each chain mixes well by itself and they disagree on x")


@pytest.mark.parametrize("length", [250, 2000])
def test_small_terms_alone_are_asked_first_before_the_last_length(length, rng, monkeypatch):
    size, asked = (4, length), []

    def check(trace, sampler):
        asked.append(sorted(trace["posterior"].data_vars))
        return check_convergence(trace, sampler)

    monkeypatch.setattr("sharpbayes.bayes.sampling.retries.check_convergence", check)
    large = (("chain", "draw", "level"), rng.normal(size=(*size, 20)))
    slow = 1 - 100 / length
    for keep, names in ((slow, [["x"]]), (0.0, [["x"], ["x", "y"]])):
        trace = trace_of(rng, size=size, x=walk(rng, keep=keep, size=size))
        trace["posterior"] = trace["posterior"].to_dataset().assign(y=large)
        assert StoppingRule(Sampler(chains=4))(trace) == (keep == 0.0)
        assert asked == names
        asked.clear()
    # At the last length everything is asked.
    trace = trace_of(rng, size=size, x=walk(rng, keep=slow, size=size))
    StoppingRule(Sampler(chains=4, max_draws=length))(trace)
    assert len(asked) == 1


@pytest.mark.parametrize(("lengths", "stops"), [((250, 500), False), ((1000, 2000), True)])
def test_short_chains_tell_no_pace(lengths, stops, rng):
    """Draws that mix as slowly again at twice the length."""
    rule = StoppingRule(Sampler(max_draws=4000))
    for length, keep in zip(lengths, (0.99, 0.997), strict=True):
        size = (4, length)
        enough = rule(trace_of(rng, size=size, x=walk(rng, keep=keep, size=size)))
    assert enough == stops
    assert ("the remaining attempts do not reach it" in rule.reason) == stops


@pytest.mark.parametrize(("missed", "stops"), [(2.2, False), (2.6, True)])
def test_a_limit_that_twice_the_draws_may_reach_is_no_reason_to_stop(missed, stops, rng):
    """An ESS of 182 of 400 is estimated too roughly to say that 400 will not be reached."""
    trace = trace_of(rng, size=(4, 4000), x=rng.normal(size=(4, 4000)))
    before, table = (
        xr.Dataset({"rhat": ("parameter", [1.0]), "shortfall": ("limit", values)}).assign_coords(
            limit=list(LIMITS)
        )
        for values in ([1.0, 2 * missed, 0.0, 0.0, 0.0], [1.0, missed, 0.0, 0.0, 0.0])
    )
    reason = explain_stop(trace, table, before, remaining=1)
    assert reason.startswith("ESS missed its limit") == stops
    assert bool(reason) == stops


def test_the_reason_why_chains_stopped_leads_the_suggestions(rng):
    size = (4, 250)
    trace = trace_of(rng, size=size, x=walk(rng, keep=0.98, size=size))
    trace.attrs = {"length": 250, "reason": "more draws do not help"}
    _, table = sample_until_converged(
        lambda *_: trace, Sampler(), seed=5, retries=0, progress=ignore
    )
    stopped = "Sampling stopped after 250 draws a chain: more draws do not help. "
    assert table.attrs["suggestions"].startswith(stopped)
    assert table.attrs["draws"] == 250


@pytest.mark.parametrize("draws", [None, 400])
def test_an_open_fit_with_divergences_is_tried_again_with_smaller_steps(draws, rng):
    asked = []

    def sample(sampler, _seed):
        asked.append(sampler.target_accept)
        x = rng.normal(size=(4, 400))
        diverging = rng.random(x.shape) < (0.05 if len(asked) == 1 else 0.0)
        return trace_of(rng, size=x.shape, x=x, diverging=diverging)

    _, table = sample_until_converged(
        sample, Sampler(draws=draws, max_draws=400), seed=5, retries=0, progress=ignore
    )
    assert asked == ([0.8] if draws else [0.8, 0.95])
    assert bool(table["converged"]) == (draws is None)


def test_steps_become_smaller_only_where_some_diverged():
    assert lengthen(Sampler(), diverged=False).target_accept == 0.8
    assert lengthen(lengthen(Sampler(), diverged=True), diverged=True).target_accept == 0.9875
