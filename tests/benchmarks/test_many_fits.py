"""Many fits in one process leave nothing behind."""

import pytest

from tests.benchmarks.many_fits import fitted

FITS, WARM = 12, 3
# Between two fits the memory of one process moves by some megabytes.
MEGABYTES = 60
# Compiled libraries start some threads late.
LIBRARY_THREADS = 2


@pytest.mark.slow
def test_memory_threads_and_files_stay_as_they_were():
    rows = [fitted(number) for number in range(1, FITS + 1)]
    first, last = rows[WARM - 1], rows[-1]
    assert last[0] < first[0] + MEGABYTES
    assert (last[1], last[3]) == (first[1], first[3])
    assert last[2] <= first[2] + LIBRARY_THREADS
