"""The parts of the pages that are made from code: ``python -m tests.make_docs`` writes them.

A page holds them between ``<!-- made: KIND NAME -->`` and ``<!-- end -->``; the rest of it is
written by hand. ``tests/docs/test_docs.py`` fails where a part is not what this makes.
"""

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr
from typer.main import get_command

from sharpbayes.cli.commands import app
from sharpbayes.library import find, names
from sharpbayes.report.tables.priors import prior_lines
from sharpbayes.spec.load import load, load_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.schema import json_schema
from sharpbayes.workflows.run import fit
from tests.model_diagram import diagram

DOCS = Path(__file__).parents[1] / "docs"
PART = re.compile(r"^<!-- made: (\w+) (\S+) -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
SECTIONS = ("Args", "Returns", "Raises", "Source", "Examples")
KINDS = {
    "f": "number",
    "b": "true or false",
    **dict.fromkeys("iu", "whole number"),
    **dict.fromkeys("UOT", "text"),
}
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
}
# Fits small enough for a test; what they hold does not depend on the number of draws.
SMALL = (
    *("bootstrap.replicates=20", "sampler.chains=2", "sampler.tune=50", "sampler.draws=50"),
    "sampler.predictive_draws=20",
)


def small_fits() -> dict[str, xr.DataTree]:
    """Results of both shipped studies by the kind of table they are about."""
    return {
        "panel": fit(load_study("quickstart", overrides=SMALL)),
        "crowd": fit(load_study("quickstart_crowd", overrides=(*SMALL, "crowd.permutations=9"))),
    }


def pages() -> list[Path]:
    """Every page that holds a part made from code."""
    return [path for path in sorted(DOCS.rglob("*.md")) if PART.search(path.read_text("utf-8"))]


def filled(text: str, fits: Mapping[str, xr.DataTree]) -> str:
    """A page with its parts made anew."""

    def made(found: re.Match[str]) -> str:
        kind, name = found.groups()
        part = results(fits[name]) if kind == "results" else MAKERS[kind](name)
        return f"<!-- made: {kind} {name} -->\n{part}\n<!-- end -->"

    return PART.sub(made, text)


def metric(name: str) -> str:
    """What the docstring of a function says, by heading, and its example as a reader types it."""
    home, _, function = name.rpartition(".")
    module = importlib.import_module(f"sharpbayes.metrics.{home}")
    head, sections = parsed(inspect.getdoc(getattr(module, function)) or "")
    lines = [f"### `{name}`", "", *head]
    for title, label in (("Args", "takes"), ("Returns", "gives"), ("Raises", "refuses")):
        if title in sections:
            entries = "\n".join(f"- {entry}" for entry in entries_of(sections[title], title))
            lines += ["", f"**What it {label}**", "", entries]
    if "Source" in sections:
        lines += ["", f"**Source**: {' '.join(sections['Source'])}"]
    example = sections.get("Examples", [])
    lines += ["", "```pycon", *imports(example, module), *example, "```"] if example else []
    return "\n".join(lines)


def parsed(doc: str) -> tuple[list[str], dict[str, list[str]]]:
    """The first lines of a docstring, equations as code, and its sections."""
    head: list[str] = []
    sections: dict[str, list[str]] = {}
    held = head
    for line in doc.splitlines():
        title, colon, rest = line.partition(":")
        if colon and title in SECTIONS and (not rest or title == "Source"):
            held = sections.setdefault(title, [rest.strip()] if rest else [])
        elif line.startswith(">>> ") and held is not sections.get("Examples"):
            held = sections.setdefault("Examples", [])
            held.append(line)
        else:
            held.append(line)
    trimmed = {title: inspect.cleandoc("\n".join(lines)) for title, lines in sections.items()}
    return equations(head), {title: text.splitlines() for title, text in trimmed.items()}


def equations(head: list[str]) -> list[str]:
    """Paragraphs with those that are an equation as a block of code."""
    paragraphs = inspect.cleandoc("\n".join(head)).split("\n\n")
    made = []
    for text in paragraphs:
        bare = text.strip("`") if text.startswith("``") and text.endswith("``") else text
        formula = bare != text or (" = " in text and not text.rstrip().endswith((".", ":")))
        made.append(f"```text\n{bare}\n```" if formula else linked(text))
    return "\n\n".join(made).splitlines()


def linked(text: str) -> str:
    """Names of other functions as code."""
    return re.sub(r":\w+:`~?\.?(?:sharpbayes\.metrics\.)?([^`]+)`", r"`\1`", text).replace(
        "``", "`"
    )


def entries_of(lines: list[str], title: str) -> list[str]:
    """One text for each argument, or all of what is returned as one."""
    if title == "Returns":
        return [linked(" ".join(line.strip() for line in lines))]
    entries: list[str] = []
    for line in lines:
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line:
            name, _, rest = line.partition(":")
            entries.append(f"`{name}`:{rest}")
    return [linked(entry) for entry in entries]


