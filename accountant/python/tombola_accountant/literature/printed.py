"""The numbers that the five papers print, and what becomes of them."""

from __future__ import annotations

import math
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional

from . import bounds, classes, numbers, settings
from .bounds import Amplifier, Class, Girgis, Reports, Slot, Sparse
from .figures import best_subset, dummies


class _Numbers(NamedTuple):
    """nan: there is none of its kind."""

    here: float = math.nan  # by the paper's own method
    proved: float = math.nan  # an upper bound that is proved; of a saving, what is really saved
    least: float = math.nan  # a proved lower bound


class _Claim(NamedTuple):
    paper: str  # "000" .. "004"
    item: str  # figure, table or claim
    what: str  # the quantity and its setting
    printed: str  # as the paper prints it; "-" where it draws a curve without numbers
    numbers: Callable[[], _Numbers]
    remark: str


class Printed(NamedTuple):
    """One printed number, beside what it should be."""

    paper: str
    item: str
    what: str
    printed: str
    here: float
    proved: float
    least: float
    remark: str

    def shown(self) -> List[str]:
        """here, proved and least in six digits, what is proved rounded up, or down where it is a share saved; "" for none."""
        proved = numbers.down if self.what.startswith("%") else numbers.up
        three = ((numbers.near, self.here), (proved, self.proved), (numbers.down, self.least))
        return ["" if math.isnan(x) else show(x) for show, x in three]


def _percent(less: float, more: float) -> float:
    return 100 * (1 - less / more)


def _asked(text: str, method: str, delta: float) -> _Numbers:
    return _Numbers(*(bounds.epsilon_of(text, m, delta) for m in (method, "pld", "lower")))


def _saved(s: settings.Setting) -> _Numbers:
    return _Numbers(s.saved("published"), s.saved("proved"))


def _single(delta: float, n: float, d: float) -> _Numbers:
    """The most that is saved over eps0 of 0.5 to 5."""
    most = [0.0, 0.0]
    for i in range(1, 11):
        eps0 = 0.5 * i
        text = f"subset:d={d:.0f},k={best_subset(d, eps0)},eps0={eps0:.15g},n={n:.0f}"
        before = bounds.epsilon_of(text, "strong-clones", delta)
        saved = [_percent(bounds.epsilon_of(text, m, delta), before) for m in ("published", "pld")]
        most = [max(a, b) for a, b in zip(most, saved)]
    return _Numbers(*most)


def _multi(delta: float, stated: float, bins: int) -> _Numbers:
    text = f"bins:k={bins},dummies={dummies(bins, stated, delta)}"
    return _Numbers(*(_percent(bounds.epsilon_of(text, m, delta), stated) for m in ("published", "pld")))


def _parallel(delta: float, eps0: float, levels: int) -> _Numbers:
    text, root = f"hierarchy:f=2,H={levels},eps0={eps0:.15g},n=10000", f"rr:eps0={eps0:.15g},n={10000 // levels}"
    before = bounds.epsilon_of(root, "strong-clones", delta)
    return _Numbers(*(_percent(bounds.epsilon_of(text, m, delta), before) for m in ("published", "pld")))


def _strong(delta: float, eps0: float, count: int) -> _Numbers:
    """The method `advanced` starts from the strong clones; the paper's from those of 2021."""
    text = f"generic:eps0={eps0:.15g},n=1000000,count={count}"
    composed = bounds.advanced(bounds.clones(eps0, 1000000, count), delta)
    return _Numbers(*(composed / bounds.epsilon_of(text, m, delta) for m in ("girgis", "clones")))


def _poisson(delta: float, eps0: float, count: int) -> _Numbers:
    """UB1 with Zhu and Wang's sampling, against clones, sampled, then composed."""
    r = bounds.clones(eps0, 1000, count, sampling=1e-3)
    composed = bounds.advanced(r, delta)
    ub1 = bounds.girgis_epsilon(Girgis.POISSON, Reports(eps0, 1000, 1e-3), count, delta)
    return _Numbers(composed / ub1, composed / bounds.epsilon(r, delta)[1])


