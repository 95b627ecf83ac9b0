"""FLAME's trainings through real daemons: what papers.py simulates, with the same clip and step.

A user's gradient is computed where its pictures are, here in one array for all users: row i of readings.npy is what user i holds,
written anew before each round.  The client cuts each coordinate to the round's range, as the paper does.
"""
import os
import sys
import time

import numpy

from .checkpoint import put
from .deployment import Deployment
from .driver import STOP, Training
from .faults import EXIT, Fault
from .papers import D, DELTA, FIELDS, FLAME, USERS, Parties, descended, flame
from .table import cost_of

__all__ = ["Descent", "live", "plan_of"]

KEYS = {"simple": "", "double": "slots = {k}; padded = {padded};", "topk": "size = {k}; padded = {padded};"}


def plan_of(row, users, clip, epochs, epsilon):
    """The text of a plan whose budget is what the accountant certifies."""
    keys = KEYS[row.kind].format(k=row.k, padded=row.padded)
    return (f'name = "flame";\npopulation = "learn";\nbudget = {{ epsilon = {epsilon!r}; delta = {DELTA!r}; unit = "device"; }};\n'
            f'rounds = (\n  {{ query = "g"; type = "vector"; protocol = "ss-{row.kind}"; field = "v"; dimension = {D}; levels = 2; {keys}\n'
            f'    range = [ {-float(clip)!r}, {float(clip)!r} ]; epsilon0 = {row.epsilon0!r}; none = "even"; min_reports = {users}; '
            f'target = {users};\n    window = "4h"; repeat = {epochs}; }}\n);\n')


class Descent:
    """Steps that fall to 0 after `epochs`; scored by the pictures of `judge`."""

    def __init__(self, users, judge, step, epochs, readings):
        self.users, self.judge, self.step, self.epochs, self.readings = users, judge, step, epochs, readings

    def weights(self, history):
        w = numpy.zeros(D)
        for t, s in enumerate(history):
            w = w - self.step * (1 - t / self.epochs) * (s.estimate.values if not s.estimate.lost else 0)
        return w.astype(numpy.float32)

    def propose(self, history):
        if len(history) >= self.epochs:
            return STOP
        with open(self.readings + ".new", "wb") as f:
            numpy.save(f, self.users.gradients(self.weights(history)).astype("<f4"))
        os.replace(self.readings + ".new", self.readings)
        return None

    def score(self, history):
        return {"accuracy": self.judge.accuracy(self.weights(history))}


def asked(args, row, parties, best, folder, out):
    """(accuracy, epsilon of all rounds by the ledger, seconds a round) of one training."""
    clip, step = best
    users, path = len(parties.users.x), os.path.join(folder, "flame.conf")
    os.makedirs(folder, 0o700, exist_ok=True)
    put(path, plan_of(row, users, clip, args.epochs, 100.0).encode())
    epsilon = cost_of(args.programs, path)["epsilon_total"] * 1.0001  # nothing is left for another round
    learner = Descent(parties.users, parties.judge, step, args.epochs, os.path.join(folder, "readings.npy"))
    with Deployment(folder, args.programs, plan_of(row, users, clip, args.epochs, epsilon), 'path = "readings.npy";', users,
                    epsilon=epsilon, delta=DELTA, shuffler_dummies=row.padded * D) as d:
        start = time.monotonic()
        history = Training(d.analyzer, learner, os.path.join(folder, "training"), out).run()
        seconds, charged = time.monotonic() - start, d.analyzer.budget()["answered_epsilon"]
    return learner.score(history)["accuracy"], charged, seconds / max(1, len(history))


def live(args, out):
    """Print the lines and write flame.csv: as papers.csv has them, each training once measured and once simulated."""
    unknown = [name for name in args.mechanism if name not in FLAME]
    if unknown:
        raise Fault(EXIT["usage"], f"there is no mechanism {unknown[0]}; there are {', '.join(FLAME)}")
    if args.epochs < 1:
        raise Fault(EXIT["usage"], "--epochs: 1 or more")
    parties, lines = Parties(args.data), []
    for name in args.mechanism or FLAME:
        row = FLAME[name]
        make = lambda r, x=row: flame(r, x.kind, x.epsilon0, x.k, x.padded)  # noqa: E731
        best = parties.best(make, "coordinate", args.epochs)
        accuracy, charged, seconds = asked(args, row, parties, best, os.path.join(args.folder, f"flame-{name}"), sys.stderr)
        w = descended(parties.users, make(numpy.random.default_rng(2)), *best, USERS, args.epochs)
        simulated = parties.judge.accuracy(w)
        said = f"k {row.k}, padded {row.padded}, epsilon0 {row.epsilon0}; clip {best[0]:.3g}, step {best[1]:g}"
        lines += [["FLAME", row.name, said, args.epochs, row.printed, f"{charged:.6g}", DELTA, f"{reached:.4f}", label]
                  for reached, label in ((accuracy, "measured"), (simulated, "simulated"))]
        table = [",".join(f'"{v}"' if "," in str(v) else str(v) for v in line) for line in [FIELDS, *lines]]
        put(os.path.join(args.folder, "flame.csv"), ("\n".join(table) + "\n").encode())
        out.write(f"{row.name:18} {args.epochs} epochs, {USERS} users  printed {row.printed:>6} an epoch  true {charged:8.4g} for all  "
                  f"accuracy {accuracy:.4f} measured, {simulated:.4f} simulated  {seconds:.0f} s a round\n")
        out.flush()
