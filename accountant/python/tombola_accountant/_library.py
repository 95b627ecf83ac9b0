"""libtombola-accountant through ctypes: where it is, its functions (acct_abi.h), its errors."""

from __future__ import annotations

import ctypes
import ctypes.util
import enum
import os
from pathlib import Path
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

_SONAME = "libtombola-accountant.so.0"
_SENTENCE = 512  # room for an error's sentence

class _Pmf(ctypes.Structure):
    """struct acct_pmf"""

    _fields_ = [("lower", ctypes.c_long), ("p", ctypes.POINTER(ctypes.c_double)), ("size", ctypes.c_size_t),
                ("infinite", ctypes.c_double)]


class _Pld(ctypes.Structure):
    """struct acct_pld"""

    _fields_ = [("step", ctypes.c_double), ("lower", ctypes.c_long), ("p", ctypes.POINTER(ctypes.c_double)),
                ("size", ctypes.c_size_t), ("infinite", ctypes.c_double)]


_EPRECISION, _ELIMIT, _ENOMEM = 2, 3, 4


class AccountantError(ValueError):
    """What was asked for is outside the accountant's range; the text says which part, and why."""


class PrecisionError(AccountantError):
    """Double precision cannot certify an answer at this delta for these rounds."""


class LimitError(AccountantError):
    """More rounds, repetitions or grid points than the accountant allows."""


class Worth(enum.Enum):
    """What an answer may be used for."""

    PROVED = 0  # upper is a proved upper bound
    APPROXIMATE = 1  # near the truth, on either side
    PAPER_VALUE = 2  # what a paper prints, known to be too small in places
    LOWER = 3  # lower is a proved lower bound; nothing is said above


class Answer(NamedTuple):
    """What an analysis says: `upper` is a guarantee only if `worth` is Worth.PROVED."""

    lower: float
    upper: float
    worth: Worth
    note: str  # what it assumes


def _candidates() -> Iterable[str]:
    chosen = os.environ.get("TOMBOLA_ACCOUNTANT_LIBRARY")
    if chosen:
        yield chosen
        return
    beside = Path(__file__).resolve().parent / _SONAME
    if beside.exists():
        yield str(beside)
    yield _SONAME
    found = ctypes.util.find_library("tombola-accountant")
    if found:
        yield found


def _load() -> ctypes.CDLL:
    faults = []
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
            _declare(library)
            return library
        except (OSError, AttributeError) as fault:
            faults.append(f"{name}: {fault}")
    raise ImportError(
        "tombola_accountant needs the shared library " + _SONAME + ", which could not be loaded ("
        + "; ".join(faults) + "). Install it where the loader looks (and run ldconfig), or set "
        "TOMBOLA_ACCOUNTANT_LIBRARY to its path.")


def _declare(library: ctypes.CDLL) -> None:
    handle, text, room = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    bound = ctypes.POINTER(ctypes.c_double)
    number, pmf = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(_Pmf)
    decision = [handle, text, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int), text, room]
    answer = [handle, text, ctypes.c_double, bound, bound, ctypes.POINTER(ctypes.c_int), text, room]
    for name, result, arguments in (
            ("acct_abi_version", text, []),
            ("acct_abi_new", handle, []),
            ("acct_abi_free", None, [handle]),
            ("acct_abi_add", ctypes.c_int, [handle, text, ctypes.c_uint64, text, room]),
            ("acct_abi_epsilon_by", ctypes.c_int, answer),
            ("acct_abi_delta_by", ctypes.c_int, answer),
            ("acct_abi_epsilons_by", ctypes.c_int,
             [handle, text, bound, room, bound, bound, ctypes.POINTER(ctypes.c_int), text, room]),
            ("acct_abi_keep_points", ctypes.c_int, [bound, bound, bound, room, number, text, room]),
            ("acct_abi_keep_pmf", ctypes.c_int, [ctypes.c_double, pmf, pmf, number, text, room]),
            ("acct_abi_keep_trade_off", ctypes.c_int, [bound, bound, room, number, text, room]),
            ("acct_abi_keep_renyi", ctypes.c_int, [bound, bound, room, number, text, room]),
            ("acct_abi_keep_matrix", ctypes.c_int, [bound, room, room, number, text, room]),
            ("acct_abi_export", ctypes.c_int,
             [handle, ctypes.c_double, ctypes.c_double, room, ctypes.POINTER(_Pld), text, room]),
            ("acct_pld_fini", None, [ctypes.POINTER(_Pld)]),
            ("acct_abi_group_epsilon", ctypes.c_int,
             [handle, ctypes.c_uint, ctypes.c_double, bound, bound, text, room]),
            ("acct_abi_group_delta", ctypes.c_int,
             [handle, ctypes.c_uint, ctypes.c_double, bound, bound, text, room]),
            ("acct_abi_optimise", ctypes.c_int,
             [ctypes.POINTER(text), bound, room, ctypes.c_int, ctypes.c_double, ctypes.c_double, bound, bound, bound,
              bound, text, room]),
            ("acct_state_new", handle, [ctypes.c_double]),
            ("acct_state_free", None, [handle]),
            ("acct_abi_state_add", ctypes.c_int, [handle, text, ctypes.c_uint64, text, room]),
            ("acct_abi_state_epsilon", ctypes.c_int,
             [handle, text, ctypes.c_uint64, bound, bound, text, room]),
            ("acct_abi_filter_new", ctypes.c_int,
             [text, ctypes.c_double, ctypes.c_double, ctypes.POINTER(handle), text, room]),
            ("acct_abi_filter_free", None, [handle]),
            ("acct_abi_filter_try", ctypes.c_int, decision),
            ("acct_abi_filter_admit", ctypes.c_int, decision),
            ("acct_abi_filter_share", ctypes.c_double, [handle]),
            ("acct_abi_method", text, [ctypes.c_size_t]),
            ("acct_abi_method_summary", text, [ctypes.c_size_t])):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


