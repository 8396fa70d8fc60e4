"""The blocks of the pages that are generated from code: ``python -m tests.make_docs`` writes them.

A block is between ``<!-- generated: KIND NAME -->`` and ``<!-- end -->``. The rest of a page is
written by hand. ``tests/docs/test_docs.py`` fails where a block is out of date.
"""

import ast
import builtins
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr
from typer.main import get_command

import sharpbayes
from sharpbayes.cli.commands import app
from sharpbayes.library import find, names
from sharpbayes.report.tables.priors import prior_lines
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from sharpbayes.spec.schema import json_schema
from tests.architecture_diagram import picture, rooms_table
from tests.model_diagram import diagram
from tests.shared_results import fit_crowd, fit_panel

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^<!-- generated: (\w+) (\S+) -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Source", "Examples")
LABELS = {"Args": "takes", "Attributes": "holds", "Returns": "gives", "Raises": "refuses"}
VARIABLE_KINDS = {
    "f": "number",
    "b": "true or false",
    **dict.fromkeys("iu", "whole number"),
    **dict.fromkeys("UOT", "text"),
}
JSON_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
}
# Public functions in the order of a session, and methods of what they return.
PUBLIC = ("study", "crowd", "load_study", "open_results", "load_weights", "save_results")
PUBLIC += ("check", "measure", "fit", "preview", "weigh", "gate", "plan_next", "build_history")
PUBLIC += ("compare", "simulate", "calibrate", "summary")
CLASSES = {
    "RunnableStudy": ("check", "measure", "fit", "preview"),
    "Results": ("weigh", "report", "save"),
}


def small_fits() -> dict[str, xr.DataTree]:
    """Fit both shipped studies, by the table that they have."""
    return {"panel": fit_panel(), "crowd": fit_crowd()}


def generated_pages() -> list[Path]:
    """List the pages that have a generated block."""
    return [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text("utf-8"))]


def update_page(text: str, fits: Mapping[str, xr.DataTree]) -> str:
    """Return a page with its generated blocks written again."""

    def update_block(match: re.Match[str]) -> str:
        kind, name = match.groups()
        block = results_table(fits[name]) if kind == "results" else GENERATORS[kind](name)
        return f"<!-- generated: {kind} {name} -->\n{block}\n<!-- end -->"

    return BLOCK.sub(update_block, text)


def describe_metric(name: str) -> str:
    """Write the docstring of a function by heading, and its example as a reader types it."""
    module_name, _, function = name.rpartition(".")
    module = importlib.import_module(f"sharpbayes.metrics.{module_name}")
    return describe_docstring(f"### `{name}`", getattr(module, function), module)


def describe_docstring(heading: str, value: Any, module: Any) -> str:
    """Write a docstring below a heading; ``module`` has the names of its example."""
    head, sections = split_docstring(inspect.getdoc(value) or "")
    lines = [heading, "", *head]
    for title, label in LABELS.items():
        if title in sections:
            entries = "\n".join(f"- {entry}" for entry in list_entries(sections[title], title))
            lines += ["", f"**What it {label}**", "", entries]
    if "Source" in sections:
        lines += ["", f"**Source**: {' '.join(sections['Source'])}"]
    example = sections.get("Examples", [])
    lines += ["", "```pycon", *list_imports(example, module), *example, "```"] if example else []
    return "\n".join(lines)


def describe_python(_: str) -> str:
    """Write the docstring of every public function, and of the classes that they return."""
    parts = [_describe_function(f"## `sharpbayes.{n}", getattr(sharpbayes, n)) for n in PUBLIC]
    for cls, methods in CLASSES.items():
        value = getattr(sharpbayes, cls)
        parts.append(
            describe_docstring(f"## `{cls}`", value, importlib.import_module(value.__module__))
        )
        parts += [
            _describe_function(f"### `{cls}.{name}", getattr(value, name)) for name in methods
        ]
    return "\n\n".join(parts)


def _describe_function(heading: str, value: Any) -> str:
    """Write the docstring of a function below its name and arguments."""
    names = [name for name in inspect.signature(value).parameters if name != "self"]
    module = importlib.import_module(value.__module__)
    return describe_docstring(f"{heading}({', '.join(names)})`", value, module)


