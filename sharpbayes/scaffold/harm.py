"""What a first study says of harm: one dimension, or those of a shipped study of such logs."""

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from sharpbayes import library
from sharpbayes.scaffold.inference import Scale


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


def describe_harm(scales: Mapping[str, Scale], *, reverse: bool) -> dict[str, Any]:
    """Describe one dimension with all indicators; ``reverse`` where a high score is good."""
    different: list[Scale] = []
    for scale in scales.values():
        different += [scale] if scale not in different else []
    names = {key: f"scale_{different.index(scale) + 1}" for key, scale in scales.items()}
    reversed_names = {key: {"scale": scale, "reverse": True} for key, scale in names.items()}
    return {
        "scales": {f"scale_{n}": scale for n, scale in enumerate(different, start=1)},
        "indicators": reversed_names if reverse else names,
        "dimensions": [{"name": "harm", "rms": [*names]}],
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
