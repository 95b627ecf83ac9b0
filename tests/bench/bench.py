"""bench.py - what benchmarks through the real daemons share: their options, the modules of the scenarios, the time of a process."""
import importlib
import os
import sys

HERTZ = os.sysconf("SC_CLK_TCK")


def add_folders(parse):
    parse.add_argument("--build", default=None, help="build folder (build/release)")
    parse.add_argument("--dir", default=None, help="where the state goes (a temporary folder)")


def scenarios(build):
    """The module cluster of tests/scenario, whose programs are those of this build; its neighbours can be imported then."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    os.environ["TOMBOLA_BUILD"] = os.path.abspath(build or os.path.join(root, "build", "release"))
    sys.path.insert(0, os.path.join(root, "tests", "scenario"))
    return importlib.import_module("cluster")


def below(pid):
    """The process and all that are below it."""
    found = [pid]
    for p in found:
        try:
            with open(f"/proc/{p}/task/{p}/children", encoding="ascii") as f:
                found.extend(map(int, f.read().split()))
        except OSError:
            pass  # it has ended
    return found


def cpu_seconds(pid):
    """Of the process and of all that it started, those that ended too."""
    ticks = 0
    for p in below(pid):
        try:
            with open(f"/proc/{p}/stat", encoding="ascii", errors="replace") as f:
                ticks += sum(map(int, f.read().rpartition(") ")[2].split()[11:15]))
        except OSError:
            pass
    return ticks / HERTZ


def first_thread_seconds(pid):
    """Of the process's first thread alone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="ascii", errors="replace") as f:
            return sum(map(int, f.read().rpartition(") ")[2].split()[11:13])) / HERTZ
    except OSError:
        return 0.0
