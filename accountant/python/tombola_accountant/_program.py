"""What the programs of this package share: a fault is one line, and the codes of sysexits."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Callable, Iterator, NoReturn, Optional, Sequence, TextIO

USAGE, DATA, NO_INPUT, CANNOT_CREATE, UNWRITTEN = 64, 65, 66, 73, 74


class Fault(Exception):
    """What ends the program, and its exit code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Parser(argparse.ArgumentParser):
    """A wrong command line exits with 64."""

    def error(self, message: str) -> NoReturn:
        raise Fault(USAGE, f"{message} (see --help)")


@contextlib.contextmanager
def reading(path: str) -> Iterator[TextIO]:
    try:
        f = open(path, encoding="utf-8", newline="")
    except OSError as fault:
        raise Fault(NO_INPUT, f"{path}: {fault.strerror}") from None
    with f:
        yield f


def write(path: Optional[str], text: str) -> None:
    """To the file, or to standard output."""
    if path is None:
        sys.stdout.write(text)
        return
    try:
        f = open(path, "w", encoding="utf-8")
    except OSError as fault:
        raise Fault(CANNOT_CREATE, f"{path}: {fault.strerror}") from None
    try:
        with f:
            f.write(text)
    except OSError as fault:
        raise Fault(UNWRITTEN, f"{path}: {fault.strerror}") from None


def run(parser: argparse.ArgumentParser, words: Sequence[str], answer: Callable[[argparse.Namespace], None]) -> int:
    try:
        answer(parser.parse_args(words))
        sys.stdout.flush()
    except Fault as fault:
        return _said(parser, str(fault), fault.code)
    except ValueError as fault:  # AccountantError among them
        return _said(parser, str(fault), DATA)
    except OSError as fault:
        return _said(parser, f"standard output: {fault.strerror}", UNWRITTEN)
    return 0


def _said(parser: argparse.ArgumentParser, text: str, code: int) -> int:
    print(f"{parser.prog}: {text}", file=sys.stderr)
    return code
