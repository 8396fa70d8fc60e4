"""Where the committed tables of slow studies come from, and whether their code has changed since.

Beside each table lies ``<table>.provenance.toml``. It has two parts:

- ``[made]``: the command that made the table, the commit, the day, and the versions of Python and
  of the libraries. A study writes it when it writes its table (``record_run``).
- ``[code]``: a digest of every folder and file of the code that the numbers depend on, with the
  commit and the reason why the table holds for that code.

A digest is that of the syntax tree without docstrings and comments: prose and layout do not
count, names and numbers do. Where a digest differs, ``test_provenance.py`` fails and names the
folders. Then either run the study again, or show that the numbers stay the same and say so:

    python -m tests.references.provenance                                  # which tables hold
    python -m tests.references.provenance --record --reason "Why" [TABLE ...]
"""

import argparse
import ast
import datetime as dt
import hashlib
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "numba", "pymc", "nutpie", "xarray", "arviz", "pandas")
SAMPLING = (
    *("sharpbayes/bayes/design", "sharpbayes/bayes/graph", "sharpbayes/bayes/kernel"),
    "sharpbayes/bayes/sampling",
)
GATE = tuple(
    f"sharpbayes/analysis/{name}.py"
    for name in (
        *("gate", "gate_differences", "gate_ends", "gate_evidence", "gate_margins", "gate_study"),
        *("matched_scores", "profile_plan", "rare_differences", "unseen_ends"),
    )
)
POSTERIOR = (
    *SAMPLING,
    *("sharpbayes/bayes/predict", "sharpbayes/posterior", "sharpbayes/metrics"),
    *("sharpbayes/data", "sharpbayes/analysis"),
)
OWN = "tests/references"
# Each table with the code that its numbers depend on: folders and files of the repository.
TABLES: dict[str, tuple[str, ...]] = {
    "calibration.csv": (
        *(*POSTERIOR, "models", f"{OWN}/calibration.py"),
        *(f"{OWN}/small_panel.toml", f"{OWN}/small_crowd.toml"),
    ),
    "careless.csv": (*SAMPLING, "sharpbayes/bayes/predict", "models", f"{OWN}/careless.py"),
    "claims.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(f"{OWN}/prompt_worlds.py", f"{OWN}/claims.py"),
    ),
    "coverage_bootstrap.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        "sharpbayes/analysis/profile_interval.py",
        *(f"{OWN}/prompt_worlds.py", f"{OWN}/coverage_bootstrap.py"),
    ),
    "rare_harm.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/rare_harm.py", f"{OWN}/rare_harm.py"),
    ),
    "ties_at_var.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/evidence_limits.py", "sharpbayes/analysis/tail_evidence.py"),
        *(GATE[0], "sharpbayes/analysis/gate_evidence.py", "sharpbayes/analysis/tolerance.py"),
        *(f"{OWN}/one_harm.py", f"{OWN}/ties_at_var.py"),
    ),
    "lost_answers.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/gate.py", "sharpbayes/analysis/gate_evidence.py"),
        *(f"sharpbayes/analysis/{name}.py" for name in ("gate_study", "gate_side", "gate_lost")),
        *(f"{OWN}/one_harm.py", f"{OWN}/lost_answers.py"),
    ),
    "lost_limits.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(f"sharpbayes/analysis/{name}.py" for name in ("tolerance", "tolerance_evidence")),
        *(f"sharpbayes/analysis/{name}.py" for name in ("asked_scores", "lost_answers")),
        *(f"{OWN}/{name}.py" for name in ("one_harm", "lost_answers", "lost_limits")),
    ),
    "lost_order.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(f"sharpbayes/analysis/{name}.py" for name in ("evidence_limits", "order_limits")),
        *(f"sharpbayes/analysis/{name}.py" for name in ("asked_scores", "lost_answers")),
        *("sharpbayes/analysis/lost_order.py", "sharpbayes/posterior/lowest.py"),
        *(f"{OWN}/{name}.py" for name in ("one_harm", "lost_limits", "lost_order")),
    ),
    "tied_tails.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *(f"{OWN}/rare_harm.py", f"{OWN}/tied_tails.py"),
    ),
    "clustered_prompts.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/panel.py", "sharpbayes/analysis/rare_harm.py"),
        *(f"{OWN}/rare_harm.py", f"{OWN}/clustered_prompts.py"),
    ),
    "clustered_items.csv": (
        *("sharpbayes/metrics/crowd", "sharpbayes/metrics/stats", "sharpbayes/data/intraclass.py"),
        *("sharpbayes/analysis/crowd.py", "sharpbayes/analysis/crowd_counts.py"),
        *("sharpbayes/analysis/crowd_intervals.py", f"{OWN}/coverage_crowd.py"),
        f"{OWN}/clustered_items.py",
    ),
    "harshness.csv": (
        *("sharpbayes/metrics/crowd/harshness.py", "sharpbayes/metrics/stats/two_way.py"),
        *("sharpbayes/metrics/stats/multiplicity.py", f"{OWN}/harshness.py"),
    ),
    "label_reversals.csv": (
        *("sharpbayes/metrics/crowd/contrary.py", "sharpbayes/metrics/stats/exact_tests.py"),
        *("sharpbayes/metrics/stats/two_way.py", "sharpbayes/metrics/stats/multiplicity.py"),
        *("sharpbayes/analysis/crowd_evidence.py", "sharpbayes/analysis/crowd_intervals.py"),
        *("sharpbayes/analysis/expert_agreement.py", f"{OWN}/coverage_crowd.py"),
        f"{OWN}/label_reversals.py",
    ),
    "cohesion_coverage.csv": (
        *("sharpbayes/metrics/crowd/cohesion.py", "sharpbayes/metrics/crowd/kernels.py"),
        *("sharpbayes/metrics/crowd/cohesion_intervals.py", "sharpbayes/metrics/stats/two_way.py"),
        *("sharpbayes/metrics/crowd/sides.py", f"{OWN}/cohesion_coverage.py"),
    ),
    "matched_items.csv": (
        *("sharpbayes/metrics/crowd/cohesion.py", "sharpbayes/metrics/crowd/kernels.py"),
        *("sharpbayes/metrics/crowd/cohesion_intervals.py", "sharpbayes/metrics/stats/two_way.py"),
        *("sharpbayes/metrics/crowd/matched_items.py", "sharpbayes/metrics/crowd/sides.py"),
        f"{OWN}/matched_items.py",
    ),
    "clustered_tests.csv": (
        *("sharpbayes/metrics/panel/debiased.py", "sharpbayes/metrics/panel/label_gaps.py"),
        *("sharpbayes/metrics/panel/influence.py", "sharpbayes/metrics/panel/missingness.py"),
        *("sharpbayes/metrics/stats/clusters.py", "sharpbayes/analysis/releases.py"),
        f"{OWN}/clustered_tests.py",
    ),
    "named_judges.csv": (
        *("sharpbayes/metrics/panel/concordance.py", "sharpbayes/metrics/stats/clusters.py"),
        *("sharpbayes/metrics/stats/multiplicity.py", "sharpbayes/analysis/releases.py"),
        *(f"{OWN}/clustered_tests.py", f"{OWN}/named_judges.py"),
    ),
    "crossed_clusters.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats", "sharpbayes/data/intraclass.py"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/panel.py", "sharpbayes/analysis/rare_harm.py"),
        *(f"{OWN}/rare_harm.py", f"{OWN}/clustered_prompts.py", f"{OWN}/crossed_clusters.py"),
    ),
    "clustered_fits.csv": (
        *(*POSTERIOR, "models", "sharpbayes/spec/model.py", f"{OWN}/rare_harm.py"),
        f"{OWN}/clustered_fits.py",
    ),
    "rare_order.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/unseen_order.py", f"{OWN}/rare_harm.py", f"{OWN}/rare_order.py"),
    ),
    "unequal_judges.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/evidence.py", "sharpbayes/analysis/unequal_judges.py"),
        *(f"{OWN}/one_harm.py", f"{OWN}/unequal_judges.py"),
    ),
    "judge_orders.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/profile_interval.py", "sharpbayes/analysis/profile_plan.py"),
        *("sharpbayes/analysis/panel.py", "sharpbayes/analysis/rare_harm.py"),
        *("sharpbayes/analysis/judge_orders.py", "sharpbayes/analysis/stability.py"),
        f"{OWN}/judge_orders.py",
    ),
    "label_order.csv": (
        *("sharpbayes/metrics/panel/debiased.py", "sharpbayes/metrics/panel/influence.py"),
        *("sharpbayes/metrics/stats/unseen.py", "sharpbayes/metrics/panel/tail_bounds.py"),
        *("sharpbayes/analysis/unseen_order.py", f"{OWN}/rare_order.py", f"{OWN}/label_order.py"),
    ),
    "rare_gate.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(*GATE, f"{OWN}/rare_harm.py", f"{OWN}/rare_gate.py"),
    ),
    "severe_gate.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(*GATE, f"{OWN}/rare_gate.py", f"{OWN}/severe_gate.py"),
    ),
    "severe_fit.csv": (
        *(*POSTERIOR, "models", f"{OWN}/rare_gate.py", f"{OWN}/severe_gate.py"),
        f"{OWN}/severe_fit.py",
    ),
    **dict.fromkeys(
        ("unequal_generations.csv", "share_orders.csv"),
        (
            *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats", "sharpbayes/analysis"),
            *(f"{OWN}/unequal_generations.py", f"{OWN}/share_orders.py"),
        ),
    ),
    "label_samples.csv": (
        *("sharpbayes/metrics/panel/label_gaps.py", "sharpbayes/metrics/stats/multiplicity.py"),
        f"{OWN}/label_samples.py",
    ),
    "named_lowest.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        "sharpbayes/analysis/profile_interval.py",
        *(f"{OWN}/prompt_worlds.py", f"{OWN}/coverage_bootstrap.py", f"{OWN}/named_lowest.py"),
    ),
    "updates.csv": (
        *(*SAMPLING, "sharpbayes/bayes/predict", "sharpbayes/bayes/update.py"),
        *("sharpbayes/data/growth.py", "models", f"{OWN}/updates.py"),
    ),
    "preview.csv": (
        *(*POSTERIOR, "models", "sharpbayes/bayes/preview.py", "sharpbayes/bayes/laplace.py"),
        *("sharpbayes/bayes/batch.py", f"{OWN}/preview.py"),
    ),
    "gate.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *(*GATE, f"{OWN}/gate.py", f"{OWN}/worlds/panel.py", "tests/study_texts.py"),
    ),
    "gate_posterior.csv": (
        *(*POSTERIOR, "models", f"{OWN}/gate.py", f"{OWN}/gate_posterior.py"),
        *(f"{OWN}/worlds/panel.py", "tests/study_texts.py"),
    ),
    "next_ratings.csv": (
        *(*POSTERIOR, "models", f"{OWN}/next_ratings.py", f"{OWN}/worlds/panel.py"),
        "tests/study_texts.py",
    ),
    "peeking.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/peeking.py", "sharpbayes/analysis/profile_interval.py"),
        *("sharpbayes/analysis/profile_plan.py", f"{OWN}/peeking.py", f"{OWN}/gate.py"),
        *(f"{OWN}/worlds/panel.py", "tests/study_texts.py"),
    ),
    "expected_coverage.csv": (
        *("sharpbayes/metrics/panel", "sharpbayes/metrics/stats"),
        *("sharpbayes/analysis/expected_coverage.py", "sharpbayes/analysis/profile_interval.py"),
        *(f"{OWN}/prompt_worlds.py", f"{OWN}/expected_coverage.py"),
    ),
    "coverage_posterior.csv": (*POSTERIOR, "models", f"{OWN}/coverage_posterior.py"),
    "coverage_slopes.csv": (*POSTERIOR, "models", f"{OWN}/worlds", f"{OWN}/coverage_slopes.py"),
    "coverage_crowd.csv": (
        *("sharpbayes/analysis", "sharpbayes/metrics", "sharpbayes/data"),
        f"{OWN}/coverage_crowd.py",
    ),
    "unequal_groups.csv": (
        *("sharpbayes/analysis", "sharpbayes/metrics", "sharpbayes/data"),
        f"{OWN}/coverage_crowd.py",
        f"{OWN}/unequal_groups.py",
    ),
    "variance_components.csv": (
        *(*POSTERIOR, "models", f"{OWN}/worlds/trials.py"),
        f"{OWN}/variance_components.py",
    ),
    "reliability.csv": (*POSTERIOR, "models", f"{OWN}/reliability.py"),
    "judges_and_people.csv": (*POSTERIOR, "models", f"{OWN}/judges_and_people.py"),
    "shared_errors.csv": (
        *(*POSTERIOR, "models", f"{OWN}/shared_errors.py", f"{OWN}/worlds/panel.py"),
        "tests/peopled.py",
    ),
    "worlds.csv": (*POSTERIOR, "models", f"{OWN}/worlds"),
    "kills.csv": (
        *("sharpbayes/cli", "sharpbayes/workflows", "sharpbayes/execution"),
        *("sharpbayes/storage", "tests/kills.py"),
    ),
    "paths.csv": (*SAMPLING, "sharpbayes/data", "models", f"{OWN}/paths.py"),
    "posteriors.csv": (f"{OWN}/posteriors.py", f"{OWN}/posteriors.R", f"{OWN}/ordinal.stan"),
    "ordinal.json": (f"{OWN}/make.py", f"{OWN}/ordinal.R"),
    "steps.json": (f"{OWN}/steps.R",),
    "ppi.json": (f"{OWN}/ppi.py",),
    "priorsense.json": (
        *("sharpbayes/posterior/power_scaling.py", f"{OWN}/priorsense.py"),
        f"{OWN}/priorsense.R",
    ),
    "priors.csv": (
        *("sharpbayes/posterior/power_scaling.py", "sharpbayes/posterior/prior_sensitivity.py"),
        *("sharpbayes/bayes/predict/log_prior.py", f"{OWN}/priors.py"),
    ),
    "coverage_debiased.csv": (
        *("sharpbayes/metrics/panel/debiased.py", "sharpbayes/metrics/panel/label_gaps.py"),
        *("sharpbayes/metrics/panel/influence.py", f"{OWN}/coverage_debiased.py"),
    ),
    "debiased_posterior.csv": (
        *(*POSTERIOR, "models", f"{OWN}/coverage_debiased.py", f"{OWN}/debiased_posterior.py"),
        f"{OWN}/worlds/people_alone.toml",
    ),
}
COMMENT = {".R": r"#.*", ".stan": r"//.*|/\*[\s\S]*?\*/", ".toml": r"^\s*#.*"}


