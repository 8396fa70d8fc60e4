"""The rooms of the package: imports point down only, PyMC stays in one room."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "sharpbayes"
ROOMS = [
    "__main__",
    "cli",
    "terminal",
    "cluster",
    "checkpoint",
    "report",
    "compare",
    "run",
    "digest",
    "simulate_model",
    "simulate",
    "starter",
    "starter_logs",
    "guess",
    "sensitivity",
    "reweigh",
    "weigh_crowd",
    "further",
    "preposterior",
    "govern",
    "predictive",
    "people",
    "replicated_crowd",
    "replicated_panel",
    "replicated",
    "measure_crowd",
    "measure_panel",
    "validate_panel",
    "results",
    "bayes",
    "metrics",
    "data",
    "spec",
    "library",
    "tasks",
    "errors",
]
# Two rooms that stand side by side: metrics knows nothing of files, data nothing of metrics.
APART = {("metrics", "data"), ("metrics", "spec"), ("metrics", "library"), ("bayes", "metrics")}
HEAVY = ("pymc", "pytensor", "nutpie", "arviz")


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def room(name):
    return name.removeprefix("sharpbayes.").split(".")[0]


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_down_only(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name in imported(path):
        if name.startswith("sharpbayes."):
            other = room(name)
            assert ROOMS.index(other) >= ROOMS.index(own), f"{own} imports {other}"
            assert (own, other) not in APART, f"{own} imports {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_pymc_is_imported_in_the_bayes_room_only(path):
    if path.parent.name != "bayes":
        assert not [name for name in imported(path) if name.split(".")[0] in HEAVY]


def loaded_by(code):
    script = f"import sys; {code}; print(sorted(n for n in sys.modules if '.' not in n))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_measure_and_the_public_names_do_not_load_pymc():
    assert not set(HEAVY) & set(loaded_by("import sharpbayes.run, sharpbayes.results"))


def test_the_command_line_starts_without_numbers():
    heavy = {*HEAVY, "numpy", "pandas", "xarray", "numba", "scipy"}
    assert not heavy & set(loaded_by("import sharpbayes.cli, sharpbayes"))


def run_command(*arguments):
    """Load what a command loads."""
    call = f"app({list(arguments)!r}, standalone_mode=False)"
    return loaded_by(f"from sharpbayes.cli import app; {call}")


def test_help_loads_little():
    loaded = run_command("--help")
    assert not {"numpy", "pandas", "xarray", "pydantic", "jinja2"} & set(loaded)
    assert len(loaded) < 150


def test_check_loads_no_compiler_and_no_library_of_statistics():
    # Where dask is installed, xarray loads it and what it needs.
    unused = {"xarray", "dask", "numba", "scipy", "statsmodels", "matplotlib", "jinja2", *HEAVY}
    for study in ("quickstart", "quickstart_crowd"):
        assert not unused & set(run_command("check", study))
    assert not unused & set(run_command("check", "quickstart", "--json"))


def test_spec_reads_without_numbers():
    assert not {"numpy", "pandas", "xarray"} & set(loaded_by("import sharpbayes.spec.load"))


def test_functions_fit_in_one_look():
    long = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                size = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                if size > 50:
                    long.append(f"{path.name}:{node.name}: {size} lines")
    assert not long


def test_no_file_is_over_400_lines():
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert not {name: size for name, size in sizes.items() if size > 400}
