from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from sharpbayes import library
from sharpbayes.errors import SpecError
from sharpbayes.spec.consistency import MODELS, check_files, policy_for
from sharpbayes.spec.load import load_sensitivity_weights, load_study, parse
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

BAD = Path(__file__).parent / "bad"


def test_overrides_are_read_as_toml():
    files = load_study("quickstart", overrides=("sampler.draws=77", "seed=5", "title=Mine"))
    study = files.study.spec
    assert (study.sampler.draws, study.seed, study.title) == (77, 5, "Mine")
    assert files.overrides == ("sampler.draws=77", "seed=5", "title=Mine")


def test_an_error_in_an_override_names_the_override():
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=("sampler.drows=3",))
    assert str(caught.value) == (
        "--set sampler.drows=3: sampler.drows: unknown key, allowed are chains, tune, draws, "
        "max_draws, predictive_draws, target_accept, max_depth, max_rhat, target_ess, "
        "max_divergence_share, min_bfmi, max_depth_share, data_parts; "
        "did you mean 'draws'?"
    )


def test_an_earlier_key_is_unknown_and_its_new_name_is_told():
    with pytest.raises(
        SpecError, match=r"sampler\.min_ess: unknown key.*did you mean 'target_ess'"
    ):
        load_study("quickstart", overrides=("sampler.min_ess=3",))


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("sampler={draws = 3}", "sampler.draws: found 3, must be at least 50"),
        ('panel.roles={model = "m"}', "panel.roles.judge: missing, it must be given"),
        ("foo.bar=1", "foo: unknown key, allowed are "),
        ("panel.foo.bar=1", "panel.foo: unknown key, allowed are "),
        ('panel.indicators.explicitness="flg"', "panel.indicators.explicitness: no scale 'flg'"),
    ],
)
def test_every_error_inside_an_override_names_the_override(option, error):
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=(option,))
    assert str(caught.value).startswith(f"--set {option}: {error}")


def test_an_override_is_one_value():
    files = load_study("quickstart", overrides=("title=5\nseed=6", "weights='equal'"))
    assert files.study.spec.title == "5\nseed=6"
    assert files.study.spec.seed == 20260121
    assert files.study.spec.weights == "equal"


def test_an_override_that_is_nested_too_deeply_is_refused():
    with pytest.raises(SpecError, match=r"tables and arrays are nested too deeply$"):
        load_study("quickstart", overrides=(f"title={'[' * 60}{']' * 60}",))


def test_an_override_must_be_key_and_value():
    with pytest.raises(SpecError, match=r"^--set: draws: must be key=value$"):
        load_study("quickstart", overrides=("draws",))


def test_every_override_that_is_none_is_named():
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=("draws", "seed.x=1", "tune"))
    assert str(caught.value).splitlines() == [
        "--set: draws: must be key=value",
        "--set: seed.x=1: seed is not a table",
        "--set: tune: must be key=value",
    ]


def test_a_name_with_another_ending_means_the_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart.toml").write_text("", encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_study("quickstart.tml")
    message = "quickstart.tml: no such file; did you mean 'quickstart.toml'?"
    assert str(caught.value) == message


def test_models_are_told_by_what_they_are_for():
    assert sorted(chain.from_iterable(MODELS.values())) == library.names("models")


def test_a_missing_study_names_the_nearest():
    with pytest.raises(SpecError) as caught:
        load_study("quickstrt")
    assert str(caught.value) == (
        "quickstrt: no shipped study 'quickstrt', there are petri, quickstart, quickstart_crowd; "
        "did you mean 'quickstart'?"
    )


def test_text_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "s.toml").write_bytes(b'seed = 1\ntitle = "\xff"')
    message = r"s\.toml:2: not UTF-8 text \(byte 18\); save it as UTF-8$"
    with pytest.raises(SpecError, match=message):
        load_study(tmp_path / "s.toml")


def test_a_folder_or_a_pipe_in_place_of_a_study_is_called_that(tmp_path):
    (tmp_path / "s.toml").mkdir()
    with pytest.raises(SpecError, match=r"s\.toml: is a folder, must be a file$"):
        load_study(tmp_path / "s.toml")


