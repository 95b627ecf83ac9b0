"""results hook: a program for each settled round, at least once, in order, that can hurt nobody."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from cluster import EXIT, program, wait_for
from results import Settling


def hook(folder, body):
    """A program of the operator."""
    path = os.path.join(folder, "hook.sh")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + body + "\n")
    os.chmod(path, 0o755)
    return path


def settling(cluster, body, args=(), timeout="60s", folder=None):
    words = ", ".join(json.dumps(w) for w in (hook(folder or cluster.dir, body), *args))
    return Settling(cluster, analyzer=f'on_settled = {{ command = [{words}]; timeout = "{timeout}"; }};\n')


def deliver(cluster, *args):
    return cluster.run("analyzer", "results", "hook", "--cursor", cluster.path("cursor"), *args)


def delivered(cluster, name="out"):
    if not os.path.exists(cluster.path(name)):
        return []
    with open(cluster.path(name)) as f:
        return [json.loads(line) for line in f if line.endswith("}\n")]


def test_the_program_gets_each_round_once_as_json(cluster):
    out = cluster.path("out")
    s = settling(cluster, 'cat >>"$1"; echo >>"$1"; echo "said by $2"', (out, "two words"))
    s.settle(1)
    daemon = cluster.start("analyzer", "results", "hook", "--cursor", cluster.path("cursor"))
    wait_for("the first round", lambda: len(delivered(cluster)) == 1)
    s.settle(2)
    wait_for("the second round", lambda: len(delivered(cluster)) == 2)
    wait_for("the log", lambda: daemon.log().count("result delivered") == 2)
    assert daemon.log().count("said by two words") == 2
    daemon.kill()
    s.settle(3)
    run = deliver(cluster, "--once")
    assert run.returncode == 0, run.stderr
    rounds = delivered(cluster)
    rows = s.rows()
    assert [d["round"] for d in rounds] == [1, 2, 3] and len({d["id"] for d in rounds}) == 3
    for doc in rounds:
        assert doc["schema"] == "tombola.settled/1"
        mine = [r for r in rows if r["id"] == doc["id"]]
        # The same columns, once for the round and once for each item.
        for row, item in zip(mine, doc["items"] + doc["no_reading"], strict=True):
            assert {k: v for k, v in row.items() if k not in ("schema", "no_reading")} == {
                **{k: v for k, v in doc.items() if k not in ("schema", "items", "no_reading")}, **item}


def test_a_program_that_fails_is_tried_again_with_the_same_id_and_nothing_overtakes(cluster):
    out, good = cluster.path("out"), cluster.path("good")
    s = settling(cluster, 'cat >>"$1"; echo >>"$1"; test -e "$2"', (out, good))
    s.settle(1, 2)
    run = deliver(cluster, "--once")
    assert run.returncode == 1 and "hook.sh: ended with 1" in run.stderr
    daemon = cluster.start("analyzer", "results", "hook", "--cursor", cluster.path("cursor"))
    wait_for("three more tries", lambda: len(delivered(cluster)) >= 4)
    assert "ended with 1" in daemon.log()
    # The analyzer settles on meanwhile.
    s.settle(3)
    assert {d["round"] for d in delivered(cluster)} == {1} and len({d["id"] for d in delivered(cluster)}) == 1
    cluster.write("good", "")
    wait_for("all rounds", lambda: delivered(cluster)[-1]["round"] == 3)
    assert [d["round"] for d in delivered(cluster) if d["round"] > 1] == [2, 3]


def running(group):
    """The processes of a group, without those that nobody has waited for."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as f:
            state, _, pgrp = f.read().rsplit(")", 1)[1].split()[:3]
            if int(pgrp) == group and state != "Z":
                found.append(pid)
    return found


