"""The pages build, and what the quickstart tells a reader to do works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from sharpbayes.cli import app
from sharpbayes.library import folder

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_step_of_the_quickstart_runs(tmp_path, monkeypatch, capsys):
    for path in folder("studies").glob("quickstart_crowd*.csv"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    said = []
    for block in blocks("quickstart.md", "sh"):
        for line in block.splitlines():
            done = CliRunner().invoke(app, line.removeprefix("sharpbayes ").split())
            assert done.exit_code == 0, (line, done.stderr)
            said.append(done.stderr)
    assert "study written to mine.toml" in said[0]
    assert "report written to mine.results.html" in said[-1]
    (python,) = blocks("quickstart.md", "python")
    exec(python, {})
    value = re.search(r"gender=Man +([0-9.]+)", capsys.readouterr().out).group(1)
    assert 0 < float(value) <= 1


def test_every_study_of_logs_runs(tmp_path, monkeypatch):
    shutil.copytree(Path(__file__).parent / "data" / "logs", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    [commands] = blocks("logs.md", "sh")
    for number, text in enumerate(blocks("logs.md", "toml")):
        Path(f"{number}.toml").write_text(text, encoding="utf-8")
        commands += f"sharpbayes check {number}.toml\nsharpbayes measure {number}.toml\n"
    for line in commands.splitlines():
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.stderr)
        assert "every one lacks ratings" not in done.output


def test_the_pages_build_and_load_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["-f", str(DOCS / "config" / "mkdocs.yml"), "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert {page.parent.name for page in pages} >= {"quickstart", "reading", "metrics"}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'(?:src|<link[^>]*href)="?https?://', text), page


def test_every_page_is_in_the_contents():
    listed = (DOCS / "config" / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(page.name in listed for page in DOCS.glob("*.md"))
