"""How often judges, experts and raters are named who are copies or at odds, and who are not.

    python -m tests.references.suspects [--studies 300]

It prints the table of record 119: percent of simulated studies in which somebody is named, where
nobody should be (honest) and where one should (a copy, or labels the wrong way round).
"""

import argparse

import numpy as np
import xarray as xr

from sharpbayes.analysis.expert_agreement import contrary_experts, expert_agreement
from sharpbayes.metrics.crowd.rater_agreement import find_duplicates
from sharpbayes.metrics.panel.concordance import alike_judges, concordance, concordance_summary

MODELS, PROMPTS, JUDGES, ITEMS = 4, 100, 4, 100
CUTS = np.array([-1.5, -0.2, 1.0, 2.2])


def name_judges(rng, *, copied, shift, noise, changed=0.03):
    """Whether judges are called alike, of scores 0 to 4 with this much noise and harm."""
    severity = rng.normal(shift, 1, (MODELS, 1, PROMPTS, 2))
    bias = rng.normal(0, 0.4, (1, JUDGES, 1, 1))
    seen = severity + bias + noise * rng.logistic(size=(MODELS, JUDGES, PROMPTS, 2))
    score = np.digitize(seen, CUTS)
    if copied:
        is_changed = rng.random(score[:, 1].shape) < changed
        score[:, 1] = np.where(is_changed, rng.integers(0, 5, is_changed.shape), score[:, 0])
    names = [f"j{n}" for n in range(JUDGES)]
    dims = ("model", "judge", "prompt", "dimension")
    pairs = concordance(
        xr.DataArray(score / 4, {"judge": names}, dims), min_overlap=25, dim="prompt"
    )
    pairs = pairs.merge(concordance_summary(pairs["concordance"]))
    return bool(alike_judges(names, pairs))


def name_experts(rng, *, reversed_, experts, share=0.4):
    """Whether experts are said to be at odds, who err in 15% of their labels of some items."""
    unsafe = rng.random(ITEMS) < share
    label = (unsafe ^ (rng.random((experts, ITEMS)) < 0.15)).astype(float)
    if reversed_:
        label[0] = 1 - label[0]
    label[rng.random(label.shape) < 0.3] = np.nan
    table = xr.DataArray(label, {"expert": np.arange(experts)}, ("expert", "item"))
    return bool(list(contrary_experts(expert_agreement(table))))


def name_raters(rng, *, copied, scores, noise, items=ITEMS, raters=24):
    """Whether raters are called the same, of a crowd that agrees more the less noise there is."""
    severity = rng.normal(0, 1.5, items)
    seen = severity + noise * rng.logistic(size=(raters, items))
    cuts = np.quantile(severity, np.arange(1, scores) / scores)
    score = np.digitize(seen, cuts)
    if copied:
        score[1] = score[0]
    rater, item = (codes.ravel() for codes in np.indices(score.shape))
    return bool(find_duplicates(score.ravel(), item=item, rater=rater))


CASES = {
    "judges, scores 0 to 4": (name_judges, "copied", {"shift": 0.0, "noise": 0.5}),
    "judges who nearly agree": (name_judges, "copied", {"shift": 0.0, "noise": 0.05}),
    "judges, harm in 2% of answers": (name_judges, "copied", {"shift": -4.5, "noise": 0.5}),
    "two experts": (name_experts, "reversed_", {"experts": 2}),
    "three experts": (name_experts, "reversed_", {"experts": 3}),
    "five experts": (name_experts, "reversed_", {"experts": 5}),
    "five experts, 10% unsafe": (name_experts, "reversed_", {"experts": 5, "share": 0.1}),
    "raters, 5 scores": (name_raters, "copied", {"scores": 5, "noise": 0.5}),
    "raters, 2 scores, 20 clear items": (
        name_raters,
        "copied",
        {"scores": 2, "noise": 0.1, "items": 20},
    ),
    "raters, 2 scores": (name_raters, "copied", {"scores": 2, "noise": 0.5}),
}


def main():
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=300)
    options = parser.parse_args()
    print("| case | named, honest | named, one is not |\n| --- | --- | --- |")
    for number, (name, (simulate, fault, settings)) in enumerate(CASES.items()):
        shares = []
        for has_fault in (False, True):
            rng = np.random.default_rng([119, number])
            named = [
                simulate(rng, **{fault: has_fault}, **settings) for _ in range(options.studies)
            ]
            shares.append(f"{100 * np.mean(named):.1f}")
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
