"""An environment of its own for every Python peer, made once in a cache folder.

Only ``uv venv`` and ``uv pip install`` are used, with whatever package index uv is set up for;
the environment of this project is not touched.
"""

import hashlib
import os
import shutil
import subprocess
import sys

REQUIREMENTS = {
    "plain_pymc": ("pymc>=6,<7", "nutpie", "jax", "arviz>=1", "pandas", "pyarrow"),
    "bambi": ("bambi>=0.21", "nutpie", "arviz>=1", "pandas", "pyarrow"),
    "numpyro": ("numpyro", "arviz>=1", "pandas", "pyarrow"),
    # The versions of its lock file: with the newest NumPy it stops at once.
    "xfx": ("numpy==2.2.4", "scipy==1.15.2", "arviz>=1", "pandas", "pyarrow"),
    "brms_threads": ("httpstan>=4.17", "arviz>=1", "pandas"),
}
PACKAGES_IN_R = {
    "brms": ("brms", "rstan", "BH", "RcppEigen", "posterior", "jsonlite"),
    "clmm": ("ordinal", "jsonlite"),
    "tmb": ("TMB", "jsonlite"),
    "brms_threads": ("brms", "jsonlite"),
}


def folder(script, cache):
    """Where the environment lives: its name changes with the requirements."""
    asked = "\n".join((*REQUIREMENTS[script], sys.version))
    return cache / "environments" / f"{script}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def uv(*arguments):
    """Run uv, without the variable that would point it at this project's environment."""
    clean = {key: x for key, x in os.environ.items() if key != "VIRTUAL_ENV"}
    subprocess.run(["uv", *map(str, arguments)], check=True, env=clean)


def python_of(script, cache):
    """The interpreter of a peer's environment, which is made where it is not there yet."""
    place = folder(script, cache).absolute()
    python, ready = place / "bin" / "python", place / "ready"
    if not ready.exists():
        uv("venv", "--quiet", "--clear", "--python", sys.executable, place)
        uv("pip", "install", "--quiet", "--python", python, *REQUIREMENTS[script])
        ready.touch()
    return python


def has_r(script):
    """Whether Rscript and the packages of an R peer are on this machine."""
    if not shutil.which("Rscript"):
        return False
    wanted = ", ".join(f"'{name}'" for name in PACKAGES_IN_R[script])
    code = f"quit(status = !all(sapply(c({wanted}), requireNamespace, quietly = TRUE)))"
    return subprocess.run(["Rscript", "-e", code], capture_output=True, check=False).returncode == 0
