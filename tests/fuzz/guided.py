"""Files grown by what code they reach, with atheris (libFuzzer): specs, tables, results.

    uv pip install atheris
    python -m tests.fuzz.guided spec -max_total_time=600

The first word says what the bytes are; what follows goes to libFuzzer, which says at the end how
many files it made. It stops at the first that gives anything but success or a documented error, and
leaves the file. Not a part of the suite: what it does hangs on the clock.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sharpbayes", "tomllib"]):
    from sharpbayes.library import folder
    from sharpbayes.spec.load import load_study
    from sharpbayes.storage.checksums import append_checksum
    from sharpbayes.storage.results import save_results
    from sharpbayes.workflows.check import check
    from sharpbayes.workflows.measure import measure

from tests.fuzz.outcomes import COUNT, outcome
from tests.fuzz.test_results_files import open_and_report
from tests.fuzz.test_tables import loads

ENDINGS = (".csv", ".jsonl", ".parquet")
ROWS = [{"i": "a", "r": "x", "s": "1", "g": "w"}, {"i": "b", "r": "y", "s": "10", "g": "w"}]


def spec(base, content):
    """A study beside the shipped data; it may read no file of another folder."""
    path = base / "s.toml"
    path.write_bytes(content)
    where = [str(base), "sharpbayes", ".toml"]
    files = outcome(lambda: load_study(path), place=where)
    if files is not None:
        outcome(lambda: check(files), place=where)


def table(base, content):
    """A table, of the kind that the first byte says, as a crowd and as a panel."""
    path = base / f"t{ENDINGS[content[0] % len(ENDINGS)]}" if content else base / "t.csv"
    path.write_bytes(content[1:])
    loads(base, path.name)


def results(base, content):
    """A results file; with an odd first byte its checksum is made good."""
    path = base / "r.nc"
    path.write_bytes(content[1:])
    if content and content[0] % 2:
        append_checksum(path)
    open_and_report(path)


def seeds(kind):
    """Files to begin with."""
    import pandas as pd  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder_name:
        path = Path(folder_name) / "seed"
        if kind == "spec":
            yield from (study.read_bytes() for study in folder("studies").glob("*.toml"))
        elif kind == "table":
            rows = pd.DataFrame(ROWS)
            yield b"\0" + rows.to_csv(index=False).encode()
            yield b"\1" + rows.to_json(orient="records", lines=True).encode()
            rows.to_parquet(path)
            yield b"\2" + path.read_bytes()
        else:
            few = ("bootstrap.replicates=20", "crowd.permutations=20")
            save_results(measure(load_study("quickstart_crowd", overrides=few)), path)
            yield b"\0" + path.read_bytes()
            yield b"\1" + path.read_bytes()


def main():
    """Give files to one of the three until libFuzzer ends."""
    kind, *options = sys.argv[1:]
    work = {"spec": spec, "table": table, "results": results}[kind]
    with tempfile.TemporaryDirectory() as folder_name:
        base, corpus = Path(folder_name) / "base", Path(folder_name) / "corpus"
        base.mkdir()
        corpus.mkdir()
        for data in folder("studies").glob("*.csv"):
            (base / data.name).symlink_to(data)
        for number, content in enumerate(seeds(kind)):
            (corpus / str(number)).write_bytes(content)

        def once(content):
            work(base, content)
            if COUNT.total() % 5000 == 0:
                print("outcomes:", dict(COUNT), file=sys.stderr, flush=True)  # noqa: T201

        atheris.Setup([sys.argv[0], *options, str(corpus)], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
