"""A fit that goes on from an earlier one, from files on disk to the answer."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

from sharpbayes.bayes import fit as fitting
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.predict import reweighting
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.bayes.update import start_from, weight_draws
from sharpbayes.cli.commands import app
from sharpbayes.errors import SpecError, StorageError
from sharpbayes.execution.tasks import Execution, NoStore
from sharpbayes.report.document import document
from sharpbayes.report.summary import answer
from sharpbayes.report.updates import describe_update
from sharpbayes.spec.load import load_study
from sharpbayes.storage.checkpoint import checkpoint
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.update import extend_updates, read_earlier_fit
from tests.references.worlds.files import CROWD

LAX = """
[bootstrap]
replicates = 20

[sampler]
chains = 2
tune = 100
draws = 150
predictive_draws = 20
max_rhat = 3
target_ess = 1
max_divergence_share = 1
"""


def write_ratings(folder, items, missing=0):
    """A crowd of six raters; the first ``missing`` rows are left out."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        [(f"i{i:02d}", f"r{r}") for i in range(items) for r in range(6)], columns=["item", "rater"]
    )
    score = (
        rng.normal(size=30).repeat(6)[: len(table)] * 1.5
        + rng.normal(size=30 * 6)[: len(table)]
        + 2
    )
    table["score"] = score.round().clip(0, 4).astype(int)
    table[missing:].to_csv(folder / "ratings.csv", index=False)
    names = table["item"].unique()
    unsafe = pd.DataFrame({"item": names, "unsafe": np.arange(len(names)) % 2})
    unsafe.to_csv(folder / "items.csv", index=False)
    raters = pd.DataFrame({"rater": [f"r{r}" for r in range(6)], "gender": ["Woman", "Man"] * 3})
    raters.to_csv(folder / "raters.csv", index=False)
    (folder / "study.toml").write_text(CROWD.format(seed=1, fit="crowd_severity") + LAX, "utf-8")
    return folder / "study.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study with a fit of all ratings but two, and then with all of them."""
    folder = tmp_path_factory.mktemp("grown")
    study = write_ratings(folder, 20, missing=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "has_passed", lambda _: True)
        save_results(fit(load_study(study)), folder / "old.nc")
    write_ratings(folder, 20)
    return folder


@pytest.fixture(scope="module")
def old(folder):
    """The results of the earlier fit."""
    return open_results(folder / "old.nc")


