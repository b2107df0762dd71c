"""Arguments that are numbers, refused by their names."""

from __future__ import annotations

from typing import Any

from ._errors import ChoiceError


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number that is not too small."""
    try:
        number = int(value)
        if number == value and number >= least and not isinstance(value, bool):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ChoiceError(f"{name}={value!r}: give a whole number from {least} on")


def real(name: str, value: Any) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ChoiceError(f"{name}={value!r}: give a number") from None
