"""Which differences between models rest on one judge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import join_names
from sharpbayes.posterior.lowest import observed_lowest, similar_models
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.report.suspect_scores import alike_judges
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import name_raters


@dataclass(frozen=True)
class LostOrder:
    """A difference that all judges show, and not without any one of some judges.

    Attributes:
        is_open: Whether chance may be all that makes it smaller without the judge.
        first: The model of lowest value.
        others: The models that it is distinguishable from by all judges, as a sentence lists them.
        together: The name of several judges who are left out together; empty of single ones.
        judges: Who is left out, one at a time.
    """

    is_open: bool
    first: str
    others: str
    together: str
    judges: tuple[str, ...]

    def describe_loss(self, metrics: Sequence[str]) -> str:
        """Return what is not shown by some metrics without the judges."""
        names = name_raters("judge", self.judges, together=[self.together])
        any_of = "any one of " if len(self.judges) > 1 else ""
        return (
            f"Without {any_of}{names} {self.first} is no longer distinguishable from {self.others} "
            f"{join_names([f'by {METRICS[metric]}' for metric in metrics])}"
        )

    def describe(self, metrics: Sequence[str]) -> str:
        """Return what is not shown by some metrics, and whether the order rests on a judge."""
        loss, are_several = self.describe_loss(metrics), len(self.judges) > 1
        judge = "them" if self.together else f"judge {self.judges[0]}"
        if not self.is_open:
            return f"{loss}: the order rests on {'each of them' if are_several else judge}."
        return f"{loss}; chance alone may explain that."


def find_lost_orders(
    view: View, tables: Mapping[str, xr.Dataset | None]
) -> dict[LostOrder, list[str]]:
    """Return the differences to the lowest model that are lost without a judge, with the metrics.

    ``tables`` are those of :func:`sharpbayes.report.stability.judges_by`, by metric. Decisive ones
    come first. By a metric that orders nothing in the answer none is lost, and in results of
    earlier versions none is known.
    """
    reading = PanelReading(view)
    lost: dict[LostOrder, list[str]] = {}
    for metric, table in tables.items():
        if table is not None and "unresolved" in table and _orders(reading, metric):
            for order in _group_judges(table, observed_lowest(view, metric)[0], alike_judges(view)):
                lost.setdefault(order, []).append(metric)
    return dict(sorted(lost.items(), key=lambda item: item[0].is_open))


def _orders(reading: PanelReading, metric: str) -> bool:
    """Whether the answer may distinguish the lowest observed model by a metric."""
    if reading.has_other_judges or reading.is_open(metric):
        return False
    if not {*observed_lowest(reading.view, metric)} & {*reading.named_by(metric)}:
        return False
    if metric == "cvar":
        return {"lowest", "distinguishable"} <= {*reading.carried}
    if metric == "policy_score" and reading.has_policy_score:
        return True
    if "lowest" not in reading.carried:
        return metric in reading.substitutes
    # Where answers that nobody saw could change an order by tails, that by policy scores is told.
    is_unseen = {*reading.near_lowest} - {*similar_models(reading.view, "cvar")}
    return metric == "policy_score" and bool(is_unseen) and reading.tells_means


def _group_judges(table: xr.Dataset, first: str, alike: Iterable[str]) -> list[LostOrder]:
    """The differences that are lost, each with all judges without whom it is."""
    rows = table.isel(setting=((table["lowest"] != "") & (table["unresolved"] != "")).to_numpy())
    columns = (rows[name].to_numpy().tolist() for name in ("value", "decisive", "unresolved"))
    judges: dict[tuple[bool, str, str, str], list[str]] = {}
    for name, decisive, others in zip(*columns, strict=True):
        together = name if name in alike else ""
        judges.setdefault((not decisive, first, others, together), []).append(name)
    return [LostOrder(*key, tuple(names)) for key, names in judges.items()]
