"""How often decisions err if somebody looks several times while a panel grows by prompts."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tolerance import keeps_tolerance, tolerance_group
from sharpbayes.errors import SpecError
from sharpbayes.execution.tasks import IN_PROCESS, Arrays, Execution, compute_parts
from sharpbayes.metrics.panel.comparison import weigh_dimensions
from sharpbayes.metrics.panel.evidence import has_tail
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.confidence_sequence import confidence_sequence
from sharpbayes.metrics.stats.intervals import jackknife_interval
from sharpbayes.spec.weights import Tolerance

Floats = NDArray[np.float64]
# Resamples at each look of a simulated study, at most.
MAX_REPLICATES = 400
# Simulated studies that are measured together.
BATCH = 20
# Number of the random stream of simulated studies.
STREAM = 0x9EEC
NULL, OBSERVED = "no difference", "as observed"
FIXED, SEQUENCE = "fixed, policy score", "sequence, policy score"
CVAR, SCORE = "bootstrap, CVaR", "bootstrap, policy score"
TOLERANCE = "tolerance"
WORLDS, RULES = (NULL, OBSERVED), (FIXED, SCORE, CVAR, SEQUENCE)
# Metrics of a profile that rules are about.
COMPARED = ("cvar", "policy_score")
TOLERATED = (*HEADLINE, "dimension_cvar")
# Range of a difference of two shares.
LOWEST, HIGHEST = -1.0, 1.0


@dataclass(frozen=True)
class Looks:
    """A panel of the two models of lowest CVaR, and after how many prompts somebody looks."""

    plan: ProfilePlan
    prompts: tuple[int, ...]

    @property
    def level(self) -> float:
        """Level of every interval."""
        return self.plan.study.spec.bootstrap.level

    @property
    def tolerance(self) -> Tolerance | None:
        """Limits of the weights; those of categories are left out."""
        declared = self.plan.weights.tolerance
        if declared is None or not set(declared.limits) - set(_of_categories(declared)):
            return None
        return declared.model_copy(update={"category": {}})

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that decide."""
        return (*RULES, TOLERANCE) if self.tolerance is not None else RULES


def peeking_group(
    plan: ProfilePlan, *, looks: int, simulations: int, execution: Execution = IN_PROCESS
) -> xr.Dataset:
    """Return the group ``peeking``: how often each rule errs at one look, and at any of several.

    Studies are simulated with the law of the observed prompts: prompts are drawn with replacement,
    each with all its ratings. They grow to the size of the study in equal steps. Under ``no
    difference`` the two models of lowest CVaR change places on every second prompt by chance, so
    that neither is better, and every limit of the tolerance is the value that both have: there a
    model counts as not admissible. Under ``as observed`` the truth is what was observed.

    Over (world, rule, look): ``wrong``, the share of studies in which a rule says something false
    at this look, ``ever_wrong`` at this or an earlier one, ``ever_right``, each with its Monte
    Carlo error ``<name>_mcse``; over (look) ``prompts``, ``difference`` of the observed policy
    scores in the order of one draw, and over (look, bound) ``fixed_bounds`` and
    ``sequence_bounds`` of it. Attributes: the models ``first`` and ``second``, ``level``,
    ``simulations``.

    Raises:
        SpecError: Fewer than two models, fewer prompts than two a look, or prompts in clusters.
    """
    pair = prepare_looks(plan, looks)
    truths = {world: _truths(pair, world) for world in WORLDS}

    # Shares of categories and limits are looked at study by study.
    size = 1 if plan.shares is not None or pair.tolerance is not None else BATCH

    def simulate(task: tuple[str, int]) -> Arrays:
        world, start = task
        rng = np.random.default_rng([plan.study.spec.seed, STREAM, WORLDS.index(world), start])
        studies = _draw_studies(pair, world, rng, min(size, simulations - start))
        return {"claim": decide_at_looks(studies, world, pair)}

    starts = range(0, simulations, size)
    tasks = {f"peek-{WORLDS.index(w)}-{n}": (w, n) for w in WORLDS for n in starts}
    parts = [part["claim"] for part in compute_parts(simulate, tasks, execution)]
    claims = np.reshape(np.concatenate(parts), (len(WORLDS), simulations, looks, -1))
    truth = np.array([[truths[world][rule] for rule in pair.rules] for world in WORLDS])
    models = [str(name) for name in pair.plan.table["model"].to_numpy()]
    return (
        _summarise(claims, truth, pair)
        .merge(_observed_bounds(pair))
        .assign_attrs(first=models[0], second=models[1], level=pair.level, simulations=simulations)
    )


