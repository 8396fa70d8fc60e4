"""What tells the data of a study, and a run of it, from every other; the run of results reload_study_files."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sharpbayes.data.readers.paths import find_files, parse_partition
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import reload_study
from sharpbayes.spec.panel import People
from sharpbayes.spec.roles import SideTable
from sharpbayes.spec.study import Study
from sharpbayes.storage.results import add_file, provenance

if TYPE_CHECKING:
    import xarray as xr


def digest_run(files: StudyFiles) -> str:
    """Return what tells a run from every other: texts, overrides, data and versions."""
    facts = provenance(files, data={"sha256": digest_data(files)}, status="")
    del facts["created"]
    return json.dumps(facts)


def digest_data(files: StudyFiles) -> str:
    """Digest of every data file of the study, in order."""
    digest = hashlib.sha256()
    for name in data_files(files.study.spec):
        base = files.study.path.parent
        for path in find_files(base, name):
            digest.update("".join(parse_partition(base, name, path).values()).encode())
            add_file(digest, path, size=path.stat().st_size)
    return digest.hexdigest()


def describe_data(files: StudyFiles, counts: Mapping[str, int]) -> dict[str, Any]:
    """Digest of every data file of the study, in order, and counts."""
    return {"sha256": digest_data(files), **counts}


def data_files(study: Study) -> list[str]:
    """Names of the main table and of the tables beside it."""
    beside: list[SideTable | People | None]
    if study.panel is not None:
        beside = [study.panel.prompts, study.panel.people]
        main = study.panel.data
    else:
        crowd = study.crowd
        beside = [crowd.raters, crowd.items] if crowd else []
        main = crowd.data if crowd else ""
    names = [main, *(side.data for side in beside if side is not None)]
    if study.crowd is not None and study.crowd.labels.from_ == "experts":
        names.append(study.crowd.labels.data)
    return names


def reload_study_files(results: "xr.DataTree") -> StudyFiles:
    """Return the study, weights and model of results, to run them once more on the same data.

    Args:
        results: From :func:`sharpbayes.open_results`.

    Raises:
        SpecError: The results do not hold their study.
        DataError: The data are not there, or not the same bytes.
    """
    files = reload_study({str(key): value for key, value in results.attrs.items()})
    if digest_data(files) != results.attrs.get("data_sha256"):
        names = ", ".join(data_files(files.study.spec))
        message = f"{names}: other bytes than those of the results"
        raise DataError([Diagnostic(str(files.study.path.parent), 0, "", message)])
    return files
