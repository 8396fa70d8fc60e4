"""What results say of the fits that they went on from."""

import json

import xarray as xr

from sharpbayes.report.updates import list_updates, update_provenance, update_sentences

CHAINS = {
    "created": "2026-01-02T03:04:05+00:00",
    "data_sha256": "aa",
    "study_sha256": "bb",
    "posterior_sha256": "cc",
    "data_ratings": 90,
    "new_ratings": 10,
    "method": "chains",
    "reason": "they bring new parameters",
}
WEIGHTED = CHAINS | {
    "data_sha256": "dd",
    "new_ratings": 1,
    "method": "importance sampling",
    "pareto_k": 0.412,
    "effective_draws": 1234.5,
}


def results(*updates):
    return xr.DataTree(xr.Dataset(attrs={"updates": json.dumps(updates)}))


def test_the_last_update_is_a_sentence():
    assert update_sentences(results(CHAINS, WEIGHTED)) == [
        "This fit updates an earlier one: 1 new rating; its draws were weighted and no chain ran "
        "(Pareto k 0.41, 1234 effective draws)."
    ]
    assert update_sentences(results(CHAINS)) == [
        "This fit updates an earlier one: 10 new ratings; chains ran from its draws, because "
        "they bring new parameters."
    ]
    assert update_sentences(xr.DataTree()) == list_updates(xr.DataTree()) == []


def test_digests_are_listed_from_old_to_new():
    (first, text), (second, last) = update_provenance(results(CHAINS, WEIGHTED))
    assert (first, second) == ("Update 1 of", "Update 2 of")
    assert text == (
        "fit of 2026-01-02T03:04:05+00:00: data aa, study bb, posterior cc; 10 new ratings; "
        "chains ran from its draws, because they bring new parameters"
    )
    assert "data dd" in last
