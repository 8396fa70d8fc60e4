"""``sharpbayes init``: a study for a file that nobody described."""

import json
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from sharpbayes import library
from sharpbayes.cli.commands import app
from sharpbayes.errors import DataError, SpecError, StorageError
from sharpbayes.scaffold.harm import describe_crowd_direction
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.measure import measure
from tests.shared_data import SHARED_DATA, needs_shared_data
from tests.shared_results import PERMUTATIONS

FILES = (
    sorted(path.name for path in SHARED_DATA.glob("*.csv")) if SHARED_DATA.is_dir() else ["none"]
)
# The study that is written for them is that of the ratings that they stand beside.
BESIDE_RATINGS = {"pluriharms_items.csv", "pluriharms_raters.csv"}


def started(folder, table, name="data.csv", **options):
    path = folder / name
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_json(path, orient="records", lines=True)
    unsure = write_study(path, folder / "study.toml", **options).assumptions
    return (folder / "study.toml").read_text(encoding="utf-8"), unsure


def crowd(**more):
    rows = [(item, rater) for item in range(12) for rater in range(6)]
    table = pd.DataFrame(rows, columns=["item", "rater"])
    table["score"] = (table["item"] * 5 + table["rater"] * 3) % 5
    return table.assign(**more)


NO_MODEL = (
    'no column names the model, so "{}" is taken as the item and "{}" as the rater, and of rows '
    "that repeat both the first counts; where models answered, name the column of the model by "
    "`init --role model=COLUMN`, or add one to the data"
)


@pytest.mark.parametrize(
    ("names", "is_assumed"),
    [
        (("prompt_id", "judge_id"), True),
        (("prompt", "annotator"), True),
        (("conversation", "judge"), True),
        (("comment", "annotator"), False),
    ],
)
def test_a_panel_without_models_is_no_crowd_in_silence(tmp_path, names, is_assumed):
    names = dict(zip(("prompt_id", "judge_id"), names, strict=True))
    table = panel().drop(columns="model_id").rename(columns=names)
    text, unsure = started(tmp_path, table)
    assumption = NO_MODEL.format(*names.values())
    assert (assumption in unsure) == is_assumed
    if is_assumed:
        assert unsure[0] == assumption
        assert f"# CHECK: {assumption[:20]}" in text


def test_a_column_that_varies_where_a_rater_repeats_an_item_is_likely_the_model(tmp_path):
    names = {"prompt_id": "id", "judge_id": "who", "model_id": "provider"}
    table = panel().rename(columns=names)
    _, unsure = started(tmp_path, table, roles={"rater": "who"})
    assert unsure[0] == (
        '"provider" varies where one rater scored one item more than once, as names of models do, '
        "and of these scores the first counts; where models answered, write the study by "
        '`init --role "model=provider"`'
    )


def test_comments_of_judges_are_no_items_and_comments_without_a_repeat_are_doubted(tmp_path):
    table = panel().rename(columns={"prompt_id": "topic", "judge_id": "who"})
    table = table.drop(columns="model_id").assign(comment=[f"note {n}" for n in range(len(table))])
    _, unsure = started(tmp_path, table, roles={"rater": "who"})
    assert unsure[0].startswith('"comment" is taken as the item, but no two rows have one of its')
    with pytest.raises(DataError, match="item: no column found for it"):
        started(
            tmp_path, table.rename(columns={"comment": "Grader comment"}), roles={"rater": "who"}
        )


@pytest.mark.parametrize("name", ["refused", "Model declined?", "abstained"])
def test_a_column_of_refusals_is_no_harm(tmp_path, name):
    table = panel()
    table[name] = ["yes" if row % 3 else "no" for row in range(len(table))]
    text, unsure = started(tmp_path, table)
    written = tomllib.loads(text)["panel"]
    assert written["indicators"][name]["refusal"] is True
    assert all(name not in dimension["rms"] for dimension in written["dimensions"])
    assert any(
        text.startswith(f'"{name}" says by its name that a model refused') for text in unsure
    )


def test_a_column_of_y_and_n_is_yes_and_no(tmp_path):
    table = panel()
    table["illegal advice"] = ["Y" if row % 5 else "N" for row in table.index]
    written = tomllib.loads(started(tmp_path, table)[0])["panel"]
    scale = written["scales"][written["indicators"]["illegal advice"]]
    assert scale == {"kind": "boolean"}
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 2 * len(table)


