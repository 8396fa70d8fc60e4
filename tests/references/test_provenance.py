"""Committed tables of slow studies say where they come from; changes of their code are seen."""

import tomllib

import pytest

from tests.references import provenance
from tests.references.provenance import HERE, LIBRARIES, TABLES, explanation, sidecar

CODE = '''"""A docstring."""

LIMIT = 3


def double(number):
    """Twice the number."""
    return 2 * number
'''


@pytest.mark.parametrize("name", TABLES)
def test_the_code_of_a_table_is_the_code_that_it_holds_for(name):
    changes = explanation(HERE / name)
    assert not changes, changes


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_made_it(name):
    origin = tomllib.loads(sidecar(HERE / name).read_text(encoding="utf-8"))["made"]
    assert origin["command"].startswith("python -m tests.")
    assert origin["commit"]
    assert set(origin["versions"]) <= {"python", *LIBRARIES, "note", "r", "rstan", "posterior"}
    assert origin["versions"]


def test_every_table_of_a_study_has_a_record():
    inputs = {"small_crowd.csv", "small_crowd_experts.csv", "small_panel.csv", "small_people.csv"}
    inputs |= {"small_trials.csv"}
    comparison = {"renamed.csv", "published_responsiveness.csv"}
    tables = {path.name for path in (*HERE.glob("*.csv"), *HERE.glob("*.json"))}
    assert tables - inputs - comparison == set(TABLES)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (("A docstring.", "Another one."), False),
        (("LIMIT = 3\n", "LIMIT = 3  # a comment\n\n"), False),
        (('    """Twice the number."""\n', ""), False),
        (("2 * number", "(2 * number)"), False),
        (("LIMIT = 3", "LIMIT = 4"), True),
        (("number", "value"), True),
        (("2 * number", "number * 2"), True),
    ],
)
def test_a_digest_is_of_what_code_does(tmp_path, change, counts):
    path = tmp_path / "module.py"
    path.write_text(CODE, encoding="utf-8")
    before = provenance.digest("module.py", tmp_path)
    path.write_text(CODE.replace(*change), encoding="utf-8")
    assert (provenance.digest("module.py", tmp_path) != before) == counts


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("a.R", "x <- 1 # one\n\n", "x  <-  1\n"),
        ("a.stan", "real x; // a number\n/* two\nlines */\n", "real x;\n"),
        ("a.toml", "# a title\nx = 1\n", "x = 1\n"),
    ],
)
def test_comments_of_other_languages_do_not_count(tmp_path, name, text, same):
    (tmp_path / name).write_text(text, encoding="utf-8")
    before = provenance.digest(name, tmp_path)
    (tmp_path / name).write_text(same, encoding="utf-8")
    assert provenance.digest(name, tmp_path) == before
    (tmp_path / name).write_text(same.replace("x", "y"), encoding="utf-8")
    assert provenance.digest(name, tmp_path) != before


def test_a_new_file_of_a_folder_counts(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "first.py").write_text("x = 1\n", encoding="utf-8")
    before = provenance.digest("room", tmp_path)
    (tmp_path / "room" / "second.py").write_text("", encoding="utf-8")
    assert provenance.digest("room", tmp_path) != before


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with its code in a folder of their own."""
    monkeypatch.setattr(provenance, "HERE", tmp_path)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(provenance, "TABLES", {"table.csv": ("study.py",)})
    monkeypatch.setattr(provenance, "commit", lambda: "abc")
    monkeypatch.setattr(provenance, "digest", lambda place, root=tmp_path: DIGEST(place, root))
    (tmp_path / "study.py").write_text(CODE, encoding="utf-8")
    return tmp_path / "table.csv"


DIGEST = provenance.digest


def test_a_run_is_recorded_and_a_change_is_told(table, capsys, monkeypatch):
    monkeypatch.setattr("sys.orig_argv", ["python", "-m", "tests.study", "--all"])
    provenance.record_run(table)
    assert explanation(table) == ""
    (table.parent / "study.py").write_text(CODE.replace("3", "4"), encoding="utf-8")
    command = "python -m tests.references.provenance --record --reason"
    assert explanation(table) == (
        "table.csv holds for the code of commit abc. Changed since: study.py. "
        "Run `python -m tests.study --all` again, or, if its numbers cannot have changed, "
        f'`{command} "..." table.csv`.'
    )
    provenance.main(["--record", "--reason", "LIMIT is not used", "table.csv"])
    assert capsys.readouterr().out == "table.csv holds for the present code\n"
    written = tomllib.loads(sidecar(table).read_text(encoding="utf-8"))
    assert written["code"]["reason"] == "LIMIT is not used"
    assert written["made"]["command"] == "python -m tests.study --all"
    with pytest.raises(SystemExit):
        provenance.main(["--record", "table.csv"])


def test_a_table_that_is_written_elsewhere_gets_no_record(tmp_path):
    provenance.record_run(tmp_path / "calibration.csv")
    assert not list(tmp_path.iterdir())