def _simple(delta: float, epsilon: float) -> _Numbers:
    slot, d, n = Slot(epsilon, 0), 7850, 1000
    return _Numbers(bounds.simple_theorem1(slot, d, n, delta, Amplifier.BENNETT_FIRST),
                    bounds.epsilon(bounds.simple_round(slot, d, n), delta)[1],
                    bounds.double_lower(Sparse(slot, n, n, d, d), delta))


def _sparse(sent: int, padded: int) -> Sparse:
    return Sparse(Slot(0.5, 0), 1000, padded, 7850, sent)


def _double(delta: float, sent: int, padded: int) -> _Numbers:
    s = _sparse(sent, padded)
    return _Numbers(bounds.double_theorem4(s, delta, Amplifier.BENNETT_FIRST), bounds.double_epsilon(s, delta)[1],
                    bounds.double_lower(s, delta))


def _topk(delta: float, sent: int, padded: int) -> _Numbers:
    s = _sparse(sent, padded)
    return _Numbers(bounds.double_theorem4(s, delta, Amplifier.BENNETT_FIRST), bounds.topk_epsilon(s, delta)[1],
                    bounds.topk_lower(s, delta))


def _unsampled(delta: float, sent: int, padded: int) -> _Numbers:
    s = _sparse(sent, padded)
    return _Numbers(bounds.double_unsampled(s, delta, Amplifier.BENNETT_FIRST), bounds.double_epsilon(s, delta)[1])


def _normal(delta: float, eps0: float, n: int) -> _Numbers:
    text = f"rr:eps0={eps0:.15g},n={n}"
    return _Numbers(bounds.gspa([Class(eps0, 0, n)], delta),
                    *(bounds.epsilon_of(text, m, delta) for m in ("pld", "lower")))


def _baselines(delta: float, eps0: float, n: int) -> _Numbers:
    text = f"rr:eps0={eps0:.15g},n={n}"
    here = bounds.gspa([Class(eps0, 0, n)], delta)
    best = min(bounds.epsilon_of(text, m, delta) for m in ("liu", "clones-closed"))
    return _Numbers(_percent(here, best), _percent(here, bounds.epsilon_of(text, "strong-clones", delta)))


def _seen(delta: float, victim: float, others: float, w: float) -> float:
    """epsilon at delta of how many reports lie within w of 0: the victim holds 0 or 1, 9999 others 0, each with Laplace
    noise of a scale of its own."""
    n, chance = 9999, -math.expm1(-others * w)
    yes = -math.expm1(-victim * w), math.exp(-victim) * math.sinh(victim * w)
    law = [math.exp(math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) + j * math.log(chance)
                    + (n - j) * math.log1p(-chance)) for j in range(n + 1)]
    pairs = [tuple(y * before + (1 - y) * f for y in yes) for before, f in zip([0.0, *law], law)]
    low, high = 0.0, victim
    for _ in range(20):
        middle = (low + high) / 2
        e = math.exp(middle)
        if sum(max(0, p - e * q) for p, q in pairs) > delta * (1 + 1e-6):
            low = middle
        else:
            high = middle
    return low


def _laplace(delta: float, victim: float, others: float) -> _Numbers:
    here = bounds.gspa([Class(victim, 0, 1), Class(others, 0, 9999)], delta)
    return _Numbers(here, least=max(_seen(delta, victim, others, 0.1 * i) for i in range(1, 7)))


def _training(delta: float, low: float, high: float) -> _Numbers:
    return _Numbers(classes.training_printed(low, high, 50, delta), classes.training_proved(low, high, 50, delta, False))


