"""One round in which every participant has a guarantee of their own."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any, List, Union

from ._sequences import several
from .events import ShuffledDpEvent

_CLASSES = 60  # of the others; the library takes 64


def personal_event(epsilons: Any, k: int, **params: Union[int, float]) -> ShuffledDpEvent:
    """k-ary response of participants who each chose a local guarantee (nats), of any number: one round, whose bound
    holds for every one of them.

    epsilons: a list, tuple or array; or the path of a text file with one number a line (empty lines and lines that
    begin with # are skipped).  Other keys of the round, as sampling=, are passed on.

    Three steps, each of which can only raise the bound: the victim has the largest guarantee (a smaller one is that
    response mixed with a uniform one, and the divergence is convex); the participant who is left out of the others
    is the one with the smallest; and where there are more than 60 different guarantees, neighbouring ones are
    rounded up to the largest of their class (who looks can add the reports that this takes out of the blanket).

        >>> from tombola_accountant import PLDAccountant, personal_event
        >>> event = personal_event([0.5] * 6000 + [1.0] * 3000 + [2.0] * 1000, k=4)
        >>> event
        ShuffledDpEvent(spec='grr:k=4,eps0=2.0,n=10000,others_eps=0.5/1.0,others_n=5999/3000')
        >>> round(PLDAccountant().compose(event).get_epsilon(1e-6), 3)
        0.071
    """
    values = _read(Path(epsilons)) if isinstance(epsilons, (str, os.PathLike)) else several(epsilons)
    if values is None:
        raise TypeError("epsilons must be a list, an array or the path of a file")
    if not values:
        raise ValueError("epsilons: there are no participants")
    for i, value in enumerate(values):
        if not 0 < value < 700:
            raise ValueError(f"epsilons[{i}]={value!r} must be above 0 and below 700")
    values.sort()
    largest = values[-1]
    counts = _classes(Counter(values[1:]), k)
    counts.pop(largest, 0)  # the rest of n has the victim's guarantee
    if counts:
        return ShuffledDpEvent("grr", k=k, eps0=largest, n=len(values), **params,
                               others_eps=list(counts), others_n=list(counts.values()))
    return ShuffledDpEvent("grr", k=k, eps0=largest, n=len(values), **params)


def _classes(counts: Counter[float], k: int) -> Counter[float]:
    """At most _CLASSES + 1 classes of equal widths in the share of blanket, k/(e^eps + k - 1), each at its largest."""
    if len(counts) <= _CLASSES:
        return counts
    share = {value: k * math.exp(-value) / (1 + (k - 1) * math.exp(-value)) for value in counts}
    low, high = min(share.values()), max(share.values())
    top: dict[int, float] = {}
    place = {value: int(_CLASSES * (share[value] - low) / (high - low)) if high > low else 0 for value in counts}
    for value, at in place.items():
        top[at] = max(value, top.get(at, 0.0))
    merged: Counter[float] = Counter()
    for value, times in counts.items():
        merged[top[place[value]]] += times
    return merged


def _read(path: Path) -> List[float]:
    values = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            values.append(float(text))
        except ValueError:
            raise ValueError(f"{path}:{number}: '{text[:40]}' is not a number") from None
    return values
