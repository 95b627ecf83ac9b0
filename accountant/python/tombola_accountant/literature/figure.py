"""What a figure is, and how it is computed."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from .._library import AccountantError, Worth
from ..plot import Plot, Point, Series
from . import bounds


class Figure(NamedTuple):
    """x runs from `low` to `high`, in equal ratios where `ratios`; a, b and c are the functions'."""

    name: str
    title: str
    x_name: str
    y_name: Optional[str]  # None: epsilon
    text: Optional[Callable[["Figure", float], str]]  # the round at x; None where no line is a method's
    a: float
    b: float
    c: float
    delta: float
    low: float
    high: float
    ratios: bool
    points: int
    lines: Tuple[str, ...]  # of `Lines`, or a method's name


class Line(NamedTuple):
    """A line that is no method's answer for the figure's round; AccountantError: it has no value at x."""

    worth: Worth
    value: Callable[[Figure, float], bounds.Bound]


Lines = Dict[str, Line]


def _xs(f: Figure) -> List[float]:
    steps = [i / (f.points - 1) for i in range(f.points)]
    return [float(f"{f.low * (f.high / f.low) ** t if f.ratios else f.low + (f.high - f.low) * t:.4g}") for t in steps]


def _series(f: Figure, name: str, lines: Lines) -> Series:
    worth, points = lines[name].worth if name in lines else bounds.worth_of(name), []
    for x in _xs(f):
        try:
            if name in lines:
                lower, upper = lines[name].value(f, x)
            else:
                answer = bounds.account(f.text(f, x)).epsilon(f.delta, name)
                lower, upper = answer.lower, answer.upper
                worth = max(worth, answer.worth, key=lambda w: w.value)
        except AccountantError:
            continue
        points.append(Point(x, lower, upper))
    return Series(name, worth, points)


def drawing(f: Figure, lines: Lines) -> Plot:
    """Every line, computed."""
    return Plot(f.title, f.x_name, f.y_name, f.ratios, [_series(f, name, lines) for name in f.lines])
