"""The rooms of the package: imports point down only, PyMC stays in one room."""

import ast
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.measure_structure import (
    asserts,
    counts,
    cycles,
    functions,
    local_imports,
    sources,
    tree_of,
    vague_names,
    without_reason,
)

PACKAGE = Path(__file__).parents[1] / "sharpbayes"
# From the one that imports most to the one that imports nothing; each may import those below it.
ROOMS = (
    "cli",
    "workflows",
    "report",
    "scaffold",
    "simulation",
    "posterior",
    "analysis",
    "bayes",
    "metrics",
    "data",
    "storage",
    "execution",
    "spec",
)
SUB_ROOMS = {
    "bayes": ("predict", "sampling", "graph", "kernel", "design"),
    "metrics": ("panel", "crowd", "stats"),
}
TOP = {"__init__", "__main__", "errors", "library"}
# Rooms that stand side by side: metrics knows nothing of files, data nothing of metrics.
SEPARATE = {("metrics", "data"), ("metrics", "spec"), ("metrics", "library"), ("bayes", "metrics")}
# Lines of the body of the median function; the aim is 5.
MEDIAN_LINES = 6
HEAVY = ("pymc", "pytensor", "nutpie", "arviz")


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def folders(parent):
    return {path.parent.name for path in parent.glob("*/__init__.py")}


