#!/usr/bin/python3
"""sizing.py BUILD DEVICES... - what one round of so many devices takes: seconds, bytes on disk, memory, of each party.

One histogram round (grr, 7 categories) by `tombola demo`; the table of doc/operations.md is its output.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

PLAN = """name = "sizing"; population = "sizing";
budget = { epsilon = 100.0; delta = 1e-6; unit = "device"; };
rounds = ( { query = "state"; type = "histogram"; protocol = "grr"; field = "state"; epsilon0 = 4.0;
  values = [ "a", "b", "c", "d", "e", "f", "g" ]; min_reports = %d; target = %d; window = "1h"; } );
"""
PARTIES = ("client", "shuffler", "analyzer")


def size(folder):
    total = 0
    for at, _, files in os.walk(folder):
        for f in files:
            try:
                total += os.stat(os.path.join(at, f)).st_blocks * 512
            except OSError:  # erased meanwhile
                pass
    return total


def watch(folder, peak, done):
    while not done.wait(0.05):
        for p in PARTIES:
            peak[p] = max(peak[p], size(os.path.join(folder, p)))
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as f:
                    args = f.read().split("\0")
                if folder not in " ".join(args) or "run" not in args:
                    continue
                with open(f"/proc/{pid}/status") as f:
                    kib = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
                party = os.path.basename(args[0]).removeprefix("tombola-")
                peak["memory", party] = max(peak.get(("memory", party), 0), kib * 1024)
            except (OSError, StopIteration):
                pass


def measure(build, devices):
    with tempfile.TemporaryDirectory() as work:
        folder, plan = os.path.join(work, "run"), os.path.join(work, "plan.conf")
        with open(plan, "w") as f:
            f.write(PLAN % (devices, devices))
        peak, done = dict.fromkeys(PARTIES, 0), threading.Event()
        watcher = threading.Thread(target=watch, args=(folder, peak, done))
        watcher.start()
        begun, at = time.monotonic(), {}
        run = subprocess.Popen([f"{build}/bin/tombola", "demo", "--json", "--plan", plan, "--dir", folder, "--timeout", "1h"],
                               stdout=subprocess.PIPE, text=True)
        for line in run.stdout:
            at[json.loads(line)["event"]] = time.monotonic() - begun
        done.set()
        watcher.join()
        if run.wait() != 0:
            sys.exit(f"sizing.py: tombola demo ended with {run.returncode}")
        left = {p: size(os.path.join(folder, p)) for p in PARTIES}
        mib = 1 << 20
        print(f"| {devices:,} | {at['sealed'] - at['opened']:.1f} | {at['settled'] - at['sealed']:.1f} | "
              + " | ".join(f"{peak[p] / mib:.1f} / {left[p] / mib:.1f}" for p in PARTIES) + " | "
              + " | ".join(f"{peak.get(('memory', p), 0) / mib:.0f}" for p in PARTIES) + " |", flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: sizing.py BUILD DEVICES...")
    print("| devices | intake s | release to estimate s | "
          + " | ".join(f"{p} disk MiB, most / after" for p in PARTIES) + " | "
          + " | ".join(f"{p} MiB" for p in PARTIES) + " |\n" + "|---" * 9 + "|")
    for n in sys.argv[2:]:
        measure(sys.argv[1], int(n))


main()