_CLAIMS = (
    _Claim("000", "figure 2", "% saved over clones, eps0=2, T=256, n=1e4", "about 20",
           lambda: _saved(settings.learning(2, "1e4", 256)), "holds"),
    _Claim("000", "figure 2", "% saved over clones, eps0=4, T=256, n=1e4", "about 20",
           lambda: _saved(settings.learning(4, "1e4", 256)), "five cells save twice as much"),
    _Claim("000", "figure 3", "% saved over basic and advanced, S=1 H=5 d=8 n=1e4 m=2", "80",
           lambda: _saved(settings.tree(1, 5, 8, 4, 2)), "holds"),
    _Claim("000", "figure 4", "% saved over basic and advanced, S=1 H=8 d=8 n=1e4 m=2", "80",
           lambda: _saved(settings.tree(1, 8, 8, 4, 2)), "holds"),
    _Claim("000", "theorem 1", "epsilon at 1e-6 of vector response, s=2, n=1e4", "-",
           lambda: _asked("vrr:s=2,eps0=2,n=10000", "published", 1e-6), "the lemma's proof has a gap; a proved bound is less"),
    _Claim("000", "theorem 1", "epsilon at 1e-6 of vector response, s=3, n=1e4", "-",
           lambda: _asked("vrr:s=3,eps0=3,n=10000", "published", 1e-6), "all agreements as cells are better"),
    _Claim("000", "theorem 1", "epsilon at 1e-6 of vector response, s=4, n=1e4", "-",
           lambda: _asked("vrr:s=4,eps0=4,n=10000", "published", 1e-6), "all agreements as cells are better"),
    _Claim("001", "lemma 4", "epsilon at 1e-8 of 16-ary response, eps0=3, n=1000", "-",
           lambda: _asked("grr:k=16,eps0=3,n=1000", "published", 1e-8),
           "print is wrong: the formula is below a loss that occurs"),
    _Claim("001", "lemma 4", "epsilon at 1e-8 of 16-ary response, eps0=5, n=1000", "-",
           lambda: _asked("grr:k=16,eps0=5,n=1000", "published", 1e-8),
           "print is wrong: the formula is below a loss that occurs"),
    _Claim("001", "figures 1, 2", "% saved at most over strong clones, subset, n=1e5, d=128", "up to 30",
           lambda: _single(1e-7, 1e5, 128), "more is saved at large eps0"),
    _Claim("001", "figures 3, 4", "% saved of the stated epsilon 0.5, 16 bins", "75", lambda: _multi(1e-6, 0.5, 16), "holds"),
    _Claim("001", "figure 5", "% saved at eps0=3 over separated queries, 64 leaves, n=1e4", "75 to 95",
           lambda: _parallel(1e-6, 3, 6), "against the root's query; the authors' code adds up beta of the last level only"),
    _Claim("002", "figure 4a", "epsilon of clones composed over that of UB1, T=1e5", "8",
           lambda: _strong(1e-8, 0.5, 100000), "not reproduced; composed as distributions, clones are below UB1"),
    _Claim("002", "figure 4d", "epsilon of clones composed over that of UB1, eps0=2, T=10", "below 1",
           lambda: _strong(1e-8, 2, 10), "holds"),
    _Claim("002", "figure 5a", "epsilon of clones composed over that of UB1, sampled, T=1e5", "11",
           lambda: _poisson(1e-8, 3, 100000), "not reproduced; Zhu and Wang's theorem is not of replaced records"),
    _Claim("003", "SS-Simple", "epsilon, d=7850, eps_ld=0.01, n=1000", "0.91",
           lambda: _simple(5e-6, 0.01), "the first Bennett, which is too small; holds by another proof"),
    _Claim("003", "SS-Double", "epsilon, k=157, eps_lk=0.5, n_p=333", "0.24",
           lambda: _double(5e-6, 157, 333), "theorem 4 is wrong; holds by another proof"),
    _Claim("003", "SS-Topk", "epsilon, k=157, eps_lk=0.5, n_p=333", "0.24",
           lambda: _topk(5e-6, 157, 333), "print is wrong: top-k is no sampling"),
    _Claim("003", "no sampling", "epsilon, k=157, eps_lk=0.5, n_p=333", "20.53",
           lambda: _unsampled(5e-6, 157, 333), "holds, far too large"),
    _Claim("003", "figure 7", "epsilon, SS-Double, k=785, eps_lk=0.5, n_p=666", "2.348",
           lambda: _double(5e-6, 785, 666), "theorem 4 is wrong; holds by another proof"),
    _Claim("003", "theorem 5", "nu, n/n_p=3, beta=0.02", "3.125",
           lambda: _Numbers(bounds.nu(333, 1000, 0.02)), "no differential privacy"),
    _Claim("003", "theorem 5", "reports l that nu=3.125 needs, beta=0.02", "16",
           lambda: _Numbers(bounds.nu_reports(3.125, 0.02)), "no differential privacy"),
    _Claim("003", "figure 3", "eps_l/eps_c of SS-Simple and SS-Double, d=75755", "2.55, 137.36",
           _Numbers, "n, b, delta and eps are not given: no natural setting gives both"),
    _Claim("004", "table 2", "epsilon at 1e-4, Constant 0.5, n=1e3", "-",
           lambda: _normal(1e-4, 0.5, 1000), "an approximation, here too large"),
    _Claim("004", "table 2", "epsilon at 1e-4, Constant 0.5, n=1e4", "-",
           lambda: _normal(1e-4, 0.5, 10000), "an approximation, here too large"),
    _Claim("004", "theorem 2", "epsilon at 1e-4, eps0=6, n=2000", "-",
           lambda: _normal(1e-4, 6, 2000), "print is wrong: the approximation is below a loss that occurs"),
    _Claim("004", "conclusion", "% less than the best of those it compares with, 0.5, n=1e4", "at least 33",
           lambda: _baselines(1e-4, 0.5, 10000), "holds over closed forms; the clones' own number is a fifth of it"),
    _Claim("004", "theorem 3", "epsilon at 1e-4, Laplace at 5 among 9999 at 0.01", "-",
           lambda: _laplace(1e-4, 5, 0.01), "print is wrong: noise of other scales hides nobody"),
    _Claim("004", "figure 4", "epsilon at 1e-4 of Algorithm 3, 50 epochs, U(0.01, 2)", "-",
           lambda: _training(1e-4, 0.01, 2), "the noise is too small by the rows of a client"),
    _Claim("004", "figure 4", "epsilon at 1e-4 of Algorithm 3, 50 epochs, constant 0.5", "-",
           lambda: _training(1e-4, 0.5, 0.5), "the noise is too small by the rows of a client"),
    _Claim("004", "figure 4", "% test accuracy, best; constant 0.5; U(0.01, 2)", "96.78, 94.8, 93.5",
           _Numbers, "a training: see learning.md"),
)


