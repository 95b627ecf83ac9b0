"""python3 -m tombola_accountant.literature: the verbs `figure` and `paper`."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Dict, Sequence

from .. import _program
from ..plot import to_csv, to_svg
from . import page, printed, settings
from .figures import FIGURES, draw

_PAPERS = ("000", "001", "002", "003", "004")


def _figure(arguments: argparse.Namespace) -> None:
    if arguments.name == "list":
        _program.write(arguments.output, "".join(f"{f.name:<14} {f.title}\n" for f in FIGURES))
        return
    if arguments.name == "all":
        if arguments.output is None:
            raise _program.Fault(_program.USAGE, "figure: all needs --output FOLDER")
        page.write_figures(arguments.output)
        return
    found = [f for f in FIGURES if f.name == arguments.name]
    if not found:
        raise _program.Fault(_program.USAGE, f"figure: no such figure '{arguments.name:.40}' (see figure list)")
    _program.write(arguments.output, (to_svg if arguments.format == "svg" else to_csv)(draw(found[0])))


def _print_object(members: Dict[str, object]) -> None:
    print(json.dumps({"schema": "tombola.accountant/1", **members}, allow_nan=False))


def _paper(arguments: argparse.Namespace) -> None:
    if arguments.output is not None:
        if arguments.paper != "all":
            raise _program.Fault(_program.USAGE, "paper: --output FOLDER needs all")
        page.write(arguments.output)
        return
    paper = None if arguments.paper == "all" else arguments.paper
    if arguments.json:
        _print_object(printed.as_object(paper) if arguments.paper else settings.as_object())
    else:
        sys.stdout.writelines(printed.text_lines(paper) if arguments.paper else settings.text_lines())


def _parser() -> argparse.ArgumentParser:
    parser = _program.Parser(prog="python3 -m tombola_accountant.literature",
                             description="Five papers on privacy of the shuffle model, done again.")
    verbs = parser.add_subparsers(metavar="figure|paper", required=True)
    figure = verbs.add_parser(
        "figure", help="a figure: what is proved beside what was published",
        description="A figure of the literature, done again: what is proved beside what was published.  `list` names them "
        "(paper, figure, part); `all` writes the CSV and the SVG of every one into a folder.")
    figure.add_argument("name", metavar="NAME|all|list")
    figure.add_argument("--format", choices=("csv", "svg"), default="csv", help="default: csv")
    figure.add_argument("-o", "--output", metavar="FILE|FOLDER", help="write there instead of standard output")
    figure.set_defaults(answer=_figure)
    paper = verbs.add_parser(
        "paper", help="the numbers that a paper prints, beside what holds",
        description="Without an argument: every setting of the paper on numerical composition (000), vector response in "
        "federated learning and histograms in decision trees.  With one: the numbers that the paper prints, beside what its "
        "formula gives here, what is proved, and a loss that occurs.  000: Wang et al. 2025; 001: Wang et al. 2024; 002: "
        "Girgis et al. 2021; 003: Liu et al. 2021 (FLAME); 004: Chen, Cao, Ge 2024 (GSPA).")
    paper.add_argument("paper", nargs="?", choices=("all", *_PAPERS))
    paper.add_argument("-o", "--output", metavar="FOLDER",
                       help="with all: writes index.html, printed.csv, settings.csv, and every figure as CSV and SVG, into a "
                       "folder that exists")
    paper.add_argument("--json", action="store_true", help="one JSON object")
    paper.set_defaults(answer=_paper)
    return parser


def main(words: Sequence[str]) -> int:
    return _program.run(_parser(), words, lambda arguments: arguments.answer(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
