"""Bandit, pip-audit, and the wheel: what it holds, and tests that run against it.

Run with `python -m tests.hostile`; it needs `uv` and, for pip-audit, its database of advisories.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = [
    "spec/test_lines.py",
    "storage/test_results.py",
    "hostile/test_texts.py",
    "execution/test_cluster.py",
]
# An exception that is shown as a sentence is caught whole; asserts are for types only.
BANDIT = ["-q", "-r", "sharpbayes", "-ll"]


def run(*command, **how):
    print("$", *command, flush=True)
    return subprocess.run(list(map(str, command)), check=False, **how).returncode


def stray(names):
    """Names in a wheel that have no business there."""
    kinds = (".py", ".toml", ".csv", ".json", ".html.j2", ".css.j2", "/py.typed")
    return [
        name
        for name in names
        if ".dist-info/" not in name
        and not (name.startswith("sharpbayes/") and name.endswith(kinds))
    ]


def wheel(folder):
    """Build the wheel, look inside, and run tests with nothing else of this checkout in reach."""
    failed = run("uv", "build", "--wheel", "--out-dir", folder, ROOT)
    [built] = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
        archive.extractall(folder / "installed")
    print(f"{built.name}: {len(names)} files, stray: {stray(names)}")
    shutil.copytree(ROOT / "tests", folder / "tests")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    where = os.environ | {"PYTHONPATH": f"{folder / 'installed'}{os.pathsep}{folder}"}
    chosen = [folder / "tests" / name for name in TESTS]
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
    return failed or stray(names) or run(*command, cwd=folder, env=where)


def main():
    failed = [run(sys.executable, "-m", "bandit", *BANDIT, cwd=ROOT)]
    failed.append(
        run(
            sys.executable,
            "-m",
            "pip_audit",
            "--strict",
            "--skip-editable",
            "--progress-spinner=off",
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        failed.append(wheel(Path(folder)))
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main())
