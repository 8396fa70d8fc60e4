"""Raters weighted to the shares of a target population."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.study import read_study
from sharpbayes.analysis.target_population import (
    population_counts,
    population_group,
    population_responsiveness,
    population_weights,
)
from sharpbayes.errors import SpecError
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.check import check


@pytest.fixture
def study():
    """The quickstart's crowd."""
    return read_study(load_study("quickstart_crowd"))


def weights_of(**population):
    """A weights file with shares of groups."""
    spec = {"schema": "sharpbayes/weights/2", "title": "t", "population": population}
    return SpecFile(Path("w.toml"), "", (), Weights.model_validate(spec))


def test_a_crowd_without_weights_has_no_target_population(study):
    assert population_group(study) == {}


def test_rater_shares_are_weighed_as_by_plain_loops(study):
    """Weighted plurality, and WRA from it, item by item."""
    data = study.data
    gender = data.rater_columns["gender"]
    shares = {"Woman": 0.9, "Man": 0.1}
    rater = population_weights(data, weights_of(gender=shares))
    for label, share in shares.items():
        assert rater[gender == label].sum() / rater.sum() == pytest.approx(share)
    scores = xr.DataArray(data.score, dims="rating")
    metrics = population_responsiveness(study, population_counts(study, rater, scores))
    pairs = []
    for item in range(len(data.item.labels)):
        rows = np.flatnonzero(data.item.codes == item)
        weight = [
            sum(rater[data.rater.codes[r]] for r in rows if data.score[r] == s) for s in range(5)
        ]
        score = max(s for s in range(5) if weight[s] > max(weight) - 1e-9)
        pairs += [(score, label) for label in data.expert_label[data.expert_item == item]]
    unsafe, safe = ([s for s, label in pairs if label == u] for u in (1, 0))
    wanted = np.mean([[a > b for b in safe] for a in unsafe])
    assert float(metrics["wra"].sel(population="target", by="all")) == pytest.approx(wanted)
    direct = study.responsiveness
    raw = metrics["wra"].sel(population="sample", by="all")
    assert float(raw) == float(direct["wra"].sel(group="all", by="all"))
    assert float(raw) != pytest.approx(wanted)


def test_equal_weights_are_the_raw_sample(study):
    data = study.data
    scores = xr.DataArray(data.score, dims="rating")
    counts = population_counts(study, np.full(len(data.rater.labels), 0.1), scores)
    metrics = population_responsiveness(study, counts)
    same = metrics.sel(population="sample", drop=True)
    xr.testing.assert_allclose(metrics.sel(population="target", drop=True), same)


def test_shares_of_labels_that_are_not_there_are_refused(study):
    data = study.data
    shares = {"Woman": 0.5, "Man": 0.4, "Other": 0.1}
    with pytest.raises(SpecError, match="no rater has the label 'Other'"):
        population_weights(data, weights_of(gender=shares))


def test_shares_of_a_column_that_raters_do_not_have_are_refused(study):
    message = r"no column 'gendre', there are .*gender.*; did you mean 'gender'\?"
    with pytest.raises(SpecError, match=message):
        population_weights(study.data, weights_of(gendre={"Woman": 0.5, "Man": 0.5}))


def test_check_names_every_label_without_a_share(tmp_path):
    path = tmp_path / "w.toml"
    shares = "[population.gender]\nWoman = 1.0\n[population.age]\nGenZ = 0.5\nGenA = 0.5\n"
    path.write_text(f'schema = "sharpbayes/weights/2"\ntitle = "t"\n{shares}', encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        check(load_study("quickstart_crowd", overrides=(f"weights='{path}'",)))
    needed = "every label in the data needs one"
    assert str(raised.value) == (
        f"{path}:3: population.gender: no share of 'Man'; {needed}\n"
        f"{path}:5: population.age: no rater has the label 'GenA', there are GenX, GenZ, "
        "Millennial; did you mean 'GenZ'?\n"
        f"{path}:5: population.age: no share of 'GenX' and 'Millennial'; {needed}"
    )