def split_docstring(doc: str) -> tuple[list[str], dict[str, list[str]]]:
    """Split a docstring into its first lines, with equations as code, and its sections."""
    head: list[str] = []
    sections: dict[str, list[str]] = {}
    section = head
    for line in doc.splitlines():
        title, colon, rest = line.partition(":")
        if colon and title in SECTIONS and (not rest or title == "Source"):
            section = sections.setdefault(title, [rest.strip()] if rest else [])
        elif line.startswith(">>> ") and section is not sections.get("Examples"):
            section = sections.setdefault("Examples", [])
            section.append(line)
        else:
            section.append(line)
    dedented = {title: _dedent(lines) for title, lines in sections.items()}
    return mark_equations(head), {title: text.splitlines() for title, text in dedented.items()}


def _dedent(lines: list[str]) -> str:
    """A section without its indentation; the lines that go on with an entry keep theirs."""
    if lines[0].startswith(" "):
        return textwrap.dedent("\n".join(lines)).strip("\n")
    return inspect.cleandoc("\n".join(lines))


def mark_equations(head: list[str]) -> list[str]:
    """Return the lines of paragraphs, with each paragraph that is an equation as a code block."""
    paragraphs = []
    for text in inspect.cleandoc("\n".join(head)).split("\n\n"):
        bare = text.strip("`") if text.startswith("``") and text.endswith("``") else text
        formula = bare != text or (" = " in text and not text.rstrip().endswith((".", ":")))
        paragraphs.append(f"```text\n{bare}\n```" if formula else to_markdown(text))
    return "\n\n".join(paragraphs).splitlines()


def to_markdown(text: str) -> str:
    """Turn references to functions, and code in double backticks, into Markdown code."""
    return re.sub(r":\w+:`~?\.?(?:sharpbayes\.metrics\.)?([^`]+)`", r"`\1`", text).replace(
        "``", "`"
    )


def list_entries(lines: list[str], title: str) -> list[str]:
    """Return one text for each argument, or the text about what is returned."""
    if title == "Returns":
        return [to_markdown(" ".join(line.strip() for line in lines))]
    entries: list[str] = []
    for line in lines:
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line:
            name, _, rest = line.partition(":")
            entries.append(f"`{name}`:{rest}")
    return [to_markdown(entry) for entry in entries]


def list_imports(example: list[str], module: Any) -> list[str]:
    """Write the imports of what an example uses of the module that contains it."""
    source = "\n".join(line[4:] for line in example if line.startswith((">>> ", "... ")))
    nodes = list(ast.walk(ast.parse(source)))
    used = {n.id for n in nodes if isinstance(n, ast.Name)} - set(dir(builtins))
    used -= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used -= {n.arg for n in nodes if isinstance(n, ast.arg)}
    used -= {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}
    lines = []
    for name in sorted(used):
        value = getattr(module, name)
        if inspect.ismodule(value):
            lines.append(f">>> import {value.__name__} as {name}")
        else:
            is_public = name in PUBLIC and value is getattr(sharpbayes, name)
            origin = "sharpbayes" if is_public else getattr(value, "__module__", module.__name__)
            lines.append(f">>> from {origin} import {name}")
    return sorted(lines, key=lambda line: (line.startswith(">>> from"), line))


def prior_table(name: str) -> str:
    """Write a table of every prior of a shipped model."""
    rows = [line.split(": ", 1) for line in prior_lines(load(find("models", name), Model).spec)]
    return table(("part", "prior"), [(part, f"`{law}`") for part, law in rows])


def model_file(name: str) -> str:
    """Write the text of a shipped model file."""
    return f"```toml\n{find('models', name).read_text('utf-8').rstrip()}\n```"


def describe_commands(_: str) -> str:
    """Write every command with its arguments and options."""
    sections = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        rows = [
            (_syntax(option), option.help or "", _option_default(option))
            for option in command.params
            if option.name not in {"help", "install_completion", "show_completion"}
        ]
        options = table(("argument or option", "meaning", "default"), rows)
        sections += [f"## `{name}`", str(command.help), options]
    return "\n\n".join(sections)