_library = _load()


def version() -> str:
    """The version of the shared library."""
    return _library.acct_abi_version().decode()


def methods() -> Dict[str, str]:
    """The analyses by name, with a line about each."""
    found, i = {}, 0
    while (name := _library.acct_abi_method(i)) is not None:
        found[name.decode()] = _library.acct_abi_method_summary(i).decode()
        i += 1
    return found


def _check(code: int, sentence: ctypes.Array) -> None:
    if code == 0:
        return
    why = sentence.value.decode("utf-8", "replace")
    if code == _ENOMEM:
        raise MemoryError(why)
    raise {_EPRECISION: PrecisionError, _ELIMIT: LimitError}.get(code, AccountantError)(why)


def _round(text: str, times: int) -> Tuple[bytes, int]:
    encoded = text.encode()
    if b"\0" in encoded:
        raise AccountantError("a round's text has a NUL character")
    return encoded, min(times, 2**63)  # ctypes would wrap more; the library refuses either


def _row(values: Sequence[float]) -> ctypes.Array:
    return (ctypes.c_double * len(values))(*values)


def _keep(function: Callable[..., int], *arguments: object) -> int:
    number, sentence = ctypes.c_uint64(), ctypes.create_string_buffer(_SENTENCE)
    _check(function(*arguments, ctypes.byref(number), sentence, _SENTENCE), sentence)
    return number.value


def _equal_lengths(*values: Sequence[float]) -> int:
    if len({len(value) for value in values}) != 1:
        raise ValueError("there must be as many numbers of each kind")
    return len(values[0])


def keep_points(epsilons: Sequence[float], deltas: Sequence[float], swapped: Optional[Sequence[float]]) -> int:
    """The number of a curve by its points."""
    size = _equal_lengths(epsilons, deltas, deltas if swapped is None else swapped)
    return _keep(_library.acct_abi_keep_points, _row(epsilons), _row(deltas),
                 None if swapped is None else _row(swapped), size)


def keep_trade_off(fpr: Sequence[float], fnr: Sequence[float]) -> int:
    """The number of the curve of a trade-off function."""
    return _keep(_library.acct_abi_keep_trade_off, _row(fpr), _row(fnr), _equal_lengths(fpr, fnr))


def keep_renyi(orders: Sequence[float], rdp: Sequence[float]) -> int:
    """The number of the curve of divergences."""
    return _keep(_library.acct_abi_keep_renyi, _row(orders), _row(rdp), _equal_lengths(orders, rdp))


Half = Tuple[int, Sequence[float], float]


def keep_pmf(step: float, remove: Half, add: Optional[Half]) -> int:
    """The number of the curve of a distribution: (lower loss, masses, infinite mass) in both directions."""
    halves = [_Pmf(int(half[0]), _row(half[1]), len(half[1]), float(half[2])) for half in (remove, add) if half]
    return _keep(_library.acct_abi_keep_pmf, float(step), ctypes.byref(halves[0]),
                 ctypes.byref(halves[1]) if add else None)


def keep_matrix(table: Sequence[Sequence[float]]) -> int:
    """The number of a matrix, its rows of one length."""
    flat = [item for row in table for item in row]
    return _keep(_library.acct_abi_keep_matrix, _row(flat), len(table), len(table[0]) if table else 0)


def optimise(texts: Sequence[str], weights: Optional[Sequence[float]], targets: bool, epsilon: float,
             delta: float) -> Tuple[List[float], List[float], float, float]:
    """(values of the open keys, errors, lower end, upper end) of a budget allocated over rounds."""
    size = len(texts)
    row = ctypes.c_double * size
    value, error, lower, upper = row(), row(), ctypes.c_double(), ctypes.c_double()
    sentence = ctypes.create_string_buffer(_SENTENCE)
    _check(_library.acct_abi_optimise((ctypes.c_char_p * size)(*(text.encode() for text in texts)),
                                      None if weights is None else row(*weights), size, targets, epsilon, delta, value,
                                      error, ctypes.byref(lower), ctypes.byref(upper), sentence, _SENTENCE), sentence)
    return list(value), list(error), lower.value, upper.value


