#!/usr/bin/python3
"""training.py [--programs DIR] [--devices N] [--rounds K] - what a round of the largest training costs: gradients of 177 features
and 10 classes, 12 messages a device, through real daemons, of features that are drawn.  Round by round: the time by the clock, of
it that in which nobody worked or only the disk did, what one thread worked alone and what several did (watch.py), processor
seconds of each party.  The whole training has 21."""
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
from watch import Watch  # noqa: E402

FEATURES, CLASSES, ALL = 177, 10, 21


def used(deployment):
    """Processor seconds of each party, and of the driver."""
    return {**deployment.used()["cpu_seconds"], "driver": time.process_time()}


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
            before, total = used(d), []
            print("round   clock    idle    disk   alone  several  " + "  ".join(f"{p:>8}" for p in before) +
                  "   processor seconds")
            with Watch([os.getpid()]) as watch:
                for k in range(args.rounds):
                    start = time.monotonic()
                    watch.seconds()
                    training.run(most=1)
                    seconds, now = [time.monotonic() - start, *watch.seconds()], used(d)
                    total.append([*seconds, *(now[p] - before[p] for p in before)])
                    print(f"{k + 1:5}  " + "  ".join(f"{s:6.2f}" for s in seconds) + "   " +
                          "  ".join(f"{s:8.2f}" for s in total[-1][5:]), flush=True)
                    before = now
    clock, idle, disk, alone, several, *parties = numpy.median(numpy.array(total), axis=0)
    quiet = idle + disk + alone + several / 2
    print(f"median round: {clock:.1f} s by the clock, {sum(parties):.1f} s of processor; {quiet:.1f} s if two processors had nothing "
          f"else to do; of {ALL} rounds: {ALL * clock:.0f}, {ALL * sum(parties):.0f}, {ALL * quiet:.0f} s")


if __name__ == "__main__":
    main()