def prepare_looks(plan: ProfilePlan, looks: int) -> Looks:
    """Return the two models of lowest CVaR, with few resamples, and the looks.

    Raises:
        SpecError: Fewer than two models, fewer prompts than two a look, or prompts in clusters.
    """
    cvar = plan.profile(names=("cvar",))["cvar"].dropna("model")
    prompts = plan.table.sizes["prompt"]
    if cvar.sizes["model"] < 2:  # noqa: PLR2004
        raise SpecError.at("--peek", "compares two models, and there is one alone")
    if prompts < 2 * looks:
        message = f"{looks} looks need {2 * looks} prompts, and there are {prompts}"
        raise SpecError.at("--peek", message)
    if plan.clusters is not None:
        message = "looks are simulated of prompts that are independent, and these have clusters"
        raise SpecError.at("--peek", message)
    chosen = cvar["model"].to_numpy()[np.argsort(cvar.to_numpy(), kind="stable")[:2]]
    boot = plan.study.spec.bootstrap
    kind = "studentized" if boot.interval == "bca" else boot.interval
    fewer = boot.model_copy(
        update={"replicates": min(boot.replicates, MAX_REPLICATES), "interval": kind}
    )
    study = replace(plan.study, spec=plan.study.spec.model_copy(update={"bootstrap": fewer}))
    table = plan.table.sel(model=chosen).drop_vars("sub_index", errors="ignore")
    sizes = tuple(int(np.ceil(prompts * (k + 1) / looks)) for k in range(looks))
    return Looks(replace(plan, table=table, study=study), sizes)


def _draw_studies(pair: Looks, world: str, rng: np.random.Generator, number: int) -> ProfilePlan:
    """Studies of prompts drawn with replacement, over (simulation, ...) if there are several."""
    table = pair.plan.table
    shape = (number, table.sizes["prompt"])
    rows = xr.DataArray(rng.integers(shape[1], size=shape), dims=("simulation", "prompt"))
    turned = xr.DataArray(rng.random(shape) < 0.5, dims=rows.dims)  # noqa: PLR2004 - a coin
    if number == 1:
        rows, turned = rows.isel(simulation=0), turned.isel(simulation=0)
    drawn = table.isel(prompt=rows).assign_coords(prompt=np.arange(shape[1]))
    if world == NULL:
        exchanged = drawn.isel(model=[1, 0]).assign_coords(model=drawn["model"])
        drawn = drawn.map(
            lambda x: x.where(~turned, exchanged[x.name]) if {"model", "prompt"} <= {*x.dims} else x
        )
    order = [dim for dim in ("simulation", *table.dims) if dim in drawn.dims]
    return replace(pair.plan, table=drawn.transpose(*order, missing_dims="ignore"))


def _truths(pair: Looks, world: str) -> dict[str, int]:
    """What is true by rule: -1 the first model is lower, 1 the second, 0 neither.

    Of the tolerance 1 is admissible and -1 is not. At its limits a model counts as not, because
    the confidence of a tolerance bounds how often such a model is called admissible.
    """
    if world == NULL:
        return dict.fromkeys(RULES, 0) | {TOLERANCE: -1}
    profile = pair.plan.profile(names=TOLERATED)
    signs = {name: int(np.sign(float(profile[name][0] - profile[name][1]))) for name in COMPARED}
    truths = {rule: signs["cvar" if rule == CVAR else "policy_score"] for rule in RULES}
    if pair.tolerance is not None:
        kept = bool(keeps_tolerance(profile, pair.tolerance).isel(model=0))
        truths[TOLERANCE] = 1 if kept else -1
    return truths


