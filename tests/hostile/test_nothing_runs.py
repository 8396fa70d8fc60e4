"""No file can name code, reach the network or write anywhere but the results."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "sharpbayes"
# The package's own file loads the public names, which it lists itself, on first use.
MODULES = sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py"})
CODE = {"pickle", "marshal", "shelve", "dill", "joblib", "runpy", "code", "subprocess", "pty"}
NETWORK = {
    "socket",
    "urllib",
    "http",
    "ftplib",
    "smtplib",
    "requests",
    "ssl",
    "asyncio",
    "socketserver",
}
# `--portable` on Windows starts the program once more, with the arguments that it was started with.
STARTS_ITSELF = {"execution/portability.py": {"subprocess"}}
CALLS = {"eval", "exec", "__import__", "import_module", "system", "popen", "literal_eval"}
GUARD = """
import sys
from pathlib import Path
allowed = Path(sys.argv[1]).resolve()
def hook(event, arguments):
    if event.startswith("socket.") and event not in ("socket.gethostname",):
        raise SystemExit(f"network: {event} {arguments}")
    starts = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn")
    if event in starts and arguments[0] != "uname":
        raise SystemExit(f"process: {event} {arguments}")
    if event == "open" and isinstance(arguments[0], str) and isinstance(arguments[1], str):
        path = Path(arguments[0]).resolve()
        writes = set(arguments[1]) & set("wax+")
        if writes and allowed not in path.parents and "__pycache__" not in path.parts:
            raise SystemExit(f"write: {path}")
from sharpbayes.cli.commands import main
import sharpbayes.workflows.fit
sys.argv = ["sharpbayes", "measure", "quickstart_crowd", "--quiet", "--out", str(allowed / "r.nc"),
            "--set", "bootstrap.replicates=20", "--set", "crowd.permutations=20"]
sys.addaudithook(hook)
main()
"""


def names_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).split(".")[0]
        elif isinstance(node, ast.Call):
            name = node.func
            yield f"{name.id if isinstance(name, ast.Name) else getattr(name, 'attr', '')}()"


def named(path):
    return path.relative_to(PACKAGE).as_posix()


ROOMS = sorted({named(path.parent) for path in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_can_run_code_or_reach_the_network(room):
    refused = CODE | NETWORK | {f"{name}()" for name in CALLS}
    found = {
        named(path): (refused - STARTS_ITSELF.get(named(path), set())) & set(names_in(path))
        for path in MODULES
        if named(path.parent) == room
    }
    assert found
    assert not {name: names for name, names in found.items() if names}


def test_a_measurement_reaches_no_network_and_writes_only_its_results(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", GUARD, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]