def test_a_study_that_powershell_redirected_is_read_by_its_mark(tmp_path):
    text = library.find("studies", "quickstart").read_text(encoding="utf-8")
    (tmp_path / "s.toml").write_text(text, encoding="utf-16")
    assert load_study(tmp_path / "s.toml").study.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1\nseed = 2\n", "s.toml:2: not valid TOML: seed has a value already"),
        ("seed = 1\n[seed]\n", "s.toml:2: not valid TOML: [seed] has a value already"),
        ("seed = 1\nseed = [\n3]\n", "s.toml:3: not valid TOML: cannot overwrite a value"),
    ],
)
def test_a_key_that_stands_twice_is_named(text, message):
    with pytest.raises(SpecError) as caught:
        parse(text, Path("s.toml"), Study)
    assert str(caught.value) == message


@pytest.mark.parametrize("path", [r"C:\Users\me\x.csv", r"..\data\x.csv", r"\\server\x.csv"])
def test_a_path_of_windows_in_double_quotes_is_told_how_to_be_written(path):
    with pytest.raises(SpecError) as caught:
        parse(f'[panel]\ndata = "{path}"\n', Path("s.toml"), Study)
    assert str(caught.value).startswith("s.toml:2: not valid TOML: ")
    assert str(caught.value).endswith("; write the path with / or in single quotes")


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("replicates=3", "; did you mean 'bootstrap.replicates'?"),
        ("dimensions=[]", "; did you mean 'panel.dimensions'?"),
        ("roles={}", "; did you mean 'panel.roles'?"),
        ("nothing=1", "costs"),
    ],
)
def test_a_key_of_another_table_is_told_with_its_table(override, hint):
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=[override])
    assert str(caught.value).endswith(hint)


def test_a_file_that_is_not_there_is_told_with_who_names_it(tmp_path):
    text = library.find("studies", "quickstart").read_text(encoding="utf-8")
    text = f'{text}\n[sensitivity]\nweights = ["no.toml"]\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    overrides = ["panel.fit=no/model.toml", "weights=none.toml"]
    with pytest.raises(SpecError) as caught:
        load_study(tmp_path / "s.toml", overrides=overrides)
    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "no/model.toml: no such file (named by --set panel.fit=no/model.toml: panel.fit)",
        "none.toml: no such file (named by --set weights=none.toml: weights)",
    ]
    with pytest.raises(
        SpecError, match=r"no\.toml: no such file \(named by .*sensitivity\.weights"
    ):
        load_study(tmp_path / "s.toml")


def test_weights_not_named_and_about_other_dimensions_give_an_equal_policy(tmp_path):
    files = load_study("quickstart")
    assert policy_for(files.study.spec, files.weights.spec)["bias"] == 0.25
    study = files.study.spec.model_copy(
        update={
            "panel": files.study.spec.panel.model_copy(
                update={"dimensions": files.study.spec.panel.dimensions[:2]}
            )
        }
    )
    assert policy_for(study, files.weights.spec) == {"bias": 0.5, "fairness": 0.5}


def test_the_default_weights_are_the_same_by_their_name(tmp_path):
    text = (BAD / "policy_does_not_cover.toml").read_text(encoding="utf-8")
    for name, line in (("none", ""), ("sharp", 'weights = "sharp"')):
        changed = text.replace('weights = "eu_ai_act"', line)
        (tmp_path / f"{name}.toml").write_text(changed, encoding="utf-8")
    files = [load_study(tmp_path / f"{name}.toml") for name in ("none", "sharp")]
    assert [policy_for(f.study.spec, f.weights.spec) for f in files] == [{"bias": 1.0}] * 2
    assert files[0].weights.path == files[1].weights.path
    unequal = files[1].weights.spec.model_copy(update={"policy": {"bias": 0.9, "fairness": 0.1}})
    with pytest.raises(SpecError, match="policy: covers bias, fairness; the study's dimensions"):
        check_files(replace(files[1], weights=replace(files[1].weights, spec=unequal)))
    misspelt = files[1].weights.spec.model_copy(update={"policy": {"bais": 0.9, "fairness": 0.1}})
    with pytest.raises(SpecError) as caught:
        check_files(replace(files[1], weights=replace(files[1].weights, spec=misspelt)))
    assert str(caught.value).endswith(
        "policy: covers bais, fairness; the study's dimensions are bias; without [policy] they "
        "have equal weights; did you mean 'bias'?"
    )


