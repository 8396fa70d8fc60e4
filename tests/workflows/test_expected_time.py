"""What the phases of a run should take: more for more work, and nothing for what is not done."""

import os

import pytest

from sharpbayes.bayes.kernel.code_folder import find_code_folder
from sharpbayes.execution.progress import Phase
from sharpbayes.spec.load import load_study
from sharpbayes.workflows import expected_time
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.expected_time import expected_seconds, has_machine_code


def seconds_of(study, *overrides, fitted=True):
    """The expected seconds of a study."""
    return expected_seconds(RunContext(load_study(study, overrides=overrides)), fitted=fitted)


@pytest.mark.parametrize("study", ["quickstart", "quickstart_crowd"])
def test_a_measurement_has_metrics_and_a_file_alone(study):
    assert set(seconds_of(study, fitted=False)) == {Phase.METRICS, Phase.WRITING}


@pytest.mark.parametrize(
    ("study", "override", "phase"),
    [
        ("quickstart", "bootstrap.replicates=1000000", Phase.METRICS),
        ("quickstart_crowd", "bootstrap.replicates=1000000", Phase.METRICS),
        ("quickstart_crowd", "crowd.permutations=1000000", Phase.METRICS),
        ("quickstart", "sampler.draws=50000", Phase.SAMPLING),
        ("quickstart", "sampler.tune=50000", Phase.SAMPLING),
        ("quickstart", "sampler.draws=50000", Phase.CONVERGENCE),
        ("quickstart_crowd", "sampler.predictive_draws=4000", Phase.REPLICATION),
        ("quickstart_crowd", "sampler.predictive_draws=4000", Phase.REPLICATED_METRICS),
    ],
)
def test_more_work_takes_longer(study, override, phase):
    plain, more = seconds_of(study), seconds_of(study, override)
    assert more[phase] > 2 * plain[phase]


def test_one_replicate_takes_less_than_those_of_a_population():
    plain = seconds_of("quickstart")
    alone = seconds_of("quickstart", 'uncertainty=["ratings"]')
    assert alone[Phase.REPLICATED_METRICS] < plain[Phase.REPLICATED_METRICS] / 2


def test_refits_are_so_many_fits():
    plain = seconds_of("quickstart")
    more = seconds_of("quickstart", 'sensitivity={leave_out=["judge"], priors=[0.5, 2.0]}')
    assert Phase.REFITS not in plain
    assert more[Phase.REFITS] > 4 * plain[Phase.SAMPLING]


def test_the_first_run_on_a_machine_compiles(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    kernel = tmp_path / "kernel"
    (kernel / "__pycache__").mkdir(parents=True)
    (kernel / "density.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(expected_time.sharpbayes.bayes, "__path__", [str(tmp_path)])
    assert not has_machine_code()
    first = seconds_of("quickstart")
    code = kernel / "__pycache__" / "density.logp_code.nbi"
    code.write_bytes(b"")
    os.utime(code, (4e9, 4e9))
    assert has_machine_code()
    second = seconds_of("quickstart")
    assert first[Phase.COMPILING] == pytest.approx(second[Phase.COMPILING] + 40.0)


def test_machine_code_is_found_where_numba_is_told_to_keep_it(tmp_path, monkeypatch):
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "density.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(expected_time.sharpbayes.bayes, "__path__", [str(tmp_path)])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folder = find_code_folder(tmp_path / "kernel")
    assert folder.parent == tmp_path / "cache"
    assert not has_machine_code()
    folder.mkdir(parents=True)
    (folder / "density.logp_code.nbi").write_bytes(b"")
    os.utime(folder / "density.logp_code.nbi", (4e9, 4e9))
    assert has_machine_code()


def test_a_single_judge_is_no_further_fit():
    asked = 'sensitivity={leave_out=["judge"]}'
    assert Phase.REFITS in seconds_of("quickstart", asked)
    assert Phase.REFITS not in seconds_of("quickstart", asked, 'panel.judges=["judge_a"]')
