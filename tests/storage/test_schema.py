"""What is declared of results: attributes, labels and forms; what no file causes passes."""

import pytest
import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.execution.identity import code_digest
from sharpbayes.storage.declarations import REQUIRED
from sharpbayes.storage.schema import OWN_ERROR, check_results, explain_missing


def make_results(**attrs):
    """Results of one group with two models."""
    group = xr.Dataset({"cvar": ("model", [1.0, 2.0])}, {"model": ["a", "b"]}, {"alpha": 0.95})
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs), "/profile": group})


def list_problems(results):
    """The lines of what is wrong, without the file."""
    with pytest.raises(StorageError) as raised:
        check_results(results, "r.nc")
    return [line.removeprefix("r.nc: ") for line in str(raised.value).splitlines()]


def test_results_as_declared_pass():
    check_results(make_results(), "r.nc")


def test_a_label_that_stands_twice_is_named():
    results = make_results()
    results["profile"] = results["profile"].to_dataset().assign_coords(model=["a", "a"])
    assert list_problems(results) == [
        "/profile: dimension `model` has the label 'a' more than once"
    ]


def test_an_attribute_that_is_missing_or_of_another_kind_is_named():
    results = make_results()
    results["profile"].attrs = {}
    assert list_problems(results) == ["/profile: attribute `alpha` is missing"]
    results["profile"].attrs = {"alpha": "much"}
    assert list_problems(results) == ["/profile: attribute `alpha` is 'much', must be a number"]


def test_a_text_without_its_path_is_named():
    results = make_results(weights="title = 'w'", study="", study_path="s.toml")
    assert list_problems(results) == ["/: attribute `weights_path` is missing beside `weights`"]


def test_scores_that_are_no_whole_numbers_are_named():
    results = make_results()
    results["ratings"] = xr.Dataset({"score": (("model", "prompt"), [[7.5]])})
    assert list_problems(results) == [
        "/ratings/score: has values of type float64, must be a whole number"
    ]


def test_texts_that_no_file_can_hold_are_named():
    results = make_results(title="\udcff")
    results["profile"] = results["profile"].to_dataset().assign_coords(model=["\ud800", "b"])
    words = xr.Dataset({"lowest": ("setting", ["\udcff"])})
    results = xr.DataTree.from_dict({"/": results, "/stability": words})
    results["profile"] = results["profile"]
    assert list_problems(results) == [
        r"/: attribute `title` is '\udcff', must be a text",
        "/profile: dimension `model` has a label that is no text",
        "/stability/lowest: has a value that is no text",
    ]


def test_a_group_without_variables_is_named():
    results = make_results()
    results["profile"] = xr.Dataset()
    assert list_problems(results) == ["/profile: has no variables"]


def test_groups_under_weights_are_compared_too():
    results = make_results()
    weighed = xr.DataTree.from_dict({"/equal/profile": results["profile"].to_dataset()})
    check_results(weighed, "r.nc")
    weighed["equal/profile"].attrs = {}
    assert list_problems(weighed) == ["/equal/profile: attribute `alpha` is missing"]


def test_required_attributes_are_of_groups_with_a_line_each():
    groups = [line.split()[0] for line in REQUIRED.strip().splitlines()]
    assert groups == sorted(set(groups))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("cvar"), "KeyError: 'cvar'"),
        (TypeError("no number"), "TypeError: no number"),
        (OSError("inflate() failed"), "OSError: inflate() failed"),
    ],
)
def test_what_the_content_of_a_file_can_cause_is_told_as_such(error, kind):
    with pytest.raises(StorageError) as raised, explain_missing(make_results(title="T")):
        raise error
    assert str(raised.value) == f"results of 'T': a part is missing or has another form ({kind})"


def test_results_of_this_state_of_the_program_name_the_program_too():
    results = make_results(title="T", code_sha256=code_digest())
    with pytest.raises(StorageError) as raised, explain_missing(results):
        raise KeyError("cvar")
    assert str(raised.value).endswith(
        "(KeyError: 'cvar'); if nobody changed the file, this is an error of the program "
        "(--debug shows where)"
    )
    assert str(raised.value).endswith(OWN_ERROR)


@pytest.mark.parametrize("kind", [NotImplementedError, RecursionError, NameError, ImportError])
def test_what_no_file_can_cause_passes(kind):
    with pytest.raises(kind), explain_missing(make_results()):
        raise kind
