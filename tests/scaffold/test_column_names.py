"""Roles of columns by their names."""

import pandas as pd
import pytest

from sharpbayes.errors import DataError
from sharpbayes.scaffold.column_names import infer_roles


def test_scores_of_several_judges_are_no_names_of_judges():
    data = pd.DataFrame({"model": ["a"], "prompt": ["p"], "gpt judge": [2.0], "ann judge": [3.0]})
    with pytest.raises(DataError, match="each has the scores of one judge"):
        infer_roles(data, ["model", "prompt", "judge"], {})


def test_a_judge_with_a_number_is_a_judge():
    data = pd.DataFrame({"model": ["a"], "prompt": ["p"], "judge": [2], "score": [3.0]})
    assert infer_roles(data, ["model", "prompt", "judge"], {})["judge"] == "judge"
