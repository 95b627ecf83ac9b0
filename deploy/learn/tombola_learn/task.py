"""What a training of learn.sh is: data, plan, learner, measure; and the text of its plan."""
import csv
import dataclasses
import os

import numpy

from . import baselines

__all__ = ["DELTA", "Task", "compute", "marginals", "names", "scored", "settled", "text", "vector"]

DELTA = 1e-6


@dataclasses.dataclass
class Task:
    """name, what       for the table
    goal                as text
    rounds              of the plan: text
    entries             names in order
    x, y                devices' rows
    new                 new() -> a learner, for each training anew
    answer              answer(entry, payload): the exact answer of all devices
    sensitivity         L2, of all answers together, of n devices: of what a central Gaussian would add noise to
    local               local(entry): deviation of a local-only answer
    measure             measure(learner, history) -> {name: value}; the first is compared with the goal
    devices             how many the plan asks; as many as there are rows, but for a choice of settings on a few public ones
    epsilon             of the budget
    fields              names of a CSV's columns, and of its classes: the readings are an array without
    picture             picture(learner, history) -> PNG, or None
    """
    name: str
    what: str
    goal: str
    rounds: str
    entries: list
    x: numpy.ndarray
    y: numpy.ndarray
    new: object
    answer: object
    sensitivity: float
    local: object
    measure: object
    devices: int
    epsilon: float = 1.0
    fields: tuple = ()
    classes: tuple = ()
    picture: object = None

    @property
    def plan(self):
        return (f'name = "{self.name}";\npopulation = "learn";\n'
                f'budget = {{ epsilon = {self.epsilon!r}; delta = {DELTA!r}; unit = "device"; }};\nrounds = (\n{self.rounds}\n);\n')

    def central(self):
        sigma = baselines.central_sigma(self.epsilon, DELTA) * self.sensitivity
        return lambda _: sigma

    def readings(self, folder):
        """Write the devices' readings; the keys of the client's `input`."""
        path = os.path.join(folder, "readings.csv")
        if self.classes:
            with open(path, "w", newline="", encoding="utf-8") as f:
                out = csv.writer(f, lineterminator="\n")
                out.writerow([*self.fields, "Class"])
                out.writerows([*map(repr, row), self.classes[k]] for row, k in zip(self.x.tolist(), self.y))
            return 'path = "readings.csv";'
        numpy.save(os.path.join(folder, "x.npy"), numpy.ascontiguousarray(self.x, "<f4"))
        numpy.save(os.path.join(folder, "y.npy"), self.y.astype("<i4"))
        return 'path = "x.npy"; labels = "y.npy";'


def text(values):
    return "[ " + ", ".join(f'"{v}"' for v in values) + " ]"


def settled(n):
    """Keys of every round: all devices answer, each has a valid reading, and the payload comes when it is asked."""
    return f'none = "even"; payload = "later"; min_reports = {n}; target = {n}; window = "4h";'


def marginals(query, n, epsilon0, bins, name, sensors, label=None, leaves=0):
    """A round of counts: (leaf,) bin of each sensor (, class)."""
    lead = [("leaf", range(leaves))] if leaves else []
    tail = [("Class", label)] if label else []
    columns = ", ".join(f'{{ field = "{field}"; values = {text(v)}; }}'
                        for field, v in [*lead, *((s, range(bins)) for s in sensors), *tail])
    asked = ", ".join(text([*(k for k, _ in lead), s, *(k for k, _ in tail)]) for s in sensors)
    reads = f'columns = {text(sensors)};' + (' label = "Class";' if label else "")
    return (f'  {{ query = "{query}"; type = "marginals"; epsilon0 = {epsilon0!r}; {settled(n)}\n'
            f'    columns = ( {columns} );\n    marginals = ( {asked} );\n'
            f'    compute = {{ map = "{name}"; {reads} }}; }}')


def vector(query, n, d, epsilon0, slots, size, computed, repeat=1):
    """A round of the mean of vectors of length 1 at most."""
    again = f"repeat = {repeat}; " if repeat > 1 else ""
    return (f'  {{ query = "{query}"; type = "vector"; protocol = "rotated"; field = "v"; dimension = {d}; '
            f'range = [ -1.0, 1.0 ]; {again}\n    epsilon0 = {epsilon0!r}; slots = {slots}; size = {size}; {settled(n)}\n'
            f'    compute = {{ {computed} clip = 1.0; }}; }}')


def compute(m, name, more="", label=True):
    """The keys of a map of m features and the classes 0 to 9."""
    return f'map = "{name}"; features = "x"; feature_count = {m};' + \
        (f' label = "y"; classes = {text(range(10))};' if label else "") + more


def names(query, count):
    return [f"{query}#{i + 1}" for i in range(count)] if count > 1 else [query]


def scored(learner, history):
    return learner.score(history)
