"""The command ``simulate``: ratings with known truth, in a folder of their own."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from sharpbayes.cli import console
from sharpbayes.cli.options import Seed, Set, Study
from sharpbayes.cli.streams import say
from sharpbayes.cli.targets import name_another, read_start, refuse_folder, refuse_inputs
from sharpbayes.errors import DataError, StorageError, format_list

if TYPE_CHECKING:
    from sharpbayes.spec.files import StudyFiles


def simulate(
    study: Study,
    pattern: Annotated[
        str | None,
        Option(
            help="Of a crowd normal (the default), shift, conservative, or all for raters of each; "
            "model: from the model file (the default for a panel)."
        ),
    ] = None,
    out: Annotated[Path | None, Option(help="Folder; <study>.simulated by default.")] = None,
    seed: Seed = None,
    set_: Set = None,
) -> None:
    """Simulate ratings with known truth, and write a study that measures them."""
    from sharpbayes.simulation.scoring_patterns import save_simulation  # noqa: PLC0415 - start-up
    from sharpbayes.workflows.simulate import simulate as simulate_study  # noqa: PLC0415 - start-up

    target = out or Path(f"{study.stem}.simulated")
    refuse_folder(target, f"{target}: cannot write")
    files = console.load_files(study, set_, seed)
    refuse_other_files(target, files)
    simulated = simulate_study(files, pattern=pattern)
    written = save_simulation(simulated, target)
    count = len(simulated.tables["ratings"])
    say(f"{count} ratings with known truth; run sharpbayes measure {written}")


def refuse_other_files(folder: Path, files: "StudyFiles") -> None:
    """Refuse to write a simulation over files of other origin, or over files that it reads.

    Raises:
        StorageError: A file is there, and no study of an earlier simulation beside it.
    """
    from sharpbayes.simulation.scoring_patterns import COMMENT, FILES, STUDY  # noqa: PLC0415 - start-up

    targets = [path for pattern in FILES for path in sorted(folder.glob(pattern))]
    inputs = list(_list_inputs(files))
    for path in targets:
        refuse_inputs(path, inputs, kind="folder")
    if targets and not read_start(folder / STUDY).startswith(f"# {COMMENT}".encode()):
        names = format_list(path.name for path in targets)
        message = f"{folder}: holds {names}, and no study that `sharpbayes simulate` wrote"
        raise StorageError(f"{message}; {name_another(kind='folder')}")


def _list_inputs(files: "StudyFiles") -> Iterator[Path]:
    """List the files that a study consists of, and its tables."""
    from sharpbayes.data.digest import list_data_files  # noqa: PLC0415 - start-up
    from sharpbayes.data.readers.paths import find_files  # noqa: PLC0415 - start-up
    from sharpbayes.spec.load import load_sensitivity_weights  # noqa: PLC0415 - start-up

    for file in (files.study, files.weights, files.model):
        if file is not None:
            yield file.path
    for weights in load_sensitivity_weights(files).values():
        yield weights.path
    for name in list_data_files(files.study.spec):
        with suppress(DataError):  # a scoring pattern needs no table
            yield from find_files(files.study.path.parent, name)
