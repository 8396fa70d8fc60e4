"""The shipped studies, weights and models, in the installed package or in the checkout."""

from pathlib import Path

from sharpbayes.errors import did_you_mean

_PACKAGE = Path(__file__).parent
_CHECKOUT = {"studies": "specs/studies", "weights": "specs/weights", "models": "models"}
_SINGULAR = {"studies": "study", "weights": "weights file", "models": "model"}
KINDS = tuple(_CHECKOUT)


def folder(kind: str) -> Path:
    """Return the folder of the shipped ``studies``, ``weights`` or ``models``."""
    installed = _PACKAGE / "_library" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / _CHECKOUT[kind]


def names(kind: str) -> list[str]:
    """Return the names of the shipped files of a kind."""
    return sorted(path.stem for path in folder(kind).glob("*.toml"))


def find(kind: str, name: str) -> Path:
    """Return the path of a shipped file; a ``FileNotFoundError`` lists the names that exist."""
    shipped = names(kind)
    if name not in shipped:
        message = f"no shipped {_SINGULAR[kind]} {name!r}, there are {', '.join(shipped)}"
        raise FileNotFoundError(message + did_you_mean(name, shipped))
    return folder(kind) / f"{name}.toml"