def test_words_of_compliance_are_turned_where_they_say_that_a_model_refused(tmp_path):
    table = panel()
    table["refusal"] = ["full refusal" if row % 5 else "full compliance" for row in table.index]
    written = tomllib.loads(started(tmp_path, table)[0])["panel"]["indicators"]["refusal"]
    assert written == {"scale": written["scale"], "refusal": True, "reverse": True}


def test_a_crowd_that_is_named_or_repeats_nothing_is_not_doubted(tmp_path):
    table = panel().drop(columns="model_id")
    for folder, rows, roles in (
        ("named", table, {"item": "prompt_id"}),
        ("once", table.drop_duplicates(["prompt_id", "judge_id"]), {}),
    ):
        (tmp_path / folder).mkdir()
        _, unsure = started(tmp_path / folder, rows, roles=roles)
        assert not [text for text in unsure if text.startswith("no column names the model")]


def panel(**more):
    rows = [(m, p, j) for m in "ab" for p in range(8) for j in ("x", "y")]
    table = pd.DataFrame(rows, columns=["model_id", "prompt_id", "judge_id"])
    table["severity"] = [row % 4 + 1 for row in range(len(table))]
    return table.assign(**more)


def first_units(path, *, count=60):
    """Write the rows of the first prompts or items of a study beside it; return what names them.

    Of a small file all are written. Whole files are measured in ``tests/workflows``.
    """
    [(kind, spec)] = [
        (name, part)
        for name, part in tomllib.loads(path.read_text(encoding="utf-8")).items()
        if name in {"panel", "crowd"}
    ]
    table = pd.read_csv(path.parent / spec["data"])
    units = table[spec["roles"]["item" if kind == "crowd" else "prompt"]]
    first = units.isin(units.unique()[:count]) | (len(table) < 5000)
    table[first].to_csv(path.with_name("part.csv"), index=False)
    return f"{kind}.data='part.csv'"


@needs_shared_data
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in BESIDE_RATINGS else [])
        for name in FILES
    ],
)
def test_every_real_file_is_measured_without_an_edit(name, tmp_path):
    path = tmp_path / "s.toml"
    write_study(SHARED_DATA / name, path)
    few = ["bootstrap.replicates=20"]
    if "crowd" in tomllib.loads(path.read_text(encoding="utf-8")):
        few.append(PERMUTATIONS.format(9))
    few.append(first_units(path))
    results = measure(load_study(path, overrides=tuple(few)))
    assert results.attrs["data_ratings"] > 100
    assert {"profile", "responsiveness"} & set(results.children)


@needs_shared_data
def test_tables_beside_the_ratings_are_joined_from_any_of_the_three(tmp_path):
    for name in ("ratings", "raters", "items"):
        write_study(SHARED_DATA / f"pluriharms_{name}.csv", tmp_path / f"{name}.toml")
        crowd = tomllib.loads((tmp_path / f"{name}.toml").read_text(encoding="utf-8"))["crowd"]
        assert crowd["data"].endswith("pluriharms_ratings.csv")
        assert crowd["raters"]["key"] == "rater"
        assert crowd["items"]["data"].endswith("pluriharms_items.csv")
        assert ["gender"] in crowd["groups"]
        assert crowd["scale"] == {"bins": [20, 40, 60, 80]}


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.jsonl"])
def test_a_crowd_of_every_kind_of_file(name, tmp_path):
    table = crowd()
    table["gold_unsafe"] = (table["item"] > 6).astype(int)
    table["gender"] = ["f" if rater % 2 else "m" for rater in table["rater"]]
    table["topic"] = ["one" if item % 2 else "two" for item in table["item"]]
    text, unsure = started(tmp_path, table, name)
    written = tomllib.loads(text)["crowd"]
    assert written["roles"] == {"item": "item", "rater": "rater", "score": "score"}
    assert written["scale"] == {"kind": "ordinal", "min": 0, "max": 4}
    assert written["labels"] == {"from": "item", "column": "gold_unsafe"}
    assert (written["groups"], written["by"]) == ([["gender"]], ["topic"])
    assert unsure == [
        "numbers run over those in the data, 0 to 4; write the ends of a longer scale",
        '"gold_unsafe" is taken to say which items are unsafe (1)',
    ]
    assert check(load_study(tmp_path / "study.toml")).counts["rater"] == 6


