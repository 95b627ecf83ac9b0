"""The daemons give up system calls before they hear a peer (common/net/nt_confine.h), and go on without them."""
import os
import re

import pytest

import cluster as c

WORDS = {True: '"system calls confined"', False: '"system calls are not confined"'}


def status(path):
    """What the kernel says of a thread: its mode, its number of filters, whether it may gain privileges."""
    with open(path) as f:
        said = dict(re.findall(r"^(Seccomp|Seccomp_filters|NoNewPrivs):\s+(\d+)", f.read(), re.M))
    return {name: int(value) for name, value in said.items()}


def threads(daemon):
    folder = f"/proc/{daemon.process.pid}/task"
    return [status(f"{folder}/{task}/status") for task in os.listdir(folder)]


def a_round_of_daemons(cluster, confined):
    ours = status("/proc/self/status")  # they inherit it
    want = {"Seccomp": 2, "Seccomp_filters": ours["Seccomp_filters"] + 1, "NoNewPrivs": 1} if confined else ours
    cluster.two_colours(20)
    daemon = {"shuffler": cluster.start("shuffler", "run")}
    cluster.wait_listening()
    daemon["analyzer"] = cluster.start("analyzer", "run")
    c.wait_for("the round", lambda: "COLLECTING" in cluster.run("shuffler", "status").stdout)
    for party in daemon:
        assert all(t == want for t in threads(daemon[party])), (party, threads(daemon[party]))
    daemon["client"] = cluster.start("client", "run")
    c.wait_for("the result", lambda: os.path.exists(cluster.path("analyzer", "results", "round-0001.json")))
    for party, d in daemon.items():
        got = threads(d)
        assert len(got) > 1 and all(t == want for t in got), (party, got)
        log = d.log()
        assert log.count(WORDS[confined]) == 1 and WORDS[not confined] not in log, (party, log)
        # Before a peer is heard, or dialled.
        heard = re.search(r'"(shuffler ready|connected|analyzer started)"', log)
        assert log.index(WORDS[confined]) < heard.start(), (party, log)
        d.stop()


@pytest.mark.heavy  # the optimised build
def test_every_thread_of_each_daemon_is_confined_throughout_a_round(cluster):
    assert not c.sanitized(), "this is for a build without a sanitizer"
    a_round_of_daemons(cluster, True)


def test_each_build_says_whether_it_is_confined(cluster):
    a_round_of_daemons(cluster, not c.sanitized())
