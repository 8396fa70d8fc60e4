"""Counts of what the structure of the package is made of, for the record of the rebuild.

    python -m tests.measure_structure [COMMIT] [--page docs/adr/0029-rooms-and-names.md]

prints a Markdown table with a row for each count: of the package at a commit (by default the last
one before the rebuild, fe6693c) and of the package in this checkout. ``--page`` writes it
into a page. ``tests/test_structure.py`` uses the same functions.
"""

import argparse
import ast
import io
import json
import subprocess
import tarfile
import tempfile
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sharpbayes"
BEFORE = "fe6693c"
REASON = "PLC0415 - "
BEGIN, END = "<!-- structure: begin -->", "<!-- structure: end -->"


def sources(package: Path) -> list[Path]:
    """Every Python file of a package."""
    return sorted(package.rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return tree_of_text(path.read_text(encoding="utf-8"))


@cache
def tree_of_text(text: str) -> ast.Module:
    """The same of the content of a file; kept, because every count walks all trees."""
    return ast.parse(text)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines of every function, its docstring and signature left out."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield node.name, lines


def local_imports(path: Path) -> list[tuple[int, str]]:
    """Line number and text of every import that stands inside a function."""
    lines = path.read_text(encoding="utf-8").splitlines()
    numbers = {
        inner.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    return [(number, lines[number - 1].strip()) for number in sorted(numbers)]


# Words that do not say what a value is, and prefixes that MAX and MIN stand for.
VAGUE = {
    *("each", "found", "gone", "it", "made", "own", "said", "some", "taken", "that", "them"),
    *("there", "thing", "told", "what", "which", "who", "whose"),
}
LIMIT_WORDS = ("MOST_", "LEAST_", "FEWEST_", "LARGEST_", "LONGEST_", "SMALLEST_")


def vague_names(path: Path) -> list[str]:
    """Names of values and arguments of a file that do not say what they are, with their lines."""
    names = {
        (node.lineno, node.id if isinstance(node, ast.Name) else node.arg)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    return [
        f"{line}: {name}"
        for line, name in sorted(names)
        if name in VAGUE or name.lstrip("_").startswith(LIMIT_WORDS)
    ]


def without_reason(path: Path) -> list[str]:
    """Local imports whose ``noqa`` comment gives no reason."""
    texts = [text for _, text in local_imports(path)]
    return [text for text in texts if not text.partition(REASON)[2].strip()]


def module_name(path: Path, package: Path) -> str:
    """Dotted name of a module of a package, without ``__init__``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imported_modules(path: Path) -> Iterator[str]:
    """Every name that a file imports, those of functions included, those for types left out."""
    tree = tree_of(path)
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and is_for_types(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_for_types(test: ast.expr) -> bool:
    """Whether a condition holds for type checkers alone."""
    return any(
        "TYPE_CHECKING" in {getattr(part, "id", ""), getattr(part, "attr", "")}
        for part in ast.walk(test)
    )


def import_graph(package: Path) -> dict[str, set[str]]:
    """Which modules of a package each of its modules imports."""
    names = {module_name(path, package): path for path in sources(package)}
    return {
        name: (set(imported_modules(path)) & set(names)) - {name} for name, path in names.items()
    }


def cycles(package: Path) -> list[tuple[str, ...]]:
    """Modules that import one another, local imports counted."""
    imports = {name: set(others) for name, others in import_graph(package).items()}
    while free := {name for name, others in imports.items() if not others}:
        imports = {name: others - free for name, others in imports.items() if name not in free}
    while used := {
        name for name in imports if not any(name in targets for targets in imports.values())
    }:
        imports = {name: others for name, others in imports.items() if name not in used}
    return [(name, *sorted(others & set(imports))) for name, others in sorted(imports.items())]


def asserts(path: Path) -> list[int]:
    """Line numbers of assert statements."""
    return [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.Assert)]


def uses_of_any(path: Path) -> int:
    """How often ``Any`` stands in an annotation or a call."""
    nodes = ast.walk(tree_of(path))
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)


def noqa_comments(path: Path) -> int:
    """How many comments silence the linter."""
    text = path.read_text(encoding="utf-8")
    if "noqa" not in text:
        return 0
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(t.type == tokenize.COMMENT and "noqa" in t.string for t in tokens)


def described_keys(folder: Path) -> str:
    """How many keys of the JSON Schemas in a folder have a description."""
    keys = [
        key
        for path in sorted(folder.glob("*.json"))
        for table in tables_of(json.loads(path.read_text(encoding="utf-8")))
        for key in table.get("properties", {}).values()
    ]
    return f"{sum('description' in key for key in keys)} of {len(keys)}"


def tables_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that a JSON Schema describes."""
    return [schema, *schema.get("$defs", {}).values()]


def counts(package: Path) -> dict[str, str]:
    """Every row of the table for one package."""
    files = sources(package)
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    top = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    sizes = [size for path in files for _, size in functions(path)]
    imports = [text for path in files for _, text in local_imports(path)]
    return {
        "lines of the library": f"{sum(lines.values()):,}",
        "modules": str(len(files)),
        "largest module, lines": str(max(lines.values())),
        "modules outside any room": str(len(top)),
        "lines outside any room": f"{sum(lines[path] for path in top):,}",
        "functions": f"{len(sizes):,}",
        "body of a function, median of lines": f"{median(sizes):g}",
        "functions of more than 25 lines": str(sum(size > 25 for size in sizes)),
        "functions of more than 50 lines": str(sum(size > 50 for size in sizes)),
        "local imports": str(len(imports)),
        "of them imports of this package": str(sum("sharpbayes" in text for text in imports)),
        "of them without a reason": str(sum(len(without_reason(path)) for path in files)),
        "modules in cycles of imports": str(len(cycles(package))),
        "`noqa` comments": str(sum(map(noqa_comments, files))),
        "uses of `Any`": str(sum(map(uses_of_any, files))),
        "`assert` statements": str(sum(len(asserts(path)) for path in files)),
        "keys of the JSON Schemas with a description": described_keys(
            package.parent / "docs" / "schemas"
        ),
    }


def unpack(commit: str, folder: Path) -> Path:
    """The package as it was at a commit."""
    command = ["git", "archive", commit, "sharpbayes", "docs/schemas"]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        file.extractall(folder, filter="data")
    return folder / "sharpbayes"


def structure_table(before: dict[str, str], after: dict[str, str], commit: str) -> str:
    """The counts of two versions as a Markdown table."""
    rows = [f"| {name} | {value} | {after[name]} |" for name, value in before.items()]
    return "\n".join([f"| count | before ({commit}) | after |", "| --- | --- | --- |", *rows])


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--page", type=Path, help="Page that holds the table between its marks.")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = counts(unpack(chosen.commit, Path(folder)))
    table = structure_table(before, counts(PACKAGE), chosen.commit)
    print(table)
    if chosen.page:
        text = chosen.page.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN)
        tail = rest.split(END)[1]
        chosen.page.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
