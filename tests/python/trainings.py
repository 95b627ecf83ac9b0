"""trainings.py - small data and fake analyzers for the tests of tombola_learn."""
import io
import json
import os
import subprocess
import sys

import numpy

import fake_analyzer
from tombola_learn import Analyzer

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = [sys.executable, os.path.join(HERE, "fake_analyzer.py")]


class Inside(Analyzer):
    """The fake within this process, which saves a hundred starts of an interpreter."""

    def _run(self, *args):
        out, err = io.StringIO(), io.StringIO()
        code = fake_analyzer.main(["--config", self.config, "--json", *args], out, err)
        return subprocess.CompletedProcess(args, code, out.getvalue(), err.getvalue())


def clusters(n, m=4, classes=3, apart=2.0, seed=5):
    """Rows about `classes` points, which the seed does not move."""
    points = numpy.random.default_rng(99).normal(0, 1, (classes, m))
    points *= apart / numpy.linalg.norm(points, axis=1, keepdims=True)
    drawn = numpy.random.default_rng(seed)
    y = drawn.integers(0, classes, n)
    return (points[y] + drawn.normal(0, 0.5, (n, m))).astype(numpy.float32), y


def fake(folder, entries, x, y, plan="p1", limit=1.0, outside=False):
    """An Analyzer whose daemons are fake; `entries`: dicts, see fake_analyzer.py.  outside: by its command line."""
    numpy.savez(os.path.join(folder, "rows.npz"), x=x, y=y)
    path = os.path.join(folder, "fake.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"plan": plan, "limit": limit, "rows": "rows.npz",
                   "entries": [{"epsilon": limit / len(entries), "deviation": 1e-6, **e} for e in entries]}, f)
    return Analyzer(path, COMMAND) if outside else Inside(path)


def repeated(count, **entry):
    return [{**entry, "recurrence": i + 1} for i in range(count)]


def asked(folder):
    """Entries in the order in which they were answered, with the hashes of their payloads."""
    with open(os.path.join(folder, "asked.log"), encoding="ascii") as f:
        return [line.split() if " " in line.strip() else [line.strip(), ""] for line in f]
