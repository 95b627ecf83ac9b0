"""A budget allocated over rounds by how well each must answer."""

from __future__ import annotations

import math
from typing import Any, List, NamedTuple, Optional, Sequence, Union

from . import _library
from ._sequences import numbers
from .events import ShuffledDpEvent


class Allocation(NamedTuple):
    """What each round gets; all together are (epsilon, delta)-differentially private."""

    events: List[ShuffledDpEvent]
    values: List[float]  # of the open keys; nan where a round has none
    errors: List[float]  # standard errors of the share of an input that half of the participants hold
    epsilon: float  # at most this, of all together


def optimise_budget(rounds: Sequence[Union[str, ShuffledDpEvent]], target_epsilon: float, target_delta: float, *,
                    weights: Optional[Any] = None, errors: Optional[Any] = None) -> Optional[Allocation]:
    """The values of eps0=? (or sigma=?, scale=?) in the rounds that answer best within the budget; None if none fit.

    weights: one a round, of its squared error, whose weighted sum is to be least (default 1 each).  errors: instead,
    the errors that are aimed at; their largest multiple is to be least.  Rounds without `?` are composed as they are.

        >>> from tombola_accountant import optimise_budget
        >>> best = optimise_budget(["grr:k=16,eps0=?,n=10000", "levels:b=8,eps0=?,n=10000"], 0.5, 1e-6, errors=[1, 2])
        >>> best.epsilon <= 0.5 and abs(best.errors[1] / best.errors[0] - 2) < 0.01
        True
        >>> best.events[0]
        ShuffledDpEvent(spec='grr:k=16,eps0=4.47154,n=10000')
    """
    if weights is not None and errors is not None:
        raise ValueError("weights or errors, not both")
    texts = [item.spec if isinstance(item, ShuffledDpEvent) else item for item in rounds]
    given = errors if errors is not None else weights
    each = None if given is None else numbers(given)
    if each is not None and len(each) != len(texts):
        raise ValueError(f"{'errors' if errors is not None else 'weights'}: {len(each)} numbers for {len(texts)} rounds")
    values, found, _, upper = _library.optimise(texts, each, errors is not None, float(target_epsilon),
                                                float(target_delta))
    if math.isinf(upper):
        return None
    events = [ShuffledDpEvent(text if math.isnan(value) else text.replace("=?", f"={value!r}"))
              for text, value in zip(texts, values)]
    return Allocation(events, values, found, upper)
