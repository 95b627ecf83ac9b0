"""The bounds of the literature, as the library computes them: acct_girgis.h, acct_gspa.h, acct_flame.h, acct_metric.h and
acct_basic.h say what each function is worth.

A function raises AccountantError where its theorem does not apply.  Nats; an epsilon or a divergence, or (lower, upper).
"""

from __future__ import annotations

import ctypes
import functools
from enum import IntEnum
from typing import Iterable, Tuple

from .._library import Account, AccountantError, Worth, _check, _library

Bound = Tuple[float, float]


class _Cell(ctypes.Structure):
    _fields_ = [("omega", ctypes.c_double), ("u", ctypes.c_double), ("v", ctypes.c_double)]


class _Level(ctypes.Structure):
    _fields_ = [("share", ctypes.c_double), ("count", ctypes.c_uint64)]


class Round(ctypes.Structure):
    """struct acct_round: `others` further participants, `count` times."""

    _fields_ = [("event", ctypes.c_int), ("scale", ctypes.c_double), ("rate", ctypes.c_double), ("profile", ctypes.c_void_p),
                ("cell", _Cell * 64), ("cells", ctypes.c_size_t), ("others", ctypes.c_uint64), ("dummies", ctypes.c_uint64),
                ("count", ctypes.c_uint64), ("level", _Level * 64), ("levels", ctypes.c_size_t),
                ("defect", ctypes.c_double), ("sampling", ctypes.c_double), ("messages", ctypes.c_int),
                ("family", ctypes.c_void_p), ("shape", ctypes.c_double * 3), ("present", ctypes.c_double)]


class _Bound(ctypes.Structure):
    _fields_ = [("lower", ctypes.c_double), ("upper", ctypes.c_double)]


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("summary", ctypes.c_char_p), ("worth", ctypes.c_int)]


class Reports(ctypes.Structure):
    """struct acct_girgis: n reports of an eps0-local randomizer, a fraction of the population."""

    _fields_ = [("eps0", ctypes.c_double), ("n", ctypes.c_uint64), ("sampled", ctypes.c_double)]


class Class(ctypes.Structure):
    """struct acct_gspa_class: `count` participants with one guarantee."""

    _fields_ = [("epsilon", ctypes.c_double), ("delta", ctypes.c_double), ("count", ctypes.c_uint64)]


class Slot(ctypes.Structure):
    """struct acct_flame_slot: a coordinate with Laplace noise (bins 0), or with response on bins."""

    _fields_ = [("epsilon", ctypes.c_double), ("bins", ctypes.c_uint64)]


class Sparse(ctypes.Structure):
    """struct acct_flame_sparse: of a vector's `length` coordinates `sent`, padded to `padded` messages."""

    _fields_ = [("slot", Slot), ("users", ctypes.c_uint64), ("padded", ctypes.c_uint64), ("length", ctypes.c_uint64),
                ("sent", ctypes.c_uint64)]


class Girgis(IntEnum):
    """enum acct_girgis_kind"""

    UB1, UB1_REFINED, SPECIAL, UB2, LB, SUBSAMPLED, POISSON, WOR, ERLINGSSON = range(9)


class Amplifier(IntEnum):
    """enum acct_flame_amplifier"""

    HOEFFDING, BENNETT, BENNETT_FIRST, LEMMA1, EXACT = range(5)


class Noise(IntEnum):
    """enum acct_metric_noise"""

    ANY, LINE, PLANE = range(3)


_ADVANCED, _CKS, _ANYBODY = 1, 1, ctypes.c_size_t(-1).value

