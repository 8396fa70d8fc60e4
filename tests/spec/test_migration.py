"""Files of schema 1, kept as they were: rewritten with their comments, or told how to go on."""

import shutil
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.spec.load import load, load_study, load_weights
from sharpbayes.spec.migration import RENAMED, migrate
from sharpbayes.spec.model import Model
from sharpbayes.storage.results import open_results

VERSIONS = Path(__file__).parents[1] / "versions"
REWRITTEN = {
    "study": {
        "sharpbayes/study/1": "sharpbayes/study/2",
        "interval_width = 0.2": "target_interval_width = 0.2",
        'model = "crowd_severity"  ': 'fit = "crowd_severity"  ',
        "samples = false": "resample_generations = false",
        "predictive = 40": "predictive_draws = 40",
        "max_deepest = 0.2": "max_depth_share = 0.2",
        "max_divergences = 3": "# CHECK: schema 2 limits the share of divergences instead, "
        "max_divergence_share = 0.01\n# max_divergences = 3",
    },
    "weights": {
        "weights/1": "weights/2",
        "nearly_identical": "max_mean_gap",
        "material": "min_tail_gap",
    },
    "model": {
        "model/1": "model/2",
        "severity = {": "shift = {",
        "[thresholds.spacing]": "[thresholds.gap]",
    },
}


@pytest.mark.parametrize("kind", REWRITTEN)
def test_a_file_of_schema_1_is_rewritten_with_its_comments(kind):
    path = VERSIONS / f"{kind}-1.toml"
    text = path.read_text("utf-8")
    done = CliRunner().invoke(app, ["show", "--migrate", str(path)])
    assert done.exit_code == 0, done.stderr
    for old, new in REWRITTEN[kind].items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert done.stdout == text


def test_what_is_rewritten_is_read_today(tmp_path):
    for kind in REWRITTEN:
        path = VERSIONS / f"{kind}-1.toml"
        (tmp_path / f"{kind}.toml").write_text(migrate(path.read_text("utf-8"), path), "utf-8")
    study = load_study(tmp_path / "study.toml").study
    assert study.spec.crowd.fit == "crowd_severity"
    assert study.spec.sampler.max_depth_share == 0.2
    assert study.open_checks
    assert load_weights(str(tmp_path / "weights.toml")).spec.flips.max_mean_gap == 0.05
    assert load(tmp_path / "model.toml", Model).spec.thresholds.gap.sd == 0.3


@pytest.mark.parametrize("kind", RENAMED)
@pytest.mark.parametrize("place", ["header", "dotted", "inline"])
def test_every_key_is_renamed_wherever_it_stands(kind, place):
    for name, new in RENAMED[kind].items():
        *tables, old = name.split(".")
        table = ".".join(tables)
        text = {
            "header": f"[{table}]\n  {old}=1 # {old} = 2\n",
            "dotted": f"{name} = 1\nother.{old} = '{old} = 1'\n",
            "inline": f'{table} = {{ x = "{old}", {old} = 1 }}\n',
        }[place]
        text = f"schema = 'sharpbayes/{kind}/1'\n{text}"
        migrated = tomllib.loads(migrate(text, Path("x.toml")))
        assert migrated["schema"] == f"sharpbayes/{kind}/2"
        for part in tables:
            migrated = migrated[part]
        assert migrated[new] == 1
        assert old not in migrated


def test_roles_keep_their_model():
    text = (
        'schema = "sharpbayes/study/1"\n[panel]\nroles = { model = "m" }\nmodel = "judge_panel"\n'
    )
    panel = tomllib.loads(migrate(text, Path("x.toml")))["panel"]
    assert panel == {"roles": {"model": "m"}, "fit": "judge_panel"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'schema = "sharpbayes/study/2"',
            "x.toml: schema: is 'sharpbayes/study/2'; rewritten are sharpbayes/study/1, weights/1, "
            "model/1",
        ),
        ("", "x.toml: schema: is None; rewritten are sharpbayes/study/1, weights/1, model/1"),
        ("schema = [", "x.toml: not valid TOML: Invalid value (at end of document)"),
        (
            'schema = "sharpbayes/weights/1"\nflips = { "material" = 1 }',
            "x.toml: cannot be rewritten line by line; rename its keys by hand: "
            "flips.nearly_identical is now max_mean_gap, flips.material is now min_tail_gap",
        ),
    ],
)
def test_what_is_not_rewritten_is_told(text, message):
    with pytest.raises(SpecError) as raised:
        migrate(text, Path("x.toml"))
    assert str(raised.value) == message


def test_results_of_schema_1_say_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(VERSIONS / "results-1.nc", "an old.nc")
    with pytest.raises(StorageError) as raised:
        open_results("an old.nc")
    assert str(raised.value) == (
        "an old.nc: results of schema 1, whose names are others; their study as of today: "
        "sharpbayes show --migrate 'an old.nc' > study.toml"
    )
    done = CliRunner().invoke(app, ["show", "--migrate", "an old.nc"])
    assert done.exit_code == 0, done.stderr
    assert 'schema = "sharpbayes/study/2"' in done.stdout
    assert "# leave it out to skip the fit" in done.stdout


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("results-2.nc", "holds results, not a study; `sharpbayes report results-2.nc` shows them"),
        ("t.csv", "holds data, not a study; `sharpbayes init t.csv` writes a study of them"),
    ],
)
def test_a_file_that_is_no_text_of_schema_1_is_called_what_it_is(run, name, what):
    shutil.copy(VERSIONS / "results-2.nc", "results-2.nc")
    Path("t.csv").write_text("a,b\n")
    done = run("show", "--migrate", name)
    message = f"{name}: no file of schema 1: it {what}\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_results_of_version_0_1_are_opened(tmp_path):
    results = open_results(VERSIONS / "results-2.nc")
    assert results.attrs["status"] == "measured"
    assert float(results["profile"]["cvar"].min()) > 0
