"""Every bad file has a file with the exact error that it must give.

To write the error files again after a text changed, and then read the difference:

    uv run python -m tests.spec.test_bad_files
"""

import os
from pathlib import Path

import pytest

from sharpbayes.errors import SpecError
from sharpbayes.spec.load import load, load_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Weights

ROOT = Path(__file__).parents[2]
BAD = Path(__file__).parent / "bad"
NAMES = sorted(path.name for path in BAD.glob("*.toml"))


def error_of(name):
    """The error text of a file, paths relative to the folder of bad files."""
    before = Path.cwd()
    os.chdir(BAD)
    try:
        if name.startswith("weights_"):
            load(Path(name), Weights)
        elif name.startswith("model_"):
            load(Path(name), Model)
        else:
            load_study(name)
    except SpecError as error:
        return f"{error}\n".replace(f"{ROOT}{os.sep}", "")
    finally:
        os.chdir(before)
    raise AssertionError(f"{name} gave no error")


def test_there_are_bad_files():
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_file_gives_exactly_this_error(name):
    expected = (BAD / name).with_suffix(".error").read_text(encoding="utf-8")
    assert error_of(name) == expected


if __name__ == "__main__":
    for file in NAMES:
        (BAD / file).with_suffix(".error").write_text(error_of(file), encoding="utf-8")
