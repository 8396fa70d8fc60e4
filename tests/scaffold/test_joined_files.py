"""Several files given to `init`: one for each model, judge or rater."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError
from sharpbayes.scaffold.joined_files import choose_role, label_files
from sharpbayes.scaffold.logs import LogTable, name_study
from sharpbayes.scaffold.side_tables import split_tables
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

RNG = np.random.default_rng(8)


def write_files(folder, names, **columns):
    """Write a file of 40 prompts for each name, and return their paths."""
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        table = pd.DataFrame({"prompt": [f"How {n}?" for n in range(40)]}).assign(**columns)
        table.assign(harm=RNG.integers(0, 5, 40)).to_csv(path, index=False)
    return paths


def start(folder, paths, **options):
    draft = write_study(paths[0], folder / "study.toml", others=paths[1:], **options)
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    check(load_study(folder / "study.toml"))
    return draft.assumptions, study.get("panel") or study["crowd"]


@pytest.mark.parametrize(
    ("names", "columns", "role", "labels"),
    [
        (("run_gpt-4o.csv", "run_claude.csv"), {}, "model", ["gpt-4o", "claude"]),
        (("ours/run.csv", "theirs/run.csv"), {}, "model", ["ours", "theirs"]),
        (("run.csv", "run_v2.csv"), {}, "model", ["run", "run_v2"]),
        (("coder_1.csv", "coder_2.csv"), {}, "rater", ["coder_1", "coder_2"]),
        (
            ("judge_gpt-5.csv", "judge_llama.csv"),
            {"model": ["alpha", "beta"] * 20},
            "judge",
            ["gpt-5", "llama"],
        ),
    ],
)
def test_files_are_joined_by_what_their_names_differ_in(tmp_path, names, columns, role, labels):
    paths = write_files(tmp_path, names, **columns)
    assumptions, study = start(tmp_path, paths)
    assert study["roles"][role] == "file"
    copy = pd.read_csv(tmp_path / study["data"])
    assert copy["file"].tolist() == [label for label in labels for _ in range(40)]
    parts = [pd.read_csv(path)["harm"] for path in paths]
    assert copy["harm"].tolist() == pd.concat(parts).tolist()
    assert any("are joined" in text for text in assumptions)
    assert any(f'"file" is taken as the {role}' in text for text in assumptions)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("part_1.csv", "part_2.csv"), ["prompt", "model", "harm"]),
        (("part_1.csv", "part_2.csv"), ["item", "rater", "harm"]),
        (("part1.csv", "part2.csv"), ["prompt", "harm"]),
        (("alice.csv", "bob.csv"), ["item", "rater", "harm"]),
        (("coder_a.csv", "coder_b.csv"), ["item", "rater", "harm"]),
        (("gpt-4.csv", "claude.csv"), ["prompt", "model", "judge", "harm"]),
    ],
)
def test_parts_of_one_table_have_no_role(names, columns):
    assert choose_role(pd.DataFrame(columns=columns), [*map(Path, names)], {}) == ""


def test_names_that_are_the_same_are_those_of_folders():
    assert label_files([Path("a/b.csv"), Path("c/b.csv")]) == ["a", "c"]


def test_a_pattern_of_files_by_model_is_joined_too(tmp_path, monkeypatch):
    write_files(tmp_path, ("run_gpt-4o.csv", "run_claude.csv"))
    monkeypatch.chdir(tmp_path)
    _, study = start(tmp_path, [Path("run_*.csv")])
    assert study["roles"]["model"] == "file"


def test_a_pattern_of_parts_stays_a_pattern(tmp_path, monkeypatch):
    columns = {"model": ["alpha", "beta"] * 20, "judge": "j"}
    write_files(tmp_path, ("part_1.csv", "part_2.csv"), **columns)
    monkeypatch.chdir(tmp_path)
    _, study = start(tmp_path, [Path("part_*.csv")])
    assert study["data"] == "part_*.csv"


def test_the_role_of_the_files_can_be_named(tmp_path):
    paths = write_files(tmp_path, ("a.csv", "b.csv"), model=["alpha", "beta"] * 20)
    _, study = start(tmp_path, paths, roles={"judge": "file"})
    assert study["roles"] == {"model": "model", "prompt": "prompt", "judge": "file"}


def test_parts_of_a_pattern_have_the_role_that_is_named(tmp_path, monkeypatch):
    write_files(tmp_path, ("part_1.csv", "part_2.csv"), model=["alpha", "beta"] * 20)
    monkeypatch.chdir(tmp_path)
    _, study = start(tmp_path, [Path("part_*.csv")], roles={"judge": "file"})
    assert study["roles"]["judge"] == "file"


def test_columns_of_some_of_the_files_are_named(tmp_path):
    paths = write_files(tmp_path, ("gpt-4o.csv", "claude.csv"))
    pd.read_csv(paths[1]).assign(bias=1).to_csv(paths[1], index=False)
    assumptions, _ = start(tmp_path, paths)
    assert 'not all of the files have "bias"; its cells are empty for the others' in assumptions


def test_logs_are_given_by_one_name(tmp_path):
    paths = write_files(tmp_path, ("a.csv", "b.csv"))
    (tmp_path / "c.json").write_text('{"evalId": "x", "results": {}, "config": {}}')
    with pytest.raises(DataError, match="logs of other programs are given by one name"):
        start(tmp_path, [*paths, tmp_path / "c.json"])


def test_more_memory_than_the_bound_is_refused(tmp_path, monkeypatch):
    paths = write_files(tmp_path, ("a.csv", "b.csv"), **{f"c{n}": "x" for n in range(200)})
    monkeypatch.setattr("sharpbayes.scaffold.joined_files.CELL", 10**7)
    with pytest.raises(DataError, match="the rows of all files would take"):
        start(tmp_path, paths)


def test_the_command_takes_several_files(tmp_path, monkeypatch):
    write_files(tmp_path, ("run_gpt-4o.csv", "run_claude.csv"))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", "run_gpt-4o.csv", "run_claude.csv"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run_gpt-4o.toml").exists()
    assert (tmp_path / "run_gpt-4o.data.csv").exists()


def test_the_folder_that_the_command_runs_in_is_a_table(tmp_path, monkeypatch):
    """`init .` ended as an internal error, because this folder has no name."""
    [file] = write_files(tmp_path, ["jan.csv"], model="a", judge="j")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", "."])
    assert (result.exit_code, name_study(Path())) == (0, f"{tmp_path.name}.toml")
    study = tomllib.loads(Path(f"{tmp_path.name}.toml").read_text(encoding="utf-8"))
    assert (study["title"], study["panel"]["data"]) == ("A first look at this folder", ".")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert CliRunner().invoke(app, ["init", ".."]).exit_code == 0
    assert Path(f"{tmp_path.name}.toml").is_file()
    result = CliRunner().invoke(app, ["init", str(file), "--out", "."])
    assert result.stderr == ".: already there; name another with --out\n"


@pytest.fixture
def tables(tmp_path):
    """Ratings of a crowd and of a panel, and tables of their raters, labels and prompts."""
    post, rater = np.divmod(np.arange(60 * 12), 12)
    score = RNG.integers(0, 5, post.size)
    annotators = [f"a{number:02}" for number in range(12)]
    names = [annotators[number] for number in rater]
    expert = {"post": np.repeat(range(60), 2), "expert": ["e1", "e2"] * 60}
    row = np.arange(40 * 6)
    cell = {"prompt_id": row // 6, "model": np.tile(["m1", "m1", "m2", "m2", "m3", "m3"], 40)}
    prompts = {"prompt_id": range(40), "category": ["privacy", "violence"] * 20}
    frames = {
        "scores": {"post": post, "annotator": names, "harm": score},
        "people": {"annotator": annotators, "team": ["x", "y", "z"] * 4},
        "gold": expert | {"label": RNG.integers(0, 2, 120)},
        "shifts": {"annotator": annotators * 2, "hours": RNG.integers(1, 9, 24)},
        "judged": cell | {"judge": ["j1", "j2"] * 120, "harm": RNG.integers(0, 5, 240)},
        "prompts": prompts,
        "towns": {"town": ["a", "b"]},
    }
    for name, columns in frames.items():
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    return {name: tmp_path / f"{name}.csv" for name in frames}


@pytest.mark.parametrize("order", ["scores people gold", "people gold scores"])
def test_tables_of_raters_and_labels_stand_beside_the_ratings(tmp_path, tables, order):
    _, crowd = start(tmp_path, [tables[name] for name in order.split()])
    assert crowd["data"] == "scores.csv"
    assert crowd["raters"] == {"data": "people.csv", "key": "annotator"}
    assert crowd["groups"] == [["team"]]
    assert crowd["labels"]["data"] == "gold.csv"
    assert not (tmp_path / "study.data.csv").exists()


def test_ratings_of_several_files_are_joined_beside_a_table_of_raters(tmp_path, tables):
    scores = pd.read_csv(tables["scores"])
    waves = [tmp_path / "wave_1.csv", tmp_path / "wave_2.csv"]
    is_first = scores["annotator"] < "a05"
    for wave, rows in zip(waves, (is_first, ~is_first), strict=True):
        scores[rows].to_csv(wave, index=False)
    _, crowd = start(tmp_path, [tables["people"], *waves])
    assert crowd["data"] == "study.data.csv"
    assert len(pd.read_csv(tmp_path / "study.data.csv")) == len(scores)
    assert crowd["groups"] == [["file"], ["team"]]


def test_columns_of_prompts_are_added_to_the_scores_of_a_panel(tmp_path, tables):
    assumptions, panel = start(tmp_path, [tables["prompts"], tables["judged"]])
    assert assumptions[0] == 'columns of "prompts.csv" are added by "prompt_id"'
    assert panel["roles"]["category"] == "category"
    copy = pd.read_csv(tmp_path / panel["data"])
    assert copy["harm"].tolist() == pd.read_csv(tables["judged"])["harm"].tolist()
    assert copy["category"].tolist() == [["privacy", "violence"][n % 2] for n in copy["prompt_id"]]


def test_a_table_of_which_a_study_has_no_use_is_named(tmp_path, tables):
    with pytest.raises(DataError, match=r'shifts.csv: it has neither one row .* "scores.csv"'):
        start(tmp_path, [tables["scores"], tables["shifts"]])
    twice = pd.read_csv(tables["prompts"])
    pd.concat([twice, twice[:1]]).to_csv(tables["prompts"], index=False)
    with pytest.raises(DataError, match='several rows have one value of "prompt_id"'):
        start(tmp_path, [tables["judged"], tables["prompts"]])
    others = pd.read_csv(tables["judged"]).assign(prompt_id=lambda x: x["prompt_id"] + 100)
    others.to_csv(tables["judged"], index=False)
    twice.to_csv(tables["prompts"], index=False)
    with pytest.raises(DataError, match='no row of the ratings has one of its values of "prompt'):
        start(tmp_path, [tables["judged"], tables["prompts"]])
    assert not (tmp_path / "study.toml").exists()


def test_files_that_share_no_column_with_the_ratings_are_joined_as_rows(tables):
    tables = [LogTable(name, pd.read_csv(tables[name])) for name in ("scores", "people", "towns")]
    assert split_tables(tables) == ([0], [])
    rated, beside = split_tables(tables[:2])
    assert (rated, [table.name for table in beside]) == ([0], ["people"])