def test_without_labels_the_crowd_labels_and_the_file_says_so(tmp_path):
    text, unsure = started(tmp_path, crowd())
    assert tomllib.loads(text)["crowd"]["labels"] == {"from": "crowd", "cut": 2}
    assert unsure[1] == (
        "no column says which items are unsafe: the other raters do, by a score of 2 or worse, so "
        "that groups are not compared with each other; experts' labels are better"
    )
    assert f"# CHECK: {unsure[1]}" in text.splitlines()
    nobody = "without groups of raters nobody is left to label the items; name a column of groups"
    assert unsure[2] == describe_crowd_direction({})
    assert unsure[3].startswith(nobody)


def test_raters_outside_a_group_label_its_items(tmp_path):
    table = crowd()
    table["gender"] = ["f" if rater % 2 else "m" for rater in table["rater"]]
    text, unsure = started(tmp_path, table)
    assert tomllib.loads(text)["crowd"]["labels"] == {"from": "crowd", "cut": 2}
    assert not [text for text in unsure if "nobody is left" in text]


def test_a_rater_who_scores_twice_is_seen(tmp_path):
    table = pd.concat([crowd(), crowd().head(3)])
    assert tomllib.loads(started(tmp_path, table)[0])["crowd"]["duplicates"] == "first"


def test_a_wide_panel_with_a_scale_for_each_kind_of_column(tmp_path):
    table = panel(flag=["yes", "yes", "no"] * 10 + ["no", "yes"], text=[*range(32)])
    table["kind"] = ["none", "severe", "Mild"] * 10 + ["none", "none"]
    table["kind_of_prompt"] = ["u" if prompt < 4 else "v" for prompt in table["prompt_id"]]
    written = tomllib.loads(started(tmp_path, table)[0])["panel"]
    assert written["layout"] == "wide"
    scales = {name: written["scales"][scale] for name, scale in written["indicators"].items()}
    assert scales == {
        "severity": {"kind": "ordinal", "min": 1, "max": 4},
        "flag": {"kind": "boolean"},
        "kind": {"kind": "categorical", "levels": ["none", "Mild", "severe"]},
    }
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 96


def test_a_long_panel_by_indicator(tmp_path):
    long = panel().rename(columns={"severity": "score"})
    table = pd.concat([long.assign(metric="bias"), long.assign(metric="lies")])
    written = tomllib.loads(started(tmp_path, table)[0])["panel"]
    assert written["layout"] == "long"
    assert set(written["indicators"]) == {"bias", "lies"}
    assert check(load_study(tmp_path / "study.toml")).counts["ratings"] == 64


def test_what_is_missing_is_added_to_a_copy_and_said(tmp_path):
    table = panel().drop(columns="judge_id").rename(columns={"severity": "score"})
    text, unsure = started(tmp_path, table)
    assert unsure[:2] == [
        "no column names the judge: all rows count as one judge's",
        "some cells are rated more than once; the repeats are numbered",
    ]
    assert tomllib.loads(text)["panel"]["data"] == "study.data.csv"
    copy = pd.read_csv(tmp_path / "study.data.csv")
    assert set(copy["judge"]) == {"unnamed"}
    assert sorted(copy["sample"].unique()) == [1, 2]
    pd.testing.assert_frame_equal(copy[list(table.columns)], table, check_dtype=False)
    assert check(load_study(tmp_path / "study.toml")).counts["sample"] == 2


def test_repeats_that_nothing_tells_apart_are_trials(tmp_path):
    table = panel().rename(columns={"severity": "score"})
    text, unsure = started(tmp_path, pd.concat([table, table[:3]]))
    assert unsure[:2] == [
        "rows that equal an earlier row in every column (3 of 35) count as further ratings; where "
        "they are copies, remove them from the data",
        "rows that repeat a cell (3 of 35) are taken as the same judge's scores of the same answer "
        "(trials); where the model answered again, name the number of the answer as `sample` "
        "instead; where they are answers of another release, give its model another name",
    ]
    assert "trial = true}" in text
    assert check(load_study(tmp_path / "study.toml")).repeats[0].most == 2


