"""What identifies a computation: its algorithm, its code, versions and the instruction set."""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sharpbayes.errors import format_list
from sharpbayes.execution.portability import is_portable

# Raised with every change after which a seed gives other draws or resamples.
ALGORITHM = 10
LIBRARIES = (
    *("sharpbayes", "numpy", "pandas", "xarray", "pydantic"),
    *("pymc", "pytensor", "nutpie", "numba", "scipy", "arviz"),
)
# What a number depends on besides the study and its data, in words.
COMPUTATION = {
    "algorithm": "algorithm",
    "code_sha256": "state of the code",
    "versions": "version of a library",
    "instruction_set": "instruction set",
}
# Rooms that compute nothing of what is kept.
_OUTER_ROOMS = ("cli", "report", "scaffold")


def library_versions() -> dict[str, str]:
    """Return the versions of Python, of the program and of the libraries that it computes with."""
    return {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}


@cache
def code_digest() -> str:
    """Return the SHA-256 of the code whose change may change a number."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in _OUTER_ROOMS:
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def instruction_set() -> dict[str, str]:
    """Return the machine, the processor and its features for which code is compiled here.

    Draws of two instruction sets differ: sums are vectorised otherwise, so that their last bits
    differ, and after many steps of the sampler all of them.
    """
    from numba.core.registry import cpu_target  # noqa: PLC0415 - slow to load

    target, processor, features = cpu_target.target_context.codegen().magic_tuple()
    present = sorted(text[1:] for text in str(features).split(",") if text.startswith("+"))
    return {
        "target": target,
        "processor": processor,
        "features": " ".join(present),
        "arithmetic": "portable" if is_portable() else "native",
    }


def computation() -> dict[str, str]:
    """Return what a number depends on besides the study and its data, by the names above."""
    values = (
        *(str(ALGORITHM), code_digest()),
        *(json.dumps(library_versions()), json.dumps(instruction_set())),
    )
    return dict(zip(COMPUTATION, values, strict=True))


def describe_differences(recorded: Mapping[Any, object], current: Mapping[Any, object]) -> str:
    """Return in words how two computations differ; empty where they do not.

    >>> one = dict.fromkeys(COMPUTATION, "1")
    >>> describe_differences(one, one | {"algorithm": "2"})
    'algorithm'
    """
    differ = (name for name in COMPUTATION if recorded.get(name) != current.get(name))
    return format_list(COMPUTATION[name] for name in differ)
