"""Several numbers in, as many out: lists, tuples, and arrays of a library that need not be there."""

from __future__ import annotations

import sys
from typing import Any, List, Optional


def several(value: Any) -> Optional[List[float]]:
    """The numbers of a list, a tuple or a one-dimensional array; None for a single number."""
    if isinstance(value, (list, tuple)):
        return [float(item) for item in value]
    if not hasattr(value, "tolist"):
        return None
    items = value.tolist()
    if not isinstance(items, list):
        return None  # an array of no dimension, or a scalar
    if any(isinstance(item, list) for item in items):
        raise ValueError("an array must have one dimension")
    return [float(item) for item in items]


def like(given: Any, numbers: List[float]) -> Any:
    """The numbers as an array where an array of numpy was given, else as a list."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(given, numpy.ndarray):
        return numpy.array(numbers, dtype=float)
    return numbers


def numbers(value: Any) -> List[float]:
    """The numbers of a list, a tuple, another iterable or a one-dimensional array."""
    found = several(value)
    return [float(item) for item in value] if found is None else found


def rows(value: Any) -> List[List[float]]:
    """The rows of a matrix: lists of lists, or an array of two dimensions."""
    items = value.tolist() if hasattr(value, "tolist") else value
    table = [numbers(row) for row in items]
    if any(len(row) != len(table[0]) for row in table):
        raise ValueError("the rows of a matrix must have one length")
    return table