@pytest.mark.parametrize("body,said", [
    ("exec sleep 1000", "did not end within 1s"),
    ("trap '' TERM; sleep 1000 & wait", "did not end within 1s"),
    ("kill -KILL $$", "killed by signal 9"),
    ("exit 127", "cannot be run"),
])
def test_a_program_that_hangs_or_dies_is_said(cluster, body, said):
    s = settling(cluster, f'echo $$ >{cluster.path("pid")}; {body}', timeout="1s")
    s.settle(1)
    begun = time.monotonic()
    run = deliver(cluster, "--once")
    assert run.returncode == 1 and said in run.stderr and time.monotonic() - begun < 500
    assert not os.path.exists(cluster.path("cursor"))
    with open(cluster.path("pid")) as f:
        group = int(f.read())
    assert running(group) == []  # what it has started, too


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("last", ["exec sleep 1000", "exit 0"])
def test_what_it_starts_ends_with_it_in_whatever_session(cluster, last):
    pids = cluster.path("pids")
    # A session of its own with a child, and a process whose parent is gone.
    s = settling(cluster, f"setsid sh -c 'echo $$ >>{pids}; sleep 1000 & echo $! >>{pids}; wait' &\n"
                 f"(setsid sleep 1000 & echo $! >>{pids})\n"
                 f"while test $(wc -l <{pids}) -lt 3; do sleep 0.05; done\n{last}", timeout="5s")
    s.settle(1)
    run = deliver(cluster, "--once")
    assert run.returncode == (1 if "sleep" in last else 0), run.stderr
    with open(pids) as f:
        started = f.read().split()
    assert len(started) == 3 and not [pid for pid in started if alive(pid)]


def test_what_it_writes_is_bounded(cluster):
    s = settling(cluster, "head -c 30000000 /dev/zero | tr '\\0' x; echo >&2 the end")
    s.settle(1)
    run = deliver(cluster, "--once")
    assert run.returncode == 0, run.stderr[-400:]
    assert 30000 < run.stderr.count("x") < 70000
    assert "the program wrote too much: the rest was dropped" in run.stderr and "the end" not in run.stderr


def test_it_ends_with_the_process_that_runs_it(cluster):
    s = settling(cluster, f'echo $$ >{cluster.path("pid")}; exec sleep 1000')
    s.settle(1)
    daemon = cluster.start("analyzer", "results", "hook", "--cursor", cluster.path("cursor"))
    pid = int(wait_for("the program", lambda: os.path.exists(cluster.path("pid")) and open(cluster.path("pid")).read()))
    daemon.kill(signal.SIGKILL)

    wait_for("its end", lambda: not running(pid))


def test_a_configuration_that_names_no_program_is_refused(cluster):
    cluster.configure()
    cluster.plan([])
    run = deliver(cluster, "--once")
    assert run.returncode == EXIT["config"] and "no on_settled.command" in run.stderr
    run = cluster.run("analyzer", "results", "hook")
    assert run.returncode == EXIT["usage"] and "--cursor" in run.stderr
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write('on_settled = { command = ["cat"]; };\n')
    run = deliver(cluster, "--once")
    assert run.returncode == EXIT["config"] and "absolute path" in run.stderr
    run = cluster.run("analyzer", "check-config")
    assert run.returncode == EXIT["config"] and "absolute path" in run.stderr and "analyzer.conf:10" in run.stderr


@pytest.fixture
def everybodys():
    """A folder that another user may write to."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="takes root, and setpriv of util-linux")
def test_another_user_reads_results_by_a_capability_that_the_program_does_not_have(cluster, everybodys):
    out = os.path.join(everybodys, "out")
    s = settling(cluster, 'cat >/dev/null; { id -u; cat /proc/self/status; cat "$1" 2>&1; } >"$2"; exit 0',
                 (cluster.path("analyzer", "ledger"), out), folder=everybodys)
    s.settle(1)
    unit = ("--reuid=65534", "--regid=65534", "--clear-groups")
    args = (program("tombola-analyzer"), "--config", cluster.path("analyzer.conf"), "results", "hook", "--once", "--cursor",
            os.path.join(everybodys, "cursor"))
    run = subprocess.run(["setpriv", *unit, *args], capture_output=True, text=True)
    assert run.returncode != 0, "without the capability the state is not readable"
    run = subprocess.run(["setpriv", *unit, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
                          "--bounding-set=-all,+dac_read_search", *args], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    with open(out) as f:
        said = f.read()
    assert said.startswith("65534\n") and "Permission denied" in said
    for line in ("CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in said
