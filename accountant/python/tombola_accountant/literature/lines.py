"""What papers draw that is no epsilon of one round by a method: divergences, separated queries, distances, vectors."""

from __future__ import annotations

import functools
import math

from .._library import Worth
from . import bounds
from .bounds import Amplifier, Bound, Girgis, Noise, Reports, Slot, Sparse
from .figure import Figure, Line, Lines


def whole(x: float) -> int:
    """The nearest whole number, of a number that is not negative; halves upwards."""
    return math.floor(x + 0.5)


def flip(f: Figure, x: float) -> float:
    """The chance of a flip that Cheu and Zhilyaev ask for, for epsilon x at f.delta among f.a fake users: flip (1 - flip)
    f.a = (33/5) coth(x/2)^2 log(4/delta); 1/2 where none is enough."""
    rest = 1 - 4 * 6.6 * math.log(4 / f.delta) / (math.tanh(x / 2) ** 2 * f.a)
    return (1 - math.sqrt(max(0, rest))) / 2


def _stated(f: Figure, x: float) -> Bound:
    """The multi-message figures' x is the epsilon that a protocol's authors state."""
    return x, x


def _cheu_published(f: Figure, x: float) -> Bound:
    """As Wang et al. have it: the published reduction with the fake users for others."""
    chance = flip(f, x)
    g = (1 - chance) / chance
    text = f"pair:p={g * g:.15g},beta={1 - 2 * chance:.15g},q={g:.15g},n={f.a:.0f}"
    answer = bounds.account(text).epsilon(f.delta, "published")
    return answer.lower, answer.upper


def _separated(symbols: float, f: Figure, x: float) -> Bound:
    """One sub-query of everybody's share of n, asked apart."""
    answer = bounds.account(f"grr:k={symbols:.0f},eps0={x:.15g},n={math.floor(f.a / f.b)}").epsilon(f.delta)
    return answer.lower, answer.upper


def _divergence(kind: Girgis, f: Figure, x: float) -> Bound:
    """Figure 2 of Girgis et al.: n, eps0 and the order, of which the one that is 0 is x."""
    reports, order = Reports(f.b or x, whole(f.a or x), 1), whole(f.c or x)
    rdp = bounds.girgis_divergence(kind, reports, order)
    return {Girgis.UB1: (0, rdp), Girgis.LB: (rdp, math.inf)}.get(kind, (rdp, rdp))


def _divergence_of_clones(f: Figure, x: float) -> Bound:
    return 0, bounds.renyi(bounds.strong_clones(f.b or x, whole(f.a or x)), whole(f.c or x))[1]


def _metric(noise: Noise, f: Figure, x: float) -> Bound:
    """Distances of x in a domain of diameter b, n = a.  The lower end is the pair's, not this noise's."""
    return 0, bounds.epsilon(bounds.metric(noise, x, f.b, int(f.a)), f.delta)[1]


def _laplace_lower(f: Figure, x: float) -> Bound:
    """Figures 8 and 9 of FLAME: the test of acct_flame_double_lower with every coordinate sent.  Where b is below 1 it is the
    epsilon, and x the length."""
    eps, d = (f.b, whole(x)) if f.b < 1 else (x, whole(f.b))
    n = int(f.a)
    return bounds.double_lower(Sparse(Slot(eps, 0), n, n, d, d), f.delta), math.inf


def _vector(f: Figure, x: float, everything: bool) -> Sparse:
    """Figure 3 of FLAME: the local epsilon of a vector over its central one; d = b coordinates of epsilon x, of which
    SS-Double sends c d, and as many messages are padded to n/3.  Groups are of equal size, so that a few coordinates are left
    out."""
    n, d, k = int(f.a), int(f.b), int(f.b * f.c)
    slot = Slot(x, 2)
    return Sparse(slot, n, n, d, d) if everything else Sparse(slot, n, n // 3, k * (d // k), k)


def _simple(f: Figure, x: float) -> Bound:
    """An upper bound on the central epsilon is a lower one on the quotient."""
    v = _vector(f, x, True)
    central = bounds.simple_theorem1(v.slot, v.length, v.users, f.delta, Amplifier.LEMMA1)
    return v.length * x / central, math.inf


def _simple_pld(f: Figure, x: float) -> Bound:
    v = _vector(f, x, True)
    return v.length * x / bounds.epsilon(bounds.simple_round(v.slot, v.length, v.users), f.delta)[1], math.inf


def _double(f: Figure, x: float) -> Bound:
    v = _vector(f, x, False)
    ratio = v.sent * x / bounds.double_theorem4(v, f.delta, Amplifier.LEMMA1)
    return ratio, ratio


def _double_pld(f: Figure, x: float) -> Bound:
    v = _vector(f, x, False)
    return v.sent * x / bounds.double_epsilon(v, f.delta)[1], math.inf


def _most(everything: bool, f: Figure, x: float) -> Bound:
    """A loss that occurs is at most the central epsilon, and gives an upper bound on the quotient."""
    v = _vector(f, x, everything)
    least = bounds.double_lower(v, f.delta)
    return 0, v.sent * x / least if least > 0 else math.inf


_part = functools.partial
LINES: Lines = {
    "stated": Line(Worth.PAPER_VALUE, _stated),
    "cheu-published": Line(Worth.PAPER_VALUE, _cheu_published),
    # The tree's leaves, and its root's two children.
    "separated-least": Line(Worth.PROVED, lambda f, x: _separated(2 ** f.b, f, x)),
    "separated-most": Line(Worth.PROVED, _part(_separated, 2)),
    "rdp-ub1": Line(Worth.PROVED, _part(_divergence, Girgis.UB1)),
    "rdp-ub2": Line(Worth.PAPER_VALUE, _part(_divergence, Girgis.UB2)),
    "rdp-erlingsson": Line(Worth.PAPER_VALUE, _part(_divergence, Girgis.ERLINGSSON)),
    "rdp-lower": Line(Worth.LOWER, _part(_divergence, Girgis.LB)),
    "rdp-clones": Line(Worth.PROVED, _divergence_of_clones),
    "metric-any": Line(Worth.PROVED, _part(_metric, Noise.ANY)),
    "metric-line": Line(Worth.PROVED, _part(_metric, Noise.LINE)),
    "metric-plane": Line(Worth.PROVED, _part(_metric, Noise.PLANE)),
    "laplace-lower": Line(Worth.LOWER, _laplace_lower),
    "ss-simple": Line(Worth.LOWER, _simple),
    "ss-simple-pld": Line(Worth.LOWER, _simple_pld),
    "ss-double": Line(Worth.PAPER_VALUE, _double),
    "ss-double-pld": Line(Worth.LOWER, _double_pld),
    "ss-simple-most": Line(Worth.PROVED, _part(_most, True)),
    "ss-double-most": Line(Worth.PROVED, _part(_most, False)),
}
