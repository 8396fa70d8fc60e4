"""Labels of experts as ratings of a model, and what a study must have for it."""

import numpy as np
import pytest

from sharpbayes.analysis.study import read_study
from sharpbayes.errors import SpecError
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import named_weights, weigh

EXPERTS = "crowd.fit=crowd_and_experts"


def test_labels_of_experts_are_ratings_below_those_of_the_crowd():
    files = load_study("quickstart_crowd", overrides=(EXPERTS,))
    loaded = read_study(files)
    ratings, crowd = loaded.ratings, loaded.data
    first = crowd.score.size
    assert ratings.scales["label"] == ("safe", "unsafe")
    assert ratings.score[first:].tolist() == crowd.expert_label.tolist()
    item, rater = ratings.factors["item"], ratings.factors["rater"]
    assert item.codes[first:].tolist() == crowd.expert_item.tolist()
    named = np.array(rater.labels)[rater.codes[first:]]
    assert set(named) == {f"expert {label}" for label in crowd.expert.labels}
    assert set(ratings.factors["group:gender"].codes[first:]) == {-1}
    violation = ratings.factors["violation"]
    of_item = dict(zip(item.codes[:first], violation.codes[:first], strict=True))
    assert [of_item[i] for i in item.codes[first:]] == violation.codes[first:].tolist()


def test_without_the_key_experts_are_no_raters():
    loaded = read_study(load_study("quickstart_crowd", overrides=["crowd.fit=crowd_severity"]))
    assert list(loaded.ratings.scales) == ["score"]
    assert loaded.ratings.score.size == loaded.data.score.size


def test_a_study_without_experts_is_refused():
    with pytest.raises(SpecError, match=r"experts: experts need labels = \{ from"):
        load_study("quickstart_crowd", overrides=(EXPERTS, "crowd.labels={from='crowd', cut=2}"))


@pytest.mark.slow
def test_both_populations_share_one_severity():
    few = ("sampler.tune=300", "sampler.draws=500", "bootstrap.replicates=20", "seed=3")
    results = fit(load_study("quickstart_crowd", overrides=(EXPERTS, *few)))
    posterior = results["posterior"].to_dataset()
    assert posterior["threshold_label"].sizes["label_cutpoint"] == 1
    severity = posterior["location_item"].mean(("chain", "draw"))
    crowd = read_study(load_study("quickstart_crowd")).data
    share = np.bincount(crowd.expert_item, crowd.expert_label) / np.bincount(crowd.expert_item)
    assert np.corrcoef(severity, share)[0, 1] > 0.7
    weighed = weigh(results, named_weights(["population_us"]))
    group = weighed["population_us"]["posterior_responsiveness_population"]
    assert np.isfinite(group["wra"]).any()
