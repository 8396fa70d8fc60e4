"""Keys of files that texts and pages name exist."""

import ast
import re
from pathlib import Path

import sharpbayes
from sharpbayes.spec.diagnostics import tables_at
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

PACKAGE = Path(sharpbayes.__file__).parent
PAGES = PACKAGE.parent / "docs"
# Pages that name keys of earlier versions.
EARLIER = ("adr/", "changelog.md")
KEY = re.compile(r"`((?:[a-z_]+\.)+[a-z_]+)`")


def texts():
    """Yield every text of the library, and every page."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value
    for path in PAGES.rglob("*.md"):
        if not any(part in str(path) for part in EARLIER):
            yield path, path.read_text("utf-8")


def is_unknown(key):
    """Whether a key begins with a table of a study or of weights, and goes on with what it lacks.

    Modules of metrics have names of tables too, and so have files.
    """
    table, name, *_ = key.split(".")
    tables = [kind for cls in (Study, Weights) for kind in tables_at(cls, (table,))]
    is_module = (PACKAGE / "metrics" / table / f"{name}.py").exists()
    known = {info.alias or x for kind in tables for x, info in kind.model_fields.items()}
    known |= {x for kind in tables for x in dir(kind)}  # docstrings name properties too
    return bool(tables) and not is_module and name not in known | {"toml"}


def test_keys_that_are_named_exist():
    named = {(path, key) for path, text in texts() for key in KEY.findall(text)}
    assert "crowd.target_interval_width" in {key for _, key in named}
    assert is_unknown("bootstrap.target_interval_width")
    unknown = [(path, key) for path, key in named if is_unknown(key)]
    assert unknown == []