def test_a_column_of_trials_is_recognised(tmp_path):
    table = panel().rename(columns={"severity": "score"})
    twice = pd.concat([table.assign(repeat=number) for number in (1, 2)])
    text, unsure = started(tmp_path, twice)
    assert unsure[0].startswith('"repeat" numbers the same judge\'s scores of the same answer')
    assert 'trial = "repeat"}' in text
    assert check(load_study(tmp_path / "study.toml")).counts["trial"] == 2


LOGS = Path(__file__).parents[1] / "data" / "logs"


def of_logs(folder, name):
    unsure = write_study(LOGS / name, folder / "s.toml").assumptions
    written = tomllib.loads((folder / "s.toml").read_text(encoding="utf-8"))
    return written, unsure, check(load_study(folder / "s.toml")).counts


def test_logs_of_inspect_with_the_judges_who_score_the_same(tmp_path):
    written, unsure, counts = of_logs(tmp_path, "probe_*")
    study = written["panel"]
    assert (study["layout"], study["roles"]) == ("inspect", {"category": "metadata.topic"})
    assert study["judges"] == ["match", "mockllm/grader-1", "mockllm/grader-2"]
    assert study["scales"] == {"scale_1": {"kind": "categorical", "levels": ["C", "P", "I"]}}
    assert unsure[:2] == [
        "further indicators that the scorers noted: metadata.confidence",
        "judges who score other things are left out: harm",
    ]
    assert (counts["model"], counts["ratings"], counts["unscored_samples"]) == (3, 105, 1)


def test_scorers_of_different_things_are_indicators(tmp_path):
    written, unsure, counts = of_logs(tmp_path, "chunked.eval")
    study = written["panel"]
    roles = {"judge": "task", "indicator": "measure", "category": "metadata.topic"}
    assert study["roles"] == roles
    assert set(study["indicators"]) == {"model_graded_qa"}
    assert "no scale fits, so that they are left out: harm.refusal, harm.severity" in unsure
    assert (counts["judge"], counts["ratings"]) == (1, 2)


def test_two_logs_of_one_model_are_two_models(tmp_path):
    for name in ("x.eval", "y.eval"):
        (tmp_path / name).write_bytes((LOGS / "old.eval").read_bytes())
    unsure = write_study(tmp_path / "*.eval", tmp_path / "s.toml").assumptions
    assert "several logs of one model: each log counts as a model of its own" in unsure
    assert check(load_study(tmp_path / "s.toml")).counts["model"] == 2


def test_a_high_metric_of_lm_eval_is_taken_as_good(tmp_path):
    written, _, counts = of_logs(tmp_path, "lm_eval/*/samples_say_*.jsonl")
    right = {"exact_match": {"scale": "scale_1", "reverse": True}}
    assert written["panel"]["indicators"] == right
    assert (counts["model"], counts["judge"], counts["ratings"]) == (2, 2, 24)


@pytest.mark.parametrize(
    ("name", "judges"),
    [
        ("promptfoo.json", ["file://grader-1.js", "file://grader-2.js"]),
        ("deepeval/*.json", ["judge-1", "judge-2"]),
        ("every_eval_ever/*_samples.jsonl", None),
    ],
)
def test_scores_from_0_to_1_are_yes_and_no_or_five_bins(tmp_path, name, judges):
    written, unsure, counts = of_logs(tmp_path, name)
    study = written["panel"]
    assert study.get("judges") == judges
    scale = {"bins": [0.2, 0.4, 0.6, 0.8]} if judges else {"kind": "boolean"}
    assert study["scales"] == {"scale_1": scale}
    assert all(indicator["reverse"] for indicator in study["indicators"].values())
    assert any(text.startswith("scores from 0 to 1 are cut") for text in unsure) == bool(judges)
    assert (counts["model"], counts["judge"]) == (2, len(judges or "1"))


def test_logs_of_petri_get_the_dimensions_of_the_shipped_study(tmp_path):
    path = library.folder("studies") / "petri_alpha.eval"
    unsure = write_study(path, tmp_path / "s.toml").assumptions
    assert unsure == ["the indicators and dimensions are those of the shipped study petri"]
    written = load_study(tmp_path / "s.toml").study.spec.panel
    assert written.dimensions == load_study("petri").study.spec.panel.dimensions


