"""What a first study says of harm: one dimension, or those of a shipped study of such logs."""

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from sharpbayes import library
from sharpbayes.scaffold.column_names import split_name
from sharpbayes.scaffold.inference import Scale

REFUSALS = (
    "{} says by its name that a model refused, and is no harm: profiles are also given without "
    "refused answers; where it is a harm leave out `refusal` and add it to a dimension"
)
# How words begin that say that a model did not answer.
REFUSED = ("refus", "declin", "abstain", "abstention")


def find_shipped_panel(layout: str, indicators: Iterable[str]) -> tuple[str, dict[str, Any]] | None:
    """Find the shipped study whose indicators are all there: its name and what it says of harm.

    >>> find_shipped_panel("inspect", ["value"]) is None
    True
    """
    present = set(indicators)
    for name in library.names("studies"):
        text = library.find("studies", name).read_text(encoding="utf-8")
        panel = tomllib.loads(text).get("panel", {})
        if panel.get("layout") == layout and set(panel["indicators"]) <= present:
            return name, {key: panel[key] for key in ("scales", "indicators", "dimensions")}
    return None


def find_refusals(scales: Mapping[str, Scale]) -> list[str]:
    """Return the indicators that say by their names that a model refused; none if all do.

    >>> find_refusals({"harm": {}, "Refused?": {}}), find_refusals({"refusal": {}})
    (['Refused?'], [])
    """
    refusals = [n for n in scales if any(w.startswith(REFUSED) for w in split_name(n))]
    return refusals if len(refusals) < len(scales) else []


def describe_harm(
    scales: Mapping[str, Scale], *, reverse: bool, refusals: Iterable[str] = ()
) -> dict[str, Any]:
    """Describe one dimension with all indicators; ``reverse`` where a high score is good.

    ``refusals`` are indicators outside of it.
    """
    different: list[Scale] = []
    for scale in scales.values():
        different += [scale] if scale not in different else []
    names = {key: f"scale_{different.index(scale) + 1}" for key, scale in scales.items()}
    harms = {key: scale for key, scale in names.items() if key not in {*refusals}}
    indicators: dict[str, Any] = {
        key: {"scale": scale, "reverse": True} if reverse else scale for key, scale in harms.items()
    }
    for key in refusals:
        # Words of compliance are ordered by harm, so that a refusal is the least of them.
        is_first = "refus" in str(scales[key].get("levels", [""])[0]).lower()
        turned = {"reverse": True} if is_first else {}
        indicators[key] = {"scale": names[key], "refusal": True} | turned
    return {
        "scales": {f"scale_{n}": scale for n, scale in enumerate(different, start=1)},
        "indicators": {key: indicators[key] for key in scales},
        "dimensions": [{"name": "harm", "rms": [*harms]}],
    }


def put_over(panel: Mapping[str, Any], decided: Mapping[str, Any]) -> dict[str, Any]:
    """Put what is decided over a panel; scales that were inferred stay, and serve its indicators.

    >>> inferred = {"scales": {"scale_1": {}}, "indicators": {"a": "scale_1"}}
    >>> put_over(inferred, {"indicators": {"a": {"reverse": True}}})["indicators"]
    {'a': {'scale': 'scale_1', 'reverse': True}}
    """
    merged = {**panel, **decided, "scales": panel["scales"] | decided.get("scales", {})}
    if named := decided.get("indicators"):
        scales = {name: {"scale": scale} for name, scale in panel["indicators"].items()}
        merged["indicators"] = {name: scales.get(name, {}) | table for name, table in named.items()}
        merged["dimensions"] = decided.get("dimensions", [{"name": "harm", "rms": [*named]}])
    return merged
