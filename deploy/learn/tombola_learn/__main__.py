"""tombola_learn as a command.

    python3 -m tombola_learn train FILE.py --config analyzer.conf --folder DIR
        FILE.py has a function learner() that returns what proposes payloads; run it again to go on
    python3 -m tombola_learn show DIR
        how far the training in DIR came
    python3 -m tombola_learn tasks [TASK ...] --programs DIR --data DIR --folder DIR
        learn.sh: real daemons on this host, and the table of what was reached
    python3 -m tombola_learn choose TASK [NAME=VALUE,VALUE ...] --programs DIR --data DIR
        how a task's settings do in simulation, on its public rows alone
    python3 -m tombola_learn papers --programs DIR --data DIR --folder DIR
        the learning experiments of the papers, simulated at their true epsilon: papers.csv
    python3 -m tombola_learn flame [simple|double|topk|topk-10 ...] --programs DIR --data DIR --folder DIR
        FLAME's trainings through real daemons, at the paper's size: flame.csv
"""
import argparse
import json
import os
import runpy
import sys

from .analyzer import Analyzer
from .checkpoint import Checkpoint
from .driver import Training
from .faults import EXIT, Fault
from .progress import printable


def parser():
    top = argparse.ArgumentParser(prog="tombola_learn", description="train models through rounds, inside a fixed budget")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="train|show|tasks|choose|papers|flame")
    train = verbs.add_parser("train", help="train a learner of yours, or go on with it")
    train.add_argument("file", help="Python file with a function learner()")
    train.add_argument("--config", "-c", default=os.environ.get("TOMBOLA_CONFIG", "/etc/tombola/analyzer.conf"),
                       help="the analyzer's configuration")
    train.add_argument("--analyzer", default="tombola-analyzer", help="the program")
    train.add_argument("--folder", required=True, help="keeps the training; made if it is not there")
    show = verbs.add_parser("show", help="how far a training came")
    show.add_argument("folder")
    show.add_argument("--json", action="store_true")
    tasks = verbs.add_parser("tasks", help="the trainings of learn.sh")
    tasks.add_argument("task", nargs="*", help="which; all without it")
    tasks.add_argument("--programs", required=True, help="folder of tombola and its daemons")
    tasks.add_argument("--data", required=True, help="folder of shuttle.csv and digits.csv")
    tasks.add_argument("--folder", required=True, help="what is made is there")
    choose = verbs.add_parser("choose", help="a task's settings, judged in simulation on public rows alone")
    choose.add_argument("task")
    choose.add_argument("setting", nargs="*", help="NAME=VALUE,VALUE; the task's own without it")
    choose.add_argument("--programs", required=True, help="folder of tombola")
    choose.add_argument("--data", required=True, help="folder of shuttle.csv and digits.csv")
    papers = verbs.add_parser("papers", help="the papers' learning experiments, simulated at their true epsilon")
    papers.add_argument("--programs", required=True, help="folder of tombola and tombola-accountant")
    papers.add_argument("--data", required=True, help="folder of shuttle.csv")
    papers.add_argument("--folder", required=True, help="papers.csv is made there")
    flame = verbs.add_parser("flame", help="FLAME's trainings at the paper's size, through real daemons")
    flame.add_argument("mechanism", nargs="*", help="simple, double, topk, topk-10; all without it")
    flame.add_argument("--epochs", type=int, default=10)
    flame.add_argument("--programs", required=True, help="folder of tombola and its daemons")
    flame.add_argument("--data", required=True, help="folder of shuttle.csv")
    flame.add_argument("--folder", required=True, help="what is made is there")
    return top


def learner_of(path):
    try:
        made = runpy.run_path(path)
    except OSError as e:
        raise Fault(EXIT["noinput"], f"{path}: {e.strerror}") from e
    except Exception as e:  # whatever the file does
        raise Fault(EXIT["data"], f"{path}: {type(e).__name__}: {e}") from e
    if not callable(made.get("learner")):
        raise Fault(EXIT["data"], f"{path}: it has no function learner()")
    return made["learner"]()


def train(args):
    history = Training(Analyzer(args.config, args.analyzer), learner_of(args.file), args.folder, sys.stderr).run()
    print(f"{len(history)} rounds answered; payloads, results and curve.svg are in {args.folder}")


def show(args):
    if not os.path.isdir(args.folder):
        raise Fault(EXIT["noinput"], f"{args.folder}: no such folder")
    c = Checkpoint(args.folder).load()
    if args.json:
        print(json.dumps(c.document()))
        return
    for i, s in enumerate(c.steps, 1):
        score = "".join(f"  {k} {v:.4f}" for k, v in s.get("score", {}).items())
        print(f"{i:3}  {s['entry']:<16}" + (f"  no answer: {printable(s['skipped'])}" if "skipped" in s else
                                            f"{score}  epsilon {s.get('epsilon', 0):.4f} of {s.get('limit', 0):g}"))
    if c.pending:
        print(f"{len(c.steps) + 1:3}  {c.pending['entry']:<16}  being asked")
    if c.stopped:
        print(f"stopped: {c.stopped}")


def main():
    args = parser().parse_args()
    try:
        if args.verb == "tasks":
            from .table import run_tasks
            run_tasks(args)
        elif args.verb == "choose":
            from .choose import choose
            choose(args, sys.stdout)
        elif args.verb == "papers":
            from .papers import papers
            papers(args, sys.stdout)
        elif args.verb == "flame":
            from .papers_live import live
            live(args, sys.stdout)
        else:
            {"train": train, "show": show}[args.verb](args)
    except Fault as e:
        print(f"tombola_learn: {printable(str(e))}", file=sys.stderr)
        return e.code
    except KeyboardInterrupt:
        print("tombola_learn: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
