"""The data files of a study, and a digest of their bytes."""

import hashlib
from typing import Any

from sharpbayes.data.readers.paths import find_files, parse_partition
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.study import Study


def digest_data(files: StudyFiles) -> str:
    """Return the SHA-256 of every data file of a study, in order."""
    digest, base = hashlib.sha256(), files.study.path.parent
    for name in list_data_files(files.study.spec):
        for path in find_files(base, name):
            digest.update("".join(parse_partition(base, name, path).values()).encode())
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def list_data_files(study: Study) -> list[str]:
    """Return the names of the main table and of the tables alongside it."""
    keys = ("prompts", "people", "raters", "items", "labels")
    tables: list[Any] = [study.table, *(getattr(study.table, key, None) for key in keys)]
    return [table.data for table in tables if hasattr(table, "data")]