def sidecar(table: Path) -> Path:
    """The file that says where a table comes from."""
    return table.with_name(f"{table.name}.provenance.toml")


def semantic_text(path: Path) -> str:
    """What a file says to the machine: no comments, docstrings, blank lines or layout."""
    return text_without_comments(path.read_text(encoding="utf-8"), path.suffix)


@cache
def text_without_comments(text: str, suffix: str) -> str:
    """The same of the content of a file; kept, because many tables depend on the same code."""
    if suffix == ".py":
        return dump(ast.parse(text))
    bare = re.sub(COMMENT[suffix], "", text, flags=re.MULTILINE)
    return "\n".join(line for raw in bare.splitlines() if (line := " ".join(raw.split())))


def dump(node: Any) -> str:
    """A syntax tree as text, the same in every version of Python.

    Empty fields are left out, because versions differ in which they have. So are texts that stand
    as statements, which are docstrings.
    """
    if isinstance(node, ast.AST):
        inner = ((name, getattr(node, name, None)) for name in node._fields)
        kept = [f"{name}={dump(value)}" for name, value in inner if value not in (None, [])]
        return f"{type(node).__name__}({', '.join(kept)})"
    if isinstance(node, list):
        return f"[{', '.join(dump(child) for child in node if not is_docstring(child))}]"
    return repr(node)