def _syntax(option: Any) -> str:
    """An option as it is typed, or an argument in capitals."""
    if option.param_type_name == "argument":
        return f"`{option.name.upper()}`"
    return f"`{', '.join(option.opts)}{'' if option.is_flag else ' VALUE'}`"


def _option_default(option: Any) -> str:
    """The default of an option that has one."""
    value = option.default
    return "" if value is None or value is False or callable(value) else f"`{value}`"


def describe_keys(kind: str) -> str:
    """Write every key of a kind of file, table by table."""
    schema = json_schema(kind)
    sections = [_key_table(schema)]
    for name, inner in schema["$defs"].items():
        text = " ".join(to_markdown(inner["description"]).split())
        sections += [f"### {name}", text, _key_table(inner)]
    return "\n\n".join(sections)


def _key_table(owner: Mapping[str, Any]) -> str:
    """One row per key."""
    required = owner.get("required", [])
    rows = [
        (
            f"`{key}`",
            value["description"],
            _type(value),
            "required" if key in required else _key_default(value.get("default")),
        )
        for key, value in owner.get("properties", {}).items()
    ]
    return table(("key", "meaning", "value", "default"), rows)


def _key_default(value: Any) -> str:
    """A default as it is written in TOML. Tables have defaults of their own."""
    if value is None or isinstance(value, dict):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else repr(value)}`".replace("'", '"')


def _type(value: Mapping[str, Any]) -> str:
    """A JSON Schema in words."""
    options = value.get("anyOf") or value.get("oneOf")
    if options:
        return " or ".join(_type(option) for option in options if option.get("type") != "null")
    if "type" in value and value["type"] not in JSON_TYPES:
        inner = value.get("items") or value.get("additionalProperties") or {}
        return f"{'list of' if value['type'] == 'array' else 'table by name of:'} {_type(inner)}"
    return _single_type(value)


def _single_type(value: Mapping[str, Any]) -> str:
    """A value that contains no others, or a link to the table that it is."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        return f"table [{name}](#{name.lower()})"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return "one of " + ", ".join(f'`"{name}"`' for name in value["enum"])
    return JSON_TYPES[value["type"]] + _limits(value)


def _limits(value: Mapping[str, Any]) -> str:
    """Smallest and largest value, where a person could reach them."""
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [
        f"{sign} {value[key]:g}" for key, sign in signs.items() if abs(value.get(key, 1e9)) < 1e8
    ]
    return f" {', '.join(limits)}" if limits else ""


def results_table(results: xr.DataTree) -> str:
    """Write every variable of a results file with its dimensions and kind."""
    rows = [
        (
            f"`/{group}`",
            f"`{name}`",
            ", ".join(map(str, array.dims)),
            VARIABLE_KINDS[array.dtype.kind],
        )
        for group, node in sorted(results.children.items())
        for name, array in sorted(node.data_vars.items())
    ]
    return table(("group", "variable", "dimensions", "kind"), rows)


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in lines)


def _cell(text: str) -> str:
    """A text that neither ends its cell nor opens a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;") if "`<" not in text else text


def rooms(_: str) -> str:
    """Make a table of every room and sub-room of the package."""
    return table(("room", "holds"), rooms_table())


GENERATORS: dict[str, Callable[[str], str]] = {
    "metric": describe_metric,
    "priors": prior_table,
    "file": model_file,
    "commands": describe_commands,
    "python": describe_python,
    "fields": describe_keys,
    "rooms": rooms,
}


def diagrams() -> list[Path]:
    """List the diagrams: the rooms of the package and every shipped model."""
    return [DOCS / "architecture.svg", *(DOCS / "models" / f"{n}.svg" for n in names("models"))]


def draw_diagram(path: Path) -> str:
    """Draw one of them."""
    if path.stem == "architecture":
        return picture()
    return diagram(load(find("models", path.stem), Model).spec)


def main() -> None:
    """Write every generated block and every diagram."""
    fits = small_fits()
    for path in generated_pages():
        path.write_text(update_page(path.read_text("utf-8"), fits), encoding="utf-8")
    for path in diagrams():
        path.write_text(draw_diagram(path), encoding="utf-8")


if __name__ == "__main__":
    main()
