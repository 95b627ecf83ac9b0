"""The parameter of a mechanism that just meets a privacy target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Optional, Union

from .accountant import PrivacyAccountant
from .events import DpEvent


@dataclass(frozen=True)
class ExplicitBracketInterval:
    """Two parameters, of which one meets the target and the other does not."""

    endpoint_1: float
    endpoint_2: float


class NoBracketIntervalFoundError(ValueError):
    """Both ends of the interval meet the target, or neither does."""


def calibrate_dp_mechanism(
        make_fresh_accountant: Callable[[], PrivacyAccountant],
        make_event_from_param: Callable[[Union[float, int]], DpEvent],
        target_epsilon: float,
        target_delta: float,
        bracket_interval: ExplicitBracketInterval,
        *,
        discrete: bool = False,
        tol: Optional[float] = None) -> Union[float, int]:
    """The parameter at the border of the target, on the side that meets it.

    Epsilon must be monotone in the parameter, in either direction.  discrete: parameters are whole numbers.
    tol: how far from the border (default 1e-6 of the interval; 1 if discrete).  The result always meets the target.
    """

    def meets(param: Union[float, int]) -> bool:
        accountant = make_fresh_accountant().compose(make_event_from_param(param))
        return accountant.get_epsilon(target_delta) <= target_epsilon

    good, bad = bracket_interval.endpoint_1, bracket_interval.endpoint_2
    if discrete:
        good, bad = math.floor(good), math.ceil(bad)
    if tol is None:
        tol = 1.0 if discrete else 1e-6 * abs(bad - good)
    good_meets = meets(good)
    if good_meets == meets(bad):
        raise NoBracketIntervalFoundError(
            f"epsilon is {'within' if good_meets else 'above'} the target at both ends of the interval")
    if not good_meets:
        good, bad = bad, good
    while abs(bad - good) > tol:
        middle = (good + bad) // 2 if discrete else (good + bad) / 2
        if middle in (good, bad):
            break
        if meets(middle):
            good = middle
        else:
            bad = middle
    return good
