"""What tells the data of a study, and a run of it, from every other."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sharpbayes.data.files import matching_files
from sharpbayes.data.partition import partition_of
from sharpbayes.results import provenance
from sharpbayes.spec.load import StudyFiles
from sharpbayes.spec.people import People
from sharpbayes.spec.roles import SideTable
from sharpbayes.spec.study import Study


def run_key(files: StudyFiles) -> str:
    """Return what tells a run from every other: texts, overrides, data and versions."""
    facts = provenance(files, data={"sha256": data_digest(files)}, status="")
    del facts["created"]
    return json.dumps(facts)


def data_digest(files: StudyFiles) -> str:
    """Digest of every data file of the study, in order."""
    digest = hashlib.sha256()
    for name in data_files(files.study.spec):
        base = files.study.path.parent
        for path in matching_files(base, name):
            digest.update("".join(partition_of(base, name, path).values()).encode())
            with path.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
    return digest.hexdigest()


def data_facts(files: StudyFiles, counts: Mapping[str, int]) -> dict[str, Any]:
    """Digest of every data file of the study, in order, and counts."""
    return {"sha256": data_digest(files), **counts}


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
