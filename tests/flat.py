"""A posterior in which nothing has an effect and every level is about as frequent."""

import numpy as np
import xarray as xr


def flat(design, shape):
    """Draws of a cumulative model with a logit link, so many chains and draws."""
    chains, draws = shape
    found = {
        term.name: (term.dims, np.full(term.shape, float(term.kind == "discrimination")))
        for term in design.terms
    }
    for scale in design.scales:
        share = np.arange(1, len(scale.labels)) / len(scale.labels)
        found[f"threshold_{scale.name}"] = ((scale.cutpoint_dim,), np.log(share / (1 - share)))
    held = xr.Dataset(found)
    held = held.assign_coords({dim: np.arange(size) for dim, size in held.sizes.items()})
    return held.expand_dims({"chain": np.arange(chains), "draw": np.arange(draws)})
