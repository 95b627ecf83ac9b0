#!/usr/bin/python3
"""training.py [--programs DIR] [--devices N] [--rounds K] - what a round of the largest training costs: gradients of 177 features
and 10 classes, 12 messages a device, through real daemons, of features that are drawn.  Processor seconds of each party and the
time by the clock, round by round; the whole training has 21."""
import argparse
import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy/learn"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy  # noqa: E402

from tombola_learn import Training  # noqa: E402
from tombola_learn.deployment import Deployment  # noqa: E402
from tombola_learn.learners import Logistic  # noqa: E402
from tombola_learn.task import compute, vector  # noqa: E402

FEATURES, CLASSES, ALL = 177, 10, 21


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--programs", default=os.path.join(ROOT, "build/release/bin"))
    args.add_argument("--devices", type=int, default=60000)
    args.add_argument("--rounds", type=int, default=3)
    args = args.parse_args()
    drawn = numpy.random.default_rng(2026)
    y = drawn.integers(0, CLASSES, args.devices)
    x = (drawn.normal(0, 0.1, (CLASSES, FEATURES))[y] + drawn.normal(0, 0.1, (args.devices, FEATURES))).astype("<f4")
    plan = ('name = "bench";\npopulation = "learn";\nbudget = { epsilon = 100.0; delta = 1e-6; unit = "device"; };\nrounds = (\n'
            + vector("gradient", args.devices, CLASSES * (FEATURES + 1), 2.5, 12, 3, compute(FEATURES, "linear-gradient"),
                     repeat=args.rounds) + "\n);\n")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        numpy.save(os.path.join(folder, "x.npy"), x)
        numpy.save(os.path.join(folder, "y.npy"), y.astype("<i4"))
        with Deployment(folder, args.programs, plan, 'path = "x.npy"; labels = "y.npy";', args.devices, epsilon=100.0) as d:
            training = Training(d.analyzer, Logistic("gradient", FEATURES, CLASSES, args.rounds, 40.0),
                                os.path.join(folder, "training"), None)
            before, total = d.used()["cpu_seconds"], []
            print(f"{'round':>5}  {'clock':>6}  " + "  ".join(f"{p:>8}" for p in before) + "   processor seconds")
            for k in range(args.rounds):
                start = time.monotonic()
                training.run(most=1)
                seconds, now = time.monotonic() - start, d.used()["cpu_seconds"]
                total.append([seconds, *(now[p] - before[p] for p in before)])
                print(f"{k + 1:5}  {total[-1][0]:6.1f}  " + "  ".join(f"{s:8.1f}" for s in total[-1][1:]), flush=True)
                before = now
    mean = numpy.median(numpy.array(total), axis=0)
    print(f"median round: {mean[0]:.1f} s by the clock, {mean[1:].sum():.1f} s of processor; of {ALL} rounds: "
          f"{ALL * mean[0]:.0f} and {ALL * mean[1:].sum():.0f} s")


if __name__ == "__main__":
    main()
