"""Every block of every page runs, every part made from code is up to date, and the pages build."""

import ast
import builtins
import contextlib
import doctest
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from sharpbayes.cli.commands import app
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study, parse
from sharpbayes.spec.schema import KINDS
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.check import check
from tests.make_docs import (
    BLOCK,
    describe_keys,
    diagrams,
    draw_diagram,
    generated_pages,
    list_entries,
    split_docstring,
    update_page,
)
from tests.make_tutorials import FENCE, TUTORIALS

DOCS = Path(__file__).parents[2] / "docs"
LOGS = Path(__file__).parents[1] / "data" / "logs"
RUN = {"python", "pycon", "toml", "sh", "console"}
SHOWN = {"text"}
# What takes minutes, or writes into the reader's shell: its words are checked, and it is not run.
LONG = {"fit", "calibrate", "compare", "--install-completion"}
TABLES = {"quickstart": "panel", "quickstart_crowd": "crowd"}


# Their files are no part of the repository: ``test_tutorials.py`` runs them.
ELSEWHERE = {TUTORIALS / "panel.md", TUTORIALS / "crowd.md"}
# Examples of docstrings, which run where they are written. The page adds their imports.
FROM_DOCSTRINGS = DOCS / "reference" / "python.md"
# Commands that read what their words name, and write nothing where no word says so.
READING = {"weigh", "show"}
WRITES = {"--out", "--tables", "--figures"}
READ = {}


def every_page():
    return [DOCS.parent / "README.md", *sorted({*DOCS.rglob("*.md")} - ELSEWHERE)]


def blocks(path):
    return [block.groups() for block in FENCE.finditer(path.read_text(encoding="utf-8"))]


def runnable():
    pages = [path for path in every_page() if path != FROM_DOCSTRINGS]
    return [path for path in pages if {language for language, *_ in blocks(path)} & RUN]


def named(path):
    return path.relative_to(DOCS.parent).as_posix()


@pytest.fixture(scope="session")
def fits(shared_results):
    """Small fits of both shipped studies, by their table."""
    return {table: shared_results(f"fitted_{table}") for table in TABLES.values()}


def people():
    """Two people who scored some of what the judges of the shipped panel scored."""
    cells = product(["ann", "bob"], ["aster", "briar"], ["p01", "p02", "p03"])
    rows = [(*cell, "bias_severity", 1 + number % 5) for number, cell in enumerate(cells)]
    return pd.DataFrame(rows, columns=["person", "model", "prompt", "indicator", "score"])


@pytest.fixture
def place(tmp_path, monkeypatch, request):
    """A reader's folder: the shipped studies with their data, and their results if asked for."""
    for path in folder("studies").glob("quickstart*"):
        shutil.copy(path, tmp_path)
    for path in folder("studies").glob("quickstart_crowd*.csv"):
        shutil.copy(path, tmp_path / path.name.replace("quickstart_crowd", "ratings"))
    shutil.copytree(LOGS, tmp_path, dirs_exist_ok=True)
    people().to_csv(tmp_path / "people.csv", index=False)
    if any(f"{name}.results.nc" in text for *_, text in blocks(request.param) for name in TABLES):
        fits = request.getfixturevalue("fits")
        for name, table in TABLES.items():
            shutil.copy(fits[table], tmp_path / f"{name}.results.nc")
    monkeypatch.chdir(tmp_path)
    return request.param


@pytest.mark.parametrize("place", runnable(), ids=named, indirect=True)
def test_every_block_of_a_page_works(place):
    known = {"__name__": "page"}
    for language, title, text in blocks(place):
        assert language in RUN | SHOWN, (place, language)
        saved = re.search(r'title="([^"]+)"', title)
        if saved:
            Path(saved.group(1)).write_text(text, encoding="utf-8")
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, named(place), "exec", dont_inherit=True), known)
        elif language == "pycon":
            examples(text, known, named(place))
        elif language == "toml":
            understood(text)
        elif language in {"sh", "console"}:
            commands(text, prompt="$ " if language == "console" else "")


def test_imports_of_the_python_page_are_those_that_its_examples_need():
    """The examples run as those of docstrings, and the page is compared with them."""
    assert {language for language, *_ in blocks(FROM_DOCSTRINGS)} <= {"pycon", *SHOWN}
    for _, _, text in blocks(FROM_DOCSTRINGS):
        source = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        tree = ast.parse(source)
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        known = {}
        exec(compile(ast.Module(imports, []), "python.md", "exec"), known)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        given = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        given |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        assert {node.id for node in names} <= {*known, *given, *dir(builtins)}


