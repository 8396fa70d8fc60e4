"""Chains give the same draws together, one by one, on few processors, or from a store."""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.sampling.chains import chain_seeds
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.nuts import sample_chain, sample_kernel
from sharpbayes.errors import ClusterError
from sharpbayes.execution.tasks import Execution, serial_map, start_actors_here
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of, with_experts

SAMPLER = Sampler(chains=3, tune=60, draws=50)


@pytest.fixture(scope="module")
def design():
    """Few ratings of a crowd and labels of experts, on a scale of their own."""
    rng = np.random.default_rng(20260121)
    ratings = with_experts(crowd_ratings(rng, items=24, raters=10), rng)
    return build_design(ratings, model_of(("item",), ("rater",), experts=True))


@pytest.fixture(scope="module")
def together(design):
    return sample_kernel(design, SAMPLER, seed=5)


def test_a_chain_alone_is_that_chain_of_all(design, together):
    alone = sample_chain(parameter_layout(design), SAMPLER, chain_seeds(5, 3)[1])
    for name in ("logp", "energy", "n_steps"):
        assert np.array_equal(alone[name], together["sample_stats"][name][1])


def test_one_processor_gives_what_many_give(design, together, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    after_one_another = sample_kernel(design, SAMPLER, seed=5)
    for name in together.children:
        assert together[name].to_dataset().identical(after_one_another[name].to_dataset())


def test_more_chains_leave_the_first_as_they_were(design, together):
    more = sample_kernel(design, SAMPLER.model_copy(update={"chains": 4}), seed=5)
    assert np.array_equal(more["sample_stats"]["logp"][:3], together["sample_stats"]["logp"])


def test_chains_differ_from_each_other_and_between_seeds(design, together):
    first = together["sample_stats"]["logp"].to_numpy()
    assert len({tuple(chain) for chain in first}) == 3
    other = sample_kernel(design, SAMPLER, seed=6)["sample_stats"]["logp"].to_numpy()
    assert not np.array_equal(first, other)


def test_every_chain_tells_its_progress(design):
    reported = []
    sample_kernel(
        design,
        SAMPLER,
        seed=5,
        execution=Execution(progress=lambda _, chains: reported.append(chains)),
    )
    assert {len(states) for states in reported} == {3}
    assert [state.finished_draws for state in reported[-1]] == [110] * 3


OPEN = Sampler(chains=3, tune=60, max_draws=1000, target_ess=200, max_rhat=1.05)


@pytest.fixture(scope="module")
def converged(design):
    return sample_kernel(design, OPEN, seed=5)


def test_an_open_number_of_draws_ends_at_a_length_that_is_checked(design, converged):
    length = converged.attrs["length"]
    assert length in OPEN.lengths == (250, 500, 1000)
    assert converged["posterior"].sizes["draw"] == length
    fixed = sample_kernel(design, OPEN.model_copy(update={"draws": length}), seed=5)
    for name in fixed.children:
        assert fixed[name].to_dataset().identical(converged[name].to_dataset())


def test_it_is_the_first_length_at_which_the_fit_has_converged(converged):
    length = converged.attrs["length"]
    assert length < OPEN.lengths[-1]
    for shorter in (n for n in OPEN.lengths if n <= length):
        part = converged.map_over_datasets(
            lambda x, n=shorter: x.isel(draw=slice(n), missing_dims="ignore")
        )
        enough = bool(check_convergence(part, OPEN)["converged"])
        assert enough == (shorter == length)


def test_an_open_number_is_the_same_on_one_processor_and_elsewhere(design, converged, monkeypatch):
    elsewhere = sample_kernel(design, OPEN, seed=5, execution=Execution(serial_map))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    one = sample_kernel(design, OPEN, seed=5)
    for name in converged.children:
        assert converged[name].to_dataset().identical(one[name].to_dataset())
        assert converged[name].to_dataset().identical(elsewhere[name].to_dataset())


class Kept(dict):
    """A store in memory that loses what a killed run had not kept."""

    def put(self, name, part):
        self[name] = part


def test_what_is_kept_is_not_sampled_again(design, converged):
    store = Kept()
    sample_kernel(design, OPEN, seed=5, execution=Execution(store=store))
    lengths = {len(part["energy"]) for part in store.values()}
    assert min(lengths) >= converged.attrs["length"]
    reported = []
    again = sample_kernel(
        design,
        OPEN,
        seed=5,
        execution=Execution(store=store, progress=lambda *x: reported.append(x)),
    )
    assert not reported
    name = next(iter(store))
    store[name] = {key: column[:100] for key, column in store[name].items()}
    resumed = sample_kernel(design, OPEN, seed=5, execution=Execution(store=store))
    for group in converged.children:
        assert converged[group].to_dataset().identical(again[group].to_dataset())
        assert converged[group].to_dataset().identical(resumed[group].to_dataset())


def test_ctrl_c_while_it_is_open_keeps_the_draws_so_far(design):
    def stop(_, chains=()):
        # All chains have 250 draws and go on to 500.
        if chains[0].total_draws >= 60 + 500:
            raise KeyboardInterrupt

    never = OPEN.model_copy(update={"target_ess": 10_000_000, "max_draws": 64_000})
    stopped = sample_kernel(design, never, seed=5, execution=Execution(progress=stop))
    assert stopped.attrs["length"] == never.lengths[-1] > stopped["posterior"].sizes["draw"]
    sizes = stopped["posterior"].sizes
    assert sizes["chain"] * sizes["draw"] >= 3 * 250


def ctrl_c(_, chains=()):
    raise KeyboardInterrupt


def test_ctrl_c_before_any_draw_is_told_as_that(design):
    """Not as a fault of arrays without rows."""
    endless = SAMPLER.model_copy(update={"tune": 1_000_000})
    with pytest.raises(KeyboardInterrupt):
        sample_kernel(design, endless, seed=5, execution=Execution(progress=ctrl_c))


def test_a_fit_in_parts_agrees_within_monte_carlo_error(design, together):
    parts = sample_kernel(design, SAMPLER.model_copy(update={"data_parts": 3}), seed=5)
    for name, draws in together["posterior"].data_vars.items():
        one, other = (x.stack(sample=("chain", "draw")) for x in (draws, parts["posterior"][name]))
        error = one.std("sample") * np.sqrt(2 / one.sizes["sample"])
        far = abs(one.mean("sample") - other.mean("sample")) > 5 * error + 1e-12
        assert not far.any(), name


@pytest.mark.parametrize("answers", [0, 500, 2000])
def test_an_error_of_a_part_ends_sampling_and_keeps_no_draws(design, answers):
    """The sampler itself would not survive an error in a chain."""
    kept = {}

    def start(build, arguments):
        actors, calls = start_actors_here(build, arguments), itertools.count()

        def call(messages):
            if next(calls) >= answers:
                raise ClusterError("no worker")
            return actors(messages)

        return call

    store = SimpleNamespace(get=kept.get, put=kept.__setitem__)
    with pytest.raises(ClusterError, match="no worker"):
        sample_kernel(
            design,
            SAMPLER.model_copy(update={"data_parts": 2}),
            seed=5,
            execution=Execution(store=store, start_actors=start),
        )
    assert not kept


def test_a_fit_in_parts_goes_on_where_its_workers_were_lost(design):
    updates = {"chains": 2, "max_draws": 500, "target_ess": 100_000, "max_depth": 3}
    sampler, kept = OPEN.model_copy(update=updates | {"data_parts": 2}), Kept()

    def start(build, arguments):
        actors = start_actors_here(build, arguments)

        def call(messages):
            if len(kept) == sampler.chains:
                raise ClusterError("no worker")
            return actors(messages)

        return call

    lost = Execution(store=kept, start_actors=start)
    with pytest.raises(ClusterError, match="no worker"):
        sample_kernel(design, sampler, seed=5, execution=lost)
    assert all(250 <= len(part["energy"]) < 500 for part in kept.values())
    before = {name: dict(part) for name, part in kept.items()}
    resumed = sample_kernel(design, sampler, seed=5, execution=Execution(store=kept))
    whole = sample_kernel(design, sampler, seed=5)
    assert resumed["posterior"].sizes["draw"] == 500
    for group in whole.children:
        assert whole[group].to_dataset().identical(resumed[group].to_dataset())
    for name, part in before.items():
        first = len(part["energy"])
        assert np.array_equal(part["energy"], kept[name]["energy"][:first])
