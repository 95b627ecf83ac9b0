"""Curves as CSV and as SVG pictures with labelled axes, a grid, and a legend that says what each line is worth.

    tombola-accountant curve --round grr:k=16,eps0=3,n=10000 | python3 -m tombola_accountant.plot -o curve.svg

draws what `curve` computed.  A line that is a guarantee is solid, a loss that occurs dotted, anything else dashed.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from typing import Iterable, List, NamedTuple, Optional, Sequence

from . import _program
from ._library import Worth

_WORTHS = {Worth.PROVED: "proved", Worth.APPROXIMATE: "approximate (not a guarantee)",
           Worth.PAPER_VALUE: "paper value (not a guarantee)", Worth.LOWER: "proved lower bound"}


class Point(NamedTuple):
    """A value at x; lower 0 or upper inf: that end is not known."""

    x: float
    lower: float
    upper: float


class Series(NamedTuple):
    """One line."""

    name: str
    worth: Worth  # the worst among its points
    points: List[Point]


class Plot(NamedTuple):
    """What is drawn."""

    title: str
    x_name: str
    y_name: Optional[str]  # None: epsilon
    x_logarithmic: bool
    series: List[Series]


def to_csv(plot: Plot) -> str:
    """A line for each point of each series, as `tombola-accountant curve` prints it."""
    y = "value" if plot.y_name else "epsilon"
    lines = [f"method,worth,{plot.x_name},{y}_lower,{y}_upper\n"]
    for s in plot.series:
        lines += [f"{s.name},{_WORTHS[s.worth]},{p.x:.15g},{p.lower:.17g},{p.upper:.17g}\n" for p in s.points]
    return "".join(lines)


def from_csv(lines: Iterable[str], title: str) -> Plot:
    """The plot of what `tombola-accountant curve` prints; ValueError names the line that is none of it."""
    rows = list(csv.reader(lines))
    if not rows or rows[0][:2] != ["method", "worth"] or len(rows[0]) != 5:
        raise ValueError("line 1 is not `method,worth,X,epsilon_lower,epsilon_upper`, which `curve --format csv` begins with")
    worth_of = {text: worth for worth, text in _WORTHS.items()}
    series: dict[str, Series] = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            name, worth, point = row[0], worth_of[row[1]], Point(*map(float, row[2:]))
        except (KeyError, IndexError, TypeError, ValueError):
            raise ValueError(f"line {number} is not a name, what it is worth, and three numbers") from None
        if not math.isfinite(point.x) or math.isnan(point.lower) or math.isnan(point.upper):
            raise ValueError(f"line {number} has a number that cannot be drawn")
        series.setdefault(name, Series(name, worth, [])).points.append(point)
    xs = [p.x for s in series.values() for p in s.points]
    far = bool(xs) and min(xs) > 0 and max(xs) / min(xs) >= 20
    y_name = None if rows[0][3] == "epsilon_lower" else rows[0][3][:-len("_lower")]
    return Plot(title, rows[0][2], y_name, far, list(series.values()))


_WIDTH, _LEFT, _RIGHT, _TOP = 820.0, 84.0, 28.0, 58.0
_HEIGHT = 340.0  # of the plot area
_FOOT = 66.0  # tick labels and the axis' name
_ROW = 20.0  # of one row of the legend

# Colours that colour-blind readers can tell apart, on light and on dark (after Okabe and Ito 2008).
_COLOURS = ("#1f83c4", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6bb1", "#999999")
_DASHES = {Worth.PROVED: "", Worth.APPROXIMATE: ' stroke-dasharray="7 5"', Worth.PAPER_VALUE: ' stroke-dasharray="7 5"',
           Worth.LOWER: ' stroke-dasharray="2 4"'}
_STYLE = (
    "<style>.paper{fill:#fff}text{fill:#333}.grid{stroke:#d5d7da}.minor{stroke:#eeeff1}"
    ".frame{stroke:#888}path,.frame{fill:none}.line{stroke-linejoin:round}"
    "@media (prefers-color-scheme:dark){.paper{fill:#1b1d21}text{fill:#d4d6d9}.grid{stroke:#3c4046}"
    ".minor{stroke:#292c31}}</style>\n")


class _Axis(NamedTuple):
    low: float  # of the values
    high: float
    logarithmic: bool
    start: float  # positions on the picture
    end: float

    def place(self, v: float) -> float:
        if self.logarithmic:
            t = math.log(v / self.low) / math.log(self.high / self.low)
        else:
            t = (v - self.low) / (self.high - self.low)
        return self.start + t * (self.end - self.start)


def _text(text: str) -> str:
    """As XML; a character that XML forbids becomes a question mark."""
    shown = []
    for c in text:
        forbidden = c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"
        shown.append("?" if forbidden else {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(c, c))
    return "".join(shown)


def _nice_step(length: float, ticks: float) -> float:
    """1, 2 or 5 times a power of ten, so that about `ticks` of them make the length."""
    raw = length / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    digit = raw / power
    return power * (1 if digit <= 1 else 2 if digit <= 2 else 5 if digit <= 5 else 10)


def _y_axis(plot: Plot) -> _Axis:
    """From 0, or in decades where the values span more than two of them."""
    known = [v for s in plot.series for p in s.points for v in (p.lower, p.upper) if v > 0 and math.isfinite(v)]
    bottom, top = _TOP + _HEIGHT, _TOP
    if not known:
        return _Axis(0, 1, False, bottom, top)
    least, most = min(known), max(known)
    if most / least > 100:
        return _Axis(10.0 ** math.floor(math.log10(least)), 10.0 ** math.ceil(math.log10(most)), True, bottom, top)
    step = _nice_step(most, 6)
    return _Axis(0, step * math.ceil(most / step - 1e-9), False, bottom, top)


def _x_axis(plot: Plot) -> _Axis:
    """From the least to the largest x of all series: one that does not apply at an end has no point there."""
    xs = [p.x for s in plot.series for p in s.points]
    low, high = (min(xs), max(xs)) if xs else (0, 0)
    if low < high:
        return _Axis(low, high, plot.x_logarithmic, _LEFT, _WIDTH - _RIGHT)
    return _Axis(low - 0.5, low + 0.5, False, _LEFT, _WIDTH - _RIGHT)


def _number(v: float, axis: _Axis) -> str:
    """Powers of ten for numbers too large or too small to read at a glance."""
    e = math.floor(math.log10(v) + 0.5) if axis.logarithmic else 0
    far = axis.low < 0.99e-3 or axis.high > 1.01e4
    if far and abs(e) > 1 and abs(v / 10.0 ** e - 1) < 1e-9:
        return f'10<tspan dy="-5" font-size="10">{e}</tspan>'
    return f"{v + 0.0:.6g}"  # adding 0.0 removes the sign of -0


def _tick(axis: _Axis, across: bool, v: float, labelled: bool) -> str:
    at, style = axis.place(v), "grid" if labelled else "minor"
    if across:
        line = f'<path class="{style}" d="M{at:.1f} {_TOP:.1f}V{_TOP + _HEIGHT:.1f}"/>\n'
        label = f'<text x="{at:.1f}" y="{_TOP + _HEIGHT + 20:.1f}" text-anchor="middle">'
    else:
        line = f'<path class="{style}" d="M{_LEFT:.1f} {at:.1f}H{_WIDTH - _RIGHT:.1f}"/>\n'
        label = f'<text x="{_LEFT - 9:.1f}" y="{at + 4:.1f}" text-anchor="end">'
    return f"{line}{label}{_number(v, axis)}</text>\n" if labelled else line


def _ticks(axis: _Axis, across: bool) -> Iterable[str]:
    if not axis.logarithmic:
        step = _nice_step(axis.high - axis.low, 8 if across else 6)
        i = math.ceil(axis.low / step - 1e-9)
        while i * step <= axis.high + 1e-9 * step:
            yield _tick(axis, across, i * step, True)
            i += 1
        return
    decades = math.log10(axis.high / axis.low)
    every = math.ceil(decades / (11 if across else 8))
    for e in range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1):
        for digit in range(1, 10):
            v = digit * 10.0 ** e
            main = e % every == 0 if digit == 1 else decades < 2.5 and digit in (2, 5)
            if axis.low * (1 - 1e-9) <= v <= axis.high * (1 + 1e-9) and (main or decades < 4):
                yield _tick(axis, across, v, main)


def _path(s: Series, x: _Axis, y: _Axis, upper: bool, style: str) -> str:
    """The points that are known, as one path with gaps."""
    drawn, pen = "", False
    for p in s.points:
        v = p.upper if upper else p.lower
        known = math.isfinite(v) and (v > 0 or (upper and not y.logarithmic)) and (not y.logarithmic or v >= y.low)
        if known:
            drawn += f"{'L' if pen else 'M'}{x.place(p.x):.1f} {y.place(v):.1f}"
        pen = known
    return f'<path class="line" d="{drawn}" {style}/>\n' if drawn else ""


def _row(k: int) -> float:
    return _TOP + _HEIGHT + _FOOT + _ROW * k


def _line(plot: Plot, k: int, x: _Axis, y: _Axis, upper: bool) -> str:
    """One end of a series, and its sample in the legend if that is what it is worth."""
    s = plot.series[k]
    look = s.worth if upper else Worth.LOWER
    width = "2.4" if look is Worth.LOWER else "2"
    style = f'stroke="{_COLOURS[k % len(_COLOURS)]}" stroke-width="{width}"{_DASHES[look]}'
    sample = f'<path class="line" d="M{_LEFT:.1f} {_row(k):.1f}H{_LEFT + 34:.1f}" {style}/>\n'
    return _path(s, x, y, upper, style) + (sample if s.worth is look else "")


def _legend(s: Series, k: int) -> str:
    says = _WORTHS[s.worth]
    if s.worth is Worth.PROVED:
        says += " upper bound"
        if any(p.lower > 0 for p in s.points):
            says += " (dotted: the same from below)"
    if not s.points:
        says += ", does not apply here"
    elif not any(math.isfinite(p.lower if s.worth is Worth.LOWER else p.upper) for p in s.points):
        says += ", nowhere finite"
    return f'<text x="{_LEFT + 44:.1f}" y="{_row(k) + 4:.1f}">{_text(s.name)}: {says}</text>\n'


def _lines(plot: Plot, x: _Axis, y: _Axis) -> Iterable[str]:
    """Solid lines first, what is broken above them: where two coincide both are seen."""
    for k, s in enumerate(plot.series):
        if s.worth is Worth.PROVED:
            yield _line(plot, k, x, y, True)
    for k, s in enumerate(plot.series):
        yield _line(plot, k, x, y, s.worth not in (Worth.PROVED, Worth.LOWER))
    for k, s in enumerate(plot.series):
        yield _legend(s, k)


def _title_size(title: str) -> float:
    """Smaller for a long one, as far as it can be read: a bold character is at most 0.68 of its size wide."""
    size = len(title.encode("utf-8", "surrogateescape"))
    return max(9, min(15, math.floor(10 * (_WIDTH - _LEFT - 10) / (0.68 * max(size, 1))) / 10))


def to_svg(plot: Plot) -> str:
    """A stand-alone SVG: no scripts, no fonts of its own; light and dark."""
    x, y, title = _x_axis(plot), _y_axis(plot), _text(plot.title)
    height, bottom = _row(len(plot.series)), _TOP + _HEIGHT
    return "".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui,sans-serif" font-size="13">\n<title>{title}</title>\n',
        _STYLE, '<rect class="paper" width="100%" height="100%"/>\n',
        f'<text x="{_LEFT:.1f}" y="30" font-size="{_title_size(plot.title):g}" font-weight="600">{title}</text>\n',
        *_ticks(x, True), *_ticks(y, False),
        f'<rect class="frame" x="{_LEFT:.1f}" y="{_TOP:.1f}" width="{_WIDTH - _LEFT - _RIGHT:.1f}" height="{_HEIGHT:.1f}"/>\n',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}" y="{bottom + 42:.1f}" text-anchor="middle">',
        f'{_text(plot.x_name)}</text>\n',
        f'<text transform="translate(24 {_TOP + _HEIGHT / 2:.1f}) rotate(-90)" text-anchor="middle">',
        f'{_text(plot.y_name or "epsilon (nats)")}</text>\n', *_lines(plot, x, y), "</svg>\n"))


def _draw(arguments: argparse.Namespace) -> None:
    try:
        if arguments.file == "-":
            plot = from_csv(sys.stdin, arguments.title)
        else:
            with _program.reading(arguments.file) as f:
                plot = from_csv(f, arguments.title)
    except ValueError as fault:
        name = "standard input" if arguments.file == "-" else arguments.file
        raise _program.Fault(_program.DATA, f"{name}: {fault}") from None
    _program.write(arguments.output, to_svg(plot))


def main(words: Sequence[str]) -> int:
    parser = _program.Parser(prog="python3 -m tombola_accountant.plot",
                             description="Draws curves, as `tombola-accountant curve` prints them, as SVG.")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE.csv", help="the curves (default: standard input)")
    parser.add_argument("--title", default="privacy loss", metavar="TEXT", help="above the picture")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    return _program.run(parser, words, _draw)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