def rows(paper: Optional[str] = None) -> Iterator[Printed]:
    """The printed numbers of one paper, or of all."""
    for c in _CLAIMS:
        if paper in (None, c.paper):
            yield Printed(c.paper, c.item, c.what, c.printed, *c.numbers(), c.remark)


def csv_lines(printed: List[Printed]) -> Iterator[str]:
    def text(value: str) -> str:
        return '"' + value.replace('"', '""') + '"'
    yield "paper,item,quantity,printed,here,proved,at_least,remark\n"
    for p in printed:
        values = ("" if math.isnan(x) else f"{x:.17g}" for x in (p.here, p.proved, p.least))
        yield ",".join((*map(text, p[:4]), *values, text(p.remark))) + "\n"


def text_lines(paper: Optional[str]) -> Iterator[str]:
    """As a table."""
    yield f"{'':<3} {'':<13} {'':<68} {'printed':>19} {'here':>10} {'proved':>10} {'at least':>10}\n"
    for p in rows(paper):
        shown = "".join(f" {x or '-':>10}" for x in p.shown())
        yield f"{p.paper} {p.item:<13} {p.what:<68} {p.printed:>19}{shown}  {p.remark}\n"
    yield ("\nhere: by the paper's own formula; proved: an upper bound that holds; at least: a loss that\n"
           "occurs.  A share saved or a ratio: by the formula, and by what is proved.\n")


def as_object(paper: Optional[str]) -> Dict[str, object]:
    """For a program."""
    return {"printed": [{**p._asdict(), **{k: numbers.known(getattr(p, k)) for k in ("here", "proved", "least")}}
                        for p in rows(paper)]}
