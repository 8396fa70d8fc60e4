"""The shipped studies, weights and models: inside the installed package, or in the checkout."""

from pathlib import Path

from sharpbayes.errors import did_you_mean

_PACKAGE = Path(__file__).parent
_CHECKOUT = {"studies": "specs/studies", "weights": "specs/weights", "models": "models"}
KINDS = tuple(_CHECKOUT)
_ONE = {"studies": "study", "weights": "weights file", "models": "model"}


def folder(kind: str) -> Path:
    """Return the folder that holds the shipped files of a kind.

    Args:
        kind: ``studies``, ``weights`` or ``models``.
    """
    installed = _PACKAGE / "_library" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / _CHECKOUT[kind]


def names(kind: str) -> list[str]:
    """Return the names of the shipped files of a kind.

    >>> "sharp" in names("weights")
    True
    """
    return sorted(path.stem for path in folder(kind).glob("*.toml"))


def find(kind: str, name: str) -> Path:
    """Return the path of a shipped file.

    Raises:
        FileNotFoundError: Nothing of that name is shipped; the message names what is.
    """
    path = folder(kind) / f"{name}.toml"
    if name not in names(kind):
        message = f"no shipped {_ONE[kind]} {name!r}, there are {', '.join(names(kind))}"
        raise FileNotFoundError(message + did_you_mean(name, names(kind)))
    return path
