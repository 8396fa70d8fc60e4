"""Simulated crowds: the truth behind them, and what the paper's Figure 7 says of three patterns."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.simulation.scoring_patterns import PATTERNS, save_simulation, simulate_pattern
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure

TRADITIONAL = ("kendall_tau", "spearman", "auc_pr", "auc_roc")


def files(*more, seed=20260121):
    return load_study("quickstart_crowd", overrides=(f"seed={seed}", *more))


def scores_of(simulated):
    return (
        simulated.tables["ratings"]
        .pivot_table(index="item", columns="rater", values="score")
        .to_numpy(int)
    )


def averages(simulated, folder):
    """Means over the raters of each pattern of their own metrics, as in Figure 7."""
    study = save_simulation(simulated, folder)
    few = ("bootstrap.replicates=2", "crowd.permutations=0")
    raters = measure(load_study(study, overrides=few))["raters"].to_dataset()
    names = ["mpa", "wra", "hm", *TRADITIONAL]
    return raters[names].groupby("group:pattern").mean().to_dataframe()


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4, 5))]
)
def test_paper_appendix_a_figure_7(seed, tmp_path):
    means = averages(simulate_pattern(files(seed=seed), pattern="all"), tmp_path)
    shift, conservative = (
        means.loc[name] - means.loc["normal"] for name in ("shift", "conservative")
    )
    # A downward shift leaves the order: MPA hardly moves, WRA and the traditional ones fall.
    assert shift["wra"] < -0.09
    assert abs(shift["mpa"]) < -shift["wra"] / 2
    assert (shift[[*TRADITIONAL]] < -0.05).all()
    # Random scores above 0 break the order: MPA falls, all others move far less.
    assert conservative["mpa"] < -0.25
    others = conservative[["wra", *TRADITIONAL]].abs()
    assert (others < 0.15).all()
    assert (others < -conservative["mpa"] / 2).all()


def test_scores_follow_their_definitions():
    simulated = simulate_pattern(files("crowd.simulation.items=200"), pattern="all")
    truth = simulated.truth
    perceived = np.array(truth["severity"])[:, None] + np.array(truth["bias"])
    scores = scores_of(simulated)
    normal, shift, conservative = scores[:, :30], scores[:, 30:60], scores[:, 60:]
    expected = (perceived[:, :30, None] > np.array(truth["thresholds"])).sum(axis=-1)
    assert np.array_equal(normal, expected)
    assert np.array_equal(shift[normal < 2], normal[normal < 2])
    steps = (normal - shift)[normal >= 2]
    assert set(np.unique(steps)) == {0, 1, 2}
    assert (steps > 0).mean() == pytest.approx(0.7, abs=0.03)
    high = perceived[:, 60:] > np.percentile(perceived[:, :30], 68)
    assert (conservative[~high] == 0).all()
    shares = np.bincount(conservative[high], minlength=5) / high.sum()
    assert shares == pytest.approx([0, 0.25, 0.25, 0.25, 0.25], abs=0.04)


def test_experts_have_percentiles_in_range_and_label_above_them():
    simulated = simulate_pattern(files("crowd.simulation.experts=400"), pattern="normal")
    percentile = np.array(simulated.truth["expert_percentile"])
    assert ((percentile > 50) & (percentile < 90)).all()
    assert percentile.mean() == pytest.approx(70, abs=1.5)
    label = (
        simulated.tables["experts"]
        .pivot_table(index="item", columns="expert", values="label")
        .to_numpy()
    )
    assert label.mean(axis=0) == pytest.approx(1 - percentile / 100, abs=0.002)
    severity = np.array(simulated.truth["severity"])
    assert severity[label[:, 0] == 1].min() > severity[label[:, 0] == 0].max()


def test_every_constant_is_a_parameter():
    more = (
        "crowd.simulation.items=50",
        "crowd.simulation.raters=4",
        "crowd.simulation.experts=3",
        "crowd.simulation.thresholds=[-1.0, 0.0, 1.0, 2.0]",
        "crowd.simulation.shift_share=1.0",
        "crowd.simulation.shift_from=4",
        "crowd.simulation.shift_steps=1",
    )
    simulated = simulate_pattern(files(*more), pattern="shift")
    assert (
        len(simulated.tables["ratings"]),
        len(simulated.tables["raters"]),
        len(simulated.tables["experts"]),
    ) == (200, 4, 150)
    assert simulated.truth["thresholds"] == [-1, 0, 1, 2]
    perceived = np.array(simulated.truth["severity"])[:, None] + np.array(simulated.truth["bias"])
    normal = (perceived[..., None] > np.array([-1, 0, 1, 2])).sum(axis=-1)
    assert np.array_equal(scores_of(simulated), np.minimum(normal, 3))


def test_seeds_repeat_and_differ():
    first, again, other = (
        simulate_pattern(files(seed=s), pattern="shift").tables["ratings"] for s in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_the_command_writes_a_study_that_can_be_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app,
        [
            "simulate",
            "quickstart_crowd",
            "--pattern",
            "conservative",
            "--out",
            "made",
            "--seed",
            "7",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "30000 ratings with known truth; run sharpbayes measure made/study.toml" in done.stderr
    assert json.loads((tmp_path / "made" / "truth.json").read_text())["seed"] == 7
    few = ("bootstrap.replicates=20", "crowd.permutations=9")
    results = measure(load_study(tmp_path / "made" / "study.toml", overrides=few))
    assert results.attrs["data_ratings"] == 30_000


def test_faults(tmp_path):
    message = (
        "no pattern 'shft', there are normal, shift, conservative, all, model; did you mean 's"
    )
    with pytest.raises(SpecError, match=message):
        simulate_pattern(files(), pattern="shft")
    with pytest.raises(SpecError, match="this study has a panel"):
        simulate_pattern(load_study("quickstart"), pattern="normal")
    simulated = simulate_pattern(files("crowd.simulation.items=10"), pattern="normal")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file: cannot write: File exists"):
        save_simulation(simulated, tmp_path / "file")
    assert set(PATTERNS) == {"normal", "shift", "conservative"}