def is_docstring(node: Any) -> bool:
    """Whether a statement is a text alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def files_of(place: Path) -> Iterator[Path]:
    """The files of a folder whose content counts, or the file itself."""
    if place.is_dir():
        yield from sorted(p for p in place.rglob("*") if p.suffix in {".py", ".toml"})
    else:
        yield place


def digest(place: str, root: Path = ROOT) -> str:
    """The digest of a folder or a file: of the names and contents of its files."""
    total = hashlib.sha256()
    for path in files_of(root / place):
        total.update(f"{path.relative_to(root).as_posix()}\n{semantic_text(path)}\n".encode())
    return total.hexdigest()[:16]


def digests(table: str) -> dict[str, str]:
    """The present digest of all code of a table."""
    return {place: digest(place) for place in TABLES[table]}


def changed(table: Path) -> list[str]:
    """The folders and files that differ from those recorded beside a table."""
    recorded = tomllib.loads(sidecar(table).read_text(encoding="utf-8"))["code"]["digests"]
    present = digests(table.name)
    return sorted(
        place for place in {*recorded, *present} if recorded.get(place) != present.get(place)
    )


def commit() -> str:
    """The present commit, with a plus sign where files of it have been changed."""
    described = ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"]
    return subprocess.run(
        described, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def today() -> str:
    """The day, in universal time."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def record_run(table: Path) -> None:
    """Write, for a table that was just made, where it comes from.

    A table that is written outside this folder, such as one of a short trial, gets no record.
    """
    if table.parent.resolve() == HERE:
        command = " ".join(["python", "-m", *sys.orig_argv[2:]])
        origin = {"command": command, "commit": commit(), "day": today(), "versions": versions()}
        write(table, origin, "made by this code")


