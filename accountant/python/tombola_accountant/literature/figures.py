"""The figures of the literature: what each asks."""

from __future__ import annotations

import math
from typing import Callable, List, Tuple

from ..plot import Plot
from . import classes, lines
from .figure import Figure, drawing

_Text = Callable[[Figure, float], str]


def _subset(f: Figure, x: float) -> str:
    """The best size of a subset of d is that of least variance."""
    return f"subset:d={f.b:.0f},k={best_subset(f.b, x)},eps0={x:.15g},n={f.a:.0f}"


def best_subset(d: float, eps0: float) -> int:
    return max(1, lines.whole(d / (math.exp(eps0) + 1)))


def _hash(f: Figure, x: float) -> str:
    """So is the best number of hashes."""
    return f"olh:l={max(2, lines.whole(math.exp(x) + 1))},eps0={x:.15g},n={f.a:.0f}"


def _users(f: Figure, x: float) -> str:
    return f"cheu:f={lines.flip(f, x):.15g},n={f.a:.0f}"


def dummies(bins: float, stated: float, delta: float) -> int:
    """As many as the authors of balls into bins ask for."""
    return math.ceil(32 * bins * math.log(2 / delta) / (stated * stated))


def _bins(f: Figure, x: float) -> str:
    """s special bins make d/s of d."""
    k = f.a / f.b
    return f"bins:k={k:.0f},dummies={dummies(k, x, f.delta)}"


def _hierarchy(f: Figure, x: float) -> str:
    return f"hierarchy:f=2,H={f.b:.0f},eps0={x:.15g},n={f.a:.0f}"


def _over_n(f: Figure, x: float) -> str:
    return f"generic:eps0={f.a:.15g},n={lines.whole(x)},count={f.b:.0f}"


def _over_eps0(f: Figure, x: float) -> str:
    return f"generic:eps0={x:.15g},n={f.a:.0f},count={f.b:.0f}"


def _over_rounds(f: Figure, x: float) -> str:
    return f"generic:eps0={f.b:.15g},n={f.a:.0f},count={lines.whole(x)}"


def _planar(f: Figure, x: float) -> str:
    return f"planar-laplace:distance={x:.15g},most={f.b:.15g},n={f.a:.0f}"


def _sampled(f: Figure, x: float) -> str:
    return f"generic:eps0={f.b:.15g},n={f.a * f.c:.0f},sampling={f.c:.15g},count={lines.whole(x)}"


def _slot(f: Figure) -> str:
    """c: binary response, and not Laplace noise."""
    return "rr" if f.c > 0 else "laplace-noise"


def _coordinates(f: Figure, x: float) -> str:
    return f"{_slot(f)}:eps0={x:.15g},n={f.a:.0f},count={f.b:.0f}"


def _lengths(f: Figure, x: float) -> str:
    return f"{_slot(f)}:eps0={f.b:.15g},n={f.a:.0f},count={lines.whole(x)}"


def _local(name: str, title: str, text: _Text, a: float, b: float, delta: float) -> Figure:
    return Figure(name, title, "eps0", None, text, a, b, 0, delta, 0.1, 5, False, 25,
                  ("pld", "published", "closed", "closed-tight", "strong-clones", "clones"))


def _stated(name: str, title: str, text: _Text, a: float, b: float, delta: float, low: float,
            published: str = "published") -> Figure:
    return Figure(name, title, "stated", None, text, a, b, 0, delta, low, 1.5, True, 20, ("pld", published, "stated"))


def _ranges(name: str, title: str, n: float, levels: int, delta: float) -> Figure:
    return Figure(name, title, "eps0", None, _hierarchy, n, levels, 0, delta, 0.1, 5, False, 25,
                  ("pld", "published", "strong-clones", "separated-least", "separated-most"))


# From `low` to `high` in ratios or not, so many points.
_Axis = Tuple[float, float, bool, int]
_ORDERS: _Axis = (2, 2e4, True, 21)
_PEOPLE: _Axis = (1e4, 1e6, True, 9)
_ROUNDS: _Axis = (10, 1e5, True, 13)


def _renyi(name: str, title: str, x_name: str, n: float, eps0: float, order: float, axis: _Axis) -> Figure:
    return Figure(name, title, x_name, "Renyi divergence (nats)", None, n, eps0, order, 0, *axis,
                  ("rdp-ub1", "rdp-ub2", "rdp-erlingsson", "rdp-lower", "rdp-clones"))


def _single(name: str, title: str, x_name: str, text: _Text, a: float, axis: _Axis) -> Figure:
    return Figure(name, title, x_name, None, text, a, 1, 0, 1e-6, *axis,
                  ("girgis", "clones", "strong-clones", "erlingsson", "bennett", "hoeffding"))


def _composed(name: str, title: str, x_name: str, text: _Text, a: float, b: float, axis: _Axis) -> Figure:
    return Figure(name, title, x_name, None, text, a, b, 0, 1e-8, *axis,
                  ("girgis", "advanced", "clones", "strong-clones", "erlingsson-rdp"))