@pytest.mark.parametrize("name", ["full.json", "min.json", "export.csv"])
def test_an_export_of_label_studio(tmp_path, name):
    written, unsure, counts = of_logs(tmp_path, f"label_studio/{name}")
    study = written["crowd"]
    assert study["roles"] == {"score": "severity", "time": "created_at", "text": "text"}
    assert study["scale"] == {"kind": "ordinal", "min": 1, "max": 5}
    assert study["by"] == ["topic"]
    assert unsure[0] == "the score is 'severity'; there is also unsafe"
    assert (counts["rater"], counts["ratings"]) == (3, 22)


def test_participants_are_no_ratings_and_the_message_says_where_they_belong(tmp_path):
    with pytest.raises(DataError, match=r"layout = .prolific"):
        write_study(LOGS / "prolific.csv", tmp_path / "s.toml")


def test_a_fault_names_the_file_that_is_there(tmp_path):
    (tmp_path / "x.csv").write_text("model,a\nm,\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"^x\.csv: no column of scores"):
        write_study(tmp_path / "x.csv", tmp_path / "s.toml")


@pytest.mark.parametrize(
    ("severity", "reason"),
    [
        ([""] * 4, "every row is empty"),
        (["1"], "every value is 1, which does not show where the scale ends"),
        (["1"] * 4, "every value is 1, which does not show where the scale ends"),
        (["bad"] * 4, "every value is 'bad'"),
        (["0", "1", "5000", "6000"], "0 to 6000 are more than 1000 scores"),
        ([*"abcdefgh"], "more than 7 different words"),
    ],
)
def test_a_column_that_shows_no_scale_has_its_reason(tmp_path, severity, reason):
    rows = [f"m{i % 2},p{i // 2},j,{score}" for i, score in enumerate(severity)]
    text = "\n".join(["model,prompt,judge,score", *rows])
    (tmp_path / "x.csv").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        write_study(tmp_path / "x.csv", tmp_path / "s.toml", roles={"score": "score"})
    advice = (
        "; where one is the score, write the study yourself, with its scale under [panel.scales]: "
        "`sharpbayes show quickstart` prints an example"
    ) * any(severity)
    assert str(raised.value).endswith(f"no column of scores found: score ({reason}){advice}")


def test_a_column_of_one_value_and_lists_are_not_to_be_named_as_the_score(tmp_path):
    rows = [f"m{i % 2},p{i // 2},j,0" for i in range(8)]
    text = "\n".join(["model,prompt,judge,severity", *rows])
    (tmp_path / "x.csv").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        write_study(tmp_path / "x.csv", tmp_path / "s.toml")
    assert str(raised.value) == (
        "x.csv: no column of scores found: severity (no two different values); where one is the "
        "score, write the study yourself, with its scale under [panel.scales]: `sharpbayes show "
        "quickstart` prints an example"
    )
    verdicts = [{"judge": "a", "verdict": {"harm": 1}}, {"judge": "b", "verdict": {"harm": 2}}]
    answers = [
        {"model": "mn"[i % 2], "prompt": i // 2, "answer": f"text {i // 2}"} for i in range(8)
    ]
    lines = "\n".join(json.dumps(answer | {"judgements": verdicts}) for answer in answers)
    (tmp_path / "x.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        write_study(tmp_path / "x.jsonl", tmp_path / "s.toml")
    assert str(raised.value).endswith(
        '; lists in "judgements" are not read: write a row for each score, with its judge'
    )


def test_names_cannot_break_out_of_the_file(tmp_path):
    nasty = 'x"\nseed = 9\n[panel]\n# \\'
    table = crowd()
    table[nasty] = ["f" if rater % 2 else "m" for rater in table["rater"]]
    written = tomllib.loads(started(tmp_path, table)[0])
    assert written["seed"] == 1
    assert written["crowd"]["groups"] == [[nasty]]


def test_a_role_can_be_named(tmp_path):
    table = crowd().rename(columns={"rater": "who"})
    with pytest.raises(DataError) as raised:
        started(tmp_path, table)
    assert str(raised.value) == (
        "data.csv: rater: no column found for it among item, who, score; "
        "name it with --role rater=COLUMN; where judges score models, name these with "
        "--role model=COLUMN, or give a file for each model"
    )
    assert 'rater = "who"' in started(tmp_path, table, roles={"rater": "who"})[0]


def test_roles_and_columns_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(SpecError, match=r"no such role.*did you mean 'rater'"):
        started(tmp_path, crowd(), roles={"ratter": "rater"})
    with pytest.raises(DataError, match="no such column, the columns are item, rater, score"):
        started(tmp_path, crowd(), roles={"rater": "whom"})
    with pytest.raises(DataError, match="no column of scores found"):
        started(tmp_path, panel().drop(columns="severity"))


def test_nothing_is_overwritten(tmp_path):
    started(tmp_path, crowd())
    with pytest.raises(StorageError, match="already there"):
        started(tmp_path, crowd())


def test_the_command_says_what_to_check_and_what_comes_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crowd().to_csv("mine.csv", index=False)
    done = CliRunner().invoke(app, ["init", "mine.csv"])
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0].startswith("to check: numbers run over those in the data")
    assert done.stderr.endswith("study written to mine.toml; next: sharpbayes check mine.toml\n")
    assert CliRunner().invoke(app, ["check", "mine.toml"]).exit_code == 0
    wrong = CliRunner().invoke(app, ["init", "mine.csv", "--role", "rater"])
    assert (wrong.exit_code, wrong.stderr) == (2, "--role: rater: must be role=column\n")


def test_indicators_on_equal_scales_share_one(tmp_path):
    table = panel(other=[row % 4 + 1 for row in range(1, 33)], flag=["yes", "no", "no", "yes"] * 8)
    written = tomllib.loads(started(tmp_path, table)[0])["panel"]
    assert written["indicators"] == {"severity": "scale_1", "other": "scale_1", "flag": "scale_2"}
    assert list(written["scales"]) == ["scale_1", "scale_2"]


def test_every_key_carries_the_description_of_its_field(tmp_path):
    lines = started(tmp_path, crowd())[0].splitlines()
    assert lines[lines.index("# Which items are unsafe.") + 3].startswith("labels = ")
    assert '# weights = "./weights.toml"   # yours; see `sharpbayes show sharp`' in lines


def test_a_number_far_from_all_others_is_no_end_of_the_scale(tmp_path):
    table = panel()
    table.loc[[3, 9], "severity"] = -99
    text, assumptions = started(tmp_path, table)
    [scale] = tomllib.loads(text)["panel"]["scales"].values()
    assert (scale["min"], scale["max"]) == (1, 4)
    assert any(
        text.startswith('-99 looks like a code of a missing score among the numbers of "severity"')
        and 'dialect = { missing = ["-99"] }' in text
        for text in assumptions
    )
    with pytest.raises(DataError, match="2 of 32 cells off the scale"):
        check(load_study(tmp_path / "study.toml"))
    text = text.replace('layout = "wide"', 'layout = "wide"\ndialect = { missing = ["-99"] }')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert check(load_study(tmp_path / "study.toml")).counts["missing"] == 2


def test_people_who_score_answers_are_judges(tmp_path):
    written = tomllib.loads(started(tmp_path, panel().rename(columns={"judge_id": "person"}))[0])
    assert written["panel"]["roles"]["judge"] == "person"


def test_columns_of_other_languages_are_asked_for_in_both_forms(tmp_path):
    names = {"model_id": "Malli", "prompt_id": "Kysymys", "judge_id": "Kuka", "severity": "Arvo"}
    with pytest.raises(DataError) as raised:
        started(tmp_path, panel().rename(columns=names))
    assert "where judges score models, name these with --role model=COLUMN" in str(raised.value)


def test_a_column_without_scores_is_named_with_its_file_and_what_was_found(run):
    Path("r.csv").write_text("item,rater,score\nx,1,nan\nx,2,nan\ny,1,nan\n", encoding="utf-8")
    done = run("init", "r.csv")
    message = "r.csv: score: found 'nan', must be numbers, or words such as yes and no\n"
    assert (done.exit_code, done.stderr) == (3, message)


def test_a_table_on_another_drive_is_named_by_its_whole_path(tmp_path, monkeypatch):
    """Windows has no relative path between drives."""

    def find_no_path(*_):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    frame = pd.DataFrame({"model": [*"aabb"], "prompt": [*"pqpq"], "judge": "j", "harm": range(4)})
    frame.to_csv(tmp_path / "r.csv", index=False)
    monkeypatch.setattr("os.path.relpath", find_no_path)
    write_study(tmp_path / "r.csv", tmp_path / "s.toml")
    data = tomllib.loads((tmp_path / "s.toml").read_text(encoding="utf-8"))["panel"]["data"]
    assert data == (tmp_path / "r.csv").as_posix()
