#!/usr/bin/env python3
"""intakes.py - what a report costs the intakes, the head and PostgreSQL, by how many intakes share it.

    tests/bench/intakes.py [--reports N] [--intakes 1,2,4] [--build DIR] [--dir DIR]

A round through the real daemons for each number of intakes, as million.py plays it: a client for each intake.  Prints
microseconds of processor time a report until the round is sealed.  Exits 1 when not every report was counted once, or when a
report costs all intakes together more than 1.5 times what it costs one.
"""
import argparse
import os
import sys

import bench
import million

PARTIES = ("intake", "shuffler", "postgresql")
GROWTH = 1.5


def cost(out, party):
    """Microseconds a report, of the stages in which reports are taken in and sealed."""
    return sum(r["cpu_us_per_report"][party] for r in out["stages"] if r["stage"] != "open")


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--reports", type=int, default=400000)
    parse.add_argument("--intakes", default="1,2,4")
    parse.add_argument("--seconds", type=int, default=1800, help="give up after")
    bench.add_folders(parse)
    args = parse.parse_args()
    c, costs, faults = bench.scenarios(args.build), [], []
    args.store = "postgresql"
    print(f"{'intakes':<9}{'reports/s':>11}" + "".join(f"{p + ' us':>16}" for p in PARTIES) + f"{'load':>8}", flush=True)
    for args.intakes in map(int, args.intakes.split(",")):
        args.reports -= args.reports % args.intakes
        try:
            out, found = million.measure(c, args)
        except million.Missing as e:
            print(e, file=sys.stderr)
            return 1
        faults += found
        costs.append(cost(out, "intake"))
        taken = sum(r["seconds"] for r in out["stages"] if r["stage"] in ("prepare", "intake"))
        print(f"{args.intakes:<9}{args.reports / taken:>11.0f}" + "".join(f"{cost(out, p):>16.2f}" for p in PARTIES)
              + f"{os.getloadavg()[0]:>8.1f}", flush=True)
    if max(costs) > GROWTH * costs[0]:
        faults.append("a report costs more the more intakes there are")
    for f in faults:
        print(f"FAULT: {f}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