def _of_sample(name: str, title: str, n: float) -> Figure:
    return Figure(name, title, "T", None, _sampled, n, 3, 1e-3, 1e-8, 1e3, 1e5, True, 5,
                  ("girgis", "clones", "strong-clones"))


def _metric(name: str, title: str, n: float) -> Figure:
    return Figure(name, title, "distance", None, _planar, n, 3, 0, 1e-6, 0.1, 3, False, 15,
                  ("metric-plane", "metric-line", "metric-any", "strong-clones"))


def _flame(name: str, title: str, x_name: str, text: _Text, b: float, response: bool, low: float, high: float) -> Figure:
    return Figure(name, title, x_name, None, text, 1000, b, response, 5e-6, low, high, True, 9,
                  ("flame-first", "flame", "pld", "lower" if response else "laplace-lower"))


def _classes(name: str, title: str, low: float, high: float, share: float) -> Figure:
    return Figure(name, title, "n", None, None, low, high, share, 1e-4, 1e3, 1e4, True, 10,
                  ("gspa", "gspa-liu", "gspa-clones", "gspa-erlingsson", "gspa-exact"))


def _over_share(name: str, title: str, *drawn: str) -> Figure:
    return Figure(name, title, "f_c", "mean absolute error", None, 0, 0.1, 0, 1e-4, 0.01, 0.5, False, 15, drawn)


def _over_conservative(name: str, title: str, y_name: str | None, *drawn: str) -> Figure:
    return Figure(name, title, "eps_c", y_name, None, 0.54, 0, 0, 1e-4, 0.05, 0.5, False, 15, drawn)


def _training(name: str, title: str, low: float, high: float) -> Figure:
    return Figure(name, f"Algorithm 3: a training of 100 clients, eps0 {title}", "epochs", None, None, low, high, 0, 1e-4, 2,
                  50, False, 25, ("sgd-printed", "sgd-client", "sgd-record-if-clipped"))


