"""All figures, settings and printed numbers in a folder, with a page of them."""

from __future__ import annotations

import os
from typing import Iterator, List

from .. import _program
from ..plot import to_csv, to_svg
from . import printed, settings
from .figures import FIGURES, draw

_HEAD = (
    '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" '
    'content="width=device-width">\n<title>Five papers, done again</title>\n<style>'
    'body{font:15px/1.5 system-ui,sans-serif;max-width:1280px;margin:2em auto;padding:0 1em;'
    'background:#fff;color:#222}'
    'table{border-collapse:collapse;width:100%}'
    'td,th{padding:.25em .6em;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}'
    '.n{text-align:right;font-variant-numeric:tabular-nums}'
    '.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(380px,1fr));gap:1em}'
    'figure{margin:0}img{width:100%}figcaption{font-size:13px}a{color:#1f6fb2}'
    '@media (prefers-color-scheme:dark){body{background:#1b1d21;color:#d4d6d9}'
    'td,th{border-color:#3c4046}a{color:#7fb8e6}}</style>\n'
    '<h1>Five papers, done again</h1>\n'
    '<p>000: Wang et al. 2025, numerical composition. 001: Wang et al. 2024, variation-ratio. '
    '002: Girgis et al. 2021, R&eacute;nyi. 003: Liu et al. 2021, FLAME. 004: Chen, Cao, Ge 2024, GSPA. '
    'Every setting of 000: <a href="settings.csv">settings.csv</a>.</p>\n'
    '<h2>What is printed</h2>\n'
    "<p>Here: by the paper's own formula. Proved: an upper bound that holds. At least: a loss that "
    'occurs. A share saved or a ratio: by the formula, and by what is proved. As data: '
    '<a href="printed.csv">printed.csv</a>.</p>\n'
    '<table><tr><th>Paper<th>Item<th>Quantity<th>Printed<th class="n">Here<th class="n">Proved'
    '<th class="n">At least<th>Remark\n')
_MIDDLE = (
    "</table>\n<h2>Figures</h2>\n<p>Solid: proved. Dashed: a paper's value or an approximation, "
    "no guarantee. Dotted: a loss that occurs.</p>\n<div class=\"plots\">\n")


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _row(p: printed.Printed) -> str:
    words = "".join(f"<td>{_text(word)}" for word in p[:4])
    values = "".join(f'<td class="n">{value}' for value in p.shown())
    return f"<tr>{words}{values}<td>{_text(p.remark)}\n"


def _page(rows: List[printed.Printed]) -> Iterator[str]:
    yield _HEAD
    yield from map(_row, rows)
    yield _MIDDLE
    for f in FIGURES:
        title = _text(f.title)
        yield (f'<figure><a href="{f.name}.svg"><img src="{f.name}.svg" loading="lazy" alt="{title}"></a>'
               f'<figcaption><a href="{f.name}.csv">{f.name}</a> {title}</figcaption></figure>\n')
    yield "</div>\n</html>\n"


def write_figures(folder: str) -> None:
    """Both of every figure."""
    for f in FIGURES:
        plot = draw(f)
        _program.write(os.path.join(folder, f"{f.name}.csv"), to_csv(plot))
        _program.write(os.path.join(folder, f"{f.name}.svg"), to_svg(plot))


def write(folder: str) -> None:
    """Everything, into a folder that exists."""
    _program.write(os.path.join(folder, "settings.csv"), "")  # a folder that is not there is said before the work
    _program.write(os.path.join(folder, "settings.csv"), "".join(settings.csv_lines()))
    rows = list(printed.rows())
    _program.write(os.path.join(folder, "printed.csv"), "".join(printed.csv_lines(rows)))
    _program.write(os.path.join(folder, "index.html"), "".join(_page(rows)))
    write_figures(folder)
