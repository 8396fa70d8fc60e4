"""``fit --preview``: an approximation that replaces no answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sharpbayes
from sharpbayes.cli import console, outputs
from sharpbayes.cli.progress import PREVIEW_PHASES
from sharpbayes.cli.targets import refuse_answer, results_path
from sharpbayes.errors import SpecError

if TYPE_CHECKING:
    from sharpbayes.spec.files import StudyFiles

OPTION = "--preview"


def refuse_others(others: Mapping[str, Any]) -> None:
    """Raise SpecError where an option of a fit was given too."""
    for name, value in others.items():
        if value:
            raise SpecError.at(
                "fit", f"an approximation has no chains; leave out {name}", key=OPTION
            )


def save_preview(
    files: "StudyFiles",
    out: Path | None,
    inputs: Sequence[Path],
    *,
    resume: bool,
    cluster: str | None,
    quiet: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Measure a study, approximate its fit and write ``<study>.preview.results.nc``.

    ``inputs`` are results that the command reads.
    """
    path = files.study.path
    ending = ".preview.results.nc"
    target = results_path(path, out, inputs, ending=ending, refuse=refuse_answer)
    with console.run_context(
        files,
        target,
        resume=resume,
        address=cluster,
        quiet=quiet,
        phases=PREVIEW_PHASES,
        call=OPTION,
    ) as context:
        results = sharpbayes.preview(context)
        progress = context.execution.progress
        outputs.save(results, target, progress, quiet=quiet, full=full, as_json=as_json)
