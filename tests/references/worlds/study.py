"""One study of a world: fitted as the program fits it, with its checks and its intervals."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import posterior_predictive, thin
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel, sample_posterior
from sharpbayes.posterior.careless import WITHOUT, careless_groups
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.judge_bias import human_draws
from sharpbayes.posterior.predictive_checks import check_replicates
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.study_metrics import StudyMetrics, study_metrics
from sharpbayes.spec.model import Model
from tests.references.worlds.crowd import CrowdWorld
from tests.references.worlds.files import write_study
from tests.references.worlds.panel import PanelWorld

LEVEL, POPULATION_DRAWS = 0.9, 50
Row = tuple[str, str, float, float, float, float]


def run_study(world: PanelWorld | CrowdWorld, *, seed: int, fit: str) -> Iterator[Row]:
    """Yield rows (kind, name, truth, lower, mean, upper) of one study.

    Rows of the kind ``estimate`` have an interval; those of the kind ``check`` have 1 as truth
    where any check of that name fails; ``fit`` has the largest R-hat as truth.
    """
    with tempfile.TemporaryDirectory() as folder:
        files, truth = write_study(world, Path(folder), seed=seed, fit=fit)
        study, model = read_study(files), files.model.spec
        sampler, ratings = files.study.spec.sampler, study.ratings
        design = tune_design(build_design(ratings, model), ratings, model, seed=seed)
        for issue in find_issues(ratings, design):
            yield "issue", issue.term, 1.0, np.nan, np.nan, np.nan
        sample = sample_posterior if design.unsupported_by_kernel else sample_kernel
        trace = sample(design, sampler, seed=seed)
        posterior = trace["posterior"].to_dataset()
        rhat = float(az.rhat(posterior).to_dataarray().max())
        yield "fit", "rhat", rhat, np.nan, np.nan, np.nan
        kept = thin(posterior, draws=sampler.predictive_draws)
        replicated = posterior_predictive(kept, design, seed=seed + 1)
        draws = ReplicateDraws(kept, replicated, design, seed)
        metrics = study_metrics(study)
        yield from _checks(metrics, draws, ratings)
        for name, values in _quantities(metrics, draws, posterior, ratings, model).items():
            if name in truth:
                # Of n draws the k-th is above a new one in k / (n + 1) of cases.
                tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
                lower, upper = np.quantile(values, tails, method="weibull")
                yield "estimate", name, truth[name], lower, float(np.mean(values)), upper


def _crowd_quantities(
    metrics: CrowdMetrics, draws: ReplicateDraws, model: Model
) -> dict[str, np.ndarray]:
    """MPA and WRA of all raters, and what the fit says of the attentive ones.

    Without a term for careless raters a reader takes the numbers of all raters for both.
    """
    [table] = metrics.measure(draws, ["ratings", "items"])
    everybody = attentive = table.sel(by="all", group="all")
    for name, careless in careless_groups(metrics.study, draws, model).items():
        if name.startswith("posterior"):
            attentive = careless.sel(by="all", population=WITHOUT)
    of_all = {name: everybody[name].to_numpy() for name in ("mpa", "wra")}
    return of_all | {f"attentive {name}": attentive[name].to_numpy() for name in of_all}


def _checks(metrics: StudyMetrics, draws: ReplicateDraws, ratings: Any) -> Iterator[Row]:
    """Whether any check of each name fails."""
    [posterior] = metrics.measure(draws, ["ratings"])
    checks = check_replicates(metrics, draws, ratings, posterior.assign_attrs(sources=["ratings"]))
    for name in map(str, checks.data_vars):
        if name.endswith("_fails"):
            failed = float(checks[name].any())
            yield "check", name.removesuffix("_fails"), failed, np.nan, np.nan, np.nan


def _quantities(
    metrics: StudyMetrics, draws: ReplicateDraws, posterior: xr.Dataset, ratings: Any, model: Model
) -> dict[str, np.ndarray]:
    """Draws of every quantity that has a truth, by its name."""
    kept = thin(draws.posterior, draws=POPULATION_DRAWS)
    draws = replace(draws, posterior=kept, predictive=kept.drop_vars(list(kept.data_vars)))
    if isinstance(metrics, CrowdMetrics):
        return _crowd_quantities(metrics, draws, model)
    quantities = {}
    if "location_model_dimension" in posterior:
        effect = posterior["location_model_dimension"]
        for other in effect["model"].to_numpy()[1:]:
            difference = effect.sel(model=other) - effect.sel(model="m0")
            for name in effect["dimension"].to_numpy():
                values = difference.sel(dimension=name)
                quantities[f"difference {other} {name}"] = values.to_numpy().ravel()
    sources = {"": draws}
    if "rater" in ratings.factors:
        sources["human "] = human_draws(draws, ratings)
    for prefix, of_source in sources.items():
        [profile] = metrics.measure(of_source, ["ratings", "prompts"])
        for name in ("mean", "cvar"):
            for other in profile["model"].to_numpy():
                values = profile[name].sel(model=other).to_numpy().ravel()
                quantities[f"{prefix}{name} {other}"] = values
    return quantities
