"""Digests of the data of a study and of a run, which tell whether another run reads the same."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sharpbayes.data.readers.paths import find_files, parse_partition
from sharpbayes.errors import DataError
from sharpbayes.spec.crowd import ExpertLabels
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import reload_study
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.study import Study
from sharpbayes.storage.results import add_file, provenance

if TYPE_CHECKING:
    import xarray as xr


def digest_run(files: StudyFiles) -> str:
    """Return a text that differs for every other run: of its files, overrides, data and versions."""
    facts = provenance(files, data={"sha256": digest_data(files)}, status="")
    del facts["created"]
    return json.dumps(facts)


def digest_data(files: StudyFiles) -> str:
    """Return the SHA-256 of every data file of the study, in order."""
    digest = hashlib.sha256()
    base = files.study.path.parent
    for name in list_data_files(files.study.spec):
        for path in find_files(base, name):
            digest.update("".join(parse_partition(base, name, path).values()).encode())
            add_file(digest, path, size=path.stat().st_size)
    return digest.hexdigest()


def describe_data(files: StudyFiles, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the digest of the data files of the study, and counts."""
    return {"sha256": digest_data(files), **counts}


def list_data_files(study: Study) -> list[str]:
    """Return the names of the main table and of the tables beside it."""
    table = study.table
    if isinstance(table, Panel):
        side_tables = (table.prompts, table.people)
        return [table.data, *(side.data for side in side_tables if side is not None)]
    names = [table.data, *(side.data for side in (table.raters, table.items) if side is not None)]
    return [*names, table.labels.data] if isinstance(table.labels, ExpertLabels) else names


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
        names = ", ".join(list_data_files(files.study.spec))
        raise DataError.at(
            files.study.path.parent, f"{names}: other bytes than those of the results"
        )
    return files
