"""A plan that does not fit the shuffler's policy is not signed: nothing is spent, each key is named, and it waits."""
import os
import time

import pytest

from cluster import EXIT, wait_for

N = 45
SAMPLE = 50000  # min_batch of deploy/shuffler-policy.conf


def misfit(cluster, min_batch=SAMPLE):
    cluster.two_colours(N)
    allow(cluster, min_batch)


def allow(cluster, min_batch):
    with open(cluster.path("shuffler-policy.conf")) as f:
        lines = [f"min_batch = {min_batch};\n" if line.startswith("min_batch") else line for line in f]
    cluster.write("shuffler-policy.conf", "".join(lines))


def shuffler(cluster):
    d = cluster.start("shuffler", "run")
    cluster.wait_listening()
    return d


def test_one_wrong_policy_costs_nothing(cluster):
    """The sample's min_batch: the analyzer waits and says why; the policy mended, the round runs and nothing was lost."""
    misfit(cluster)
    first = shuffler(cluster)
    cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run")
    wait_for("the analyzer to say so", lambda: "the plan is not signed" in analyzer.log())
    said = f"min_reports is {N}, and the shuffler's policy has min_batch = {SAMPLE}"
    assert said in analyzer.log() and "plan.conf:" in analyzer.log() and '"query":"colour"' in analyzer.log()
    assert not cluster.json("analyzer", "ledger", "verify")["seq"]
    check = cluster.run("analyzer", "check")
    assert check.returncode == 1 and "does not fit the shuffler's policy" in check.stdout, check
    status = cluster.json("analyzer", "status")
    assert status["state"]["code"] == "unsigned" and said in status["state"]["text"], status
    asked = cluster.run("analyzer", "plan", "check")
    assert asked.returncode == EXIT["config"] and said in asked.stdout, asked

    first.stop()
    allow(cluster, N)
    second = shuffler(cluster)
    wait_for("the round to be settled", lambda: '"stage":"settled"' in analyzer.log())
    entry, = cluster.json("analyzer", "round", "list")["rounds"]
    assert entry["stage"] == "settled" and cluster.run("analyzer", "check").returncode == 0
    asked = cluster.run("analyzer", "plan", "check")
    assert asked.returncode == 0 and "fits the policy" in asked.stdout, asked
    analyzer.stop()
    second.stop()


@pytest.mark.parametrize("verb", (("run", "--once"), ("round", "run", "1")), ids=lambda v: v[0])
def test_who_looks_on_is_told_and_not_kept(cluster, verb):
    misfit(cluster)
    shuffler(cluster)
    run = cluster.run("analyzer", *verb)
    assert run.returncode == EXIT["config"] and f"has min_batch = {SAMPLE}" in run.stderr.splitlines()[-1], run.stderr
    assert cluster.json("analyzer", "ledger", "verify")["seq"] == 0
    allow(cluster, N)


def test_the_plan_is_checked_before_there_is_any_state(cluster):
    misfit(cluster)
    assert cluster.run("analyzer", "plan", "check").returncode == EXIT["unavailable"]
    shuffler(cluster)
    run = cluster.run("analyzer", "plan", "check")
    assert run.returncode == EXIT["config"] and f"{cluster.path('plan.conf')}:" in run.stdout and "round 1 (colour)" in run.stdout
    assert os.listdir(cluster.path("analyzer")) == []


def test_a_plan_without_its_shuffler_is_not_signed(cluster):
    """What it allows is not known."""
    misfit(cluster, min_batch=N)
    analyzer = cluster.start("analyzer", "run")
    wait_for("the analyzer to look for it", lambda: "no connection to the shuffler" in analyzer.log())
    time.sleep(0.5)
    assert "plan pinned" not in analyzer.log()
    status = cluster.json("analyzer", "status")
    assert status["state"]["code"] == "unsigned" and "not signed yet" in status["state"]["text"], status
    analyzer.stop()
