"""Convergence: numbers against ArviZ's own, verdicts on chains that are bad in a known way."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.sampling.convergence import check_convergence, shift_by_divergences
from sharpbayes.spec.study import Sampler

CHAINS, DRAWS = 4, 1000


def trace_of(rng, *, size=(CHAINS, DRAWS), **variables):
    """A trace of these variables, whose sampler had nothing to complain of."""
    parameters = {name: values for name, values in variables.items() if name not in STATISTICS}
    posterior = xr.Dataset(
        {
            name: (("chain", "draw", *[f"{name}_dim"] * (values.ndim - 2)), values)
            for name, values in parameters.items()
        },
        {"chain": range(size[0]), "draw": range(size[1])},
    )
    clean = {
        "diverging": np.zeros(size, dtype=bool),
        "energy": rng.normal(size=size),
        "logp": rng.normal(size=size),
        "depth": np.full(size, 3),
    }
    statistics = {
        name: (("chain", "draw"), variables.get(name, values)) for name, values in clean.items()
    }
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset(statistics)})


STATISTICS = ("diverging", "energy", "logp", "depth")


def walk(rng, *, keep, size=(CHAINS, DRAWS)):
    """Autoregressive chains: correlation ``keep`` from draw to draw."""
    noise = rng.normal(size=size) * np.sqrt(1.0 - keep**2)
    values = np.empty(size)
    values[:, 0] = rng.normal(size=size[0])
    for draw in range(1, size[1]):
        values[:, draw] = keep * values[:, draw - 1] + noise[:, draw]
    return values


@pytest.mark.parametrize("draws", [1000, 501])
def test_numbers_are_those_of_arviz(rng, draws):
    size = (CHAINS, draws)
    ties = np.round(walk(rng, keep=0.5, size=size), 1)
    several = np.stack([walk(rng, keep=keep, size=size) for keep in (0.0, 0.9, 0.99)], axis=-1)
    trace = trace_of(rng, size=size, ties=ties, several=several)
    table = check_convergence(trace, Sampler())
    posterior = trace["posterior"].to_dataset()
    for name, wanted in (
        ("rhat", az.rhat(posterior)),
        ("ess_bulk", az.ess(posterior, method="bulk")),
        ("ess_tail", az.ess(posterior, method="tail", prob=(0.05, 0.95))),
    ):
        numbers = table[name].to_numpy()
        assert numbers[0] == pytest.approx(float(wanted["ties"]), rel=1e-12)
        assert numbers[1:] == pytest.approx(wanted["several"].to_numpy(), rel=1e-12)
    energies = trace["sample_stats"]["energy"]
    assert table["bfmi"].to_numpy() == pytest.approx(az.bfmi(energies.to_numpy()))
    logp = xr.Dataset({"logp": trace["sample_stats"]["logp"]})
    ess = [az.ess(logp, method="bulk"), az.ess(logp, method="tail", prob=(0.05, 0.95))]
    assert float(table["logp_ess"]) == pytest.approx(min(float(x["logp"]) for x in ess))
    assert float(table["logp_rhat"]) == pytest.approx(float(az.rhat(logp)["logp"]))


def test_many_blocks_keep_their_order(rng):
    many = rng.normal(size=(CHAINS, 200, 300))
    many[:, :, 170] += np.arange(CHAINS)[:, None]
    size = (CHAINS, 200)
    table = check_convergence(trace_of(rng, size=size, many=many), Sampler())
    assert int(np.argmax(table["rhat"].to_numpy())) == 170


def test_good_chains_converge(rng):
    table = check_convergence(trace_of(rng, x=rng.normal(size=(CHAINS, DRAWS))), Sampler())
    assert bool(table["converged"])
    assert (table.attrs["convergence_issues"], table.attrs["suggestions"]) == ("", "")


def test_what_never_varies_does_not_count(rng):
    x = rng.normal(size=(CHAINS, DRAWS, 3))
    x[..., 1], x[..., 2] = 1.0, np.nan
    table = check_convergence(trace_of(rng, x=x), Sampler())
    assert bool(table["converged"])
    assert np.isnan(table["rhat"].to_numpy()).tolist() == [False, True, True]


def test_one_missing_draw_fails(rng):
    x = rng.normal(size=(CHAINS, DRAWS))
    x[2, 17] = np.nan
    table = check_convergence(trace_of(rng, x=x), Sampler())
    assert table.attrs["convergence_issues"] == "missing in some draws: x"


def test_chains_that_never_moved_fail(rng):
    stuck = np.repeat(rng.normal(size=(CHAINS, 1)), DRAWS, axis=1)
    table = check_convergence(trace_of(rng, stuck=stuck), Sampler())
    assert "R-hat (up to inf) misses its limit for stuck" in table.attrs["convergence_issues"]


def test_chains_apart_are_told_from_too_few_draws(rng):
    apart = rng.normal(size=(CHAINS, DRAWS)) + np.array([0.0, 0.0, 0.0, 4.0])[:, None]
    checked = check_convergence(trace_of(rng, apart=apart), Sampler())
    assert "Chains disagree, most of all on apart" in checked.attrs["suggestions"]
    slow = check_convergence(
        trace_of(rng, slow=walk(rng, keep=0.85)), Sampler(draws=DRAWS, max_rhat=1.05)
    )
    assert "bulk ESS (down to" in slow.attrs["convergence_issues"]
    assert "Mixing is slow: about --set sampler.draws=" in slow.attrs["suggestions"]
    assert "disagree" not in slow.attrs["suggestions"]


def test_enough_draws_are_named(rng):
    """With the draws that it names, the same chains pass."""
    slow = check_convergence(
        trace_of(rng, slow=walk(rng, keep=0.85)), Sampler(draws=DRAWS, max_rhat=1.05)
    )
    draws = int(slow.attrs["suggestions"].split("draws=")[1].split()[0])
    size = (CHAINS, draws)
    enough = trace_of(rng, size=size, slow=walk(rng, keep=0.85, size=size))
    assert bool(check_convergence(enough, Sampler(draws=DRAWS, max_rhat=1.05))["converged"])


def test_a_large_term_is_held_to_less(rng):
    """An R-hat that 20 effects may have fails a term of 5."""
    shift = np.linspace(-0.2, 0.2, CHAINS)[:, None]
    one = rng.normal(size=(CHAINS, DRAWS)) + shift
    few = np.stack([one] * 5, axis=-1)
    many = np.stack([one] * 20, axis=-1)
    assert 1.005 < az.rhat(one) < 1.02
    limits = Sampler(max_rhat=1.005, target_ess=1)
    assert bool(check_convergence(trace_of(rng, many=many), limits)["converged"])
    assert not bool(check_convergence(trace_of(rng, few=few), limits)["converged"])


def test_divergences_are_placed(rng):
    sd = np.exp(rng.normal(size=(CHAINS, DRAWS)))
    other = np.exp(rng.normal(size=(CHAINS, DRAWS)))
    trace = trace_of(rng, sd_rater=sd, sd_item=other, diverging=sd < 0.3)
    table = check_convergence(trace, Sampler())
    count, share = int((sd < 0.3).sum()), (sd < 0.3).mean()
    diverged = f"{count} transitions diverged, {share:.2%} of all (at most 1.00%)"
    assert diverged in table.attrs["convergence_issues"]
    assert "mostly where sd_rater is small" in table.attrs["suggestions"]
    assert "target_accept=0.95;" in table.attrs["suggestions"]


def test_energy_and_depth_have_limits(rng):
    x = rng.normal(size=(CHAINS, DRAWS))
    energy = walk(rng, keep=0.95)
    slow = check_convergence(trace_of(rng, x=x, energy=energy, logp=-energy), Sampler())
    assert "E-BFMI down to 0." in slow.attrs["convergence_issues"]
    assert bool(
        check_convergence(trace_of(rng, x=x, energy=walk(rng, keep=0.5)), Sampler())["converged"]
    )
    assert "the log density has an R-hat of 1.0" in slow.attrs["convergence_issues"]
    depth = np.where(rng.random((CHAINS, DRAWS)) < 0.25, 10, 6)
    deep = check_convergence(trace_of(rng, x=x, depth=depth), Sampler())
    assert "25% of transitions ended at the largest depth 10" in deep.attrs["convergence_issues"]
    assert "max_depth=12" in deep.attrs["suggestions"]
    allowed = Sampler(max_depth_share=0.5)
    assert bool(check_convergence(trace_of(rng, x=x, depth=depth), allowed)["converged"])


def test_slow_energies_pass_where_chains_are_long_enough_for_them(rng):
    x, energy = rng.normal(size=(CHAINS, DRAWS)), walk(rng, keep=0.95)
    slow = trace_of(rng, x=x, energy=energy, logp=-energy)
    short = check_convergence(slow, Sampler())
    assert not short["converged"]
    assert float(short["logp_ess"]) < 100
    assert 1 < float(short["shortfall"].sel(limit="E-BFMI")) < 10
    # A single effect needs a quarter of what a scale needs.
    needs_less = Sampler(target_ess=4 * int(short["logp_ess"]), max_rhat=1.05)
    long = check_convergence(slow, needs_less)
    assert float(long["bfmi"].min()) < 0.3
    assert bool(long["converged"])
    needs_more = needs_less.model_copy(update={"target_ess": 4 * int(short["logp_ess"]) + 4})
    assert not check_convergence(slow, needs_more)["converged"]


def test_energies_are_not_compared_between_chains(rng):
    """Those of a chain contain a constant of its own, the log determinant of its masses."""
    x, logp = rng.normal(size=(CHAINS, DRAWS)), rng.normal(size=(CHAINS, DRAWS))
    energy = walk(rng, keep=0.95) + 100.0 * np.arange(CHAINS)[:, None]
    table = check_convergence(trace_of(rng, x=x, energy=energy, logp=logp), Sampler())
    assert float(table["bfmi"].max()) < 0.3
    assert bool(table["converged"])


def heavy_by_turns(rng):
    """Independent signs whose size wanders: the middle mixes well, the tails do not."""
    return rng.normal(size=(CHAINS, DRAWS)) * np.exp(walk(rng, keep=0.99))


LIMITS = {
    "R-hat": (lambda rng: {"x": walk(rng, keep=0.97)}, {"max_rhat": 2.0, "target_ess": 1}),
    "bulk ESS": (lambda rng: {"x": walk(rng, keep=0.9)}, {"max_rhat": 2.0, "target_ess": 1}),
    "tail ESS": (lambda rng: {"x": heavy_by_turns(rng)}, {"max_rhat": 2.0, "target_ess": 1}),
    "diverged": (
        lambda rng: {"diverging": rng.random((CHAINS, DRAWS)) < 0.03},
        {"max_divergence_share": 0.1},
    ),
    "E-BFMI": (
        lambda rng: {name: walk(rng, keep=0.97) for name in ("energy", "logp")},
        {"min_bfmi": 0.01},
    ),
    "largest depth": (
        lambda rng: {"depth": np.where(rng.random((CHAINS, DRAWS)) < 0.5, 10, 6)},
        {"max_depth_share": 0.9},
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_fails_a_fit_and_is_the_study_s(rng, name):
    make, loose = LIMITS[name]
    trace = trace_of(rng, **{"x": rng.normal(size=(CHAINS, DRAWS))} | make(rng))
    checked = check_convergence(trace, Sampler())
    assert not bool(checked["converged"])
    assert name in checked.attrs["convergence_issues"]
    assert checked.attrs["suggestions"]
    assert bool(check_convergence(trace, Sampler(**loose))["converged"])
    if name == "tail ESS":
        assert "bulk ESS" not in checked.attrs["convergence_issues"]


def test_few_divergences_that_bias_nothing_are_described_and_pass(rng):
    """The number that passes grows with the number of draws."""
    x = rng.normal(size=(CHAINS, DRAWS))
    diverging = np.zeros(x.shape, dtype=bool)
    diverging.flat[::400] = True
    x[diverging] += 1.5
    table = check_convergence(trace_of(rng, x=x, diverging=diverging), Sampler())
    assert bool(table["converged"])
    shift = float(table["divergence_shift"].max())
    assert 0.001 < shift < 0.025
    assert table.attrs["divergence_note"] == (
        "10 transitions diverged (0.25%). Counted twice, these draws move the mean of a parameter "
        f"by {shift:.3f} of its posterior sd at most."
    )


def test_a_shift_that_rounds_to_nothing_is_no_number(rng):
    x = rng.normal(size=(CHAINS, DRAWS))
    diverging = np.zeros(x.shape, dtype=bool)
    diverging.flat[np.abs(x).argmin()] = True
    table = check_convergence(trace_of(rng, x=x, diverging=diverging), Sampler())
    assert table.attrs["divergence_note"].endswith(
        "move the mean of a parameter by less than 0.001 of its posterior sd."
    )


def test_a_share_of_divergences_that_rounds_to_nothing_is_no_zero(rng):
    x = rng.normal(size=(CHAINS, 4 * DRAWS))
    diverging = np.zeros(x.shape, dtype=bool)
    diverging.flat[np.abs(x).argmin()] = True
    table = check_convergence(trace_of(rng, size=x.shape, x=x, diverging=diverging), Sampler())
    note = table.attrs["divergence_note"]
    assert note.startswith("1 transition diverged (below 0.01%). Counted twice, ")


def test_few_divergences_that_bias_a_parameter_fail(rng):
    x = rng.normal(size=(CHAINS, DRAWS))
    x.flat[::130] = 8.0
    diverging = x == 8.0
    table = check_convergence(trace_of(rng, x=x, diverging=diverging), Sampler())
    expected = diverging.mean() / (1 + diverging.mean()) * (8.0 - x.mean()) / x.std()
    assert float(table["divergence_shift"][0]) == pytest.approx(expected)
    assert table.attrs["convergence_issues"] == (
        f"31 transitions diverged and bias x by {expected:.3f} of its sd (at most 0.025)"
    )
    assert float(table["shortfall"].sel(limit="divergences")) == pytest.approx(expected / 0.025)


def test_without_divergences_nothing_shifts(rng):
    x = rng.normal(size=(2, CHAINS, DRAWS))
    assert shift_by_divergences(x, np.zeros((CHAINS, DRAWS), dtype=bool)).tolist() == [0.0, 0.0]
