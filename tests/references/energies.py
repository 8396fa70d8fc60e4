"""Fits of slow energies against the same posterior without the effects that make them slow.

A panel of one judge and one indicator has one rating of each answer. The effect of an answer is
then an integral over one normal number, which Gauss-Hermite quadrature takes out of the density:
what remains is some 45 parameters that NUTS samples without difficulty. ``judge_severity`` by
default, with an effect for every answer, has an E-BFMI below 0.3 there; means and sds of the other
parameters should be those of the quadrature.

``python -m tests.references.energies``; some two minutes of processor time a panel.
"""

import sys

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt

from sharpbayes.bayes.sampling.convergence import rhat_and_ess
from tests.references.convergence_rates import sample_by_default
from tests.references.made_panels import make_panel

PANELS, MAX_PROMPTS, NODES = (51, 60), 60, 96
SDS = ("sd_model", "sd_prompt", "sd_model_prompt")
DRAWS = 4000


def marginal_model(design):
    """PyMC's model with the effect of an answer integrated out."""
    terms = {term.stem: term for term in design.terms}
    scale = design.scales[0]
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    with pm.Model() as model:
        sds = {f"sd_{n}": pm.HalfNormal(f"sd_{n}", t.prior.sd.scale) for n, t in terms.items()}
        eta = 0.0
        for name in ("model", "prompt"):
            unit = pm.Normal(f"unit_{name}", shape=terms[name].size)
            eta = eta + (unit * sds[f"sd_{name}"])[terms[name].index]
        ordered = pm.distributions.transforms.ordered
        cuts = pm.Normal(
            "threshold",
            design.thresholds.mean,
            design.thresholds.sd,
            shape=scale.n_cutpoints,
            transform=ordered,
            initval=np.linspace(-1, 1, scale.n_cutpoints),
        )
        severity = eta[scale.rows][:, None] + sds["sd_model_prompt"] * nodes
        edges = pt.concatenate([[-np.inf], cuts, [np.inf]])
        upper, lower = edges[scale.category + 1][:, None], edges[scale.category][:, None]
        share = pm.math.sigmoid(upper - severity) - pm.math.sigmoid(lower - severity)
        integral = pt.dot(share, weights / weights.sum())
        pm.Potential("ratings", pt.log(integral).sum())
    return model


def sample_marginal(design, seed):
    """Draws of the marginal model, parameter by parameter: (chain, draw)."""
    compiled = nutpie.compile_pymc_model(marginal_model(design))
    trace = nutpie.sample(
        compiled, draws=DRAWS, chains=4, seed=seed, progress_bar=False, save_warmup=False
    )
    return dict(split_draws(trace["posterior"].to_dataset(), "threshold"))


def split_draws(posterior, thresholds):
    """Yield the name and draws of each sd and threshold."""
    for name in SDS:
        yield name, posterior[name].transpose("chain", "draw", ...).to_numpy()
    cuts = posterior[thresholds].transpose("chain", "draw", ...).to_numpy()
    for k in range(cuts.shape[-1]):
        yield f"threshold {k + 1}", cuts[..., k]


def sample_panel(number):
    """Facts of the fit by default, its draws and those of the marginal model."""
    facts, ratings = make_panel(number, MAX_PROMPTS)
    if facts["judges"] > 1 or facts["indicators"] * facts["dimensions"] > 1 or facts["trials"] > 1:
        sys.exit(f"panel {number} has several ratings of an answer")
    design, trace, table = sample_by_default(ratings, "judge_severity", number)
    posterior = trace["posterior"].to_dataset()
    name = f"threshold_{design.scales[0].name}"
    return table, dict(split_draws(posterior, name)), sample_marginal(design, number)


def compare_draws(fitted, marginal):
    """Mean, sd and ESS of both, and the difference of the means in standard errors."""
    numbers = [
        (x.mean(), x.std(), float(np.minimum(*rhat_and_ess(x[None])[1:])[0]))
        for x in (fitted, marginal)
    ]
    error = np.sqrt(sum(sd**2 / ess for _, sd, ess in numbers))
    return numbers, (numbers[0][0] - numbers[1][0]) / error


def main():
    """Print the table."""
    print("| panel | parameter | by default | ESS | without cells | ESS | difference / error |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for number in map(int, sys.argv[1:] or PANELS):
        table, fitted, marginal = sample_panel(number)
        for name, draws in fitted.items():
            ((mean, sd, ess), (of_mean, of_sd, of_ess)), z = compare_draws(draws, marginal[name])
            print(
                f"| {number} | {name} | {mean:.3f} (sd {sd:.3f}) | {ess:.0f} | {of_mean:.3f} "
                f"(sd {of_sd:.3f}) | {of_ess:.0f} | {z:.1f} |"
            )
        print(
            f"{number}: converged {int(table['converged'])}, {table.attrs['draws']} draws, E-BFMI "
            f"{float(table['bfmi'].min()):.2f}, ESS of the log density "
            f"{float(table['logp_ess']):.0f}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
