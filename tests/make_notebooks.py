"""The notebooks with their outputs: ``python -m tests.make_notebooks`` runs them and writes them.

``tests/docs/test_notebooks.py`` runs every cell too, and fails where one raises.
"""

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
# What a reader sees: no times of execution, no widths of this machine.
KEPT = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def notebooks() -> list[Path]:
    """Every notebook."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """A notebook with fresh outputs, run in a folder of its own.

    Raises:
        CellExecutionError: A cell raised.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        # Loaded before any cell runs: its warnings would be an output of the first plot.
        extra_arguments=["--matplotlib=inline"],
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(KEPT)
    return notebook


def main() -> None:
    """Run every notebook and write its outputs, paths as from the repository."""
    for path in notebooks():
        with tempfile.TemporaryDirectory() as folder:
            text = nbformat.writes(executed(path, Path(folder)))
        path.write_text(text.replace(f"{ROOT}/", "") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
