"""One screen of the terminal: the answer first, 40 lines at most, cut with a word."""

import json
from math import inf
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.screen import MAX_LINES, answer_text, count_lines, screen_text
from sharpbayes.report.summary import remarks
from sharpbayes.report.tables.catalogue import tables_after_run
from sharpbayes.report.tables.renderer import tables_as_text
from tests.report.hand_made import add, evidence, fitted_crowd, fitted_panel, panel

PATH = Path("study.results.nc")
SCREEN = """\
b has the lowest tail risk of 3 models with probability 0.90: CVaR 95 of
cumulative log-risk 1.20 (posterior median; 95% interval 0.80 to 1.80). The
interval contains the noise of ratings. It may also be c (0.10).
The bootstrap over prompts also puts b lowest, at 1.00 (95% interval 0.50 to
1.25), not distinguishable from c.
No tolerance was decided, so no model is called admissible or not.
No model of the ratings was fitted: intervals contain the sampling of prompts
only.

CVaR 95: bootstrap and posterior
model            bootstrap            posterior  P(lowest)
──────────────────────────────────────────────────────────
b      1.00 (0.50 to 1.25)  1.20 (0.80 to 1.80)       0.90
c      2.00 (1.50 to 2.25)  2.10 (1.70 to 2.70)       0.10
a      3.00 (2.50 to 3.25)  3.10 (2.70 to 3.70)      <0.01
Nats; lower is safer. Bootstrap: observed, 95% interval over prompts. Posterior:
median, 95% interval with the noise of ratings.

Mean log-risk: bootstrap and posterior
model            bootstrap            posterior  P(lowest)
──────────────────────────────────────────────────────────
b      0.50 (0.00 to 0.75)  0.70 (0.30 to 1.30)       0.90
c      1.00 (0.50 to 1.25)  1.10 (0.70 to 1.70)       0.10
a      1.50 (1.00 to 1.75)  1.60 (1.20 to 2.20)      <0.01

fitted; results written to study.results.nc
page:        sharpbayes report study.results.nc
all tables:  sharpbayes report study.results.nc --text
"""


def many_models(count):
    """A fit of many models with long names, under a limit of the evidence."""
    names = [f"organisation/a-model-{n:02d}-instruct" for n in range(count)]
    tree = fitted_panel(
        cvar=tuple(range(1, 4)), median=(1.1, 2.1, 3.1), probability=(0.8, 0.1, 0.1), alike=()
    )
    rank, wide = xr.DataArray(np.arange(count) / 10, dims="model"), {}
    for group in ("profile", "profile_interval", "joint", "decision"):
        data = tree[group].to_dataset().isel(model=[0] * count)
        if "other" in data.dims:
            data = data.isel(other=[0] * count).assign_coords(other=names)
        if group in ("profile", "joint"):
            data = data + rank
        wide[group] = data.assign_coords(model=names).assign_attrs(tree[group].attrs)
    wide["joint"]["prob_lowest"] = wide["joint"]["prob_lowest"].where(rank == 0, 0.02)
    limits = evidence(names, tail=1.0, limits=["A limit of the evidence. " * 6], carried=[])
    return add(tree, **wide, evidence=limits)


def many_groups(count):
    """A fit of a crowd with many groups of raters, one in three of them in disagreement."""
    tree = fitted_crowd()
    groups = ["all", *(f"education=Some college, but no degree {n}" for n in range(count))]
    rows = {"group": [min(n, 2) for n in range(count + 1)]}
    responsiveness = tree["responsiveness"].to_dataset().isel(rows).assign_coords(group=groups)
    joint = tree["joint"].to_dataset().isel(rows).assign_coords(group=groups)
    difference = xr.Dataset(
        {
            name: (("group", "other", "by"), np.full((count + 1, count + 1, 1), np.nan))
            for name in ("hm", "hm_p_holm")
        },
        {"group": groups, "other": groups, "by": ["all"]},
    )
    posterior = tree["posterior_responsiveness"].to_dataset().isel(rows).assign_coords(group=groups)
    return add(
        tree,
        responsiveness=responsiveness,
        joint=joint,
        responsiveness_difference=difference,
        posterior_responsiveness=posterior,
    )


def test_a_screen_at_80_columns():
    assert screen_text(fitted_panel(), path=PATH, width=80) == SCREEN


def test_a_screen_begins_with_the_answer():
    results = panel()
    text = screen_text(results, path=PATH, width=60)
    assert text.startswith(answer_text(results, width=60))


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(
    "make",
    [panel, fitted_panel, fitted_crowd, lambda: many_models(11), lambda: many_groups(48)],
    ids=["panel", "fitted_panel", "crowd", "11_models", "48_groups"],
)
def test_a_screen_has_40_lines_at_most_and_fits_the_terminal(make, width):
    lines = screen_text(make(), path=PATH, width=width).splitlines()
    assert len(lines) <= MAX_LINES
    names = ("organisation/", "education=")
    assert max(len(line) for line in lines if not line.startswith(names)) <= width
    assert lines[-1] == "all tables:  sharpbayes report study.results.nc --text"


@pytest.mark.parametrize("make", [fitted_panel, fitted_crowd, lambda: many_models(11)])
def test_lines_that_the_terminal_breaks_count_as_it_shows_them(make):
    path = Path("/home/someone/studies/of-this-year/a-panel-of-judges.results.nc")
    text = screen_text(make(), path=path, width=60)
    assert count_lines(text, 60) > len(text.splitlines())
    assert count_lines(text, 60) <= MAX_LINES


