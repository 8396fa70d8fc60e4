"""Tables of what weights decide."""

import numpy as np
import xarray as xr

from sharpbayes.report.tables.decision import CROWD_SOURCES, MODEL_SOURCES, PAIR_SIZES
from sharpbayes.report.tables.declaration import View, is_allowed


def test_sources_are_those_of_lists_and_not_of_other_groups():
    """Shares, careless raters and people are other questions, whatever sources they name."""
    draws = xr.Dataset({"hm": ("draw", np.zeros(3))})
    several = ["ratings", "items"]
    groups = {
        "posterior_responsiveness": ["ratings"],
        "posterior_responsiveness_ratings_items": several,
        "posterior_responsiveness_shares": ["ratings"],
        "posterior_responsiveness_careless": ["ratings"],
        "posterior_responsiveness_equal": several,
        "posterior_profile": several,
        "posterior_profile_human": several,
        "posterior_profile_ratings": ["ratings"],
    }
    tree = {f"/{name}": draws.assign_attrs(sources=own) for name, own in groups.items()}
    # A list of one is a text where a file was read.
    tree["/posterior_profile_prompts"] = draws.assign_attrs(sources="prompts")
    view = View(xr.DataTree.from_dict(tree))
    assert [row["posterior"] for row in CROWD_SOURCES(view)] == list(groups)[:2]
    assert [row["sources"] for row in CROWD_SOURCES(view)] == ["ratings", "ratings, items"]
    assert [row["posterior"] for row in MODEL_SOURCES(view)] == [
        *("posterior_profile", "posterior_profile_ratings", "posterior_profile_prompts"),
    ]


def test_no_sample_size_is_given_for_pairs_that_cannot_be_compared():
    sizes = xr.Dataset({"difference_width": ("group", [0.1])})
    for same, allowed in ((1, True), (0, False)):
        evidence = xr.Dataset(attrs={"same_labels": same})
        tree = xr.DataTree.from_dict({"/sample_size": sizes, "/evidence": evidence})
        assert is_allowed(PAIR_SIZES, View(tree)) == allowed