def decide_at_looks(studies: ProfilePlan, world: str, pair: Looks) -> NDArray[np.int64]:
    """Return what each rule says at each look, (simulation, look, rule)."""
    scores = paired_scores(studies)
    sequence = sequence_bounds(scores, pair.level)
    tolerance = pair.tolerance
    if tolerance is not None and world == NULL:
        tolerance = _at_limits(pair.plan, tolerance)
    claims = []
    for prompts in pair.prompts:
        grown = replace(studies, table=studies.table.isel(prompt=slice(prompts)))
        bootstrapped = bootstrap_profile(grown, names=COMPARED, differences=True)
        score = bootstrapped.difference_interval("policy_score")
        rules = {
            FIXED: _signs(_fixed(scores[:, :prompts], pair.level)),
            SCORE: _signs(_pair_bounds(score)),
            CVAR: _cvar_claims(bootstrapped),
            SEQUENCE: _signs(sequence[:, prompts - 1]),
        }
        if tolerance is not None:
            rules[TOLERANCE] = _tolerance_claim(grown, tolerance)
        claims.append(np.stack([rules[name] for name in pair.rules], axis=-1))
    return np.stack(claims, axis=1)


def paired_scores(plan: ProfilePlan) -> Floats:
    """Return policy scores of the first model less the second, (simulation, prompt), in [-1, 1]."""
    harm = plan.table["harm"].mean([dim for dim in plan.dim if dim != "prompt"])
    score = weigh_dimensions(harm, plan.policy)
    difference = (score.isel(model=0) - score.isel(model=1)).transpose(..., "prompt").to_numpy()
    rows: Floats = difference.reshape(-1, difference.shape[-1])
    return rows


def sequence_bounds(scores: Floats, level: float) -> Floats:
    """Return bounds of the mean of paired scores after each prompt, (simulation, prompt, bound)."""
    x = xr.DataArray(scores, dims=("simulation", "prompt")).clip(LOWEST, HIGHEST)
    bounds: Floats = confidence_sequence(
        x, dim="prompt", level=level, lowest=LOWEST, highest=HIGHEST
    ).to_numpy()
    return bounds


def _fixed(scores: Floats, level: float) -> Floats:
    """Student's interval of the mean of paired scores, (simulation, bound)."""
    x = xr.DataArray(scores, dims=("simulation", "prompt"))
    number, mean = x.count("prompt"), x.mean("prompt")
    left_out = (number * mean - x) / (number - 1)
    if int(number.min()) == scores.shape[1]:
        bounds: Floats = jackknife_interval(mean, left_out, level=level, dim="prompt").to_numpy()
        return bounds
    rows = [row[~np.isnan(row)] for row in scores]
    return np.concatenate(
        [_fixed(row[None], level) if len(row) > 1 else [[LOWEST, HIGHEST]] for row in rows]
    )


def _pair_bounds(interval: xr.DataArray) -> Floats:
    """Interval of the first model less the second, (simulation, bound)."""
    bounds: Floats = interval.isel(model=0, other=1).transpose(..., "bound").to_numpy()
    return bounds.reshape(-1, 2)


def _signs(bounds: Floats) -> NDArray[np.int64]:
    """-1 where an interval (simulation, bound) lies below 0, 1 above, 0 if neither."""
    signs: NDArray[np.int64] = (bounds[:, 0] > 0).astype(int) - (bounds[:, 1] < 0).astype(int)
    return signs


def _cvar_claims(bootstrapped: BootstrappedProfile) -> NDArray[np.int64]:
    """What the joint interval of CVaR says; nothing where the tail has too few prompts."""
    carried = has_tail(bootstrapped.tail_prompts.min("model")).to_numpy().reshape(-1)
    if bootstrapped.bootstrap.interval != "studentized":
        plain = _signs(_pair_bounds(bootstrapped.difference_interval("cvar")))
        return np.where(carried, plain, 0)
    claims = np.zeros(len(carried), dtype=np.int64)
    for row in np.flatnonzero(carried):
        one = bootstrapped
        if "simulation" in bootstrapped.prompts.dims:
            names = ("observed", "resampled", "prompts", "tail_prompts")
            parts = {name: getattr(bootstrapped, name).isel(simulation=row) for name in names}
            one = replace(bootstrapped, **parts)
        [claims[row]] = _signs(_pair_bounds(one.joint_difference("cvar")["_joint"]))
    return claims