class Account:
    """An account of the library.  Questions may be asked from several threads; `add` must not run beside them."""

    def __init__(self) -> None:
        self._free = _library.acct_abi_free  # module globals may be gone when __del__ runs
        self._handle = _library.acct_abi_new()
        if not self._handle:
            raise MemoryError("out of memory")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)

    def add(self, text: str, times: int) -> None:
        """Add the round `times` times."""
        sentence = ctypes.create_string_buffer(_SENTENCE)
        _check(_library.acct_abi_add(self._handle, *_round(text, times), sentence, _SENTENCE), sentence)

    def epsilon(self, delta: float, method: str = "pld") -> Answer:
        """epsilon at delta."""
        return self._ask(_library.acct_abi_epsilon_by, method, delta)

    def delta(self, epsilon: float, method: str = "pld") -> Answer:
        """delta at epsilon."""
        return self._ask(_library.acct_abi_delta_by, method, epsilon)

    def epsilons(self, deltas: Sequence[float], method: str = "pld") -> Tuple[List[float], List[float], Worth, str]:
        """(lower ends, upper ends, worth, note) of epsilon at every delta; "pld" composes the rounds once."""
        size = len(deltas)
        row = ctypes.c_double * size
        lower, upper, worth = row(), row(), ctypes.c_int()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        _check(_library.acct_abi_epsilons_by(self._handle, method.encode(), row(*deltas), size, lower, upper,
                                             ctypes.byref(worth), sentence, _SENTENCE), sentence)
        return list(lower), list(upper), Worth(worth.value), sentence.value.decode("utf-8", "replace")

    def export(self, reach: float, tail: float, points: int) -> Tuple[float, int, List[float], float]:
        """(step, lower loss over step, masses, infinite mass) of a distribution that dominates the composition."""
        pld, sentence = _Pld(), ctypes.create_string_buffer(_SENTENCE)
        _check(_library.acct_abi_export(self._handle, float(reach), float(tail), points, ctypes.byref(pld), sentence,
                                        _SENTENCE), sentence)
        answer = pld.step, pld.lower, pld.p[:pld.size], pld.infinite
        _library.acct_pld_fini(ctypes.byref(pld))
        return answer

    def group(self, of_epsilon: bool, size: int, at: float) -> Tuple[float, float]:
        """(lower, upper) of epsilon at a delta, or of delta at an epsilon, for a group of records."""
        lower, upper = ctypes.c_double(), ctypes.c_double()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        function = _library.acct_abi_group_epsilon if of_epsilon else _library.acct_abi_group_delta
        _check(function(self._handle, min(size, 2**32 - 1), float(at), ctypes.byref(lower), ctypes.byref(upper),
                        sentence, _SENTENCE), sentence)
        return lower.value, upper.value

    def _ask(self, function: Callable[..., int], method: str, at: float) -> Answer:
        lower, upper, worth = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        _check(function(self._handle, method.encode(), float(at), ctypes.byref(lower), ctypes.byref(upper),
                        ctypes.byref(worth), sentence, _SENTENCE), sentence)
        return Answer(lower.value, upper.value, Worth(worth.value), sentence.value.decode("utf-8", "replace"))


class State:
    """A growing account of one delta; one thread at a time."""

    def __init__(self, delta: float) -> None:
        self._free = _library.acct_state_free
        if not 0 < delta < 1:
            raise AccountantError("delta must be above 0 and below 1")
        self._handle = _library.acct_state_new(delta)
        if not self._handle:
            raise MemoryError("out of memory")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)

    def add(self, text: str, times: int) -> None:
        """Add the round `times` times."""
        sentence = ctypes.create_string_buffer(_SENTENCE)
        _check(_library.acct_abi_state_add(self._handle, *_round(text, times), sentence, _SENTENCE), sentence)

    def epsilon(self, candidate: Optional[str] = None, times: int = 1) -> Tuple[float, float]:
        """(lower, upper) of epsilon with the candidate round on top."""
        lower, upper = ctypes.c_double(), ctypes.c_double()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        text, times = (None, 1) if candidate is None else _round(candidate, times)
        _check(_library.acct_abi_state_epsilon(self._handle, text, times, ctypes.byref(lower), ctypes.byref(upper),
                                               sentence, _SENTENCE), sentence)
        return lower.value, upper.value


class Filter:
    """A filter with what it has admitted; one thread at a time."""

    def __init__(self, kind: str, epsilon: float, delta: float) -> None:
        self._free = _library.acct_abi_filter_free
        handle = ctypes.c_void_p()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        _check(_library.acct_abi_filter_new(kind.encode(), epsilon, delta, ctypes.byref(handle), sentence, _SENTENCE),
               sentence)
        self._handle = handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._free(self._handle)

    def decide(self, text: str, times: int, admit: bool) -> bool:
        """Does the round fit?  With `admit`: then it is charged."""
        fits = ctypes.c_int()
        sentence = ctypes.create_string_buffer(_SENTENCE)
        function = _library.acct_abi_filter_admit if admit else _library.acct_abi_filter_try
        _check(function(self._handle, *_round(text, times), ctypes.byref(fits), sentence, _SENTENCE), sentence)
        return bool(fits.value)

    def share(self) -> float:
        """What of the budget is spent."""
        return _library.acct_abi_filter_share(self._handle)