_real, _whole, _size, _why = ctypes.c_double, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
_to_real, _to_bound, _round = ctypes.POINTER(_real), ctypes.POINTER(_Bound), ctypes.POINTER(Round)
_classes, _sparse = ctypes.POINTER(Class), ctypes.POINTER(Sparse)
for _name, _arguments in {
        "acct_cells_generic": [_real, _round, _why],
        "acct_basic_clone": [_real, _round, _why],
        "acct_basic_erlingsson": [_real, _whole, _real, _to_real],
        "acct_basic_epsilon": [ctypes.c_int, _round, _size, _real, _to_real],
        "acct_metric_cells": [ctypes.c_int, _real, _real, _round, _why],
        "acct_epsilon": [_round, _size, _real, _to_bound],
        "acct_renyi": [_round, _to_real, _size, _to_bound],
        "acct_girgis_rdp": [ctypes.c_int, ctypes.POINTER(Reports), ctypes.c_uint, _to_real],
        "acct_girgis_epsilon": [ctypes.c_int, ctypes.POINTER(Reports), _whole, ctypes.c_int, _real, _to_real, _why],
        "acct_gspa_mu": [_classes, _size, _whole, _to_real, _why],
        "acct_gspa_gaussian_epsilon": [_real, _real, _to_real, _why],
        "acct_gspa_liu": [_classes, _size, _real, _to_real, _why],
        "acct_gspa_epsilon": [_classes, _size, _size, _real, _to_bound, _why],
        "acct_flame_simple_theorem1": [ctypes.POINTER(Slot), _whole, _whole, _real, ctypes.c_int, _to_real, _why],
        "acct_flame_simple_round": [ctypes.POINTER(Slot), _whole, _whole, _round, _why],
        "acct_flame_double_theorem4": [_sparse, _real, ctypes.c_int, _to_real, _why],
        "acct_flame_double_unsampled": [_sparse, _real, ctypes.c_int, _to_real, _why],
        "acct_flame_double_epsilon": [_sparse, _real, _real, _to_bound, _why],
        "acct_flame_double_lower": [_sparse, _real, _to_real, _why],
        "acct_flame_topk_epsilon": [_sparse, _real, _to_bound, _why],
        "acct_flame_topk_lower": [_sparse, _real, _to_real, _why],
        "acct_flame_nu": [_whole, _whole, _real, _to_real, _why],
        "acct_flame_nu_reports": [_real, _real, _to_real, _why]}.items():
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = ctypes.c_int, _arguments
_library.acct_strerror.restype, _library.acct_strerror.argtypes = ctypes.c_char_p, [ctypes.c_int]
_library.acct_method_find.restype = ctypes.POINTER(_Method)
_library.acct_method_find.argtypes = [ctypes.c_char_p]


def _call(name: str, *arguments: object) -> None:
    code = getattr(_library, name)(*arguments)
    _check(code, ctypes.create_string_buffer(_library.acct_strerror(code)))


def _number(name: str, *arguments: object, why: bool = True) -> float:
    out = ctypes.c_double()
    _call(name, *arguments, ctypes.byref(out), *([None] if why else []))
    return out.value


def _interval(name: str, *arguments: object, why: bool = True) -> Bound:
    out = _Bound()
    _call(name, *arguments, ctypes.byref(out), *([None] if why else []))
    return out.lower, out.upper


@functools.lru_cache(maxsize=64)
def account(text: str) -> Account:
    """An account of the round of this text."""
    made = Account()
    made.add(text, 1)
    return made


def epsilon_of(text: str, method: str, delta: float) -> float:
    """A method's epsilon of a round: its upper end, of a lower bound its lower one; nan where it has none."""
    try:
        answer = account(text).epsilon(delta, method)
    except AccountantError:
        return float("nan")
    return answer.lower if answer.worth is Worth.LOWER else answer.upper


def worth_of(method: str) -> Worth:
    """What the method's answers are worth at best."""
    return Worth(_library.acct_method_find(method.encode()).contents.worth)


def epsilon(r: Round, delta: float) -> Bound:
    """Of the round's own dominating pair."""
    return _interval("acct_epsilon", ctypes.byref(r), 1, delta, why=False)


def renyi(r: Round, order: float) -> Bound:
    """Divergence of the round's pair."""
    return _interval("acct_renyi", ctypes.byref(r), ctypes.byref(ctypes.c_double(order)), 1, why=False)


