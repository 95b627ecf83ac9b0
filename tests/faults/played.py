"""played.py - the long forms of the rounds with a fault (tests/scenario/faults.py, starving.py): many, a line for each."""
import concurrent.futures
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def add_arguments(p, rounds, kinds):
    p.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--rounds", default=",".join(rounds))
    p.add_argument("--victims", default="shuffler,client,analyzer")
    p.add_argument("--kinds", default=",".join(kinds))
    p.add_argument("--jobs", type=int, default=2)


def use(build):
    """Make the modules of the scenarios known, and whose programs they start."""
    os.environ["TOMBOLA_BUILD"] = os.path.abspath(build)
    sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))


def play(args, one):
    """one(folder, round, victim, kind) -> (calls, met, seconds, failures), for all there are; the exit code."""
    # Memory, where there is some: a million syncs would wear a disk, and what is synced is kept by the shim.
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    todo = [(r, v, k) for r in args.rounds.split(",") for v in args.victims.split(",") for k in args.kinds.split(",")]
    bad = runs = 0
    print(f"{'round':8} {'daemon':9} {'fault':7} {'calls':>6} {'met':>6} {'bad':>5} {'seconds':>8}", flush=True)
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            done = pool.map(lambda job: one(os.path.join(folder, "-".join(job)), *job), todo)
            for job, (calls, met, seconds, failures) in zip(todo, done):
                print(f"{job[0]:8} {job[1]:9} {job[2]:7} {calls:6} {met:6} {len(failures):5} {seconds:8.1f}", flush=True)
                print("\n".join(failures), end="\n" if failures else "", flush=True)
                bad, runs = bad + len(failures), runs + met
    finally:
        shutil.rmtree(folder)
    print(f"{runs} faults met, {bad} bad")
    return 1 if bad else 0