def record_code(table: Path, reason: str) -> None:
    """Write that a table holds for the present code, and why."""
    write(table, tomllib.loads(sidecar(table).read_text(encoding="utf-8"))["made"], reason)


def write(table: Path, origin: dict[str, Any], reason: str) -> None:
    """Write the file beside a table."""
    code = {"commit": commit(), "day": today(), "reason": reason, "digests": digests(table.name)}
    text = tomlkit.dumps({"made": origin, "code": code})
    sidecar(table).write_text(text, encoding="utf-8")


def explanation(table: Path) -> str:
    """What a person is told of a table whose code has changed; empty where it has not."""
    places = changed(table)
    if not places:
        return ""
    written = tomllib.loads(sidecar(table).read_text(encoding="utf-8"))
    return (
        f"{table.name} holds for the code of commit {written['code']['commit']}. Changed since: "
        f"{', '.join(places)}. Run `{written['made']['command']}` again, or, if its numbers "
        "cannot have changed, `python -m tests.references.provenance --record --reason "
        f'"..." {table.name}`.'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Say which tables hold, or record that they do."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--record", action="store_true", help="The tables hold for this code.")
    parser.add_argument("--reason", help="Why they hold, in a sentence.")
    asked = parser.parse_args(arguments)
    if asked.record and not asked.reason:
        parser.error("--record needs --reason")
    for name in asked.tables:
        if asked.record and changed(HERE / name):
            record_code(HERE / name, asked.reason)
        print(explanation(HERE / name) or f"{name} holds for the present code")


if __name__ == "__main__":
    main()
