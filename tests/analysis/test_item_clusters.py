"""Items of a crowd that are variants of a few scenarios: what a crowd says of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sharpbayes
from sharpbayes.analysis import crowd_intervals
from sharpbayes.analysis.crowd import compare_harshness
from sharpbayes.analysis.expert_agreement import contrary_experts, expert_agreement
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import read_study
from sharpbayes.data.intraclass import mean_item_scores
from sharpbayes.data.ratings import Factor
from sharpbayes.errors import SpecError
from sharpbayes.metrics.crowd.harshness import harshness_difference
from sharpbayes.metrics.stats.exact_tests import fisher_p
from sharpbayes.posterior.replicates import Block, ReplicateDraws
from sharpbayes.report.summary import answer
from sharpbayes.simulation.scoring_patterns import save_simulation
from sharpbayes.spec.load import load_study, reload_study
from sharpbayes.workflows.check import check
from sharpbayes.workflows.simulate import simulate

STUDY = """schema = "sharpbayes/study/2"
title = "T"
seed = 1
[crowd]
data = "ratings.csv"
roles = {{ item = "image", rater = "rater", score = "score"{roles} }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
labels = {{ from = "item", column = "unsafe" }}
groups = [["gender"]]
permutations = 0
{more}
[bootstrap]
replicates = 200
"""
ROLE = ', cluster = "prompt"'
PROMPTS, IMAGES, RATERS = 20, 4, 16


def crowd_table(*, prompts=PROMPTS, images=IMAGES, seed=3):
    """Scores of images that are alike within their prompt, and seen otherwise by each gender."""
    rng = np.random.default_rng(seed)
    code, rater = np.repeat(np.arange(prompts), images), np.arange(RATERS)
    severity = 1.2 * rng.normal(size=prompts)[code] + 0.3 * rng.normal(size=code.size)
    seen = 0.8 * rng.normal(size=(prompts, 2))[code]
    latent = severity + seen[:, rater % 2].T + 0.3 * rng.normal(size=(RATERS, 1))
    latent = latent + 0.6 * rng.normal(size=latent.shape)
    score = np.digitize(latent, [-1.0, 0.0, 0.8, 1.6])
    rows = pd.MultiIndex.from_product([rater, range(code.size)], names=["rater", "image"])
    table = rows.to_frame(index=False)
    table["prompt"] = [f"p{code[image]:02d}" for image in table["image"]]
    table["unsafe"] = (severity > 0.2).astype(int)[table["image"]]
    table["gender"] = np.where(table["rater"] % 2, "woman", "man")
    table["score"] = score.ravel()
    return table.assign(image=[f"i{x:03d}" for x in table["image"]])


def files_of(folder, table, *, roles="", more=""):
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "ratings.csv", index=False)
    (folder / "study.toml").write_text(STUDY.format(roles=roles, more=more), encoding="utf-8")
    return load_study(folder / "study.toml")


@pytest.fixture(scope="module")
def table():
    return crowd_table()


@pytest.fixture(scope="module")
def results(table, tmp_path_factory):
    """Measurements of the same scores, of independent items and of clusters."""
    folder = tmp_path_factory.mktemp("crowds")
    kinds = {"independent": "", "clusters": ROLE}
    return {
        name: sharpbayes.measure(files_of(folder / name, table, roles=role))
        for name, role in kinds.items()
    }


def width(interval):
    return interval.sel(bound="upper") - interval.sel(bound="lower")


def test_intervals_of_clusters_are_wider_and_values_are_the_same(results):
    one, other = (results[name]["responsiveness"] for name in ("independent", "clusters"))
    for name in ("mpa", "wra", "hm"):
        xr.testing.assert_identical(one[name].drop_attrs(), other[name].drop_attrs())
        assert (width(other[f"{name}_interval"]) > 1.2 * width(one[f"{name}_interval"])).all()
    assert "which clusters of items and which raters" in other.attrs["interval_note"]
    assert other.attrs["resampled_units"] == '["clusters of items", "raters"]'
    one, other = (results[name]["raters"] for name in ("independent", "clusters"))
    assert width(other["wra_interval"]).mean() > 1.2 * width(one["wra_interval"]).mean()
    assert "bootstrap over clusters of items" in other.attrs["interval_note"]
    assert (other["clusters"] == PROMPTS).all()
    assert "clusters" not in one


def test_harshness_is_of_clusters(results):
    one, other = (results[name]["harshness_difference"] for name in ("independent", "clusters"))
    pair = {"group": "gender=woman", "other": "gender=man"}
    assert float(one["difference"].sel(pair)) == float(other["difference"].sel(pair))
    assert float(width(other["difference_interval"].sel(pair))) > 1.4 * float(
        width(one["difference_interval"].sel(pair))
    )
    assert "clusters of items" in other.attrs["interval_note"]


def test_where_everyone_scores_everything_its_variance_is_that_of_cluster_means(table, tmp_path):
    """Of many raters without biases the standard error is the sd of differences of clusters."""
    rng = np.random.default_rng(7)
    raters, images, prompts = 400, 3, 30
    seen = rng.normal(size=(prompts, 2))[np.repeat(np.arange(prompts), images)]
    group = np.arange(raters) % 2
    score = np.rint(10 + 3 * seen[:, group].T + rng.normal(size=(raters, seen.shape[0]))).astype(
        int
    )
    rater, item = np.divmod(np.arange(score.size), score.shape[1])
    member = xr.DataArray(
        np.stack([group == 0, group == 1]),
        {"group": ["a", "b"], "grouping": ("group", ["g", "g"])},
        ("group", "rater"),
    )
    pairs = harshness_difference(
        score.ravel(),
        item=item,
        rater=rater,
        membership=member,
        min_raters=2,
        level=0.95,
        cluster=np.repeat(np.arange(prompts), images),
    )
    gap = score[group == 0].mean(axis=0) - score[group == 1].mean(axis=0)
    means = gap.reshape(prompts, images).mean(axis=1)
    half = float(width(pairs["difference_interval"].sel(group="a", other="b"))) / 2
    expected = 2.045 * means.std(ddof=0) / prompts**0.5  # Student's t with 29 degrees of freedom
    assert half == pytest.approx(expected, rel=0.02)


def test_copies_of_items_in_a_named_cluster_change_no_test_of_harshness(table, tmp_path):
    copies = [table.assign(image=table["image"] + f"-{n}", prompt=table["image"]) for n in range(3)]
    single = compare_harshness(read_study(files_of(tmp_path / "single", table)))
    study = read_study(files_of(tmp_path / "copied", pd.concat(copies), roles=ROLE))
    copied = compare_harshness(study)
    for name in ("difference", "difference_interval", "p", "p_holm"):
        np.testing.assert_allclose(copied[name], single[name], rtol=1e-9)
    without = compare_harshness(replace(study, data=replace(study.data, cluster=np.empty(0, str))))
    pair = {"group": "gender=woman", "other": "gender=man"}
    one, other = (width(x["difference_interval"].sel(pair)) for x in (without, single))
    assert float(one) < 0.9 * float(other)


def test_the_answer_and_check_name_clusters(results, table, tmp_path):
    together = (
        "80 items are in 20 clusters by 'prompt': items of one cluster are resampled together."
    )
    alike = "Items with the same 'prompt' score alike (intraclass correlation 0."
    texts = {name: answer(tree) for name, tree in results.items()}
    assert together in texts["clusters"]
    assert not any(text.startswith(alike) for text in texts["clusters"])
    assert any(text.startswith(alike) for text in texts["independent"])
    for role, named in (("", True), (ROLE, False)):
        limits = dict(check(files_of(tmp_path / f"c{named}", table, roles=role)).limits)
        assert limits.get("clusters", "").startswith(alike) == named


def test_degrees_of_freedom_count_clusters(table, tmp_path, monkeypatch):
    numbers = []

    def note(name, argument):
        function = getattr(crowd_intervals, name)

        def noted(*arrays, **options):
            numbers.append(np.unique(options[argument]).tolist())
            return function(*arrays, **options)

        monkeypatch.setattr(crowd_intervals, name, noted)

    note("Resamples", "n_items")
    note("contrasts", "items")
    study = read_study(files_of(tmp_path, table, roles=ROLE))
    crowd_intervals.measure_intervals(study, study.responsiveness, ["hm"])
    assert numbers == [[PROMPTS], [PROMPTS]]


def test_experts_are_at_odds_by_as_many_clusters_as_they_labelled():
    """Contrary labels of eight scenarios are no more evidence for being asked of many variants."""
    first, second = [0, 1, 0, 1, 0, 1, 1, 0], [1, 0, 1, 0, 1, 0, 1, 0]
    labels = np.repeat([first, second], 12, axis=1)
    names = {"expert": ["a", "b"]}
    alone = expert_agreement(xr.DataArray(labels, names, ("expert", "item")))
    clusters = {"cluster": ("item", np.repeat(np.arange(8), 12).astype(str))}
    grouped = expert_agreement(xr.DataArray(labels, names | clusters, ("expert", "item")))
    pair = {"expert": "a", "other": "b"}
    assert float(alone["phi"].sel(pair)) == float(grouped["phi"].sel(pair)) == pytest.approx(-0.5)
    both = int((labels.sum(axis=0) == 2).sum())
    assert float(alone["p"].sel(pair)) == pytest.approx(fisher_p(both, 48, 48, 96))
    assert float(grouped["p"].sel(pair)) == pytest.approx(fisher_p(1, 4, 4, 8))
    assert list(contrary_experts(alone))
    assert not list(contrary_experts(grouped))


def test_labels_are_counted_by_clusters(tmp_path):
    table = crowd_table(prompts=12, images=10)
    few = files_of(tmp_path / "few", table, roles=ROLE)
    limits = dict(check(few).limits)
    assert limits["labels"].startswith("Clusters of items by label: ")
    assert "labels" not in dict(check(files_of(tmp_path / "independent", table)).limits)
    text = " ".join(answer(sharpbayes.measure(few)))
    assert "clusters have items that are labelled" in text
    assert "intervals do not hold" in text


def test_an_item_without_a_cluster_is_one_of_its_own(table, tmp_path):
    table = table.assign(prompt=table["prompt"].where(table["prompt"] > "p04", ""))
    data = read_study(files_of(tmp_path, table, roles=ROLE)).data
    alone = [label for label, x in zip(data.item.labels, data.cluster, strict=True) if x == label]
    assert alone == [f"i{n:03d}" for n in range(5 * IMAGES)]
    assert len(np.unique(data.cluster)) == PROMPTS - 5 + 5 * IMAGES


def test_clusters_are_stored_and_read_from_a_table_of_items(table, results, tmp_path):
    side = table[["image", "prompt"]].drop_duplicates()
    side.to_csv(tmp_path / "items.csv", index=False)
    more = 'items = { data = "items.csv", key = "image" }'
    files = files_of(tmp_path, table.drop(columns="prompt"), roles=ROLE, more=more)
    data = read_study(files).data
    assert data.cluster.tolist() == side["prompt"].tolist()
    stored = results["clusters"]["ratings"].to_dataset()
    assert stored["item_cluster"].values.astype(str).tolist() == side["prompt"].tolist()
    assert stored_study(files, stored).data.cluster.tolist() == side["prompt"].tolist()


@pytest.mark.parametrize("beside", [False, True])
def test_clusters_of_a_parquet_table_are_read(table, tmp_path, beside):
    """Of a Parquet table only the columns of the study are read, and a side table has others."""
    table[["image", "prompt"]].drop_duplicates().to_csv(tmp_path / "items.csv", index=False)
    more = 'items = { data = "items.csv", key = "image" }' * beside
    path = files_of(tmp_path, table, roles=ROLE, more=more).study.path
    path.write_text(path.read_text("utf-8").replace("ratings.csv", "ratings.parquet"), "utf-8")
    kept = table.drop(columns="prompt") if beside else table
    kept.to_parquet(tmp_path / "ratings.parquet")
    data = read_study(load_study(path)).data
    assert data.cluster.tolist() == table["prompt"][: PROMPTS * IMAGES].tolist()


def test_a_model_has_a_term_of_clusters_beside_that_of_items(table, tmp_path):
    files = files_of(tmp_path, table, roles=ROLE, more='fit = "crowd_and_labels"')
    location = [term.by for term in files.model.spec.location]
    assert ("item",) in location
    assert ("cluster",) in location
    files = files_of(tmp_path, table, more='fit = "crowd_and_labels"')
    assert ("cluster",) not in [term.by for term in files.model.spec.location]


def test_a_fit_draws_clusters(table, tmp_path):
    files = files_of(tmp_path, table, roles=ROLE, more='fit = "crowd_and_labels"')
    short = ("sampler.draws=50", "sampler.tune=100", "sampler.chains=2")
    results = sharpbayes.fit(load_study(files.study.path, overrides=short))
    assert results["posterior"]["location_cluster"].sizes["cluster"] == PROMPTS
    reloaded = reload_study(results.attrs)
    assert ("cluster",) in [term.by for term in reloaded.model.spec.location]


def test_simulated_ratings_keep_clusters(table, tmp_path):
    files = files_of(tmp_path / "given", table, roles=ROLE, more='fit = "crowd_and_labels"')
    copied = load_study(save_simulation(simulate(files, pattern="model"), tmp_path / "made"))
    given, made = (read_study(study).data.cluster.tolist() for study in (files, copied))
    assert made == given


def test_labels_by_experts_are_in_the_clusters_of_their_items(table, tmp_path):
    rows = table[["image", "unsafe"]].drop_duplicates()
    rows.set_axis(["item", "label"], axis=1).assign(expert="e").to_csv(
        tmp_path / "experts.csv", index=False
    )
    files = files_of(tmp_path, table, roles=ROLE)
    labels = 'labels = { from = "experts", data = "experts.csv" }\nfit = "crowd_and_experts"'
    text = files.study.text.replace('labels = { from = "item", column = "unsafe" }', labels)
    files.study.path.write_text(text, encoding="utf-8")
    factors = read_study(load_study(files.study.path)).ratings.factors
    codes = factors["cluster"].codes[factors["scale"].codes == 1]
    assert codes.tolist() == np.repeat(np.arange(PROMPTS), IMAGES).tolist()


def test_items_of_a_cluster_have_one_weight_in_a_draw(table, tmp_path):
    items = read_study(files_of(tmp_path, table, roles=ROLE)).score_counts.plurality["item"]
    draws = ReplicateDraws(xr.Dataset(), xr.Dataset(), design=None, seed=3)
    weights = Block(draws, 0, 0, 5).unit_weights(items, "item").transpose("draw", "item").to_numpy()
    by_prompt = weights.reshape(5, PROMPTS, IMAGES)
    np.testing.assert_array_equal(by_prompt, by_prompt[..., :1].repeat(IMAGES, axis=-1))
    assert len(np.unique(weights[0])) == PROMPTS


def test_a_column_of_items_that_is_called_cluster_needs_the_role(table, tmp_path):
    table = table.assign(cluster="x")
    with pytest.raises(SpecError, match="models call the role `cluster` so"):
        files_of(tmp_path, table, roles=ROLE, more='by = ["cluster"]')


def test_items_of_the_same_harsh_raters_are_not_alike_for_it():
    """Each batch of items has its own raters, who differ in harshness alone."""
    rng = np.random.default_rng(1)
    batch, rater = np.divmod(np.arange(12 * 5), 5)
    item = np.repeat(np.arange(12 * 8).reshape(12, 8), 5, axis=0)
    harsh = rng.integers(0, 5, 12)[batch]
    score = np.clip(harsh[:, None] + rng.integers(0, 2, item.shape), 0, 5).astype(np.int16)
    of_item = Factor(tuple(map(str, range(96))), item.ravel().astype(np.int32))
    of_rater = Factor(tuple(map(str, range(60))), np.repeat(batch * 5 + rater, 8).astype(np.int32))
    means = mean_item_scores(score.ravel(), of_item, of_rater)[:, 0]
    by_batch = means.reshape(12, 8).mean(axis=1)
    np.testing.assert_allclose(by_batch, 0.0, atol=1e-12)