def imports(example: list[str], module: Any) -> list[str]:
    """The lines that bring in what an example uses of the module that it stands in."""
    source = "\n".join(line[4:] for line in example if line.startswith((">>> ", "... ")))
    tree = ast.parse(source)
    loaded = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - set(dir(builtins))
    own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    own |= {n.asname or n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
    lines = []
    for name in sorted(loaded - own):
        value = getattr(module, name)
        if inspect.ismodule(value):
            lines.append(f">>> import {value.__name__} as {name}")
        else:
            home = getattr(value, "__module__", module.__name__)
            lines.append(f">>> from {home} import {name}")
    return sorted(lines, key=lambda line: (line.startswith(">>> from"), line))


def priors(name: str) -> str:
    """A table of every prior of a shipped model."""
    rows = [line.split(": ", 1) for line in prior_lines(load(find("models", name), Model).spec)]
    return table(("part", "prior"), [(part, f"`{law}`") for part, law in rows])


def file(name: str) -> str:
    """The text of a shipped model file."""
    return f"```toml\n{find('models', name).read_text('utf-8').rstrip()}\n```"


def commands(_: str) -> str:
    """Every command with its arguments and options."""
    parts = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        parts += [f"## `{name}`", str(command.help)]
        rows = [
            (_written(option), option.help or "", _default(option))
            for option in command.params
            if option.name not in {"help", "install_completion", "show_completion"}
        ]
        parts.append(table(("argument or option", "is", "default"), rows))
    return "\n\n".join(parts)


def _written(option: Any) -> str:
    """An option as it is typed, or an argument in capitals."""
    if option.param_type_name == "argument":
        return f"`{option.name.upper()}`"
    return f"`{', '.join(option.opts)}{'' if option.is_flag else ' VALUE'}`"


def _default(option: Any) -> str:
    """The default of an option that has one."""
    value = option.default
    return "" if value is None or value is False or callable(value) else f"`{value}`"


def fields(kind: str) -> str:
    """Every key of a kind of file, table by table."""
    schema = json_schema(kind)
    parts = [_keys(schema, schema)]
    for name, inner in schema["$defs"].items():
        parts += [f"### {name}", first_paragraph(inner), _keys(inner, schema)]
    return "\n\n".join(parts)


def first_paragraph(schema: Mapping[str, Any]) -> str:
    """What a class says of itself."""
    return " ".join(linked(str(schema.get("description", ""))).split())


def _keys(owner: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """One row a key."""
    required = owner.get("required", [])
    rows = [
        (f"`{key}`", _type(value), "needed" if key in required else _shown(value.get("default")))
        for key, value in owner.get("properties", {}).items()
    ]
    return table(("key", "value", "default"), rows)


def _shown(value: Any) -> str:
    """A default as it is written in TOML; tables have defaults of their own."""
    if value is None or isinstance(value, dict):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else repr(value)}`".replace("'", '"')


def _type(value: Mapping[str, Any]) -> str:
    """A JSON Schema in words."""
    several = value.get("anyOf") or value.get("oneOf")
    if several:
        return " or ".join(_type(each) for each in several if each.get("type") != "null")
    if "type" in value and value["type"] not in WORDS:
        inner = value.get("items") or value.get("additionalProperties") or {}
        return f"{'list of' if value['type'] == 'array' else 'table by name of:'} {_type(inner)}"
    return _single(value)


def _single(value: Mapping[str, Any]) -> str:
    """A value that holds no others, or a table that is described under its own name."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        return f"table [{name}](#{name.lower()})"
    if "const" in value:
        return f'`"{value["const"]}"`'
    if "enum" in value:
        return "one of " + ", ".join(f'`"{each}"`' for each in value["enum"])
    return WORDS[value["type"]] + _limits(value)


def _limits(value: Mapping[str, Any]) -> str:
    """Smallest and largest value, where there are any that a person meets."""
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [
        f"{sign} {value[key]:g}" for key, sign in signs.items() if abs(value.get(key, 1e9)) < 1e8
    ]
    return f" {', '.join(said)}" if said else ""


def results(found: xr.DataTree) -> str:
    """Every variable of a results file with its dimensions and kind."""
    rows = [
        (f"`/{group}`", f"`{name}`", ", ".join(map(str, array.dims)), KINDS[array.dtype.kind])
        for group, node in sorted(found.children.items())
        for name, array in sorted(node.data_vars.items())
    ]
    return table(("group", "variable", "dimensions", "kind"), rows)


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in lines)


def _cell(text: str) -> str:
    """A text that neither ends its cell nor opens a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;") if "`<" not in text else text


MAKERS: dict[str, Callable[[str], str]] = {
    "metric": metric,
    "priors": priors,
    "file": file,
    "commands": commands,
    "fields": fields,
}


def diagrams() -> Iterator[tuple[Path, str]]:
    """The diagram of every shipped model and where it stands."""
    for name in names("models"):
        yield DOCS / "models" / f"{name}.svg", diagram(load(find("models", name), Model).spec)


def main() -> None:
    """Write every part and every diagram."""
    fits = small_fits()
    for path in pages():
        path.write_text(filled(path.read_text("utf-8"), fits), encoding="utf-8")
    for path, text in diagrams():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
