import tomllib
from pathlib import Path

import pytest

from sharpbayes.spec.lines import key_lines

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in ROOT.rglob("*.toml") if ".venv" not in path.parts)

NASTY = """# comment [not a table]
"quoted.key" = 1
'single' = "a # no comment"
a.b . c = [1, [2, 3], # comment ]
  { x = 1, "y z" = [ {q = 0} ] },
]
text = \"\"\"
[not.a.table]
fake = 1
\"\"\"
lit = '''
other = 2 '''
date = 1979-05-27 07:32:00
[t."u.v"]
k = true
[[rows]]
n = 1
[[rows]]
n = 2
[rows.sub]
deep = 'x'
[[rows.inner]]
z = -1.5e3
"""


def paths(value, path=()):
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from paths(inner, (*path, position))


def folder_of(path):
    return path.parent.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("folder", sorted({folder_of(path) for path in FILES}))
def test_every_key_of_the_files_here_is_located(folder):
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in FILES if folder_of(path) == folder
    }
    unread = {name for name, text in texts.items() if not is_toml(text)}
    assert not unread or "bad" in folder.split("/")  # files that are not TOML, on purpose
    located = {name: set(key_lines(texts[name])) for name in set(texts) - unread}
    assert located == {name: set(paths(tomllib.loads(texts[name]))) for name in located}


def is_toml(text):
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def test_nasty_text_is_located():
    assert set(key_lines(NASTY)) == set(paths(tomllib.loads(NASTY)))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("quoted.key",), 2),
        (("a", "b", "c"), 4),
        (("a", "b", "c", 1, 0), 4),
        (("a", "b", "c", 2, "y z", 0, "q"), 5),
        (("text",), 7),
        (("lit",), 11),
        (("t", "u.v", "k"), 15),
        (("rows", 0, "n"), 17),
        (("rows", 1, "n"), 19),
        (("rows", 1, "sub", "deep"), 21),
        (("rows", 1, "inner", 0, "z"), 23),
    ],
)
def test_lines_are_those_of_an_editor(path, line):
    assert key_lines(NASTY)[path] == line
