"""Chains give the same draws together, one by one, on few processors, or from a store."""

import os

import numpy as np
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.sampling.chains import chain_seeds
from sharpbayes.bayes.sampling.nuts import sample_chain, sample_kernel
from sharpbayes.execution.tasks import Execution
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Sampler

SAMPLER = Sampler(chains=3, tune=60, draws=50)


@pytest.fixture(scope="module")
def design():
    files = load_study("quickstart_crowd")
    return build_design(read_study(files).ratings, files.model.spec)


@pytest.fixture(scope="module")
def together(design):
    return sample_kernel(design, SAMPLER, seed=5)


def test_a_chain_alone_is_that_chain_of_all(design, together):
    alone = sample_chain(design, parameter_layout(design), SAMPLER, chain_seeds(5, 3)[1])
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
    seen = []
    sample_kernel(
        design,
        SAMPLER,
        seed=5,
        execution=Execution(progress=lambda _, chains: seen.append(chains)),
    )
    assert {len(states) for states in seen} == {3}
    assert [state.finished_draws for state in seen[-1]] == [110] * 3


def ctrl_c(_, chains=()):
    raise KeyboardInterrupt


def test_ctrl_c_before_any_draw_is_told_as_that(design):
    """Not as a fault of arrays without rows."""
    endless = SAMPLER.model_copy(update={"tune": 1_000_000})
    with pytest.raises(KeyboardInterrupt):
        sample_kernel(design, endless, seed=5, execution=Execution(progress=ctrl_c))
