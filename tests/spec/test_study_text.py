"""Studies that the program writes: quoting, comments and the order of sections."""

import tomllib

from sharpbayes.spec.study_text import format_study


def test_a_line_break_cannot_end_a_comment():
    text = format_study({"seed": 1}, {"": ["x\nseed = 9"], "seed": ["y\r\u2028seed = 8"]})
    assert tomllib.loads(text) == {"seed": 1}


def test_names_and_values_are_quoted():
    panel = {"data": "x", "judges": ["\\", "\x7f"], "scales": {'a"\n.b': {"kind": "boolean"}}}
    study = {"title": "''' \"\"\"", "panel": panel}
    assert tomllib.loads(format_study(study)) == study


def test_comments_of_absent_keys_stand_below_the_others():
    text = format_study({"crowd": {"by": ["a"]}}, {"crowd.fit": ["fit = 1"], "crowd": ["Crowd."]})
    assert text == '[crowd]\n# Crowd.\nby = ["a"]\n# fit = 1\n'


def test_tables_in_arrays_and_in_sections():
    study = {
        "panel": {
            "dimensions": [{"name": "d", "parts": {"x": {"mean": ["a"]}}}, {"name": "e"}],
            "indicators": {"a": {"scale": "s", "reverse": {"col": True}}, "b": "s"},
            "roles": {"model": "m"},
        }
    }
    assert tomllib.loads(format_study(study, {"panel.dimensions": ["Of harm."]})) == study
