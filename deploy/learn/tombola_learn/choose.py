"""Settings chosen on public rows: trainings by simulation, over a grid, without a device and without a test row.

The public rows are cut into four parts; each in turn judges what the other three, as if they were all devices, taught.  Answers are
those rows' exact ones and normal noise of the deviation that `plan cost` expects with the real number of devices.
"""
import inspect
import itertools
import os
import tempfile

import numpy

from . import baselines
from .faults import EXIT, Fault
from .table import cost_of
from .task import DELTA
from .tasks import MADE, rows_of

__all__ = ["choose"]

PARTS, SEEDS = 4, 2


def setting(made, text):
    """'step=20,40' -> ("step", [20.0, 40.0]), of the kind that the task's own setting has."""
    name, _, values = text.partition("=")
    usual = inspect.signature(made).parameters.get(name)
    if usual is None or not isinstance(usual.default, (int, float)) or not values:
        raise Fault(EXIT["usage"], f"{text}: a number of the task is wanted, as NAME=VALUE,VALUE")
    try:
        return name, [type(usual.default)(v) for v in values.split(",")]
    except ValueError as e:
        raise Fault(EXIT["usage"], f"{text}: {e}") from e


def deviations(task, programs):
    """Of an answer of each query, and the plan's epsilon."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(task.plan)
        cost = cost_of(programs, path)
    if not all(r["fits"] for r in cost["rounds"]):
        return None, None
    return {r["query"]: r["expected_error"] for r in cost["rounds"]}, cost["epsilon_total"]


def judged(make, public, programs, devices):
    """Mean of the first measure, and the plan's epsilon; None where it does not fit."""
    found = []
    part = numpy.arange(len(public[0])) % PARTS
    for p in range(PARTS):
        taught, held = ((public[0][at], public[1][at]) for at in (part != p, part == p))
        task = make((taught, taught, held), devices)
        error, epsilon = deviations(task, programs)
        if error is None:
            return None, None
        # Counts are of all devices, means of any number.
        times = devices / len(taught[0]) if task.classes else 1

        def answer(entry, payload, task=task, times=times):
            return times * task.answer(entry, payload)

        for seed in range(SEEDS):
            history = baselines.simulated(task.new(), task.entries, answer, lambda e, error=error: error[e.partition("#")[0]],
                                          seed)
            found.append(list(task.measure(task.new(), history).values()))
    return numpy.mean(found, axis=0), epsilon


def choose(args, out):
    made = MADE.get(args.task)
    if made is None:
        raise Fault(EXIT["usage"], f"there is no task {args.task}; there are {', '.join(MADE)}")
    devices, public, _ = rows_of(args.task, args.data)
    grid = [setting(made, text) for text in args.setting]
    for values in itertools.product(*(v for _, v in grid)):
        keys = {name: v for (name, _), v in zip(grid, values)}
        measured, epsilon = judged(lambda rows, n, keys=keys: made(rows, n, **keys), public, args.programs, len(devices[0]))
        said = "does not fit" if measured is None else " / ".join(f"{v:.4f}" for v in measured) + f"  epsilon {epsilon:.4f}"
        out.write(" ".join(f"{k}={v}" for k, v in keys.items()) + f"  {said} at delta {DELTA:g}\n")
        out.flush()
