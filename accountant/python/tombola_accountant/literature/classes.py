"""The figures of participants who choose their own guarantees (Chen, Cao, Ge 2024): bounds on epsilon, the errors of its
algorithms, and what the trainings of its Algorithm 3 cost."""

from __future__ import annotations

import math
from typing import Callable, List

from .._library import Worth
from . import bounds
from .bounds import Bound, Class
from .figure import Figure, Line, Lines
from .lines import whole

_DISTINCT = 1000


def _table2(f: Figure, x: float) -> List[Class]:
    """Table 2.  Uniform budgets: the middles of a thousand equal parts, each of n/1000 participants, so that a figure does not
    depend on draws.  c: the share of the larger of two budgets."""
    n = whole(x)
    if f.c > 0:
        large = whole(f.c * n)
        return [Class(f.b, 0, large), Class(f.a, 0, n - large)]
    if not f.a < f.b:
        return [Class(f.b, 0, n)]
    return [Class(f.a + (f.b - f.a) * (i + 0.5) / _DISTINCT, 0, n * (i + 1) // _DISTINCT - n * i // _DISTINCT)
            for i in range(_DISTINCT)]


def _largest(f: Figure, x: float) -> float:
    """FMT22 and Erlingsson19 know one budget: the largest is everybody's."""
    return max(c.epsilon for c in _table2(f, x))


def _clones(f: Figure, x: float) -> Bound:
    """The lower end is the clones' pair's, not these participants'."""
    return 0, bounds.epsilon(bounds.strong_clones(_largest(f, x), whole(x)), f.delta)[1]


def _erlingsson(f: Figure, x: float) -> Bound:
    return 0, bounds.erlingsson(_largest(f, x), whole(x), f.delta)


def _preferences(f: Figure, x: float) -> List[Class]:
    """The preferences of figure 3: liberal 0.09 at 1, conservative and moderate the rest.  a or x: the share of the
    conservative; b or x: their epsilon."""
    n = 10000
    liberal, few = whole(0.09 * n), whole((f.a or x) * n)
    return [Class(1, 0, liberal), Class(0.5, 0, n - liberal - few), Class(f.b or x, 0, few)]


def _alike(f: Figure, x: float) -> List[Class]:
    """Everybody at the epsilon of the conservative: what one guarantee for all costs."""
    classes = _preferences(f, x)
    return [Class(classes[-1].epsilon, 0, c.count) for c in classes]


def _mean_error(variance: float) -> float:
    """Mean absolute value of a sum of many independent terms of mean 0: the normal limit's, sqrt(2/pi) of the deviation.  The
    next term of the expansion is of order 1/n."""
    return math.sqrt(2 * variance / math.pi)


def _mean_of_laplace(classes: List[Class]) -> float:
    """Algorithm 1: the mean of x_i + Laplace(60/eps_i), against the mean of the x_i."""
    variance = n = 0.0
    for c in classes:
        scale = 60 / c.epsilon
        n += c.count
        variance += c.count * 2 * scale * scale
    return _mean_error(variance / (n * n))


def _frequency_of_response(classes: List[Class]) -> float:
    """Algorithm 2: z = (A - B)/(n - 2B), A the ones told and B the sum of the chances 1/(1 + e^eps_i), against the share of
    ones among the records, each of which is one with chance 0.7 whatever its owner's epsilon."""
    variance = n = flips = 0.0
    one = 0.7
    for c in classes:
        flip = 1 / (1 + math.exp(c.epsilon))
        told = one + flip - 2 * one * flip
        n += c.count
        flips += c.count * flip
        variance += c.count * told * (1 - told)
    slope = n - 2 * flips
    return _mean_error(variance / (slope * slope) - one * (1 - one) / n)


_Classes = Callable[[Figure, float], List[Class]]


def _gspa(classes: _Classes) -> Line:
    def value(f: Figure, x: float) -> Bound:
        epsilon = bounds.gspa(classes(f, x), f.delta)
        return epsilon, epsilon
    return Line(Worth.PAPER_VALUE, value)


def _liu(classes: _Classes) -> Line:
    def value(f: Figure, x: float) -> Bound:
        epsilon = bounds.liu(classes(f, x), f.delta)
        return epsilon, epsilon
    return Line(Worth.PAPER_VALUE, value)


def _exact(classes: _Classes) -> Line:
    return Line(Worth.PROVED, lambda f, x: bounds.gspa_exact(classes(f, x), f.delta))


def _error(error: Callable[[List[Class]], float], classes: _Classes) -> Line:
    def value(f: Figure, x: float) -> Bound:
        off = error(classes(f, x))
        return off, off
    return Line(Worth.APPROXIMATE, value)


# Their table 3: 100 clients of 600 rows each, delta 1e-5 of each client.
_CLIENTS, _ROWS, _DELTA_LOCAL = 100, 600, 1e-5


def _of_client(low: float, high: float, i: int) -> float:
    """The epsilon of client i of those whose epsilon is of U(low, high): the middle of its hundredth."""
    return low + (high - low) * (i + 0.5) / _CLIENTS


def training_printed(low: float, high: float, epochs: float, delta: float) -> float:
    """Theorem 5: sqrt(T) mu."""
    clients = [Class(_of_client(low, high, i), _DELTA_LOCAL, 1) for i in range(_CLIENTS)]
    return bounds.gspa(clients, delta, int(epochs))


def training_proved(low: float, high: float, epochs: float, delta: float, rows: bool) -> float:
    """What holds for a client, or `rows`, for one of its records if every record's gradient were clipped and not their mean.

    The noise of line 7, of deviation (2 C / ROWS) sqrt(2 log(1.25 / delta_l)) / eps, hides a move of 2 C / ROWS at (eps,
    delta_l).  The mean of a client's gradients, clipped to C, moves by up to 2 C, ROWS times that: the loss is that of normal
    noise, once an epoch.  The models of all steps are seen, each with one client's noise, so that nobody hides anybody.  The
    client of the largest epsilon loses most."""
    one = _of_client(low, high, _CLIENTS - 1) / math.sqrt(2 * math.log(1.25 / _DELTA_LOCAL))
    epsilon = bounds.gaussian(math.sqrt(epochs) * one * (1 if rows else _ROWS), delta)
    return epsilon * (1 + 1e-9)  # acct_gspa_gaussian_epsilon is good to 1e-12


def _printed(f: Figure, x: float) -> Bound:
    epsilon = training_printed(f.a, f.b, whole(x), f.delta)
    return epsilon, epsilon


LINES: Lines = {
    "gspa": _gspa(_table2),
    "gspa-liu": _liu(_table2),
    "gspa-clones": Line(Worth.PROVED, _clones),
    "gspa-erlingsson": Line(Worth.PROVED, _erlingsson),
    "gspa-exact": _exact(_table2),
    "algorithm-1": _error(_mean_of_laplace, _preferences),
    "algorithm-2": _error(_frequency_of_response, _preferences),
    "all-alike-1": _error(_mean_of_laplace, _alike),
    "all-alike-2": _error(_frequency_of_response, _alike),
    "gspa-preferences": _gspa(_preferences),
    "liu-preferences": _liu(_preferences),
    "exact-preferences": _exact(_preferences),
    "sgd-printed": Line(Worth.PAPER_VALUE, _printed),
    "sgd-client": Line(Worth.PROVED, lambda f, x: (0, training_proved(f.a, f.b, whole(x), f.delta, False))),
    "sgd-record-if-clipped": Line(Worth.PROVED, lambda f, x: (0, training_proved(f.a, f.b, whole(x), f.delta, True))),
}
