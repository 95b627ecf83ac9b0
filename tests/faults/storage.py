#!/usr/bin/python3
"""storage.py [BUILD] [--rounds plain,tags] [--victims analyzer] [--kinds kill,eio] [--jobs 2] [--every 1]

Each daemon hit at every change of its storage in a whole round (tests/scenario/faults.py), the long form of
tests/scenario/test_faults.py.  A line for each round, daemon and fault; exit 1 when anything was not as it must be.
"""
import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    p.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--rounds", default="plain,void,blanket,tags")
    p.add_argument("--victims", default="shuffler,client,analyzer")
    p.add_argument("--kinds", default="kill,together,torn,cut,mixed,eio,enospc")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--every", type=int, default=1, help="every so-manieth call only")
    return p.parse_args()


def main():
    args = arguments()
    os.environ["TOMBOLA_BUILD"] = os.path.abspath(args.build)
    sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))
    import faults

    # Memory, where there is some: a million syncs would wear a disk, and what is synced is kept by the shim.
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    todo = [(r, v, k) for r in args.rounds.split(",") for v in args.victims.split(",") for k in args.kinds.split(",")]

    def one(job):
        stage = faults.Stage(os.path.join(folder, "-".join(job)), job[0])
        return faults.each(stage, *job[1:], every=args.every)

    bad = runs = 0
    print(f"{'round':8} {'daemon':9} {'fault':7} {'calls':>6} {'met':>6} {'bad':>5} {'seconds':>8}", flush=True)
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for job, (calls, met, seconds, failures) in zip(todo, pool.map(one, todo)):
                print(f"{job[0]:8} {job[1]:9} {job[2]:7} {calls:6} {met:6} {len(failures):5} {seconds:8.1f}", flush=True)
                print("\n".join(failures), end="\n" if failures else "", flush=True)
                bad, runs = bad + len(failures), runs + met
    finally:
        shutil.rmtree(folder)
    print(f"{runs} faults met, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
