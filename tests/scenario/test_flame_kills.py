"""FLAME's own size, 7,850 messages of each device in one frame, where each process dies in the middle of a round: nothing that was
acknowledged is lost, no charge is, and nobody counts twice."""
import contextlib
import json
import sqlite3

import pytest

from cluster import wait_for
from test_classes import audited
from test_flame_whole import D, N, SIMPLE, asked

pytestmark = pytest.mark.heavy  # 8,000 messages of each device
SEALED = 64  # bytes of a message


def begun(cluster, **round_keys):
    asked(cluster, {**SIMPLE, "epsilon0": 0.5, **round_keys})
    cluster.relayed()
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    return shuffler, cluster.start("client", "run"), cluster.start("analyzer", "run", "--once")


def at_the_client(cluster, what):
    """A number of client.db, 0 while there is none or it is busy."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(cluster.path("client", "client.db"), timeout=1)) as db:
        return db.execute(f"SELECT coalesce(sum({what}), 0) FROM reports").fetchone()[0]
    return 0


def each_counts_once(cluster, analyzer):
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    # Target and minimum are all devices: a lost report would have left the round open, a doubled one would show here.
    assert result["participants"] == result["reports"] == N and result["bad"] == result["duplicates"] == 0
    assert result["messages"] == N * D and all(sum(result["counts"][2 * j:2 * j + 2]) == N for j in range(D))
    records = [json.loads(x) for x in cluster.run("analyzer", "ledger", "export", "--json").stdout.splitlines()]
    assert [r["kind"] for r in records if r.get("round_id")] == ["reserve", "charge", "settle"]
    audited(cluster)


def test_the_client_dies_when_some_devices_are_sealed_and_when_some_are_acknowledged(cluster):
    _, client, analyzer = begun(cluster)
    for what in ("length(outcomes) > 0", "length(outcomes) = 24 OR first > 16", "instr(outcomes, x'01') > 0"):
        wait_for(what, lambda what=what: at_the_client(cluster, what) or not analyzer.alive())
        client.kill()
        client.start()
    each_counts_once(cluster, analyzer)


def test_the_shuffler_dies_when_some_devices_are_stored(cluster):
    shuffler, _, analyzer = begun(cluster)
    cluster.killed_at(shuffler, *(part * N * D * SEALED // 8 for part in (1, 4, 7)))
    each_counts_once(cluster, analyzer)


def test_the_analyzer_dies_before_and_after_its_charge(cluster):
    _, _, analyzer = begun(cluster)
    seen = set()

    def stage():
        run = cluster.run("analyzer", "round", "list", "--json")
        return json.loads(run.stdout)["rounds"][0]["stage"] if run.returncode == 0 else ""

    # Thrice in each stage that is seen at all; a charged round may be opened faster than it is looked at.
    for at in ("reserved",) * 3 + ("charged",) * 3:
        found = wait_for(at, lambda at=at: (s := stage()) in (at, "settled") and s)
        seen.add(found)
        if found == "settled":
            break
        analyzer.kill()
        analyzer.start()
    assert "reserved" in seen, seen
    each_counts_once(cluster, analyzer)
