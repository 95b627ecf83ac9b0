"""Six significant digits of a number; nothing of one that is not known (nan)."""

from __future__ import annotations

import math
from typing import Optional


def near(x: float) -> str:
    """To nearest: for a number that is not a bound."""
    return f"{x:.6g}"


def _outwards(x: float, sign: float) -> str:
    """The nearest on the right side of x: moves by half a unit in the last digit until it is."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 5) if 0 < x < math.inf else 0
    shown = near(x)
    for i in range(1, 8):
        if not (unit > 0 and sign * (float(shown) - x) < 0):
            break
        shown = near(x + sign * unit * i / 2)
    return shown


def up(x: float) -> str:
    """At least x."""
    return _outwards(x, 1)


def down(x: float) -> str:
    """At most x."""
    return _outwards(x, -1)


def known(x: float) -> Optional[float]:
    """For JSON, in which a number that is not finite is null."""
    return x if math.isfinite(x) else None
