"""Central events, and rounds of one's own: noise that a trusted party adds, imported curves, matrices."""

from __future__ import annotations

import math
from typing import Any, Iterator, Mapping, Optional, Sequence, Tuple, Union

from . import _library
from ._sequences import numbers, rows
from .events import DpEvent, NeighboringRelation, ShuffledDpEvent, _text


class GaussianDpEvent(DpEvent):
    """Normal noise of noise_multiplier times the L2 distance of the answers on neighbours, which replace a record:
    twice the clipping norm of a sum of clipped records.

        >>> from tombola_accountant import GaussianDpEvent, PLDAccountant, ShuffledDpEvent
        >>> accountant = PLDAccountant().compose(GaussianDpEvent(5), count=10)
        >>> _ = accountant.compose(ShuffledDpEvent("grr", k=16, eps0=3, n=10000), count=8)
        >>> round(accountant.get_epsilon(1e-6), 2)
        2.99
    """

    def __init__(self, noise_multiplier: float) -> None:
        self.noise_multiplier = noise_multiplier

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield f"gaussian:sigma={_text('noise_multiplier', self.noise_multiplier)}", 1


class LaplaceDpEvent(DpEvent):
    """One number and Laplace noise of noise_multiplier times the distance of the answers on neighbours."""

    def __init__(self, noise_multiplier: float) -> None:
        self.noise_multiplier = noise_multiplier

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield f"laplace:scale={_text('noise_multiplier', self.noise_multiplier)}", 1


class PoissonSampledDpEvent(DpEvent):
    """Records each of which takes part with sampling_probability.  Neighbours replace a record.

    Of a GaussianDpEvent: a sum of records clipped to norm 1, and normal noise whose deviation is noise_multiplier, as of
    dp_accounting's event; the loss is larger than that of added or removed records.  Of a ShuffledDpEvent: each of its n
    participants takes part with this chance, anew for every event, and sends nothing else.

        >>> from tombola_accountant import PLDAccountant, PoissonSampledDpEvent, ShuffledDpEvent
        >>> question = ShuffledDpEvent("grr", k=16, eps0=3, n=10000)
        >>> round(PLDAccountant().compose(PoissonSampledDpEvent(0.1, question)).get_epsilon(1e-6), 3)
        0.05
    """

    def __init__(self, sampling_probability: float, event: Union[GaussianDpEvent, ShuffledDpEvent]) -> None:
        if not isinstance(event, (GaussianDpEvent, ShuffledDpEvent)):
            raise TypeError("only GaussianDpEvent and ShuffledDpEvent can be Poisson-sampled")
        self.sampling_probability = sampling_probability
        self.event = event

    def rounds(self) -> Iterator[Tuple[str, int]]:
        if isinstance(self.event, ShuffledDpEvent):
            yield f"{self.event.spec},poisson={_text('sampling_probability', self.sampling_probability)}", 1
            return
        sigma = _text("noise_multiplier", self.event.noise_multiplier)
        yield f"sampled-gaussian:sigma={sigma},rate={_text('sampling_probability', self.sampling_probability)}", 1


class GuaranteeDpEvent(DpEvent):
    """Whatever is (epsilon, delta)-differentially private."""

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        self.epsilon = epsilon
        self.delta = delta

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield f"guarantee:epsilon={_text('epsilon', self.epsilon)},delta={_text('delta', self.delta)}", 1