def strong_clones(eps0: float, n: int) -> Round:
    """One round of any eps0-local randomizer among n, by the clones of 2023."""
    r = Round(others=n - 1, count=1)
    _call("acct_cells_generic", eps0, ctypes.byref(r), None)
    return r


def clones(eps0: float, n: int, count: int, sampling: float = 0) -> Round:
    """Rounds of any eps0-local randomizer among n, by the clones of 2021."""
    r = Round(others=n - 1, count=count, sampling=sampling)
    _call("acct_basic_clone", eps0, ctypes.byref(r), None)
    return r


def metric(noise: Noise, distance: float, most: float, n: int) -> Round:
    """One round among n of records at a distance, in a domain of diameter `most`."""
    r = Round(others=n - 1, count=1)
    _call("acct_metric_cells", noise, distance, most, ctypes.byref(r), None)
    return r


def advanced(r: Round, delta: float) -> float:
    """Advanced composition of the round's repetitions."""
    return _number("acct_basic_epsilon", _ADVANCED, ctypes.byref(r), 1, delta, why=False)


def erlingsson(eps0: float, n: int, delta: float) -> float:
    return _number("acct_basic_erlingsson", eps0, n, delta, why=False)


def girgis_divergence(kind: Girgis, reports: Reports, order: int) -> float:
    return _number("acct_girgis_rdp", kind, ctypes.byref(reports), order, why=False)


def girgis_epsilon(kind: Girgis, reports: Reports, count: int, delta: float) -> float:
    return _number("acct_girgis_epsilon", kind, ctypes.byref(reports), count, _CKS, delta)


def _row(classes: Iterable[Class]) -> Tuple[ctypes.Array, int]:
    found = list(classes)
    return (Class * len(found))(*found), len(found)


def gspa(classes: Iterable[Class], delta: float, count: int = 1) -> float:
    """epsilon of mu-Gaussian shuffling."""
    return gaussian(_number("acct_gspa_mu", *_row(classes), count), delta)


def gaussian(mu: float, delta: float) -> float:
    """epsilon of the Gaussian curve."""
    return _number("acct_gspa_gaussian_epsilon", mu, delta)


def liu(classes: Iterable[Class], delta: float) -> float:
    return _number("acct_gspa_liu", *_row(classes), delta)


def gspa_exact(classes: Iterable[Class], delta: float) -> Bound:
    """epsilon of binary response, whoever is asked about."""
    return _interval("acct_gspa_epsilon", *_row(classes), _ANYBODY, delta)


def simple_theorem1(slot: Slot, length: int, users: int, delta: float, by: Amplifier) -> float:
    return _number("acct_flame_simple_theorem1", ctypes.byref(slot), length, users, delta, by)


def simple_round(slot: Slot, length: int, users: int) -> Round:
    r = Round()
    _call("acct_flame_simple_round", ctypes.byref(slot), length, users, ctypes.byref(r), None)
    return r


def double_theorem4(s: Sparse, delta: float, by: Amplifier) -> float:
    return _number("acct_flame_double_theorem4", ctypes.byref(s), delta, by)


def double_unsampled(s: Sparse, delta: float, by: Amplifier) -> float:
    return _number("acct_flame_double_unsampled", ctypes.byref(s), delta, by)


def double_epsilon(s: Sparse, delta: float) -> Bound:
    """A hundredth of delta for the chance that padding fails."""
    return _interval("acct_flame_double_epsilon", ctypes.byref(s), delta / 100, delta)


def double_lower(s: Sparse, delta: float) -> float:
    return _number("acct_flame_double_lower", ctypes.byref(s), delta)


def topk_epsilon(s: Sparse, delta: float) -> Bound:
    return _interval("acct_flame_topk_epsilon", ctypes.byref(s), delta)


def topk_lower(s: Sparse, delta: float) -> float:
    return _number("acct_flame_topk_lower", ctypes.byref(s), delta)


def nu(padded: int, users: int, beta: float) -> float:
    return _number("acct_flame_nu", padded, users, beta)


def nu_reports(most: float, beta: float) -> float:
    return _number("acct_flame_nu_reports", most, beta)
