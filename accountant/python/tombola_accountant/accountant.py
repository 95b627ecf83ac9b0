"""Accountants: compose events, ask for epsilon or delta."""

from __future__ import annotations

import operator
import threading
from typing import Any, Dict, Optional, Tuple

from ._library import Account, AccountantError, Answer, Filter, State, Worth, methods
from ._sequences import like, several
from .events import ComposedDpEvent, DpEvent, NeighboringRelation, SelfComposedDpEvent, ShuffledDpEvent

_SCHEMA = "tombola.accountant-state/1"


class UnsupportedEventError(ValueError):
    """The accountant cannot compose this event."""


class PrivacyAccountant:
    """Composed shuffled rounds; subclasses say by which analysis they are answered.

    Answers are upper ends: never below the privacy loss there is.  `..._bounds` give both ends of an interval that
    contains the exact value.  Epsilons are in nats.  The composition is adaptive as long as the rounds' parameters
    are fixed in advance.  Every method may be called from several threads; questions run in parallel, for the
    library does not hold Python's lock.
    """

    _method = "pld"

    def __init__(self, neighboring_relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE) -> None:
        if neighboring_relation is not NeighboringRelation.REPLACE_ONE:
            raise ValueError("the shuffle model hides one participant among the others, whose number is known: "
                             "neighboring_relation must be REPLACE_ONE")
        self._lock = threading.Lock()
        self._counts: Dict[str, int] = {}
        self._account: Optional[Account] = None  # of _counts; not changed once it is built

    @property
    def neighboring_relation(self) -> NeighboringRelation:
        return NeighboringRelation.REPLACE_ONE

    @property
    def ledger(self) -> ComposedDpEvent:
        """Everything composed so far; equal rounds are one entry."""
        with self._lock:
            return ComposedDpEvent(SelfComposedDpEvent(ShuffledDpEvent(text), count)
                                   for text, count in self._counts.items())

    def __repr__(self) -> str:
        """What has been composed.

            >>> from tombola_accountant import PLDAccountant, ShuffledDpEvent
            >>> PLDAccountant().compose(ShuffledDpEvent("rr", eps0=1, n=100), count=3)
            PLDAccountant(3 x rr:eps0=1,n=100)
        """
        with self._lock:
            rounds = [f"{count} x {text if len(text) <= 80 else text[:77] + '...'}"
                      for text, count in list(self._counts.items())[:5]]
            more = len(self._counts) - len(rounds)
        return f"{type(self).__name__}({', '.join(rounds)}{f', and {more} more' if more else ''})"

    def supports(self, event: DpEvent) -> bool:
        """Can this event be composed?"""
        try:
            type(self)().compose(event)
        except ValueError:
            return False
        return True

    def compose(self, event: DpEvent, count: int = 1) -> "PrivacyAccountant":
        """Add `event`, `count` times, and return the accountant.  On an error nothing is added.

        A count below 1 is an error, and not a composition that costs nothing: compose(NoOpDpEvent()) says that.
        Raises UnsupportedEventError for an event of another library, AccountantError (a ValueError) for parameters
        out of range.
        """
        event, count = _event(event), _count(count)
        with self._lock:
            counts = dict(self._counts)
            for text, times in event.rounds():
                counts[text] = counts.get(text, 0) + times * count
            probe = Account()
            for text, times in counts.items():
                if self._counts.get(text) != times:
                    probe.add(text, times)
            self._counts, self._account = counts, None
        return self

    def get_epsilon(self, target_delta: Any) -> Any:
        """The least certified epsilon at target_delta, above 0 and below 1; inf if there is none.

        A list, tuple or one-dimensional array of deltas gives a list or array of epsilons, from one composition:

            >>> from tombola_accountant import PLDAccountant, ShuffledDpEvent
            >>> accountant = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=3, n=10000), count=8)
            >>> [round(epsilon, 3) for epsilon in accountant.get_epsilon([1e-9, 1e-6])]
            [0.697, 0.521]
        """
        return self.get_epsilon_bounds(target_delta)[1]

    def get_delta(self, target_epsilon: Any) -> Any:
        """The least certified delta at target_epsilon, finite and not negative; of several as get_epsilon.

            >>> from tombola_accountant import PLDAccountant, ShuffledDpEvent
            >>> accountant = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=3, n=10000))
            >>> accountant.get_delta(1) < accountant.get_delta(0.1) < 1e-3
            True
        """
        return self.get_delta_bounds(target_epsilon)[1]

    def get_epsilon_bounds(self, target_delta: Any) -> Tuple[Any, Any]:
        """(lower, upper) with lower <= exact epsilon <= upper; of several deltas a pair of lists or arrays."""
        deltas = several(target_delta)
        if deltas is None:
            return _guaranteed(self.epsilon_by(self._method, target_delta))
        if not deltas:
            return like(target_delta, []), like(target_delta, [])
        lower, upper, worth, note = self._built().epsilons(deltas, self._method)
        _guaranteed(Answer(lower[0], upper[0], worth, note))
        return like(target_delta, lower), like(target_delta, upper)

    def get_delta_bounds(self, target_epsilon: Any) -> Tuple[Any, Any]:
        """(lower, upper) with lower <= exact delta <= upper; of several epsilons a pair of lists or arrays."""
        epsilons = several(target_epsilon)
        if epsilons is None:
            return _guaranteed(self.delta_by(self._method, target_epsilon))
        bounds = [_guaranteed(self.delta_by(self._method, epsilon)) for epsilon in epsilons]
        return (like(target_epsilon, [lower for lower, _ in bounds]),
                like(target_epsilon, [upper for _, upper in bounds]))

    def epsilon_by(self, method: str, target_delta: float) -> Answer:
        """What the analysis of that name (see `methods`) says, whether it is a guarantee or not."""
        return self._built().epsilon(target_delta, method)

    def delta_by(self, method: str, target_epsilon: float) -> Answer:
        """What the analysis of that name (see `methods`) says, whether it is a guarantee or not."""
        return self._built().delta(target_epsilon, method)

    def get_group_epsilon(self, target_delta: float, group: int) -> float:
        """The least certified epsilon at which up to `group` records, replaced together, are protected.

            >>> from tombola_accountant import PLDAccountant, ShuffledDpEvent
            >>> accountant = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=2, n=10000))
            >>> accountant.get_group_epsilon(1e-6, 3) > 3 * accountant.get_epsilon(1e-6)
            True
        """
        return self._built().group(True, _count(group), target_delta)[1]

    def get_group_delta(self, target_epsilon: float, group: int) -> float:
        """The least certified delta at which up to `group` records, replaced together, are protected."""
        return self._built().group(False, _count(group), target_epsilon)[1]

    def to_pmf(self, points: int = 400, tail: float = 1e-12) -> Dict[str, Any]:
        """The composed privacy loss as a distribution that dominates it, for other tools and json.dump.

        The members are those of dp_accounting: DensePLDPmf(discretization, pmf_remove["lower_loss"],
        pmf_remove["probs"], pmf_remove["infinity_mass"], pessimistic_estimate=True); pmf_add is None, the same.
        Losses reach to where delta is `tail`.  CurveDpEvent.from_pmf reads it back:

            >>> from tombola_accountant import CurveDpEvent, PLDAccountant, ShuffledDpEvent
            >>> accountant = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=3, n=10000), count=8)
            >>> again = PLDAccountant().compose(CurveDpEvent.from_pmf(accountant.to_pmf()))
            >>> 1 <= again.get_epsilon(1e-6) / accountant.get_epsilon_bounds(1e-6)[0] < 1.01
            True
        """
        step, lower, masses, infinite = self._built().export(0, tail, operator.index(points))
        return {"schema": "tombola.accountant/1", "neighbours": "replace one record", "pessimistic_estimate": True,
                "discretization": step, "pmf_remove": {"lower_loss": lower, "infinity_mass": infinite, "probs": masses},
                "pmf_add": None}

    def compare(self, target_delta: float) -> Dict[str, Answer]:
        """What every analysis that applies to these rounds says about epsilon."""
        answers = {}
        for method in methods():
            try:
                answers[method] = self.epsilon_by(method, target_delta)
            except AccountantError:
                continue
        if not answers:  # the fault is the question's
            self.get_epsilon(target_delta)
        return answers

    def would_exceed(self, event: DpEvent, max_epsilon: float, target_delta: float, count: int = 1) -> bool:
        """Would composing the event break the budget (max_epsilon, target_delta)?  Nothing is composed."""
        trial = type(self)()
        with self._lock:
            trial._counts = dict(self._counts)
        return not trial.compose(event, count).get_epsilon(target_delta) <= max_epsilon

    def state_dict(self) -> Dict[str, Any]:
        """What has been composed, for json.dump; a curve or a matrix is none of it."""
        with self._lock:
            if any(text.startswith(("curve:", "matrix:")) for text in self._counts):
                raise ValueError("a curve or a matrix cannot be kept as text: see to_pmf")
            return {"schema": _SCHEMA, "rounds": [[text, count] for text, count in self._counts.items()]}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continue from a state_dict; on an error the accountant is as it was."""
        if state.get("schema") != _SCHEMA:
            raise ValueError(f"not a state of schema {_SCHEMA}")
        fresh = type(self)()
        for text, count in state["rounds"]:
            fresh.compose(ShuffledDpEvent(text), count)
        with self._lock:
            self._counts, self._account = fresh._counts, None

    def _built(self) -> Account:
        with self._lock:
            if self._account is None:
                account = Account()
                for text, count in self._counts.items():
                    account.add(text, count)
                self._account = account
            return self._account


def _guaranteed(answer: Answer) -> Tuple[float, float]:
    if answer.worth is not Worth.PROVED:
        raise AccountantError("not a proved bound for these rounds" + (f": {answer.note}" if answer.note else ""))
    return answer.lower, answer.upper


class PLDAccountant(PrivacyAccountant):
    """Privacy loss distributions of the rounds' own dominating pairs: the tightest, with every error bounded."""


