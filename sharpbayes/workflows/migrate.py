"""Migrate: a file of schema 1 as one of schema 2."""

from pathlib import Path

from sharpbayes.errors import SpecError
from sharpbayes.spec.kinds import describe_other_kind
from sharpbayes.spec.load import read_text
from sharpbayes.spec.migration import migrate
from sharpbayes.storage.results import earlier_study


def migrate_file(path: Path) -> str:
    """Return a study, weights or model file, or the study of results, as text of schema 2.

    SpecError where the file is none of schema 1.
    """
    study = earlier_study(path)
    if study is None and (other := describe_other_kind(path, "a study")):
        raise SpecError.at(path, f"no file of schema 1: it {other}")
    return migrate(read_text(path) if study is None else study, path)
