"""Means by ``ppi_py``, the program of the authors of PPI++, on small samples; ``ppi.json``.

Run it with ``python -m tests.references.ppi`` in an environment that has ``ppi-python`` 0.2.3.
"""

import json
from pathlib import Path

import numpy as np

from tests.references.provenance import record_run

SEED, LEVEL = 20261122, 0.95
# Labelled and other prompts; how well judges follow people; the place of their scores.
CASES = {
    "good judges": (40, 160, 1.0, 0.3),
    "poor judges": (40, 160, 0.1, 0.0),
    "contrary judges": (30, 60, -1.0, 2.0),
    "few others": (120, 30, 0.8, -0.5),
}


def samples():
    """People's values of labelled prompts and judges' of all, by case."""
    rng = np.random.default_rng(SEED)
    for name, (labelled, others, slope, place) in CASES.items():
        severity = rng.normal(size=labelled + others)
        people = np.exp(0.7 * severity[:labelled])
        noise = rng.normal(0, 0.5, labelled + others)
        yield name, people, np.exp(place + slope * 0.7 * severity + noise)


def main():
    """Write the numbers of ``ppi_py``."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate  # noqa: PLC0415 - not among our tools

    numbers = {}
    for name, people, judges in samples():
        inner, rest = judges[: people.size], judges[people.size :]
        bounds = ppi_mean_ci(people, inner, rest, alpha=1 - LEVEL)
        estimate = ppi_mean_pointestimate(people, inner, rest)
        numbers[name] = {
            "estimate": float(np.squeeze(estimate)),
            "interval": [float(np.squeeze(bound)) for bound in bounds],
        }
    path = Path(__file__).with_name("ppi.json")
    path.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    record_run(path)


if __name__ == "__main__":
    main()