class RdpAccountant(PrivacyAccountant):
    """Renyi divergences of the same pairs, converted at the best order: looser, and without `get_delta`."""

    _method = "rdp"


class IncrementalAccountant:
    """An account of one delta that grows: a further round costs milliseconds, however many different ones there are.

    The same bounds as PLDAccountant's, but not the same digits: intervals are up to a thousandth wide.  The right
    one where hundreds of different rounds come one by one, each after the question whether it still fits.  Threads
    take turns.
    """

    def __init__(self, target_delta: float) -> None:
        self._lock = threading.Lock()
        self._state = State(float(target_delta))
        self.target_delta = float(target_delta)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(target_delta={self.target_delta!r})"

    def compose(self, event: DpEvent, count: int = 1) -> "IncrementalAccountant":
        """Add `event`, `count` times, and return the accountant.  On an error nothing is added; an event of several
        rounds that meets a limit (LimitError) may have been added in part."""
        count = _count(count)
        rounds = [(text, times * count) for text, times in _event(event).rounds()]
        for text, times in rounds:
            Account().add(text, times)
        with self._lock:
            for text, times in rounds:
                self._state.add(text, times)
        return self

    def get_epsilon(self) -> float:
        """The least certified epsilon."""
        return self.get_epsilon_bounds()[1]

    def get_epsilon_bounds(self) -> Tuple[float, float]:
        """(lower, upper) with lower <= exact epsilon <= upper."""
        with self._lock:
            return self._state.epsilon()

    def epsilon_after(self, event: DpEvent, count: int = 1) -> float:
        """The least certified epsilon if `event`, a single round, were composed `count` times."""
        text, times = _single(event, count)
        with self._lock:
            return self._state.epsilon(text, times)[1]

    def would_exceed(self, event: DpEvent, max_epsilon: float, count: int = 1) -> bool:
        """Would composing the event, a single round, go beyond max_epsilon?  Nothing is composed."""
        return not self.epsilon_after(event, count) <= max_epsilon


