#!/usr/bin/env python3
"""rounds.py - round after round of many devices through the real daemons: memory and CPU of each by the round.

    tests/bench/rounds.py [--rounds N] [--devices N] [--build DIR] [--dir DIR]

One client process stands for all devices.  Prints a line a round: MiB resident and microseconds of CPU a report, of each
daemon.  Exits 1 when the shuffler holds more after the last round than after a tenth of them, beyond 3 MiB, or when not every
report was counted once.
"""
import argparse
import os
import shutil
import sys
import tempfile
import time

import bench
import million

GROWTH_MIB = 3
PARTIES = ("client", "shuffler", "analyzer")


def resident_mib(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def prepare(cluster, rounds, devices):
    cluster.configure(min_batch=devices, devices=devices, epsilon=100.0)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i % 2}\n" for i in range(devices)))
    cluster.plan([{"query": f"q{i}", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 0.05,
                   "min_reports": devices, "target": devices, "values": ["c0", "c1"], "window": "1h"} for i in range(rounds)],
                 epsilon=100.0)


def play(cluster, rounds, devices, seconds):
    """A row a round: resident MiB and CPU microseconds a report of each party."""
    daemons = {"shuffler": cluster.start("shuffler", "run")}
    cluster.wait_listening()
    daemons |= {"client": cluster.start("client", "run"), "analyzer": cluster.start("analyzer", "run")}
    pids = {p: d.process.pid for p, d in daemons.items()}
    rows, before, end = [], {p: bench.cpu_seconds(pid) for p, pid in pids.items()}, time.monotonic() + seconds
    while len(rows) < rounds:
        for d in daemons.values():
            if not d.alive():
                raise million.Missing(f"{d.args[0]} ended:\n{d.log()[-2000:]}")
        if time.monotonic() > end:
            raise million.Missing(f"not done within {seconds} s")
        time.sleep(0.2)
        if daemons["shuffler"].log().count('"round erased"') <= len(rows):
            continue
        now = {p: bench.cpu_seconds(pid) for p, pid in pids.items()}
        rows.append({p: (resident_mib(pids[p]), 1e6 * (now[p] - before[p]) / devices) for p in PARTIES})
        before = now
        print(f"round {len(rows):4}  " + "  ".join(f"{p} {m:6.1f} MiB {us:6.2f} us" for p, (m, us) in rows[-1].items()), flush=True)
    return rows


def faults_of(cluster, rows, devices):
    """What is not as it must be, in words."""
    early, last = rows[len(rows) // 10]["shuffler"][0], rows[-1]["shuffler"][0]
    faults = [f"the shuffler grew from {early:.1f} to {last:.1f} MiB"] if last > early + GROWTH_MIB else []
    settled = [r for r in cluster.json("analyzer", "round", "list")["rounds"] if r["stage"] == "settled"]
    faults += [f"round {r['round']}: {r['reports']} reports" for r in settled if r["reports"] != devices]
    return faults + ([f"{len(settled)} rounds of {len(rows)}"] if len(settled) != len(rows) else [])


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--rounds", type=int, default=100)
    parse.add_argument("--devices", type=int, default=100000)
    bench.add_folders(parse)
    parse.add_argument("--seconds", type=int, default=14400, help="give up after")
    args = parse.parse_args()

    c = bench.scenarios(args.build)

    folder = tempfile.mkdtemp(prefix="tombola-rounds-", dir=args.dir)
    cluster = c.Cluster(folder)
    try:
        prepare(cluster, args.rounds, args.devices)
        rows = play(cluster, args.rounds, args.devices, args.seconds)
        for d in cluster.daemons:
            d.stop()
        faults = faults_of(cluster, rows, args.devices)
    except million.Missing as e:
        faults = [str(e)]
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
    for f in faults:
        print(f"FAULT: {f}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
