"""Risk profiles of AI models from ratings: the metrics of two papers and Bayesian ordinal models.

Begin with :func:`study` or :func:`crowd` for a DataFrame, or with :func:`load_study` for a file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the public names once more, for type checkers and editors
    from sharpbayes.errors import SharpbayesError as SharpbayesError
    from sharpbayes.report.summary import summary as summary
    from sharpbayes.spec.load import load_weights as load_weights
    from sharpbayes.storage.results import save_results as save_results
    from sharpbayes.workflows.calibrate import calibrate as calibrate
    from sharpbayes.workflows.check import check as check
    from sharpbayes.workflows.compare import compare as compare
    from sharpbayes.workflows.fit import fit as fit
    from sharpbayes.workflows.gate import gate as gate
    from sharpbayes.workflows.history import build_history as build_history
    from sharpbayes.workflows.measure import measure as measure
    from sharpbayes.workflows.next import plan_next as plan_next
    from sharpbayes.workflows.preview import preview as preview
    from sharpbayes.workflows.results import Results as Results
    from sharpbayes.workflows.results import open_results as open_results
    from sharpbayes.workflows.simulate import simulate as simulate
    from sharpbayes.workflows.study import RunnableStudy as RunnableStudy
    from sharpbayes.workflows.study import crowd as crowd
    from sharpbayes.workflows.study import load_study as load_study
    from sharpbayes.workflows.study import study as study
    from sharpbayes.workflows.weigh import weigh as weigh

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        """Import a public name on first use; the version is that of the installed package."""
        if name == "__version__":
            return import_module("importlib.metadata").version("sharpbayes")
        if name not in _MODULES:
            raise AttributeError(f"module 'sharpbayes' has no attribute {name!r}")
        return getattr(import_module(f"sharpbayes.{_MODULES[name]}"), name)


# They are imported on first use, so that ``import sharpbayes`` is quick.
_MODULES = {
    "Results": "workflows.results",
    "RunnableStudy": "workflows.study",
    "SharpbayesError": "errors",
    "build_history": "workflows.history",
    "calibrate": "workflows.calibrate",
    "check": "workflows.check",
    "compare": "workflows.compare",
    "crowd": "workflows.study",
    "fit": "workflows.fit",
    "gate": "workflows.gate",
    "load_study": "workflows.study",
    "load_weights": "spec.load",
    "measure": "workflows.measure",
    "open_results": "workflows.results",
    "plan_next": "workflows.next",
    "preview": "workflows.preview",
    "save_results": "storage.results",
    "simulate": "workflows.simulate",
    "study": "workflows.study",
    "summary": "report.summary",
    "weigh": "workflows.weigh",
}

# Classes are importable, and not listed: help on a tree of xarray is long.
__all__ = [name for name in _MODULES if name.islower()]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
