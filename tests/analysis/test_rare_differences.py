"""Differences in the gate that few prompts carry: yes-or-no harm of two releases."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from sharpbayes.analysis.gate import measure_gate
from sharpbayes.analysis.gate_study import join_sides
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.rare_differences import _count_carrying
from sharpbayes.metrics.panel.non_inferiority import INCONCLUSIVE, NON_INFERIOR
from sharpbayes.metrics.panel.profile import prompt_values
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Gate
from sharpbayes.workflows.gate import gate
from sharpbayes.workflows.measure import measure
from tests.references import rare_gate
from tests.references.rare_harm import STUDY, WEIGHTS


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return rare_gate.make_template(tmp_path_factory.mktemp("gate"))


def gate_of(template, new, old, *, prompts=100, **margins):
    """The gate of releases whose first answers, or last ones for the old release, are harmful."""
    numbers = np.arange(prompts)
    harmful = {"new": numbers < new, "old": numbers >= prompts - old}
    sides = (rare_gate.make_side(template, name, values) for name, values in harmful.items())
    margins = Gate(confidence=0.95, **(margins or {"policy_score": 0.04}))
    spec = template.weights.spec.model_copy(update={"gate": margins})
    return measure_gate(join_sides(*sides, replace(template.weights, spec=spec)))


def test_without_harm_by_the_reference_bounds_are_those_of_one_rate(template):
    """Of 2 in 100 the bounds are by Clopper and Pearson, up to what the reference may add."""
    lower, upper = gate_of(template, 2, 0)["bounds"].sel(metric="policy_score").to_numpy()
    np.testing.assert_allclose(upper, beta.ppf(0.95, 3, 98), rtol=0.06)
    assert lower < 0.0


def test_harm_of_the_reference_that_the_candidate_lacks_proves_less_than_it_shows(template):
    """By resamples alone one harmful answer of the reference had lowered the bound to 0."""
    none, one = (gate_of(template, 0, old)["bounds"][0].to_numpy() for old in (0, 1))
    np.testing.assert_allclose(none[1], 1 - 0.05**0.01, rtol=1e-6)
    assert 0.6 * none[1] < one[1] < none[1]
    assert one[0] < none[0] < 0


def with_copies(side, *, every):
    """The release with a copy of each so many-th answer as a second answer."""
    data = side.study.data
    score = np.stack([data.score, data.score], axis=2)
    score[:, np.arange(score.shape[1]) % every > 0, 1] = -1
    keys = ["model", "prompt", "sample", "judge", "indicator"]
    labels = {name: {"sample": ("1", "2"), **data.labels}[name] for name in keys}
    ratings = replace(data, score=score, labels=labels)
    return replace(side, study=replace(side.study, data=ratings))


def test_copies_of_some_answers_change_no_bound(template):
    """Prompts count once, among those that carry a difference too."""
    numbers = np.arange(100)
    sides = {"new": numbers < 2, "old": numbers >= 99}
    releases = [rare_gate.make_side(template, name, values) for name, values in sides.items()]
    weights = rare_gate.choose_margin(template, 0.04)
    copied = with_copies(releases[0], every=3)
    comparisons = [join_sides(new, releases[1], weights) for new in (releases[0], copied)]
    bounds = [measure_gate(comparison)["bounds"].to_numpy() for comparison in comparisons]
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-9)
    plans = [build_profile_plan(comparison.study) for comparison in comparisons]
    carrying = [_count_carrying(plan, "policy_score") for plan in plans]
    assert carrying[1] == pytest.approx(carrying[0])


def test_log_risk_has_the_bounds_of_the_score_in_other_units(template):
    group = gate_of(template, 1, 2, policy_score=0.04, mean=0.5)
    score, mean = (group["bounds"].sel(metric=name) for name in ("policy_score", "mean"))
    np.testing.assert_allclose(mean, score * -np.log(1e-6), rtol=1e-4)


def test_what_many_prompts_carry_keeps_its_bounds(template, monkeypatch):
    many, few = (gate_of(template, *harmful)["bounds"] for harmful in ((3, 2), (2, 2)))
    monkeypatch.setattr("sharpbayes.analysis.gate.bound_rare_differences", rare_gate.keep_bounds)
    np.testing.assert_array_equal(many, gate_of(template, 3, 2)["bounds"])
    assert float(few.max()) > float(gate_of(template, 2, 2)["bounds"].max())


def test_bounds_of_rare_harm_need_the_prompts_that_show_none(template, monkeypatch):
    """They shrink with the number of prompts and not with its root."""
    margin = 0.03
    enough = np.ceil(np.log(0.05) / np.log1p(-margin))
    group = gate_of(template, 0, 1, policy_score=margin)
    assert group["prompts_to_decide"].item() == enough
    assert group["prompts_to_pass"].item() >= enough
    beyond = gate_of(template, 4, 0, policy_score=margin)
    monkeypatch.setattr(
        "sharpbayes.analysis.gate.raise_prompts_needed", lambda group, *_, **__: group
    )
    assert gate_of(template, 0, 1, policy_score=margin)["prompts_to_decide"].item() < enough
    # Beyond the margin it is a no that is looked for.
    by_root = gate_of(template, 4, 0, policy_score=margin)["prompts_to_decide"]
    np.testing.assert_array_equal(beyond["prompts_to_decide"], by_root)


def test_a_margin_decides_by_these_bounds(template):
    assert gate_of(template, 0, 1, policy_score=0.04).attrs["verdict"] == NON_INFERIOR
    assert gate_of(template, 0, 1, policy_score=0.02).attrs["verdict"] == INCONCLUSIVE


def weighted_gate(folder, new, old, shares):
    """The gate of answers of which 25 of 100 are of a kind with a share in the population."""
    folder.mkdir()
    table = pd.concat(
        pd.DataFrame({"model": name, "prompt": [f"p{n}" for n in range(100)], "harm": harm})
        for name, harm in (("new", new), ("old", old))
    )
    table = table.assign(judge="j", kind=np.tile(np.repeat(["rare", "common"], [25, 75]), 2))
    table.to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    margins = "[gate]\npolicy_score = 0.05\n"
    (folder / "weights.toml").write_text(WEIGHTS + shares + margins, encoding="utf-8")
    results = measure(load_study(folder / "study.toml"))
    return gate(results, model="new", against_model="old")["gate"]


def test_heavy_prompts_are_counted_by_their_weight(tmp_path):
    """One harmful answer of 25 that stand for 80% carries what eight of the others do not."""
    old, new = np.zeros((2, 100), dtype=int)
    old[[0, *range(30, 38)]] = new[34:42] = 1
    shares = "[population.category]\nrare = 0.8\ncommon = 0.2\n"
    weighted = weighted_gate(tmp_path / "weighted", new, old, shares)
    # By resamples, half of which have more of the one answer, they were -0.10 and 0.03.
    np.testing.assert_allclose(weighted["bounds"][0], [-0.15, 0.07], atol=0.01)
    assert weighted.attrs["verdict"] == INCONCLUSIVE
    alike = weighted_gate(tmp_path / "alike", new, old, "")["bounds"][0]
    assert float(alike.sel(bound="upper")) < 0.05


def test_only_means_have_values_of_prompts():
    with pytest.raises(KeyError):
        prompt_values({}, "cvar", policy=None)
