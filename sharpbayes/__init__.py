"""Risk profiles of AI models from ratings: two papers' metrics and Bayesian ordinal models.

The public names load on first use, so that ``import sharpbayes`` costs nothing.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "check": "sharpbayes.workflows.run",
    "fit": "sharpbayes.workflows.run",
    "load_study": "sharpbayes.spec.load",
    "measure": "sharpbayes.workflows.run",
    "open_results": "sharpbayes.storage.results",
    "save_results": "sharpbayes.storage.results",
    "summary": "sharpbayes.report.summary",
    "weigh": "sharpbayes.workflows.weigh",
    "load_weights": "sharpbayes.spec.load",
}

__all__ = [
    "check",
    "fit",
    "load_study",
    "load_weights",
    "measure",
    "open_results",
    "save_results",
    "summary",
    "weigh",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sharpbayes' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
