#!/usr/bin/python3
"""memory.py [BUILD] [--rounds plain,watched] [--victims client] [--kinds once,short] [--jobs 2] [--number 200] [--seed 1]

Each daemon refused memory at many of its allocations in a whole round (tests/scenario/starving.py), the long form of
tests/scenario/test_no_memory.py.  A line for each round, daemon and fault; exit 1 when anything was not as it must be.
"""
import argparse
import random
import sys

import played


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    played.add_arguments(p, ("plain", "blanket", "tags", "void", "watched"), ("once", "short", "long"))
    p.add_argument("--number", type=int, default=200, help="so many allocations of each round, daemon and fault")
    p.add_argument("--seed", default="1", help="which of them")
    p.add_argument("--at", help="these, instead")
    args = p.parse_args()
    played.use(args.build)
    import starving

    def one(folder, *job):
        stage = starving.Stage(folder, job[0])
        at = [int(k) for k in args.at.split(",")] if args.at else None
        return starving.each(stage, *job[1:], args.number, random.Random(" ".join((args.seed,) + job)), at)

    return played.play(args, one)


if __name__ == "__main__":
    sys.exit(main())
