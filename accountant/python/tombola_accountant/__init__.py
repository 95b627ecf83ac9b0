"""Certified privacy accounting of the shuffle model: libtombola-accountant for Python.

    >>> from tombola_accountant import PLDAccountant, ShuffledDpEvent
    >>> accountant = PLDAccountant().compose(ShuffledDpEvent("grr", k=16, eps0=3, n=10000), count=8)
    >>> epsilon = accountant.get_epsilon(target_delta=1e-6)

Names follow dp_accounting.  Pure Python on ctypes: no compiler, no dependency.
"""

from ._library import AccountantError, Answer, LimitError, PrecisionError, Worth, methods, version
from .accountant import (IncrementalAccountant, NeighboringRelation, PLDAccountant, PrivacyAccountant, PrivacyFilter,
                         RdpAccountant, UnsupportedEventError)
from .allocation import Allocation, optimise_budget
from .calibration import ExplicitBracketInterval, NoBracketIntervalFoundError, calibrate_dp_mechanism
from .central import (CurveDpEvent, GaussianDpEvent, GuaranteeDpEvent, LaplaceDpEvent, MatrixDpEvent,
                      PoissonSampledDpEvent)
from .events import (ComposedDpEvent, DpEvent, NoOpDpEvent, RandomizedResponseDpEvent, SelfComposedDpEvent,
                     ShuffledDpEvent)
from .personal import personal_event

__all__ = [
    "AccountantError", "Allocation", "Answer", "ComposedDpEvent", "CurveDpEvent", "DpEvent", "ExplicitBracketInterval",
    "GaussianDpEvent", "GuaranteeDpEvent", "IncrementalAccountant", "LaplaceDpEvent", "LimitError", "MatrixDpEvent",
    "NeighboringRelation", "NoBracketIntervalFoundError", "NoOpDpEvent", "PLDAccountant", "PoissonSampledDpEvent",
    "PrecisionError", "PrivacyAccountant", "PrivacyFilter", "RandomizedResponseDpEvent", "RdpAccountant",
    "SelfComposedDpEvent", "ShuffledDpEvent", "UnsupportedEventError", "Worth", "calibrate_dp_mechanism", "methods",
    "optimise_budget", "personal_event", "version",
]