def test_few_new_ratings_weight_the_draws(folder, old, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(fitting, "has_passed", lambda _: True)
    done = CliRunner().invoke(app, ["fit", "study.toml", "--update", "old.nc", "--out", "new.nc"])
    assert done.exit_code == 0, done.stderr
    assert "2 new ratings: the draws of the earlier fit are weighted, no chain runs" in done.stderr
    new = open_results("new.nc")
    [update] = json.loads(new.attrs["updates"])
    assert update["method"] == "importance sampling"
    for name in ("posterior_sha256", "data_sha256", "created"):
        assert update[name] == old.attrs[name]
    assert update["data_ratings"] == new.attrs["data_ratings"] - 2 == 118
    assert answer(new)[-1].startswith("This fit updates an earlier one: 2 new ratings; its draws")
    assert document(new, path=folder)["updates"] == [update]
    draws = new["posterior"]["location_item"].to_numpy()
    assert np.isin(draws, old["posterior"]["location_item"].to_numpy()).all()
    assert new["observed_data"].sizes["score_rating"] == 120
    assert new["posterior"].attrs["non_centring"] == old["posterior"].attrs["non_centring"]


def test_the_results_that_are_read_are_kept(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["fit", "study.toml", "--update", "old.nc", "--out", "old.nc"])
    assert done.exit_code == 5
    assert "old.nc: is read by this command" in done.stderr


def refused(folder, old, *, overrides=(), **attrs):
    """The error of an update of results with other attributes."""
    old = old.copy()
    old.attrs = old.attrs | attrs
    with pytest.raises((SpecError, StorageError)) as caught:
        read_earlier_fit(old, RunContext(load_study(folder / "study.toml", overrides=overrides)))
    return str(caught.value).replace(f"{folder}/", "")


def test_results_and_studies_that_do_not_fit_are_refused(folder, old, tmp_path):
    assert refused(folder, old, status="not converged") == (
        "--update: status of the results is not converged; only a fit that converged is updated"
    )
    other = refused(folder, old, overrides=('crowd.fit="crowd_thresholds"',))
    assert other.endswith(
        "crowd_thresholds.toml: --update: the study has another model than the results; fit it "
        "without --update"
    )
    assert refused(folder, old, overrides=("crowd.scale.max=5",)) == (
        "study.toml: --update: scale 'score' has the scores 0, 1, 2, 3, 4, 5, and 0, 1, 2, 3, 4 "
        "in the results; fit it without --update"
    )
    same = write_ratings(tmp_path, 20, missing=2)
    with pytest.raises(SpecError) as caught:
        read_earlier_fit(old, RunContext(load_study(same)))
    assert str(caught.value) == (
        f"{same}: --update: the data have no rating that the results lack; there is nothing to "
        "update"
    )


def test_results_of_a_measurement_are_no_fit(folder, shared_results):
    with pytest.raises(StorageError) as caught:
        read_earlier_fit(
            open_results(shared_results("measured_crowd")),
            RunContext(load_study(folder / "study.toml")),
        )
    assert str(caught.value) == (
        "--update: these results hold no fit (status is measured); run `sharpbayes fit`"
    )


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """The study with four items more."""
    folder = tmp_path_factory.mktemp("more")
    return RunContext(load_study(write_ratings(folder, 24)))


def test_chains_begin_where_the_earlier_fit_was(old, grown):
    earlier = read_earlier_fit(old, grown)
    design, starts = start_from(earlier, grown.design, grown.study.ratings, grown.model.spec)
    layout = parameter_layout(design)
    assert starts.shape == (100, layout.size)
    density = [kernel_density(layout, point)[0] for point in starts]
    elsewhere = [
        kernel_density(layout, initial_point(design, layout, seed=n))[0] for n in range(20)
    ]
    # Some new items are far from the middle of their prior.
    assert np.median(density) > max(elsewhere)


def test_new_items_let_chains_run(old, grown, monkeypatch):
    monkeypatch.setattr(fitting, "has_passed", lambda _: True)
    new = fit(grown, update=old)
    [update] = json.loads(new.attrs["updates"])
    assert (update["method"], update["new_ratings"]) == ("chains", 26)
    assert update["reason"] == "they bring new parameters"
    assert answer(new)[-1] == (
        "This fit updates an earlier one: 26 new ratings; chains ran from its draws, because they "
        "bring new parameters."
    )
    assert new["posterior"].sizes["item"] == 24
    assert new["diagnostics"].attrs["tune"] == 100
    assert float(new["diagnostics"]["rhat"].max()) < 1.2


def test_an_update_of_an_update_has_both_in_its_list():
    attrs = {"created": "now", "data_sha256": "b", "data_ratings": np.int64(9), "seed": 1}
    attrs["updates"] = json.dumps([{"data_sha256": "a"}])
    assert json.loads(extend_updates(xr.DataTree(xr.Dataset(attrs=attrs)), '{"method": "x"}')) == [
        {"data_sha256": "a"},
        {"created": "now", "data_sha256": "b", "data_ratings": 9, "method": "x"},
    ]


def test_more_draws_than_the_earlier_fit_has_are_sampled(old, folder):
    context = RunContext(load_study(folder / "study.toml", overrides=("sampler.draws=400",)))
    update = weight_draws(
        read_earlier_fit(old, context), context.design, context.study.spec.sampler, seed=1
    )
    assert update.sentence == (
        "2 new ratings: chains run from the draws of the earlier fit, because the study asks for "
        "more draws than the results have"
    )
    with pytest.raises(ValueError, match="more draws"):
        _ = update.trace


def test_chains_of_a_design_that_takes_no_starts_start_afresh(old, grown, monkeypatch):
    monkeypatch.setattr(Design, "unsupported_by_kernel", ("a structure",))
    update = weight_draws(
        read_earlier_fit(old, grown), grown.design, grown.study.spec.sampler, seed=1
    )
    assert update.sentence == (
        "26 new ratings: chains start afresh, through PyMC's graph, because they bring new "
        "parameters"
    )
    assert update.facts["method"] == "fresh chains"
    assert describe_update(update.facts) == (
        "26 new ratings; chains started afresh, because they bring new parameters"
    )


def test_hopeless_weights_are_tried_on_some_draws_alone(old, folder, monkeypatch):
    context = RunContext(load_study(folder / "study.toml"))
    earlier = read_earlier_fit(old, context)
    some = thin(earlier.posterior, draws=reweighting.TRIED_FIRST // 4)
    monkeypatch.setattr(reweighting, "TRIED_FIRST", some.sizes["draw"] * some.sizes["chain"])
    sizes = {}
    for hopeless in (10.0, -10.0):
        monkeypatch.setattr(reweighting, "HOPELESS_K", hopeless)
        trace = reweighting.reweight(earlier, context.design, seed=1).trace
        sizes[hopeless] = trace["posterior"].sizes["draw"]
    assert sizes == {10.0: earlier.posterior.sizes["draw"], -10.0: some.sizes["draw"]}


class KilledAfterOne:
    """A store that keeps one chain, and then ends the run."""

    def __init__(self, store):
        self.store = store

    def get(self, name):
        return self.store.get(name)

    def put(self, name, part):
        self.store.put(name, part)
        raise SystemExit


def test_a_killed_update_goes_on_to_the_draws_of_one_run(old, grown, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "has_passed", lambda _: True)
    earlier = read_earlier_fit(old, grown)

    def sample(store, cores):
        groups = fitting.fit_ratings(
            grown.design,
            grown.study.ratings,
            grown.model.spec,
            grown.study.spec.sampler.model_copy(update={"predictive_draws": 0}),
            seed=1,
            earlier=earlier,
            execution=Execution(store=store, cores=cores),
        )
        return groups["posterior"]

    before = earlier.posterior.copy(deep=True)
    complete = sample(NoStore(), 1)
    xr.testing.assert_identical(earlier.posterior, before)
    assert complete.sizes["chain"] == 2
    target, run = tmp_path / "new.nc", {"data": "same"}
    with pytest.raises(SystemExit), checkpoint(target, run=run, resume=False) as store:
        sample(KilledAfterOne(store), 1)
    with checkpoint(target, run=run, resume=True) as store:
        kept = [path.stem for path in store.folder.glob("chain-*.npz")]
        resumed = sample(store, 3)
    assert len(kept) == 1
    xr.testing.assert_identical(resumed, complete)


def spoil_posterior(tree):
    """Draws that are no numbers."""
    posterior = tree["posterior"].to_dataset()
    name = next(name for name, array in posterior.data_vars.items() if array.dtype.kind == "f")
    tree["posterior"] = posterior.assign({name: posterior[name] * np.nan})


def drop_parameter(tree):
    """Draws without thresholds."""
    posterior = tree["posterior"].to_dataset()
    names = [name for name in posterior.data_vars if str(name).startswith("threshold")]
    tree["posterior"] = posterior.drop_vars(names)


def drop_density(tree):
    """No log density of draws."""
    tree["sample_stats"] = tree["sample_stats"].to_dataset().drop_vars("logp")


def drop_scores(tree):
    """Ratings without their scores."""
    tree["ratings"] = tree["ratings"].to_dataset().drop_vars("score")


def change_scores(tree):
    """Scores that no scale has."""
    ratings = tree["ratings"].to_dataset()
    tree["ratings"] = ratings.assign(score=ratings["score"] * 0 + 7)


@pytest.mark.parametrize(
    "spoil", [spoil_posterior, drop_parameter, drop_density, drop_scores, change_scores]
)
def test_results_that_lack_what_an_update_needs_are_refused_before_anything_is_computed(
    folder, old, tmp_path, monkeypatch, spoil
):
    spoiled = old.copy()
    spoil(spoiled)
    save_results(spoiled, tmp_path / "spoiled.nc")
    monkeypatch.setattr("sharpbayes.measure", None)
    out = str(tmp_path / "new.nc")
    call = ["fit", str(folder / "study.toml"), "--update", str(tmp_path / "spoiled.nc")]
    done = CliRunner().invoke(app, [*call, "--out", out])
    assert done.exit_code == 5, done.stderr
    assert "results of 'A world of raters': a part is missing or has another form" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["spoiled.nc"]
