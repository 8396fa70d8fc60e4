"""Risk profiles of AI models from ratings: the metrics of two papers and Bayesian ordinal models.

The public names are imported on first use, so that ``import sharpbayes`` is quick.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "check": "sharpbayes.workflows.check",
    "fit": "sharpbayes.workflows.fit",
    "load_study": "sharpbayes.spec.load",
    "load_weights": "sharpbayes.spec.load",
    "measure": "sharpbayes.workflows.measure",
    "open_results": "sharpbayes.storage.results",
    "save_results": "sharpbayes.storage.results",
    "summary": "sharpbayes.report.summary",
    "weigh": "sharpbayes.workflows.weigh",
}

__all__ = [*_MODULES]  # noqa: PLE0604 - the names are those keys


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'sharpbayes' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
