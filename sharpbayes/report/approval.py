"""Who approved the weights, where they are in force, and until when."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from sharpbayes.spec.weights import APPROVAL


def approval(weights: Mapping[str, Any]) -> dict[str, str]:
    """Return what weights say of their approval, by heading; empty where they say nothing.

    >>> approval({"approved_by": "The board", "valid_until": date(2026, 3, 31)})
    {'Approved by': 'The board', 'Valid until': '2026-03-31'}
    """
    names = [name for name in APPROVAL if weights.get(name)]
    return {name.replace("_", " ").capitalize(): str(weights[name]) for name in names}


def is_past(valid_until: str, *, today: date | None = None) -> bool:
    """Return whether the last day of an approval is over, today in universal time by default.

    >>> is_past("2026-03-31", today=date(2026, 4, 1)), is_past("", today=date(2026, 4, 1))
    (True, False)
    """
    return bool(valid_until) and date.fromisoformat(valid_until) < (today or _today())


def expiry_warning(weights: Mapping[str, Any], *, today: date | None = None) -> str:
    """Return the sentence that weights are no longer approved; empty where they are.

    >>> expiry_warning({"valid_until": date(2026, 3, 31)}, today=date(2026, 4, 1))
    'The weights were valid until 2026-03-31: nobody has approved this decision since.'
    >>> expiry_warning({}, today=date(2026, 4, 1))
    ''
    """
    until = str(weights.get("valid_until") or "")
    if not is_past(until, today=today):
        return ""
    return f"The weights were valid until {until}: nobody has approved this decision since."


def _today() -> date:
    """The day in universal time."""
    return datetime.now(UTC).date()