class CurveDpEvent(DpEvent):
    """A mechanism by a bound on its privacy curve: make one by a classmethod.

    The numbers are believed.  Whoever made them must vouch that they dominate: that no two data sets which differ in
    one replaced record lose more.  A composition can be kept as JSON only without such events.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def from_deltas(cls, epsilons: Sequence[float], deltas: Sequence[float],
                    swapped: Optional[Sequence[float]] = None) -> "CurveDpEvent":
        """Upper bounds on delta at increasing epsilons; swapped: with the two data sets exchanged, if they differ."""
        return cls(_library.keep_points(numbers(epsilons), numbers(deltas),
                                        None if swapped is None else numbers(swapped)))

    @classmethod
    def from_trade_off(cls, fpr: Sequence[float], fnr: Sequence[float]) -> "CurveDpEvent":
        """The trade-off function that is straight between these errors of the first and the second kind.

            >>> from tombola_accountant import CurveDpEvent, PLDAccountant
            >>> round(PLDAccountant().compose(CurveDpEvent.from_trade_off([0.25], [0.25])).get_epsilon(1e-9), 4)
            1.0986
        """
        return cls(_library.keep_trade_off(numbers(fpr), numbers(fnr)))

    @classmethod
    def from_rdp(cls, orders: Sequence[float], rdp: Sequence[float]) -> "CurveDpEvent":
        """Renyi divergences at some orders above 1."""
        return cls(_library.keep_renyi(numbers(orders), numbers(rdp)))

    @classmethod
    def from_pmf(cls, pmf: Mapping[str, Any]) -> "CurveDpEvent":
        """A privacy-loss distribution as PrivacyAccountant.to_pmf gives it; it must say pessimistic_estimate, and that
        its neighbours replace one record."""
        if pmf.get("pessimistic_estimate") is not True:
            raise ValueError("the distribution must say that it dominates: pessimistic_estimate")
        if pmf.get("neighbours") != "replace one record":
            raise ValueError("the distribution must say for which neighbours: \"neighbours\": \"replace one record\"")
        add = pmf.get("pmf_add")
        return cls(_library.keep_pmf(pmf["discretization"], _pmf(pmf["pmf_remove"]), _pmf(add) if add else None))

    @classmethod
    def from_dp_accounting(cls, pld: Any, neighboring_relation: NeighboringRelation) -> "CurveDpEvent":
        """dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution with pessimistic estimates.

        neighboring_relation: for which it was built.  The object does not say, so the caller must.  One for added or
        removed records, or REPLACE_SPECIAL, is turned into one for replaced records: a record is removed and another
        added, so that delta(2 epsilon) is at most (1 + e^epsilon) times the larger direction's delta(epsilon).
        """
        dense = [half.to_dense_pmf() for half in (pld._pmf_remove, pld._pmf_add)]
        if not all(half._pessimistic_estimate for half in dense):
            raise ValueError("the distribution is an optimistic estimate: it does not dominate")
        halves = [(half._lower_loss, numbers(half._probs), half._infinity_mass) for half in dense]
        given = cls(_library.keep_pmf(dense[0]._discretization, halves[0], halves[1]))
        if not isinstance(neighboring_relation, NeighboringRelation):
            raise TypeError("neighboring_relation must be a NeighboringRelation")
        return given if neighboring_relation is NeighboringRelation.REPLACE_ONE else given._replaced()

    def _replaced(self, points: int = 400) -> "CurveDpEvent":
        account = _library.Account()
        account.add(next(self.rounds())[0], 1)
        reach = account.epsilon(1e-13).upper
        step = (reach if math.isfinite(reach) else 30.0) / points
        half = [step * k for k in range(points + 1) if step * k <= 344]
        deltas = [min(1.0, account.delta(epsilon).upper * (1 + math.exp(epsilon)) * (1 + 1e-12)) for epsilon in half]
        for k in range(1, len(deltas)):
            deltas[k] = min(deltas[k], deltas[k - 1])
        return type(self).from_deltas([2 * epsilon for epsilon in half], deltas)

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield f"curve:{self._number}", 1


class MatrixDpEvent(DpEvent):
    """A shuffled round of n participants whose randomizer is given by its probabilities: a row for each input, a column
    for each output, as lists or an array.  Other keys of a round (sampling, defect) may follow.

        >>> from tombola_accountant import MatrixDpEvent, PLDAccountant
        >>> event = MatrixDpEvent([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], n=1000)
        >>> round(PLDAccountant().compose(event).get_epsilon(1e-6), 2)
        0.31
    """

    def __init__(self, probabilities: Any, n: int, **params: Any) -> None:
        table = rows(probabilities)
        self._probabilities = tuple(tuple(row) for row in table)
        self._params = tuple(sorted({"n": n, **params}.items()))
        self._number = _library.keep_matrix(table)

    def _key(self) -> Tuple[Tuple[str, object], ...]:
        return (("probabilities", self._probabilities), ("params", self._params))

    def rounds(self) -> Iterator[Tuple[str, int]]:
        yield f"matrix:{self._number}," + ",".join(f"{key}={_text(key, value)}" for key, value in self._params), 1


def _pmf(half: Mapping[str, Any]) -> Tuple[int, Sequence[float], float]:
    return half["lower_loss"], numbers(half["probs"]), half["infinity_mass"]
