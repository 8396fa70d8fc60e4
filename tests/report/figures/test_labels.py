"""Labels of figures: rows that can be told apart, in letters that a font has."""

import pytest
import xarray as xr
from matplotlib.font_manager import FontEntry, findfont, fontManager

from sharpbayes.report.figures import labels
from sharpbayes.report.figures.catalogue import FIGURES, NO_FONT, draw_figures
from sharpbayes.report.figures.labels import label_groups, label_strata, wrap_names
from tests.report.hand_made import panel

TAIL_RISK = next(spec for spec in FIGURES if spec.name == "tail-risk")
LONG = "company-internal-assistant-release-candidate-2026-11-"


@pytest.mark.parametrize("width", [8, 16, 22, 30])
def test_names_that_share_a_long_start_stay_distinct(width):
    names = [f"{LONG}{day:02d}" for day in range(1, 30)] + ["other", "other"]
    texts = wrap_names(names, width)
    assert texts[-2:] == ["other", "other"]
    assert len({*texts}) == 30
    assert all(text[-2:] == f"{day:02d}" for day, text in enumerate(texts[:-2], 1))
    assert all(len(line) <= width for text in texts for line in text.split("\n"))


def test_names_of_several_long_starts_stay_distinct():
    names = [f"{LONG}{a}{'x' * 90}{b}" for a in "ab" for b in "12"]
    assert len({*wrap_names(names)}) == 4


def test_names_that_differ_in_several_places_keep_all_of_them():
    names = [
        f"vendor/Base-3.{month}-{size}-Instruct-Turbo-2025-0{month}-15-preview-{kind}"
        for month in (1, 2)
        for size in ("8B", "70B")
        for kind in ("fp8", "bf16")
    ]
    texts = wrap_names(names, 22)
    assert texts[:3] == [
        "vend…e-3.1-8B-In…025-\n01-15-…iew-fp8",
        "vend…e-3.1-8B-In…025-\n01-15-…iew-bf16",
        "vend…e-3.1-70B-In…025-\n01-15-…iew-fp8",
    ]
    assert len({*texts}) == 8


def test_a_number_means_the_same_name_in_every_order():
    start = "a" * 29
    names = ["z", f"{start}…{start}1", f"{'a' * 100}2", f"{'a' * 100}1"]
    line = f"{start}…\n{start}"
    assert wrap_names(names) == ["z", f"{line}1 (3)", f"{line}2", f"{line}1 (1)"]
    assert wrap_names(names[::-1]) == wrap_names(names)[::-1]


def test_very_long_names_are_compared_in_part():
    names = [f"{'-' * 100_000}{end * 100_000}" for end in "ab"]
    assert len({*wrap_names(names)}) == 2


def crowd_of(groups):
    """Results with groups of raters, each with its grouping."""
    coords = {"group": [*groups], "grouping": ("group", [*groups.values()])}
    return xr.DataTree.from_dict({"/responsiveness": xr.Dataset(coords=coords)})


def test_groups_have_their_column_where_several_groupings_are_shown():
    groups = {"all": "all", "parent=no": "parent", "trained=no": "trained"}
    names = label_groups(crowd_of(groups), groups)
    assert [*names.values()] == ["all raters", "parent: no", "trained: no"]
    names = label_groups(crowd_of(groups), ["all", "parent=no"])
    assert [*names.values()] == ["all raters", "no"]


def test_a_comma_inside_a_value_is_left_as_it_is():
    groups = {"degree=(MA, MS,MBA)": "degree"}
    assert [*label_groups(crowd_of(groups), groups).values()] == ["(MA, MS,MBA)"]
    assert label_strata(["kind=a,b", "topic=a,b"]) == {
        "kind=a,b": "kind: a,b",
        "topic=a,b": "topic: a,b",
    }


def named(name):
    """Measured results whose first model has this name."""
    tree = panel()
    tree["joint"] = xr.DataTree(tree["joint"].to_dataset().assign_coords(model=[name, "b", "c"]))
    return tree


def texts_of(results):
    """Texts of the figure of the decision that are not in the axes."""
    [(_, figure)] = draw_figures(results, [TAIL_RISK])
    return [text.get_text() for text in figure.texts]


def install(monkeypatch, fonts):
    """Have Matplotlib's own fonts and these, each with its letters."""
    own = [font for font in fontManager.ttflist if "matplotlib" in font.fname]
    further = [FontEntry(fname=findfont("STIXGeneral"), name=name) for name in fonts]
    letters = {font.fname: frozenset(map(ord, fonts[font.name])) for font in further}
    read = labels._list_letters
    monkeypatch.setattr(fontManager, "ttflist", [*own, *further])
    monkeypatch.setattr(labels, "_list_letters", lambda path: letters.get(path) or read(path))


def test_letters_that_no_font_has_are_named_in_a_note(monkeypatch):
    install(monkeypatch, {})
    assert texts_of(named("模型")) == [NO_FONT]
    assert texts_of(named("modèle")) == []


def test_an_installed_font_that_has_the_letters_is_used(monkeypatch):
    install(monkeypatch, {"Some": "模型"})
    [(_, figure)] = draw_figures(named("模型"), [TAIL_RISK])
    assert figure.texts == []
    assert figure.axes[0].get_yticklabels()[0].get_fontfamily() == ["DejaVu Sans", "Some"]
