"""watch.py - for how long nobody works, or one thread alone: a process that looks at the daemons every few milliseconds.

Idle is what is left of an interval beside the time that threads ran, if none of them can run at its end: on a machine that others
use too, a thread that waits for a processor is not idle.  Time in which a thread waits for the disk is told apart.  What threads
worked counts as alone where one at most can run at the end of the interval.
"""
import contextlib
import multiprocessing
import os
import time

import bench

EVERY = 0.005


def threads_of(roots):
    """Folders in /proc of all threads of these processes and of what they started, but not of whoever looks."""
    me = os.getpid()
    for pid in {p for root in roots for p in bench.below(root)} - {me}:
        with contextlib.suppress(OSError):
            for t in os.listdir(f"/proc/{pid}/task"):
                yield f"/proc/{pid}/task/{t}"


def read(path):
    """Seconds that a thread ran, and its state; None when it has ended."""
    try:
        with open(path + "/schedstat", encoding="ascii") as f:
            ran = int(f.read().split()[0])
        with open(path + "/stat", encoding="ascii", errors="replace") as f:
            return ran / 1e9, f.read().rpartition(") ")[2][0]
    except OSError:
        return None


class Watch:
    """with Watch([pid, ...]) as w: w.seconds() is (idle, waiting for the disk, worked alone, worked by several) since the last
    call."""

    def __init__(self, pids):
        fork = multiprocessing.get_context("fork")
        self.pids, self.told = pids, (0.0,) * 4
        self.values = self.idle, self.disk, self.alone, self.together = [fork.Value("d", 0.0) for _ in range(4)]
        self.process = fork.Process(target=self.run, daemon=True)

    def run(self):
        known, last = {}, time.monotonic()
        while True:
            time.sleep(EVERY)
            seen = {path: found for path in threads_of(self.pids) if (found := read(path)) is not None}
            now = time.monotonic()
            # A thread that is new did what it did since the last look.
            worked = sum(ran - known.get(path, (0, ""))[0] for path, (ran, _) in seen.items())
            states = [state for _, state in seen.values()]
            (self.alone if states.count("R") <= 1 else self.together).value += worked
            if "R" not in states:
                (self.disk if "D" in states else self.idle).value += max(0.0, now - last - worked)
            known, last = seen, now

    def seconds(self):
        now = tuple(v.value for v in self.values)
        since = tuple(a - b for a, b in zip(now, self.told))
        self.told = now
        return since

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *why):
        self.process.kill()
        self.process.join()