def examples(text, known, name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(text, known, name, name, 0)
    output = io.StringIO()
    failed = doctest.DocTestRunner(optionflags=flags).run(test, out=output.write, clear_globs=False)
    known.update(test.globs)
    assert failed.failed == 0, output.getvalue()


def understood(text):
    """A whole file is read as what it is, some lines of one as part of a shipped one."""
    data = tomllib.loads(text)
    kind = data.get("schema", "//").split("/")[1]
    if kind == "study":
        Path("whole.toml").write_text(text, encoding="utf-8")
        assert check(load_study("whole.toml")).ratings
    elif kind:
        assert parse(text, Path("page.toml"), KINDS[kind]).spec.title
    elif set(data) <= set(Weights.model_fields) - {"title"}:
        sharp = tomllib.loads((folder("weights") / "sharp.toml").read_text(encoding="utf-8"))
        assert Weights.model_validate(sharp | data)
    else:
        study = "quickstart_crowd.toml" if "crowd" in data else "quickstart.toml"
        assert check(load_study(study, overrides=tuple(overrides(data)))).ratings


def overrides(data):
    for key, value in data.items():
        inner = value.items() if isinstance(value, dict) else ()
        yield from (f"{key}.{name}={toml(inner_value)}" for name, inner_value in inner)
        if not inner:
            yield f"{key}={toml(value)}"


def toml(value):
    """A value as TOML writes it on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def commands(text, prompt):
    """Run the lines that call the program, and look for the lines shown below each."""
    printed = ""
    for line in text.splitlines():
        if not line.startswith(prompt):
            assert line in printed, (line, printed)
            continue
        words = shlex.split(line.removeprefix(prompt), comments=True)
        if "sharpbayes" in words and words[0] in {"sharpbayes", "uv", "pip"}:
            printed = called(words[words.index("sharpbayes") + 1 :])


def called(words):
    if words[0] in LONG:
        if not words[0].startswith("-"):
            get_command(app).commands[words[0]].make_context(words[0], words[1:]).close()
        return ""
    if words[0] in READING and not WRITES & set(words):
        key = (*words, *map(digest, filter(os.path.isfile, words)))
        if key not in READ:
            READ[key] = printed_by(words)
        return READ[key]
    return printed_by(words)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def printed_by(words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.stderr)
    return done.stdout + done.stderr


def test_generated_blocks_are_up_to_date(fits):
    """``python -m tests.make_docs`` writes them again."""
    opened = {table: open_results(path) for table, path in fits.items()}
    for path in generated_pages():
        text = path.read_text(encoding="utf-8")
        assert update_page(text, opened) == text, path
    described = (DOCS / "results.md").read_text("utf-8") + (DOCS / "weighing.md").read_text("utf-8")
    groups = {group for results in opened.values() for group in results.children}
    assert not [group for group in groups if f"/{group}`" not in described]


def test_an_argument_of_two_lines_is_one_entry():
    doc = "Return it.\n\nArgs:\n    results: From one or\n        another.\n"
    _, sections = split_docstring(doc)
    assert list_entries(sections["Args"], "Args") == ["`results`: From one or another."]


def test_a_constant_is_written_as_in_toml():
    keys = describe_keys("study")
    assert "text or `true`" in keys
    assert '`"sharpbayes/study/2"`' in keys


def test_a_stale_block_is_seen():
    text = "<!-- generated: priors judge_severity -->\nold\n<!-- end -->\n"
    assert "normal(0, 5), ordered" in update_page(text, {})
    assert update_page("no block\n", {}) == "no block\n"


@pytest.mark.parametrize("path", diagrams(), ids=lambda path: path.stem)
def test_diagrams_are_up_to_date_and_shown(path):
    """``python -m tests.make_docs`` draws them again."""
    assert path.read_text(encoding="utf-8") == draw_diagram(path)
    assert f"]({path.name})" in path.with_suffix(".md").read_text(encoding="utf-8")


def test_every_shipped_model_and_metric_has_a_page():
    models = {path.stem for path in (DOCS / "models").glob("*.md")} - {"choosing"}
    assert models == {path.stem for path in folder("models").glob("*.toml")}
    shown = {
        name for path in generated_pages() for _, name in BLOCK.findall(path.read_text("utf-8"))
    }
    listed = (DOCS / "metrics.md").read_text(encoding="utf-8")
    rooms = DOCS.parent / "sharpbayes" / "metrics"
    homes = {f"{path.parent.name}.{path.stem}" for path in rooms.glob("*/*.py")}
    named_there = re.findall(r"`(\w+\.\w+)\.(\w+)`", listed)
    metrics_named = {
        f"{home}.{name}" for home, name in named_there if home in homes and is_metric(home, name)
    }
    assert len(metrics_named) > 40
    assert not metrics_named - shown
    pages_of = {path.name for path in (DOCS / "metrics").glob("*.md")}
    assert pages_of == set(re.findall(r"\(metrics/([\w-]+\.md)\)", listed))


def is_metric(home, name):
    return callable(getattr(import_module(f"sharpbayes.metrics.{home}"), name, None))


@pytest.mark.slow
def test_every_study_of_logs_runs(tmp_path, monkeypatch):
    shutil.copytree(LOGS, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    studies = [text for language, _, text in blocks(DOCS / "logs.md") if language == "toml"]
    assert len(studies) == 7
    for number, text in enumerate(studies):
        Path(f"{number}.toml").write_text(text, encoding="utf-8")
        words = ["measure", f"{number}.toml", "--set", "bootstrap.replicates=20"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.stderr)
        assert "every one lacks ratings" not in done.output


def test_the_pages_build_and_load_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["-f", str(DOCS / "config" / "mkdocs.yml"), "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert {page.parent.name for page in pages} >= {"quickstart", "reading", "cvar", "judge_panel"}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'(?:src|<link[^>]*href)="?https?://', text), page
        assert "//cdn" not in text, page


def test_every_page_is_in_the_contents():
    listed = (DOCS / "config" / "mkdocs.yml").read_text(encoding="utf-8")
    written = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    paths = [path.relative_to(DOCS).as_posix() for path in written]
    assert not [path for path in paths if f" {path}\n" not in f"{listed}\n"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("me", {"measure"}), ("ca", {"calibrate"}), ("fit --re", {"--retry", "--resume"})],
)
def test_completion_offers_commands_and_options(typed, offered):
    words = f"sharpbayes {typed}"
    asked = {"_SHARPBAYES_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment = os.environ | asked | {"COMP_CWORD": str(len(words.split()) - 1)}
    command = [sys.executable, "-m", "sharpbayes"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True, cwd=DOCS.parent
    )
    assert set(done.stdout.split()) == offered
