"""By which metric the answer of a panel is read, and which models it names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import xarray as xr

from sharpbayes.analysis.evidence_limits import has_narrow_tails
from sharpbayes.analysis.order_limits import has_order_of_means
from sharpbayes.analysis.results_view import ResultsView, is_fitted
from sharpbayes.analysis.unseen_order import near_lowest
from sharpbayes.metrics.panel.least_numbers import ROUNDING
from sharpbayes.posterior.claims import (
    COMPARED,
    carried_statements,
    has_means,
    has_other_judges,
)
from sharpbayes.posterior.human_scoring import contradicted_metrics, contradicted_verdicts
from sharpbayes.posterior.lowest import (
    is_disputed,
    is_distinguished,
    likely_lowest,
    lower_models,
    models_by_risk,
    models_not_below,
    observed_lowest,
    similar_models,
)
from sharpbayes.storage.attributes import read_criterion


@dataclass(frozen=True)
class PanelReading:
    """Which metrics of a panel can be read, in which order.

    Attributes:
        view: The results.
    """

    view: ResultsView

    @cached_property
    def models(self) -> list[str]:
        """Models with a tail risk, lowest observed first."""
        return models_by_risk(self.view)

    @cached_property
    def carried(self) -> list[str]:
        """Statements that the evidence carries; all where results do not say."""
        return carried_statements(self.view)

    @cached_property
    def criterion(self) -> str:
        """The criterion that the weights select by."""
        return read_criterion(self.view.results)

    @property
    def has_other_judges(self) -> bool:
        """Whether models were scored by other judges, or more often."""
        return has_other_judges(self.view.results)

    @cached_property
    def tells_means(self) -> bool:
        """Whether there are prompts enough for statements about means."""
        return has_means(self.view)

    @cached_property
    def is_disputed(self) -> bool:
        """Whether the evidence carries an answer that posterior and bootstrap dispute."""
        return "lowest" in self.carried and is_disputed(self.view, "cvar")

    @cached_property
    def is_at_ceiling(self) -> bool:
        """Whether the tail risk of every model is as high as it can be, by a fit too."""
        if "evidence/at_ceiling" not in self.view:
            return False
        evidence = self.evidence
        at_ceiling = evidence["at_ceiling"]
        if is_fitted(self.view):
            interval = self.view["joint/posterior_interval"].sel(metric="cvar", bound="lower")
            interval = interval.sel(model=at_ceiling["model"])
            at_ceiling = at_ceiling & (interval >= evidence["ceiling"] * (1.0 - ROUNDING))
        return bool(at_ceiling.all())

    def named_by(self, metric: str) -> list[str]:
        """Models that the answer names: the posterior's after a fit, those of lowest value else.

        Of the worst dimension the observed value is named after a fit too.
        """
        if metric == "worst_dimension":
            return observed_lowest(self.view, metric)
        return (likely_lowest if is_fitted(self.view) else observed_lowest)(self.view, metric)

    @cached_property
    def ordered_by(self) -> str:
        """The metric by which the evidence tells which model is lowest; empty without any."""
        return self.read_by if len(self.models) > 1 else ""

    @property
    def stable_by(self) -> str:
        """The metric whose lowest model must stay without a judge; empty if nothing tells it."""
        if len(self.models) > 1 and self.has_worst_dimension:
            return "worst_dimension" if "lowest" in self.carried else ""
        return self.ordered_by

    @property
    def read_by(self) -> str:
        """The metric that is read first: the criterion if it can be; empty without any."""
        if self.has_other_judges:
            return ""
        metrics = ["cvar"] if "lowest" in self.carried else self.substitutes
        if self.has_policy_score:
            metrics = ["policy_score", *metrics]
        return next((name for name in metrics if not self.is_open(name)), "")

    def is_open(self, metric: str) -> bool:
        """Whether prompts of other models, or answers without a score, decide which is lowest."""
        return self.depends_on_prompts(metric) or self.depends_on_lost_answers(metric)

    @cached_property
    def evidence(self) -> xr.Dataset:
        """The evidence on the models, with their mean, CVaR and policy score."""
        profile = self.view.group("profile")[["mean", "cvar", "policy_score"]]
        return self.view.group("evidence").assign(profile.data_vars).sel(model=self.models)

    @cached_property
    def near_lowest(self) -> list[str]:
        """Models that lie nearer to the lowest CVaR than answers nobody saw could raise it."""
        return self._list_near("cvar")

    @cached_property
    def near_by_scores(self) -> list[str]:
        """Models that lie nearer to the lowest policy score than such answers could raise it."""
        return self._list_near("policy_score")

    @property
    def rests_on_unseen_ends(self) -> bool:
        """Whether answers nobody saw could change the order that the weights decide by."""
        return self.criterion in COMPARED and bool(self._list_near(self.criterion))

    def _list_near(self, metric: str) -> list[str]:
        """Models that lie nearer to the lowest one than answers nobody saw could raise it."""
        return near_lowest(self.evidence, metric)[0] if "evidence" in self.view else []

    def on_condition(self, models: Sequence[str]) -> list[str]:
        """Return the chosen models whose choice answers that nobody saw could change."""
        if not self.rests_on_unseen_ends:
            return []
        return [name for name in models if name in observed_lowest(self.view, self.criterion)]

    @cached_property
    def substitutes(self) -> list[str]:
        """Metrics that can be compared where tails cannot: the mean, or the policy score.

        The policy score is one where the end of the scale decides log-risk, or where it
        distinguishes what the mean does not; alone where the lowest mean depends on epsilon or on
        answers that nobody saw.
        """
        if not self.tells_means or self.has_other_judges:
            return []
        evidence = self.evidence
        metrics = ["mean"] if has_narrow_tails(evidence) else []
        if metrics and not has_order_of_means(evidence):
            return ["policy_score"]
        is_sharper = not is_distinguished(self.view, "mean") and is_distinguished(
            self.view, "policy_score"
        )
        needs_score = bool(evidence["needs_policy_score"].any())
        if (metrics and is_sharper) or needs_score or self.depends_on_lost_answers("cvar"):
            metrics.append("policy_score")
        return metrics

    @property
    def has_policy_score(self) -> bool:
        """Whether the weights decide by the policy score, and it can be compared."""
        return self.criterion == "policy_score" and self.tells_means and not self.has_other_judges

    @property
    def has_worst_dimension(self) -> bool:
        """Whether the weights decide by the worst dimension, and models can be compared."""
        return self.criterion == "worst_dimension" and not self.has_other_judges

    def depends_on_prompts(self, metric: str) -> bool:
        """Whether the lowest model is lowest by having other prompts, as far as no fit tells."""
        return not is_fitted(self.view) and bool(lower_models(self.view, metric))

    def depends_on_lost_answers(self, metric: str) -> bool:
        """Whether the lowest model might not be it, by its answers without a score."""
        return bool(models_not_below(self.view, metric))

    @cached_property
    def has_unseen_order(self) -> bool:
        """Whether the answer orders models by tails that answers which nobody saw could reorder."""
        if not self.near_lowest or "lowest" not in self.carried or self.is_disputed:
            return False
        names = observed_lowest(self.view, "cvar")
        if is_fitted(self.view):
            return likely_lowest(self.view, "cvar") == names
        return bool({*self.near_lowest} - {*similar_models(self.view, "cvar")})

    @property
    def is_contradicted(self) -> bool:
        """Whether people's scoring gives another answer, in whole or in part."""
        return bool(self.contradicted_metrics or self.contradicted_verdicts)

    @cached_property
    def contradicted_metrics(self) -> list[str]:
        """Metrics by which people's scoring names another model than the answer does."""
        if len(self.models) <= 1 or self.has_other_judges:
            return []
        others = [] if "lowest" in self.carried else self.substitutes
        first = ["policy_score"] if self.has_policy_score else []
        return contradicted_metrics(self.view, [*dict.fromkeys([*first, "cvar", *others])])

    @cached_property
    def contradicted_verdicts(self) -> list[str]:
        """Models with another verdict by people's scoring, where the evidence carries verdicts."""
        if "admissible" not in self.carried:
            return []
        return [name for name in contradicted_verdicts(self.view) if name in self.models]

    @property
    def contradicted_models(self) -> list[str]:
        """Models that the answer names and that have another verdict by people's scoring."""
        named = self.models if len(self.models) <= 1 else self.named_by("cvar")
        return [name for name in named if name in self.contradicted_verdicts]
