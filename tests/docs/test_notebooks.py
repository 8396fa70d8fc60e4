"""Every notebook runs from beginning to end, and shows what it computes."""

import re

import nbformat
import pytest

from tests.make_notebooks import executed, notebooks


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_every_cell_runs_and_the_committed_outputs_are_of_these_cells(path, tmp_path):
    """``python -m tests.make_notebooks`` writes the outputs again."""
    committed, fresh = nbformat.read(path, as_version=4), executed(path, tmp_path)
    nbformat.validate(committed)
    for old, new in zip(committed.cells, fresh.cells, strict=True):
        if old.cell_type == "code":
            shown = [output.get("output_type") for output in new.outputs]
            kinds = [output.get("output_type") for output in old.outputs]
            assert kinds == shown, (old.source, new.outputs[0])
            assert "stderr" not in [output.get("name") for output in new.outputs], new.outputs


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_no_path_of_a_machine_is_shown(path):
    assert not re.search("/(specs|models|docs)/", path.read_text(encoding="utf-8"))


def test_there_are_the_three():
    assert [path.stem for path in notebooks()] == [
        "responsiveness_of_a_crowd",
        "sharp_on_a_panel",
        "swapping_weights",
    ]
