#!/usr/bin/python3
"""storage.py [BUILD] [--rounds plain,tags] [--victims analyzer] [--kinds kill,eio] [--jobs 2] [--every 1]

Each daemon hit at every change of its storage in a whole round (tests/scenario/faults.py), the long form of
tests/scenario/test_faults.py.  A line for each round, daemon and fault; exit 1 when anything was not as it must be.
"""
import argparse
import sys

import played


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    played.add_arguments(p, ("plain", "void", "blanket", "tags"),
                         ("kill", "together", "torn", "cut", "mixed", "eio", "enospc"))
    p.add_argument("--every", type=int, default=1, help="every so-manieth call only")
    args = p.parse_args()
    played.use(args.build)
    import faults

    def one(folder, kind_of_round, victim, kind):
        return faults.each(faults.Stage(folder, kind_of_round), victim, kind, every=args.every)

    return played.play(args, one)


if __name__ == "__main__":
    sys.exit(main())