def imported(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def imported_parts(path):
    names = (name for name in imported(path) if name.startswith("sharpbayes."))
    return [tuple(name.split(".")[1:]) for name in names]


def test_the_folders_are_the_rooms():
    assert folders(PACKAGE) == set(ROOMS)
    assert {path.stem for path in PACKAGE.glob("*.py")} == TOP
    for room, sub_rooms in SUB_ROOMS.items():
        assert folders(PACKAGE / room) == set(sub_rooms)


@pytest.mark.parametrize("room", ROOMS)
def test_tests_lie_as_the_rooms_do(room):
    tests = Path(__file__).parent / room
    assert list(tests.rglob("test_*.py"))
    folders_with_tests = {path.parent for path in tests.rglob("test_*.py")} - {tests}
    for folder in folders_with_tests - {tests / "logs"}:
        assert (PACKAGE / folder.relative_to(tests.parent)).is_dir(), folder


def modules_of(room):
    """Modules of a room, of ``.`` those beside the rooms."""
    found = [path for path in modules() if room_of(path) == room]
    assert found
    return found


def imports_upwards(path):
    """Imports of a module that its place does not allow."""
    order = (*ROOMS, "library", "errors")
    room, *inner = path.relative_to(PACKAGE).with_suffix("").parts
    for other, *names in imported_parts(path):
        is_above = room in ROOMS and order.index(other) < order.index(room)
        if is_above or (room, other) in SEPARATE:
            yield f"{room} imports {other}"
        if other == room in SUB_ROOMS and inner[0] in SUB_ROOMS[room]:
            ranks = SUB_ROOMS[room]
            if ranks.index(names[0]) < ranks.index(inner[0]):
                yield f"{inner[0]} imports {names[0]}"


@pytest.mark.parametrize("room", [*ROOMS, "."])
def test_imports_point_down_only(room):
    wrong = {named(path): list(imports_upwards(path)) for path in modules_of(room)}
    assert not {name: imports for name, imports in wrong.items() if imports}


@pytest.mark.parametrize("room", [*ROOMS, "."])
def test_pymc_is_imported_in_the_bayes_room_only(room):
    refused = set(HEAVY) - set({"bayes": HEAVY, "report": ("arviz",)}.get(room, ()))
    heads = {
        named(path): {name.split(".")[0] for name in imported(path)} for path in modules_of(room)
    }
    assert not {name: refused & found for name, found in heads.items() if refused & found}


def loaded_by(code):
    script = f"import sys\n{code}\nprint(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_measure_and_the_public_names_do_not_load_pymc():
    assert not set(HEAVY) & set(loaded_by("import sharpbayes.workflows.fit"))


def test_the_command_line_starts_without_numbers():
    heavy = {*HEAVY, "numpy", "pandas", "xarray", "numba", "scipy"}
    assert not heavy & set(loaded_by("import sharpbayes.cli.commands, sharpbayes"))


def run_commands(*calls):
    """Load what commands load, one after the other."""
    lines = [f"app({call!r}, standalone_mode=False)" for call in calls]
    return loaded_by("\n".join(["from sharpbayes.cli.commands import app", *lines]))


def test_help_loads_little():
    loaded = run_commands(["--help"])
    assert not {"numpy", "pandas", "xarray", "pydantic", "jinja2"} & set(loaded)
    assert sum("." not in name for name in loaded) < 150


def test_check_loads_no_compiler_and_no_library_of_statistics():
    # Where dask is installed, xarray loads it and what it needs.
    unused = {"xarray", "dask", "numba", "scipy", "statsmodels", "matplotlib", "jinja2", *HEAVY}
    calls = [["check", "quickstart"], ["check", "quickstart_crowd"]]
    calls.append(["check", "quickstart", "--json"])
    assert not unused & set(run_commands(*calls))


def test_spec_reads_without_numbers():
    assert not {"numpy", "pandas", "xarray"} & set(loaded_by("import sharpbayes.spec.load"))


def named(path):
    return path.relative_to(PACKAGE).as_posix()


def test_functions_fit_in_one_look():
    sizes = {path: list(functions(path)) for path in modules()}
    long = [
        (named(path), *function) for path in sizes for function in sizes[path] if function[1] > 50
    ]
    assert not long
    assert median(size for lengths in sizes.values() for _, size in lengths) <= MEDIAN_LINES


def test_no_file_is_over_400_lines():
    sizes = {named(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert not {name: size for name, size in sizes.items() if size > 400}


@pytest.mark.parametrize("room", [*ROOMS, "."])
def test_a_local_import_gives_its_reason(room):
    files = [path for path in sources(PACKAGE) if room_of(path) == room]
    assert not {named(path): without_reason(path) for path in files if without_reason(path)}


def test_no_modules_import_one_another():
    """Local imports count: one must not hide a cycle."""
    assert not cycles(PACKAGE)


@pytest.mark.parametrize("room", [*ROOMS, "."])
def test_the_library_asserts_nothing(room):
    """A type that cannot be None, or an error with a text, says more."""
    files = [path for path in sources(PACKAGE) if room_of(path) == room]
    assert not {named(path): asserts(path) for path in files if asserts(path)}


@pytest.mark.parametrize("room", [*ROOMS, "."])
def test_names_say_what_a_value_is(room):
    files = [path for path in sources(PACKAGE) if room_of(path) == room]
    assert not {named(path): vague_names(path) for path in files if vague_names(path)}


def room_of(path):
    return named(path).split("/")[0] if "/" in named(path) else "."


def test_the_check_of_names_can_fail(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "MOST_ROWS = 3\nfor who in ():\n    whole = max(who)\n\ndef f(what): ...\n", "utf-8"
    )
    assert vague_names(path) == ["1: MOST_ROWS", "2: who", "5: what"]


def test_the_checks_of_local_imports_and_asserts_can_fail(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import os\n\n\ndef load():\n"
        "    import json  # noqa: PLC0415\n"
        "    import ast  # noqa: PLC0415 - slow to load\n"
        "    from re import (  # noqa: PLC0415 - slow to load\n        compile,\n    )\n"
        "    assert json is not ast\n",
        encoding="utf-8",
    )
    assert [number for number, _ in local_imports(path)] == [5, 6, 7]
    assert without_reason(path) == ["import json  # noqa: PLC0415"]
    assert asserts(path) == [10]


def test_the_check_of_cycles_can_fail(tmp_path):
    texts = {
        "__init__": "",
        "first": "def load():\n    from package import second\n    return second\n",
        "second": "from package.third import name\n",
        "third": "from package.first import load\n",
        "outside": "from package.first import load\n",
    }
    (tmp_path / "package").mkdir()
    for name, text in texts.items():
        (tmp_path / "package" / f"{name}.py").write_text(text, encoding="utf-8")
    assert [cycle[0] for cycle in cycles(tmp_path / "package")] == [
        "package.first",
        "package.second",
        "package.third",
    ]


def test_the_table_of_the_structure_counts_this_package():
    """``python -m tests.measure_structure`` prints it beside an older version."""
    table = counts(PACKAGE)
    assert table["modules"] == str(len(sources(PACKAGE)))
    assert table["functions of more than 50 lines"] == "0"


def test_the_root_has_what_the_project_is_made_of():
    """No download or build output is part of the repository."""
    root = PACKAGE.parent
    call = ["git", "ls-files", "--cached", "--", "."]
    tracked = subprocess.run(call, cwd=root, capture_output=True, text=True, check=True).stdout
    names = {name.split("/")[0] for name in tracked.splitlines() if not name.startswith(".")}
    folders = {"sharpbayes", "specs", "models", "tests", "docs"}
    files = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "CONTRIBUTING.md"}
    assert names == folders | files