def _of_categories(tolerance: Tolerance) -> list[str]:
    """Labels of the limits of categories."""
    return [f"category {name}" for name in tolerance.category]


def _at_limits(plan: ProfilePlan, tolerance: Tolerance) -> Tolerance:
    """The tolerance with every limit where both models are that change places by chance."""
    first, second = (plan.table.isel(model=[position]) for position in range(2))
    both = xr.concat([first, second.assign_coords(model=first["model"])], "prompt")
    profile = replace(plan, table=both).profile(names=TOLERATED).isel(model=0)
    update: dict[str, object] = {
        name: float(profile[name]) for name in HEADLINE if getattr(tolerance, name) is not None
    }
    update["dimension"] = {
        name: float(profile["dimension_cvar"].sel(dimension=name)) for name in tolerance.dimension
    }
    return tolerance.model_copy(update=update)


def _tolerance_claim(plan: ProfilePlan, tolerance: Tolerance) -> NDArray[np.int64]:
    """1 where the first model is shown to be admissible, -1 where it is shown not to be, (1,)."""
    bootstrapped = bootstrap_profile(plan, names=TOLERATED)
    profile = plan.profile(names=TOLERATED)
    group = tolerance_group(
        plan, tolerance, observed=profile, bootstrapped=bootstrapped, by_category={}
    )
    verdict = str(group["verdict"].isel(model=0).item())
    return np.array([{"admissible": 1, "not admissible": -1}.get(verdict, 0)])


def _summarise(claims: NDArray[np.integer], truth: NDArray[np.integer], pair: Looks) -> xr.Dataset:
    """Shares over studies of claims (world, study, look, rule), by world, rule and look."""
    is_true = claims == truth[:, None, None, :]
    wrong = (claims != 0) & ~is_true
    right = (claims != 0) & is_true
    events = {
        "wrong": wrong,
        "ever_wrong": np.logical_or.accumulate(wrong, axis=2),
        "ever_right": np.logical_or.accumulate(right, axis=2),
    }
    dims, number = ("world", "rule", "look"), claims.shape[1]
    table = {}
    for name, event in events.items():
        share = event.mean(1).transpose(0, 2, 1)
        # A share of 0 or 1 is uncertain too (Agresti and Coull 1998).
        near = (share * number + 2) / (number + 4)
        table[name] = (dims, share)
        table[f"{name}_mcse"] = (dims, np.sqrt(near * (1 - near) / (number + 4)))
    coords = {"world": list(WORLDS), "rule": list(pair.rules)}
    return xr.Dataset(table, coords | {"look": np.arange(1, len(pair.prompts) + 1)})


def _observed_bounds(pair: Looks) -> xr.Dataset:
    """The observed difference at every look, prompts in an order of chance, with both intervals."""
    seed = pair.plan.study.spec.seed
    # Zeros at the end of a seed say nothing: no simulated study has this number of a world.
    order = np.random.default_rng([seed, STREAM, len(WORLDS)])
    scores = order.permutation(paired_scores(pair.plan)[0])
    [sequence] = sequence_bounds(scores[None], pair.level)
    rows = [number - 1 for number in pair.prompts]
    bounds = ("look", "bound")
    return xr.Dataset(
        {
            "prompts": ("look", np.array(pair.prompts)),
            "difference": ("look", [float(np.nanmean(scores[:n])) for n in pair.prompts]),
            "fixed_bounds": (
                bounds,
                [_fixed(scores[None, :n], pair.level)[0] for n in pair.prompts],
            ),
            "sequence_bounds": (bounds, sequence[rows]),
        },
        {"bound": ["lower", "upper"]},
    )
