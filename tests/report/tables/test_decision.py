"""Tables of what weights decide."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.tables.decision import (
    CROWD_SOURCES,
    GROUP_SIZES,
    MODEL_SOURCES,
    MODEL_TABLES,
    PAIR_SIZES,
)
from sharpbayes.report.tables.declaration import View, build_tables, is_allowed
from tests.report.hand_made import ALL, add, evidence, fitted_panel


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


def test_where_raters_alone_add_more_than_the_width_more_of_them_are_asked_for():
    """Raters add sqrt(0.15^2 - 0.1^2) = 0.11 to the first, sqrt(0.11^2 - 0.1^2) = 0.046 to g=y."""
    metrics, groups = ["mpa", "wra", "hm"], {"group": ["g=x", "g=y"]}
    more = xr.DataArray([[120.0, 120.0]] * 3, groups | {"metric": metrics}, ("metric", "group"))
    note = "Intervals: 95%; they contain which items there are, with these raters."
    size = xr.Dataset(
        {
            **{name: ("group", [0.8, 0.7]) for name in ("hm", "rank", "ratings")},
            "width": more * 0 + 0.1,
            "additional_ratings": more,
        },
        groups | {"grouping": ("group", ["g", "g"])},
        {"target_interval_width": 0.05, "interval_note": note},
    )
    bounds = xr.DataArray(
        [[[0.2, 0.35]], [[0.2, 0.31]]],
        groups | {"by": ["all"], "bound": ["lower", "upper"]},
        ("group", "by", "bound"),
    )
    whole = xr.Dataset({f"{name}_interval": bounds for name in metrics})
    tree = xr.DataTree.from_dict({"/sample_size": size, "/responsiveness": whole})
    [table] = build_tables([GROUP_SIZES], tree)
    assert {row[0]: row[-1] for row in table.rows} == {"g=x": "more raters", "g=y": "120"}
    assert table.note == (
        "More ratings, of further items and as many an item as now, for an interval over items of "
        f"width 0.05: intervals narrow with the root of the number of items. {note} No item "
        "narrows what the choice of raters adds: where that alone makes an interval wider than "
        '0.05, the table says "more raters".'
    )


def test_groups_that_cannot_be_compared_have_no_rank_and_keep_their_order():
    groups = {"group": ["g=x", "g=y"]}
    size = xr.Dataset(
        {
            **{name: ("group", [0.1, 0.8]) for name in ("hm", "width", "ratings")},
            "rank": ("group", [2.0, 1.0]),
            "additional_ratings": (("metric", "group"), np.full((3, 2), 9.0)),
        },
        groups | {"grouping": ("group", ["g", "g"]), "metric": ["mpa", "wra", "hm"]},
        {"target_interval_width": 0.05},
    )
    shown = {}
    for same in (1, 0):
        evidence = xr.Dataset(attrs={"same_labels": same})
        tree = xr.DataTree.from_dict({"/sample_size": size, "/evidence": evidence})
        [table] = build_tables([GROUP_SIZES], tree)
        shown[same] = table.title, table.header[:3], [row[0] for row in table.rows]
    assert shown[1] == (
        "Sample size by group, the most responsive of a grouping first",
        ("group", "rank", "HM"),
        ["g=y", "g=x"],
    )
    assert shown[0] == ("Sample size by group", ("group", "HM", "width"), ["g=x", "g=y"])


def decided(**known):
    """A fit of three models that selects ``b``, with a table of the decision."""
    results = add(fitted_panel(), **known)
    decision = results["decision"].to_dataset()
    none = xr.zeros_like(decision["prob_admissible"])
    pairs = xr.DataArray(np.zeros((3, 3)), dims=("model", "other")).assign_coords(
        model=["a", "b", "c"], other=["a", "b", "c"]
    )
    decision = decision.assign(
        expected_loss=none,
        expected_loss_mcse=none,
        prob_best=none,
        prob_best_mcse=none,
        prob_less=pairs,
        unresolved=pairs.astype(bool),
        prob_tier=none.expand_dims(tier=[1]).transpose("model", "tier"),
    ).assign_attrs(interval_note="95% intervals.")
    draws = xr.zeros_like(none).expand_dims(chain=[0], draw=[0, 1])
    posterior = xr.Dataset({"cvar": draws}, attrs={"sources": ["ratings"], "level": 0.95})
    return add(results, decision=decision, posterior_profile=posterior)


def show(results):
    """The table of the decision."""
    [table] = build_tables(MODEL_TABLES[:1], results)
    return table


@pytest.mark.parametrize(("carried", "is_advice"), [(ALL, True), (["admissible"], False)])
def test_a_choice_that_the_evidence_does_not_carry_is_no_recommendation(carried, is_advice):
    table = show(decided(evidence=evidence("abc", carried=carried)))
    sentence = "The evidence does not carry this choice: it is no recommendation."
    assert table.note.endswith(sentence) != is_advice
    assert "b (selected)" in [row[0] for row in table.rows]


def test_a_selection_that_unseen_ends_could_change_says_on_what_it_depends():
    """a lies 2 above b: 1% of prompts at the end of the scale would add 2.8."""
    known = evidence("abc").assign(unseen_end_share=("model", [0.0, 0.01, 0.0]))
    results = decided(evidence=known.assign_attrs(epsilon=1e-6, alpha=0.95))
    text = "b is selected if answers at the end of the scale, of which it shows none, are as "
    assert text in show(results).note
    decision = results["decision"].to_dataset().assign_attrs(criterion="policy_score")
    assert text not in show(add(results, decision=decision)).note
    results["evidence"]["unseen_end_share"][:] = 0
    assert text not in show(results).note
