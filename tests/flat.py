"""A posterior in which nothing has an effect and every level is about as frequent."""

import numpy as np
import xarray as xr


def flat(design, shape):
    """Draws of a cumulative model with a logit link, so many chains and draws."""
    chains, draws = shape
    values = {
        term.name: (term.dims, np.full(term.shape, float(term.kind == "discrimination")))
        for term in design.terms
    }
    for term in (term for term in design.terms if term.correlation):
        dim = term.dims[-1]
        values[f"correlation_{term.stem}"] = ((dim, f"{dim}_other"), np.eye(term.shape[-1]))
    for scale in design.scales:
        share = np.arange(1, len(scale.labels)) / len(scale.labels)
        values[f"threshold_{scale.name}"] = ((scale.cutpoint_dim,), np.log(share / (1 - share)))
    posterior = xr.Dataset(values)
    posterior = posterior.assign_coords(
        {dim: np.arange(size) for dim, size in posterior.sizes.items()}
    )
    return posterior.expand_dims({"chain": np.arange(chains), "draw": np.arange(draws)})
