"""What shuffler and analyzer together could learn of a device so far: the sum of epsilon0 over all tries (theorem 3)."""
import pytest

from cluster import wait_for
from pinned import DEVICES, Planned, answered, end, fake, send  # noqa: F401
from test_rounds import COLOURS, histogram, readings, run_plan

N = 2000


def test_a_client_counts_every_try_that_it_reported_to(cluster, fake):
    analyzer = Planned(cluster)
    plan = analyzer.plan_of()
    void = b""
    for attempt in (1, 2, 3):
        d = analyzer.round(fake, plan, 1, attempt, void)
        assert send(cluster).returncode == 0 and answered(fake, d) == DEVICES
        void = end(fake, d)
        said = cluster.json("client", "status")["together"]
        assert said["reports"] == attempt and said["unbounded"] == 0
        assert attempt <= said["epsilon0"] < attempt + 1e-9  # epsilon0 1 a try, never rounded down
    assert "epsilon0 3.0001 summed over 3 reports: what shuffler and analyzer together" in cluster.run("client", "status").stdout


def test_client_and_analyzer_say_the_same_and_what_nothing_protects(cluster):
    cluster.configure(min_batch=N // 2, max_epsilon0="inf", devices=N + 1)
    readings(cluster, N)
    bare = {"query": "bare", "type": "histogram", "protocol": "bins", "field": "colour", "epsilon0": "inf", "dummies": 2,
            "min_reports": N, "target": N, "values": COLOURS, "window": "2m"}
    few = {**histogram(N + 1, 2.0, query="few", window="6s"), "target": N + 1}
    cluster.plan([few, {**histogram(N, 3.0, query="enough"), "window": "2m"}, bare], epsilon=20.0, tries=1)
    run, _shuffler, client = run_plan(cluster)
    assert [r["stage"] for r in cluster.json("analyzer", "round", "list")["rounds"]] == ["void", "settled", "settled"], run
    wait_for("the client to be through", lambda: client.log().count('"round done"') == 3)
    both = [cluster.json("analyzer", "budget")["together"], cluster.json("client", "status")["together"]]
    for said in both:
        assert said["reports"] == 3 and said["unbounded"] == 1 and said["epsilon0"] == "inf", said
        # `few`, which was void, and `enough`.
        assert said["epsilon0_of_others"] == pytest.approx(2.0 + 3.0, rel=1e-3)
    assert both[0] == both[1]
    for text in (cluster.run("analyzer", "budget").stdout, cluster.run("client", "status").stdout):
        assert "unbounded: rounds " in text and "bare" in text and "the other 2 reports sum to epsilon0 " in text, text
    assert cluster.json("analyzer", "estimate", "bare")["epsilon0_together"] == "inf"
    said = cluster.json("analyzer", "estimate", "enough")
    assert said["epsilon0"] <= said["epsilon0_together"] < said["epsilon0"] + 1e-9
