import pytest

from sharpbayes.errors import SpecError
from sharpbayes.spec.consistency import policy_for
from sharpbayes.spec.load import load_study


def test_overrides_are_read_as_toml():
    files = load_study("quickstart", overrides=("sampler.draws=77", "seed=5", "title=Mine"))
    study = files.study.spec
    assert (study.sampler.draws, study.seed, study.title) == (77, 5, "Mine")
    assert files.overrides == ("sampler.draws=77", "seed=5", "title=Mine")


def test_a_fault_of_an_override_is_told_as_its_own():
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=("sampler.drows=3",))
    assert str(caught.value) == (
        "--set sampler.drows=3: sampler.drows: unknown key, allowed are chains, tune, draws, "
        "predictive_draws, target_accept, max_depth, max_rhat, min_ess, max_divergences, "
        "min_bfmi, max_depth_share; "
        "did you mean 'draws'?"
    )


def test_an_override_must_be_key_and_value():
    with pytest.raises(SpecError, match=r"^--set: draws: must be key=value$"):
        load_study("quickstart", overrides=("draws",))


def test_a_missing_study_names_the_nearest():
    with pytest.raises(SpecError) as caught:
        load_study("quickstrt")
    assert str(caught.value) == (
        "quickstrt: no shipped study 'quickstrt', there are quickstart, quickstart_crowd; "
        "did you mean 'quickstart'?"
    )


def test_text_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "s.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(SpecError, match=r"s\.toml: not UTF-8 text \(byte 9\)$"):
        load_study(tmp_path / "s.toml")


def test_weights_not_named_and_about_other_dimensions_give_an_equal_policy(tmp_path):
    files = load_study("quickstart")
    assert policy_for(files.study.spec, files.weights.spec)["bias"] == 0.25
    one = files.study.spec.model_copy(
        update={
            "panel": files.study.spec.panel.model_copy(
                update={"dimensions": files.study.spec.panel.dimensions[:2]}
            )
        }
    )
    assert policy_for(one, files.weights.spec) == {"bias": 0.5, "fairness": 0.5}
