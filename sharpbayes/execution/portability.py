"""Arithmetic that is the same on all processors of one kind, at a small price.

Compiled code, NumPy, OpenBLAS and the mathematics of the system choose instructions by the
processor that they find, and sums of other instructions differ in their last bits. Each takes a
setting from the environment when it is loaded, so that a process has to start with them.
"""

import os
import subprocess
import sys

SETTINGS = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    # Names of NumPy 2.4 and of versions before it; those that a version lacks are ignored.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512_CNL AVX512_CLX "
    "AVX512_SKX AVX512CD AVX512F FMA3 AVX2 F16C AVX",
    "OPENBLAS_CORETYPE": "Prescott",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
}


def is_portable() -> bool:
    """Return whether this process has the settings."""
    return all(os.environ.get(name) == value for name, value in SETTINGS.items())


def start_portable() -> None:
    """Start this program once more with the settings, in place of this process, if it lacks them.

    What it starts inherits them: processes of a cluster on this machine compute alike.
    """
    if is_portable():
        return
    call, settings = [sys.executable, *sys.orig_argv[1:]], os.environ | SETTINGS
    if os.name == "nt":  # where a process that is replaced ends at once, with status 0
        sys.exit(subprocess.run(call, env=settings, check=False).returncode)  # noqa: S603 - itself
    os.execve(sys.executable, call, settings)  # noqa: S606 - itself