class PrivacyFilter:
    """A budget that holds although every round's parameters, and whether there is one, may depend on all answers
    before it.

    kind: "renyi" (Feldman, Zrnic 2021) or "gdp" (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023).  All admitted
    rounds together are (epsilon, delta)-DP.  Composing such rounds with the other accountants is not proved: their
    rounds are fixed in advance.  Threads take turns.
    """

    def __init__(self, epsilon: float, delta: float, kind: str = "renyi") -> None:
        self._lock = threading.Lock()
        self._filter = Filter(kind, float(epsilon), float(delta))
        self._budget = f"epsilon={float(epsilon)!r}, delta={float(delta)!r}, kind={kind!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._budget})"

    def admits(self, event: DpEvent, count: int = 1) -> bool:
        """Does `event`, a single round, fit `count` times?  Nothing is charged."""
        text, times = _single(event, count)
        with self._lock:
            return self._filter.decide(text, times, admit=False)

    def admit(self, event: DpEvent, count: int = 1) -> bool:
        """Charge `event`, a single round, `count` times if it fits; else False, and it must not be run."""
        text, times = _single(event, count)
        with self._lock:
            return self._filter.decide(text, times, admit=True)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent, from 0 to 1."""
        with self._lock:
            return self._filter.share()


def _single(event: DpEvent, count: int) -> Tuple[str, int]:
    rounds, count = list(_event(event).rounds()), _count(count)
    if len(rounds) != 1:
        raise UnsupportedEventError("one round at a time can be decided on")
    return rounds[0][0], rounds[0][1] * count


def _event(event: object) -> DpEvent:
    if not isinstance(event, DpEvent):
        raise UnsupportedEventError(f"not an event of tombola_accountant: {event!r}")
    return event


def _count(count: int) -> int:
    count = operator.index(count)
    if count < 1:
        raise ValueError("count must be at least 1")
    return count