FIGURES: List[Figure] = [
    _local("001-1-n4-d16", "subset selection, n=1e4, d=16, delta 1e-6", _subset, 1e4, 16, 1e-6),
    _local("001-1-n4-d128", "subset selection, n=1e4, d=128, delta 1e-6", _subset, 1e4, 128, 1e-6),
    _local("001-1-n5-d16", "subset selection, n=1e5, d=16, delta 1e-7", _subset, 1e5, 16, 1e-7),
    _local("001-1-n5-d128", "subset selection, n=1e5, d=128, delta 1e-7", _subset, 1e5, 128, 1e-7),
    _local("001-2-n4", "local hash, any d, n=1e4, delta 1e-6", _hash, 1e4, 0, 1e-6),
    _local("001-2-n5", "local hash, any d, n=1e5, delta 1e-7", _hash, 1e5, 0, 1e-7),
    _stated("001-3-n4", "Cheu, Zhilyaev: flips for a stated epsilon, n=1e4 fakes, delta 1e-6", _users, 1e4, 0, 1e-6, 0.45,
            "cheu-published"),
    _stated("001-3-n5", "Cheu, Zhilyaev: flips for a stated epsilon, n=1e5 fakes, delta 1e-7", _users, 1e5, 0, 1e-7, 0.15,
            "cheu-published"),
    _stated("001-4-d16", "balls into 16 bins, n for a stated epsilon, delta 1e-6", _bins, 16, 1, 1e-6, 0.01),
    _stated("001-4-d128", "balls into 128 bins, n for a stated epsilon, delta 1e-6", _bins, 128, 1, 1e-6, 0.01),
    _stated("001-4-d16-s8", "balls into 16 bins, 8 special, n for a stated epsilon, delta 1e-6", _bins, 16, 8, 1e-6, 0.01),
    _stated("001-4-d128-s8", "balls into 128 bins, 8 special, n for a stated epsilon, delta 1e-6", _bins, 128, 8, 1e-6, 0.01),
    _ranges("001-5-n4-d64", "range queries, a tree of 64 leaves, n=1e4, delta 1e-6", 1e4, 6, 1e-6),
    _ranges("001-5-n4-d2048", "range queries, a tree of 2048 leaves, n=1e4, delta 1e-6", 1e4, 11, 1e-6),
    _ranges("001-5-n5-d64", "range queries, a tree of 64 leaves, n=1e5, delta 1e-7", 1e5, 6, 1e-7),
    _ranges("001-5-n5-d2048", "range queries, a tree of 2048 leaves, n=1e5, delta 1e-7", 1e5, 11, 1e-7),
    _renyi("002-2a", "Renyi divergence, eps0=0.1, n=1e4", "order", 1e4, 0.1, 0, _ORDERS),
    _renyi("002-2b", "Renyi divergence, eps0=0.1, order 100", "n", 0, 0.1, 100, _PEOPLE),
    _renyi("002-2c", "Renyi divergence, n=1e4, order 100", "eps0", 1e4, 0, 100, (0.1, 5, False, 15)),
    _renyi("002-2d", "Renyi divergence, eps0=3, n=1e4", "order", 1e4, 3, 0, _ORDERS),
    _renyi("002-2e", "Renyi divergence, eps0=3, order 100", "n", 0, 3, 100, _PEOPLE),
    _renyi("002-2f", "Renyi divergence, n=1e6, order 100", "eps0", 1e6, 0, 100, (0.1, 5, False, 8)),
    _single("002-3a", "one round, eps0=0.1, delta 1e-6", "n", _over_n, 0.1, _PEOPLE),
    _single("002-3b", "one round, n=1e4, delta 1e-6", "eps0", _over_eps0, 1e4, (0.1, 4, False, 14)),
    _single("002-3c", "one round, eps0=3, delta 1e-6", "n", _over_n, 3, _PEOPLE),
    _single("002-3d", "one round, n=1e5, delta 1e-6", "eps0", _over_eps0, 1e5, (0.1, 4, False, 14)),
    _composed("002-4a", "T rounds, eps0=0.5, n=1e6, delta 1e-8", "T", _over_rounds, 1e6, 0.5, _ROUNDS),
    _composed("002-4b", "1e4 rounds, eps0=0.5, delta 1e-8", "n", _over_n, 0.5, 1e4, _PEOPLE),
    _composed("002-4c", "1e4 rounds, n=1e5, delta 1e-8", "eps0", _over_eps0, 1e5, 1e4, (0.1, 3, True, 9)),
    _composed("002-4d", "T rounds, eps0=2, n=1e6, delta 1e-8", "T", _over_rounds, 1e6, 2, _ROUNDS),
    _composed("002-4e", "1e4 rounds, eps0=2, delta 1e-8", "n", _over_n, 2, 1e4, _PEOPLE),
    _composed("002-4f", "1e4 rounds, n=1e6, delta 1e-8", "eps0", _over_eps0, 1e6, 1e4, (0.1, 3, True, 9)),
    _of_sample("002-5a", "T rounds of 1e-3 of n=1e6, eps0=3, delta 1e-8", 1e6),
    _of_sample("002-5b", "T rounds of 1e-3 of n=1e7, eps0=3, delta 1e-8", 1e7),
    _metric("001-metric-n4", "metric privacy, diameter 3 nats, n=1e4, delta 1e-6", 1e4),
    _metric("001-metric-n5", "metric privacy, diameter 3 nats, n=1e5, delta 1e-6", 1e5),
    Figure("003-3", "eps_l/eps_c, d=75755, binary response, n=1e6, delta 1e-6", "eps of a coordinate", "magnification", None,
           1e6, 75755, 0.02, 1e-6, 0.01, 1, True, 9,
           ("ss-simple", "ss-simple-pld", "ss-simple-most", "ss-double", "ss-double-pld", "ss-double-most")),
    _flame("003-8", "SS-Simple, 7850 coordinates, Laplace noise, n=1000, delta 5e-6", "eps0", _coordinates, 7850, False, 0.01,
           1),
    _flame("003-8-response", "SS-Simple, 7850 coordinates, binary response, n=1000, delta 5e-6", "eps0", _coordinates, 7850,
           True, 0.01, 1),
    _flame("003-9", "SS-Simple, Laplace noise, eps0=0.01, n=1000, delta 5e-6", "d", _lengths, 0.01, False, 100, 1e5),
    _flame("003-9-response", "SS-Simple, binary response, eps0=0.01, n=1000, delta 5e-6", "d", _lengths, 0.01, True, 100, 1e5),
    _classes("004-2-unif1", "Unif 1: eps0 of U(0.01, 1), delta 1e-4", 0.01, 1, 0),
    _classes("004-2-unif2", "Unif 2: eps0 of U(0.01, 2), delta 1e-4", 0.01, 2, 0),
    _classes("004-2-constant", "Constant: eps0 0.5, delta 1e-4", 0.5, 0.5, 0),
    _classes("004-2-mixed", "Mixed: eps0 0.5 and 0.01, half each, delta 1e-4", 0.01, 0.5, 0.5),
    _over_share("004-3a", "Algorithm 1, mean of [20, 80], n=1e4: share of the conservative", "algorithm-1", "all-alike-1"),
    _over_conservative("004-3b", "Algorithm 1, mean of [20, 80], n=1e4: epsilon of the conservative", "mean absolute error",
                       "algorithm-1", "all-alike-1"),
    _over_share("004-3c", "Algorithm 2, frequency 0.7, n=1e4: share of the conservative", "algorithm-2", "all-alike-2"),
    _over_conservative("004-3d", "Algorithm 2, frequency 0.7, n=1e4: epsilon of the conservative", "mean absolute error",
                       "algorithm-2", "all-alike-2"),
    _over_conservative("004-3-epsilon", "Algorithm 2, n=1e4: epsilon at delta 1e-4 of whom is charged most", None,
                       "gspa-preferences", "liu-preferences", "exact-preferences"),
    _training("004-4-unif1", "of U(0.01, 1)", 0.01, 1),
    _training("004-4-unif2", "of U(0.01, 2)", 0.01, 2),
    _training("004-4-unif3", "of U(0.5, 1)", 0.5, 1),
    _training("004-4-constant", "0.5", 0.5, 0.5),
]


def draw(f: Figure) -> Plot:
    """The figure, computed."""
    return drawing(f, {**lines.LINES, **classes.LINES})
