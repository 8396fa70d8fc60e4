"""The order of rows in a file changes nothing: not what is read, not what a fit says of it."""

import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.study import CrowdStudy, read_study
from sharpbayes.data.crowd import melt_crowd
from sharpbayes.library import folder
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit

SMALL = ("sampler.tune=60", "sampler.draws=60", "sampler.chains=2", "sampler.predictive_draws=20")
SMALL += ("bootstrap.replicates=100",)
MORE = {"quickstart": (), "quickstart_crowd": ("crowd.permutations=20",)}


def shuffled(study, base):
    """The study with the rows of each of its tables in another order."""
    base.mkdir()
    for path in folder("studies").glob(f"{study}*.*"):
        shutil.copy(path, base)
        if path.suffix == ".csv":
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
            order = np.random.default_rng(4).permutation(len(table))
            table.iloc[order].to_csv(base / path.name, index=False)
    return load_study(base / f"{study}.toml", overrides=(*SMALL, *MORE[study]))


@pytest.mark.parametrize("study", MORE)
def test_what_a_model_sees_is_the_same(tmp_path, study):
    first, second = read_study(load_study(study)), read_study(shuffled(study, tmp_path / "s"))
    one, other = first.ratings, second.ratings
    if isinstance(first, CrowdStudy):  # labels of experts too, as some models have them
        one = melt_crowd(first.data, first.crowd, experts=True)
        other = melt_crowd(second.data, first.crowd, experts=True)
    np.testing.assert_array_equal(one.score, other.score)
    assert (one.scales, list(one.factors)) == (other.scales, list(other.factors))
    for name, column in one.factors.items():
        assert column.labels == other.factors[name].labels
        np.testing.assert_array_equal(column.codes, other.factors[name].codes)


@pytest.mark.slow
@pytest.mark.parametrize("study", MORE)
def test_a_whole_fit_is_the_same_bytes(tmp_path, study):
    one = fit(load_study(study, overrides=(*SMALL, *MORE[study])))
    other = fit(shuffled(study, tmp_path / "s"))
    assert set(one.children) == set(other.children)
    for name in one.children:
        xr.testing.assert_identical(
            one[name].to_dataset().drop_attrs(), other[name].to_dataset().drop_attrs()
        )
