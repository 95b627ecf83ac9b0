"""A bad network: whatever it delays, loses, doubles, overtakes or cuts, every honest report is counted exactly once."""
from chance import within
from proxy import Proxy, pieces
from test_rounds import histogram, readings
from test_structured import audited

N = 120
ALL = ["pass", "delay", "pass", "lost", "pass", "unanswered", "doubled", "pass", "overtaken", "pass", "answered"]


def through(cluster, client, analyzer, rounds, n=N):
    """The plan with these faults; both proxies."""
    cluster.configure(min_batch=n, devices=n)
    with open(cluster.path("client.conf"), "a") as f:
        f.write("frame_devices = 10; connections = 1;\n")
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write('reconnect_min = "10ms"; reconnect_max = "50ms";\n')
    truth, _ = readings(cluster, n)
    cluster.plan(rounds, epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    one, other = Proxy(cluster, "client", client), Proxy(cluster, "analyzer", analyzer)
    try:
        cluster.start("client", "run")
        run = cluster.run("analyzer", "run", "--once")
    finally:
        one.close()
        other.close()
    assert run.returncode == 0, run.stderr
    return one, other, truth


def test_every_report_is_counted_exactly_once(cluster):
    asked = ("announce", "extend_ledger", "await_manifest", "release", "pull", "settle", "get_witness")
    client, analyzer, truth = through(cluster, {"submit": ALL, "get_round": ["pass", "doubled"]},
                                      {k: ["unanswered", "pass", "doubled", "lost", "pass", "delay", "answered"] for k in asked},
                                      [histogram(N, 3.0), histogram(N, 3.0, query="again")])
    for fault in set(ALL) - {"pass"}:
        assert client.done.get(fault, 0) >= 1, client.done
    for fault in ("lost", "doubled", "unanswered"):
        assert analyzer.done.get(fault, 0) >= 1, analyzer.done
    for number in (1, 2):
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["participants"] == result["reports"] == result["messages"] == N, result
        assert result["bad"] == result["duplicates"] == 0
        for item in result["items"]:
            assert within(item, truth[item["label"]], step=1.3), (item, truth)
    # A device's bytes are the same each time they are sent, and what was sent is what came out, each once.
    assert len(client.submitted) == 2 * N and all(len(s) == 1 for s in client.submitted.values())
    for round_id in {r for r, _ in client.submitted}:
        sent = sorted(m for (r, _), s in client.submitted.items() for m in s if r == round_id)
        got = sorted(m for (r, _, _), s in analyzer.segments.items() for m in pieces(s, len(sent[0])) if r == round_id)
        assert sent == got and len(set(got)) == N
    audited(cluster)


def test_every_third_answer_is_lost(cluster):
    client, *_ = through(cluster, {"submit": ["unanswered", "pass", "pass"]}, {}, [histogram(N, 3.0)])
    assert client.done["unanswered"] >= 4, client.done
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == N and result["duplicates"] == 0
    assert all(len(s) == 1 for s in client.submitted.values())