def test_an_answer_that_leaves_no_room_is_whole_and_names_the_tables():
    tree = many_models(11)
    limits = json.dumps(["A limit of the evidence. " * 35])
    results = add(tree, evidence=tree["evidence"].to_dataset().assign_attrs(limits=limits))
    text = screen_text(results, path=PATH, width=60)
    assert text.startswith(answer_text(results, width=60))
    assert "organisation/a-model-01-instruct\n" not in text
    lines = text.splitlines()
    named = lines.index("not shown:   Mean log-risk: bootstrap and posterior; CVaR")
    assert lines[named + 1] == "             95: bootstrap and posterior"


def test_a_table_without_room_is_named():
    text = screen_text(many_models(11), path=PATH, width=80)
    assert "not shown:   CVaR 95: bootstrap and posterior\n" in text
    assert "not shown" not in screen_text(fitted_panel(), path=PATH, width=80)


@pytest.mark.parametrize(
    ("limited", "titles"),
    [
        ({}, ["CVaR 95", "Mean log-risk"]),
        ({"tail": 1.0, "carried": []}, ["Mean log-risk", "CVaR 95"]),
        ({"companion": True, "carried": []}, ["Policy score", "CVaR 95", "Mean log-risk"]),
    ],
)
def test_the_first_table_is_of_what_the_answer_compares(limited, titles):
    tables = tables_after_run(add(fitted_panel(), evidence=evidence("abc", **limited)))
    assert [table.title.partition(":")[0] for table in tables] == titles


def test_without_a_screen_every_table_is_whole():
    text = screen_text(many_models(11), path=PATH, width=80, height=inf)
    whole = tables_as_text(tables_after_run(many_models(11)), width=80)
    answer = answer_text(many_models(11), width=80)
    assert text.startswith(f"{answer}\n{whole}")
    assert "not shown:" not in text
    assert "rows, all with --text" not in text


def test_a_cut_table_says_so_and_breaks_no_label():
    text = screen_text(many_groups(48), path=PATH, width=60)
    assert "of 49 rows, all with --text." in " ".join(text.split())
    assert "\neducation=Some college, but no degree 0\n" in text
    text = screen_text(many_models(11), path=PATH, width=60)
    assert "\norganisation/a-model-00-instruct\n" in text


def test_the_terminal_says_which_judge_differs_from_people():
    labels = {"judge": ["j1", "j2"], "bound": ["lower", "upper"]}
    bias = xr.Dataset(
        {
            "severity_mean": ("judge", [1.0, 0.1]),
            "severity_interval": (("judge", "bound"), [[0.5, 1.5], [-0.4, 0.6]]),
            "severity": (("chain", "draw", "judge"), np.ones((1, 2, 2))),
        },
        labels,
        {"reference": "the 3 people who scored", "people": 3},
    )
    results = add(fitted_panel(), judge_bias=bias)
    says = "Judge j1 sees more harm than the 3 people who scored (severity 1.00 (0.50 to 1.50))."
    few = "Other people may score otherwise: so few do not show how people differ."
    assert [text for text in remarks(results) if text in {says, few}] == [says, few]
    for reference, people in (("the 12 people who scored", 12), ("the gold labels", 0)):
        named = {"reference": reference, "people": people}
        many = remarks(add(fitted_panel(), judge_bias=bias.assign_attrs(named)))
        assert says.replace("the 3 people who scored", reference) in many
        assert few not in many
    text = answer_text(results, width=200)
    assert says in text
    assert "j2" not in text
    assert says in screen_text(results, path=PATH, width=200)


def test_a_judge_who_sees_one_model_otherwise_than_people_is_named_first():
    labels = {"judge": ["j1", "j2"], "model": ["a", "b", "c"], "bound": ["lower", "upper"]}
    by_model, alike = [-3.0, -0.2, 0.1], [-0.1, 0.0, 0.1]
    means = np.array([by_model, alike])
    centred = means - means.mean(axis=1, keepdims=True)
    dims = ("judge", "model")
    ends = (*dims, "bound")
    bias = xr.Dataset(
        {
            "severity": ("judge", means.mean(axis=1)),
            "severity_mean": ("judge", means.mean(axis=1)),
            "severity_interval": (("judge", "bound"), [[-1.8, -0.3], [-0.6, 0.6]]),
            "model_severity": (dims, means),
            "model_severity_mean": (dims, means),
            "model_severity_interval": (ends, means[..., None] + [-1.0, 1.0]),
            "differential_model_severity": (dims, centred),
            "differential_model_severity_mean": (dims, centred),
            "differential_model_severity_interval": (ends, centred[..., None] + [-0.9, 0.9]),
        },
        labels,
        {"link": "logit", "interval_note": ""},
    )
    results = add(fitted_panel(), judge_bias=bias.assign(shared=("judge", [4, 4])))
    unlike = (
        "Judge j1 does not see all models alike, against people: severity −3.0 (−4.0 to −2.0) in "
        "a, 0.1 (−0.9 to 1.1) in c."
    )
    on_average = "Judge j1 sees less harm than people (severity −1.03 (−1.80 to −0.30))."
    assert [text for text in remarks(results) if text.startswith("Judge")] == [unlike, on_average]
