"""The composite action: its script by hand, with the variables of a runner."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.measure import measure

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "gate"
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "What we release"
[gate]
policy_score = {margin}
"""
OF_BIAS = """[parts.bias]
coverage = 0.35
intensity = 0.65
[amplify.bias]
explicitness = 0.25
intersectionality = 0.25
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A checkout: logs of this run, a study, and results of the last release."""
    place = tmp_path_factory.mktemp("checkout")
    studies = folder("studies")
    text = (studies / "petri.toml").read_text(encoding="utf-8")
    text = re.sub(r"^fit = .*$", "", text, flags=re.MULTILINE)
    (place / "old.toml").write_text(text.replace("petri_*", "petri_beta"), encoding="utf-8")
    (place / "study.toml").write_text(text.replace("petri_*", "petri_alpha"), encoding="utf-8")
    for name in ("alpha", "beta"):
        shutil.copy(studies / f"petri_{name}.eval", place)
    for name in ("quickstart.toml", "quickstart.csv"):
        shutil.copy(studies / name, place)
    quick = ("bootstrap.replicates=200",)
    quickstart = measure(load_study(place / "quickstart.toml", overrides=quick))
    save_results(quickstart, place / "quickstart.nc")
    save_results(measure(load_study(place / "old.toml", overrides=quick)), place / "old.nc")
    return place


def run_script(place, margin, more="", **inputs):
    """Run the script of the action as a step does, by default on two logs of six prompts."""
    (place / "release.toml").write_text(WEIGHTS.format(margin=margin) + more, encoding="utf-8")
    files = {"GITHUB_OUTPUT": place / "out.txt", "GITHUB_STEP_SUMMARY": place / "summary.md"}
    for path in files.values():
        path.unlink(missing_ok=True)
    bin_folder = str(Path(sys.executable).parent)
    given = {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": os.environ.get("HOME", str(place)),
        "RUNNER_TEMP": str(place),
        "STUDY": "study.toml",
        "AGAINST": "old.nc",
        "WEIGHTS": "./release.toml",
        **{name: str(path) for name, path in files.items()},
        **inputs,
    }
    script = ["bash", str(ACTION / "gate.sh")]
    done = subprocess.run(script, cwd=place, env=given, capture_output=True, text=True, check=False)
    outputs = {}
    if files["GITHUB_OUTPUT"].exists():
        lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
    return done, outputs


QUICKSTART = {"STUDY": "quickstart.toml", "AGAINST": "quickstart.nc"}


def test_the_script_sets_outputs_and_ends_with_the_verdict(place):
    models = {"MODEL": "aster", "AGAINST_MODEL": "dahlia"}
    done, outputs = run_script(place, 0.5, OF_BIAS, **QUICKSTART, **models)
    assert done.returncode == 0, done.stderr
    assert (outputs["status"], outputs["verdict"]) == ("0", "at least as safe")
    assert open_results(outputs["results"]).attrs["status"] == "measured"
    summary = (place / "summary.md").read_text(encoding="utf-8")
    assert summary == Path(outputs["markdown"]).read_text(encoding="utf-8")
    start = "<!-- sharpbayes gate -->\n### \u2705 aster is at least as safe as dahlia"
    assert summary.startswith(start)
    assert Path(outputs["junit"]).exists()


# In place of the program: `measure` ends well, `gate` writes its answer and ends with a status.
PYTHON = """#!/usr/bin/env bash
[ "$3" = gate ] || exit 0
while [ "$1" != --markdown ]; do shift; done
echo "<!-- sharpbayes gate -->" > "$2"
exit "$GATE_STATUS"
"""


@pytest.mark.parametrize(
    ("status", "inputs", "ends_with"),
    [
        ("0", {}, 0),
        ("6", {}, 6),
        ("6", {"UNDECIDED": "pass"}, 6),
        ("6", {"VERDICT_LATER": "true"}, 0),
        ("7", {}, 7),
        ("7", {"UNDECIDED": "pass"}, 0),
        ("5", {"VERDICT_LATER": "true", "UNDECIDED": "pass"}, 5),
    ],
)
def test_the_script_ends_with_the_status_of_the_gate(tmp_path, status, inputs, ends_with):
    (tmp_path / "python").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    given = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "out.txt"),
        "GATE_STATUS": status,
        "STUDY": "study.toml",
        "AGAINST": "old.nc",
        **inputs,
    }
    done = subprocess.run(["bash", str(ACTION / "gate.sh")], env=given, check=False)
    assert done.returncode == ends_with
    # An error is no verdict.
    assert (tmp_path / "out.txt").exists() == (status != "5")


@pytest.mark.slow
def test_what_is_not_decided_passes_where_that_is_asked_for_and_an_error_never(place):
    # Six prompts decide nothing, however large a margin is.
    done, outputs = run_script(place, 0.5)
    assert (done.returncode, outputs["verdict"]) == (7, "not decided")
    done, outputs = run_script(place, 0.5, UNDECIDED="pass")
    assert (done.returncode, outputs["status"]) == (0, "7")
    done, outputs = run_script(place, -1.0)
    assert (done.returncode, outputs) == (2, {})
    assert "gate.policy_score: found -1.0, must be larger than 0" in done.stderr


def test_the_action_gives_the_script_its_variables():
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    script = (ACTION / "gate.sh").read_text(encoding="utf-8")
    assert set(steps["Measure and compare"]["env"]) == {
        *("STUDY", "AGAINST", "WEIGHTS", "MODEL", "AGAINST_MODEL", "VERDICT_LATER")
    }
    for name in steps["Measure and compare"]["env"]:
        assert f"${name}" in script or f"${{{name}:-}}" in script
    written = set(re.findall(r'echo "(\w+)=', script))
    assert {"verdict", "results", "junit"} == set(action["outputs"])
    assert set(action["outputs"]) <= written
    # What people write reaches the shell as variables, never as text of a script.
    assert not [name for name, step in steps.items() if "${{" in step.get("run", "")]


GH = """#!/usr/bin/env bash
echo "$*" >> "$CALLS"
[ "$2" != view ] || echo "$OWN_COMMENTS"
"""


@pytest.mark.parametrize(
    ("own_comments", "call"),
    [
        ("", "pr comment 7 --repo a/b --body-file gate.md"),
        (
            "https://host/a/b/pull/7#issuecomment-12",
            "api --method PATCH repos/a/b/issues/comments/12 -F body=@gate.md --silent",
        ),
    ],
)
def test_the_comment_takes_the_place_of_the_one_with_its_mark(tmp_path, own_comments, call):
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "gate.md").write_text("<!-- sharpbayes gate -->\n### Verdict\n", encoding="utf-8")
    given = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "CALLS": "calls",
        "OWN_COMMENTS": own_comments,
        "PULL_REQUEST": "7",
        "REPOSITORY": "a/b",
        "MARKDOWN": "gate.md",
    }
    subprocess.run(["bash", str(ACTION / "comment.sh")], cwd=tmp_path, env=given, check=True)
    looked_up, written = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert 'viewerDidAuthor and (.body | startswith("<!-- sharpbayes gate -->"))' in looked_up
    assert written == call
