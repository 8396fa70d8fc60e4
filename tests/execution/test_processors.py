"""Processors are those that the process may use, or those that were asked for."""

import os

import pytest

from sharpbayes.errors import SpecError
from sharpbayes.execution import processors
from sharpbayes.execution.processors import CORES_VARIABLE, cpu_count


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A process that may use 6 of 64 processors, in control groups that a test writes."""
    monkeypatch.delenv(CORES_VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 9, 10, 11, 12}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(processors, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(processors, "MEMBERSHIP", tmp_path / "membership")

    def write(membership, **files):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("cpu_", "cpu.")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def test_processors_are_those_of_the_affinity(groups):
    assert cpu_count() == 6


def test_processors_are_those_of_the_machine_where_none_are_set(groups, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cpu_count() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cpu_count() == 1


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/", {"cpu_max": "250000 100000"}, 3),
        ("0::/", {"cpu_max": "max 100000"}, 6),
        ("0::/", {"cpu_max": "50000 100000"}, 1),
        ("0::/", {"cpu_max": "6400000 100000"}, 6),
        ("0::/a/b", {"cpu_max": "max 100000", "a__cpu_max": "200000 100000"}, 2),
        ("0::/a/b", {"a__cpu_max": "400000 100000", "a__b__cpu_max": "300000 100000"}, 3),
        (
            "3:cpu,cpuacct:/a\n4:memory:/b",
            {"cpu__a__cpu_cfs_quota_us": "400000", "cpu__a__cpu_cfs_period_us": "100000"},
            4,
        ),
        (
            "3:cpu:/",
            {"cpu__cpu_cfs_quota_us": "-1", "cpu__cpu_cfs_period_us": "100000"},
            6,
        ),
        ("0::/", {"cpu_max": "nonsense"}, 6),
    ],
)
def test_a_control_group_grants_no_more_than_its_quota(groups, membership, files, expected):
    groups(membership, **files)
    assert cpu_count() == expected


def test_the_variable_sets_the_number(groups, monkeypatch):
    groups("0::/", cpu_max="100000 100000")
    monkeypatch.setenv(CORES_VARIABLE, "5")
    assert cpu_count() == 5


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", "\u0663"])
def test_another_text_is_refused(groups, monkeypatch, text):
    monkeypatch.setenv(CORES_VARIABLE, text)
    with pytest.raises(SpecError) as raised:
        cpu_count()
    assert str(raised.value) == (
        f"SHARPBAYES_CORES: found {text!r}, must be a whole number of processors above 0"
    )


def test_a_membership_of_another_form_grants_nothing(groups):
    groups("nonsense")
    assert cpu_count() == 6
