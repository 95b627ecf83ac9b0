"""What an accountant composes.  Names and fields follow dp_accounting where it has them."""

from __future__ import annotations

import enum
import math
import operator
from fractions import Fraction
from typing import Any, Iterable, Iterator, Sequence, Tuple, Union

Number = Union[int, float]


class NeighboringRelation(enum.Enum):
    """Which data sets are neighbours, as in dp_accounting."""

    ADD_OR_REMOVE_ONE = 1
    REPLACE_ONE = 2
    REPLACE_SPECIAL = 3


class DpEvent:
    """One use of a mechanism, or a composition of such uses.  Immutable; equal when the content is."""

    def rounds(self) -> Iterator[Tuple[str, int]]:
        """(round as text, repetitions), as the library takes them."""
        raise NotImplementedError

    def _key(self) -> Tuple[Tuple[str, object], ...]:
        return tuple(sorted(vars(self).items()))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class NoOpDpEvent(DpEvent):
    """Nothing that depends on data."""

    def rounds(self) -> Iterator[Tuple[str, int]]:
        return iter(())


class RandomizedResponseDpEvent(DpEvent):
    """k-ary randomized response of one record, without a shuffler.

    noise_parameter: the chance of a *uniformly random* answer, k/(e^eps0 + k - 1), above 0, at most 1.
    """

    def __init__(self, noise_parameter: float, num_buckets: int) -> None:
        if not 0 < noise_parameter <= 1:
            raise ValueError("noise_parameter must be above 0 and at most 1")
        if operator.index(num_buckets) < 2:
            raise ValueError("num_buckets must be at least 2")
        self.noise_parameter = float(noise_parameter)
        self.num_buckets = operator.index(num_buckets)

    @classmethod
    def from_epsilon0(cls, eps0: float, num_buckets: int) -> "RandomizedResponseDpEvent":
        """The response with local guarantee eps0 (nats), or very slightly less noise."""
        if not 0 < eps0 < math.inf:
            raise ValueError("eps0 must be above 0 and finite")
        noise = num_buckets / (math.expm1(eps0) + num_buckets)
        return cls(noise * (1 - 2**-50), num_buckets)  # exp, + and / are off by less than 2**-51 together

    def randomizer(self) -> str:
        """The text of the randomizer; its eps0 is rounded up."""
        p, k = Fraction(self.noise_parameter), self.num_buckets
        # e^eps0 - 1 = k (1 - p) / p, exact before one rounding; log1p does not magnify it.
        eps0 = math.log1p(float(k * (1 - p) / p))
        for _ in range(4):
            eps0 = math.nextafter(eps0, math.inf)
        return f"grr:k={k},eps0={eps0!r}"

    def rounds(self) -> Iterator[Tuple[str, int]]:
        if self.noise_parameter < 1:
            yield f"{self.randomizer()},n=1", 1


class ShuffledDpEvent(DpEvent):
    """One round of the shuffle model.

        ShuffledDpEvent("grr:k=16,eps0=3,n=10000")
        ShuffledDpEvent("grr", k=16, eps0=3, n=10000)
        ShuffledDpEvent(RandomizedResponseDpEvent.from_epsilon0(3, 16), n=10000)

    The text is a round of `tombola-accountant --round` (see its --help for names and keys); it is checked by the
    library when it is composed.  n counts participants, the victim among them.  Numbers are passed on exactly; a
    list of numbers becomes a/b/...  A protocol of several slots is one round: ShuffledDpEvent("marginals",
    k=[6, 4], eps0=2, n=10000).
    """

    def __init__(self, spec: Union[str, RandomizedResponseDpEvent], **params: Union[Number, Sequence[Number], Any]) -> None:
        if isinstance(spec, RandomizedResponseDpEvent):
            spec = spec.randomizer()
        if not isinstance(spec, str):
            raise TypeError("a round is text or a RandomizedResponseDpEvent")
        self.spec = spec
        for key, value in params.items():
            self.spec += f"{',' if ':' in self.spec else ':'}{key}={_text(key, value)}"

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield self.spec, 1


class SelfComposedDpEvent(DpEvent):
    """`event`, `count` times."""

    def __init__(self, event: DpEvent, count: int) -> None:
        self.event = event
        self.count = operator.index(count)
        if self.count < 1:
            raise ValueError("count must be at least 1")

    def rounds(self) -> Iterator[Tuple[str, int]]:
        for text, count in self.event.rounds():
            yield text, count * self.count


class ComposedDpEvent(DpEvent):
    """Events one after the other."""

    def __init__(self, events: Iterable[DpEvent]) -> None:
        self.events = tuple(events)

    def rounds(self) -> Iterator[Tuple[str, int]]:
        for event in self.events:
            yield from event.rounds()


def _text(key: str, value: object) -> str:
    """A number, or a list or array of numbers, as text that reads back as the same numbers."""
    if isinstance(value, (str, bytes, bool)):
        hint = f"; several are a list: {key}=[{', '.join(value.split('/'))}]" \
            if isinstance(value, str) and "/" in value else ""
        raise TypeError(f"{key}={value!r} is not a number{hint}")
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        pass
    if hasattr(value, "tolist"):  # an array, or a scalar of numpy
        return _text(key, value.tolist())
    if isinstance(value, (list, tuple)):
        return "/".join(_text(key, item) for item in value)
    try:
        return float.__repr__(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{key}={value!r} is not a number") from None
