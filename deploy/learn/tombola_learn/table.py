"""Runs the trainings of learn.sh through real daemons and prints what each reached."""
import json
import os
import subprocess
import sys
import time

from . import baselines
from .checkpoint import put
from .deployment import Deployment
from .driver import Training
from .faults import EXIT, Fault
from .task import DELTA
from .tasks import TASKS

__all__ = ["run_tasks"]

SEED = 2026


def run_tasks(args):
    unknown = [t for t in args.task if t not in TASKS]
    if unknown:
        raise Fault(EXIT["usage"], f"there is no task {unknown[0]}; there are {', '.join(TASKS)}")
    rows = []
    for name in args.task or TASKS:
        rows.append(run_task(name, args))
        with open(os.path.join(args.folder, "results.json"), "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    print_table(rows, sys.stdout)


def run_task(name, args):
    """One row of the table."""
    say = lambda line: print(f"==> {line}", file=sys.stderr, flush=True)
    start = time.monotonic()
    task = TASKS[name](args.data)
    folder = os.path.join(args.folder, name)
    os.makedirs(folder, 0o700, exist_ok=True)
    readings = task.readings(folder)
    say(f"{task.what}: {task.devices:,} devices, epsilon {task.epsilon:g} at delta {DELTA:g}; everything is in {folder}")
    learner = task.new()
    made = time.monotonic()
    with Deployment(folder, args.programs, task.plan, readings, task.devices, epsilon=task.epsilon, delta=DELTA) as d:
        history = Training(d.analyzer, learner, os.path.join(folder, "training"), sys.stderr).run()
        budget, used, missed = d.analyzer.budget(), d.used(), d.without_payload()
    asked = time.monotonic()
    if task.picture is not None:
        put(os.path.join(folder, "learnt.png"), task.picture(learner, history))
    cost = cost_of(args.programs, os.path.join(folder, "plan.conf"))
    cost["rounds"] = [r for r in cost["rounds"] if r["fits"]]
    row = {"task": name, "what": task.what, "goal": task.goal, "reached": task.measure(learner, history),
           "local": other(task, task.local), "central": other(task, task.central()), "exact": other(task, lambda _: 1e-12),
           "epsilon": budget["entries_epsilon"], "delta": DELTA, "rounds": len(history), "devices": task.devices,
           "messages": sum(r["messages"] for r in cost["rounds"]), "bytes": cost["bytes"],
           "round_epsilon0": max(r["epsilon0"] for r in cost["rounds"]),
           "device_epsilon0": sum(r["epsilon0"] for r in cost["rounds"]),
           "rounds_without_payload": missed, **used, "seconds": round(asked - made, 1),
           "all_seconds": round(time.monotonic() - start, 1)}
    say(f"{name}: {in_words(row['reached'])}, {row['rounds']} rounds in {row['seconds']:.0f} s"
        + (f"; IN {missed} ROUNDS THE PAYLOAD CAME TOO LATE" if missed else ""))
    return row


def other(task, deviation):
    """What a training with these deviations reaches."""
    learner = task.new()
    return task.measure(learner, baselines.simulated(learner, task.entries, task.answer, deviation, SEED))


def cost_of(programs, plan):
    run = subprocess.run([os.path.join(programs, "tombola"), "plan", "cost", plan, "--json"], capture_output=True, text=True,
                         check=False)
    if run.returncode not in (0, EXIT["budget"]):
        raise Fault(run.returncode, run.stderr.strip())
    return json.loads(run.stdout)


def in_words(measured):
    return ", ".join(f"{k} {v:.4f}" for k, v in measured.items())


def print_table(rows, out):
    head = ("task", "goal", "reached", "local only", "central Gaussian", "no noise", "epsilon", "messages", "seconds")

    def short(measured):
        return " / ".join(f"{v:.4f}" for v in measured.values())

    cells = [head] + [(r["what"], r["goal"], short(r["reached"]), short(r["local"]), short(r["central"]), short(r["exact"]),
                       f"{r['epsilon']:.4f}", str(r["messages"]), f"{r['seconds']:.0f}") for r in rows]
    width = [max(len(c[i]) for c in cells) for i in range(len(head))]
    for c in cells:
        out.write("  ".join(v.ljust(w) for v, w in zip(c, width)).rstrip() + "\n")
    out.write(f"\nepsilon: of all rounds together, for a device, at delta {DELTA:g}, shuffler and analyzer apart.\n"
              "If shuffler and analyzer work together, there is only what a device's own noise gives:\n")
    for r in rows:
        out.write(f"  {r['task']}: {r['messages']} messages have a local epsilon0 of {r['device_epsilon0']:.0f} together, "
                  f"{r['round_epsilon0']:.0f} in one round: {protection(r['device_epsilon0'])}\n")


def protection(epsilon0):
    """Of a device against shuffler and analyzer together."""
    if epsilon0 > 20:
        return "no protection"
    return f"what is observed is at most {2.718281828**epsilon0:,.0f} times as likely with other data" \
        + ("; weak" if epsilon0 > 4 else "")