def study_with_weights(folder, *names):
    """A copy of the shipped panel that asks for weights, which are copied too."""
    listed = ", ".join(f'"./{name}.toml"' for name in names)
    text = (library.folder("studies") / "quickstart.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(f"{text}\n[sensitivity]\nweights = [{listed}]\n")
    for name in names:
        path = folder / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text((library.folder("weights") / "equal.toml").read_text(encoding="utf-8"))
    return folder / "study.toml"


def test_sensitivity_weights_are_known_by_the_names_of_their_files(tmp_path):
    files = load_study(study_with_weights(tmp_path, "one", "two"))
    assert list(load_sensitivity_weights(files)) == ["one", "two"]


@pytest.mark.parametrize(
    ("names", "other", "index"),
    [(("board/ours", "staff/ours"), "board/ours", 1), (("mine/sharp",), None, 0)],
    ids=["two files of one name", "the name of the study's own weights"],
)
def test_sensitivity_weights_of_one_name_are_refused(tmp_path, names, other, index):
    study = study_with_weights(tmp_path, *names)
    first = f"{tmp_path}/{other}.toml" if other else library.find("weights", "sharp")
    with pytest.raises(SpecError) as caught:
        load_study(study)
    assert str(caught.value) == (
        f"{study}:58: sensitivity.weights[{index}]: {first} and {tmp_path}/{names[-1]}.toml have "
        "one name in the results; rename one of them"
    )


def test_weights_named_twice_are_refused():
    with pytest.raises(SpecError) as caught:
        load_study("quickstart", overrides=('sensitivity.weights=["equal", "sharp"]',))
    assert str(caught.value) == (
        '--set sensitivity.weights=["equal", "sharp"]: sensitivity.weights[1]: '
        f"{library.find('weights', 'sharp')} is named twice"
    )


def test_every_error_of_every_sensitivity_file_is_named(tmp_path):
    study = study_with_weights(tmp_path, "one", "two")
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text("colour = 1\n")
    with pytest.raises(SpecError) as caught:
        load_study(study)
    assert [error.path for error in caught.value.diagnostics if error.key == "colour"] == [
        f"{tmp_path}/one.toml",
        f"{tmp_path}/two.toml",
    ]


def test_the_table_of_a_study_is_its_panel_or_its_crowd():
    panel, crowd = (load_study(name).study.spec for name in ("quickstart", "quickstart_crowd"))
    assert panel.table is panel.panel
    assert crowd.table is crowd.crowd


@pytest.mark.parametrize(
    ("study", "options", "sources"),
    [
        ("quickstart", (), [("ratings", "prompts")]),
        ("quickstart", ('uncertainty=["ratings"]',), [("ratings",)]),
        ("quickstart_crowd", (), [("ratings", "items", "raters")]),
    ],
)
def test_statements_are_about_the_populations_of_prompts_items_and_raters(study, options, sources):
    assert list(load_study(study, overrides=options).study.spec.uncertainties) == sources


@pytest.mark.parametrize(
    ("kind", "load_as", "message"),
    [
        ("study", Weights, "this file holds a study, not weights"),
        ("weights", Study, "this file holds weights, not a study"),
        ("model", Weights, "this file holds a model, not weights"),
    ],
)
def test_a_file_of_another_kind_is_named_and_nothing_else_is_said(kind, load_as, message):
    text = f'title = "x"\nschema = "sharpbayes/{kind}/2"\nother = 1\n'
    with pytest.raises(SpecError) as raised:
        parse(text, Path("x.toml"), load_as)
    assert str(raised.value) == f"x.toml:2: schema: {message}"
