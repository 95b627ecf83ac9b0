"""While a released round is read from the database, or deleted there, the shuffler answers everybody else: a session of the
database that stands still holds up the analyzer's request alone."""
import json
import os
import re
import signal
import urllib.request

import pytest

import postgresql
from cluster import BUILD, wait_for
from parties import Analyzer, Device
from wire import pb

if not postgresql.programs() or not os.path.exists(os.path.join(BUILD, "libexec", "tombola", "tombola-shuffler-postgresql")):
    pytest.skip("no PostgreSQL server, or built without libpq: deploy/setup.sh test", allow_module_level=True)


@pytest.fixture
def own():
    server = postgresql.Server()
    yield server
    server.close()


def page(cluster, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['shuffler']}{path}", timeout=180) as answer:
        return answer.read().decode()


def frames(cluster):
    return int(re.search(r"^tombola_frames_received_total (\d+)", page(cluster, "/metrics"), re.M)[1])


class Still:
    """The session that was begun last, which is the round's, stands still."""

    def __init__(self, server, database):
        self.pid = server.ask(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}' ORDER BY backend_start DESC"
                              " LIMIT 1")[0]["pid"]

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def sent(cluster, analyzer, **kind):
    """The request, once the shuffler has begun with it: what counts frames is answered by the thread that serves them."""
    before = frames(cluster)
    analyzer.link.send(**kind)
    wait_for("the shuffler to take the request", lambda: frames(cluster) > before)


def test_others_are_answered_while_a_bucket_is_read_and_while_a_round_is_deleted(cluster, own):
    cluster.use(own)
    cluster.configure(devices=4)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer, device = Analyzer(cluster).dial(), Device(cluster)
    d, data = analyzer.open_round()
    messages = [device.seal(d, data, i) for i in range(2)]
    assert device.submit(d, [(os.urandom(32), m) for m in messages]) == [pb.OUTCOME_ACCEPTED] * 2
    manifest, signed = analyzer.manifest(d)
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    still = Still(own, cluster.database)

    with still:
        sent(cluster, analyzer, pull=pb.Pull(round_id=d.round_id, bucket=0, offset=0))
        assert [r["state"] for r in json.loads(page(cluster, "/status"))["rounds"]] == ["RELEASING"]
        assert device.standing()[0] == d.sequence
    segment = analyzer.link.expect("segment")
    assert sorted([segment.sealed[:64], segment.sealed[64:]]) == sorted(messages)
    assert len(manifest.buckets) == 1

    tables = f"SELECT count(*) n FROM pg_tables WHERE tablename LIKE '%{d.round_id.hex()}%'"
    assert own.ask(tables, cluster.database)[0]["n"] == 2
    with still:
        sent(cluster, analyzer, settle=pb.Settle(round_id=d.round_id))
        # Nobody can read it any more, and everybody is told so.
        assert not [f for f in os.listdir(cluster.path("shuffler", "keys")) if f.endswith(".key")]
        assert json.loads(page(cluster, "/status"))["rounds"] == []
        assert device.standing()[0] == d.sequence
        assert "round erased" not in shuffler.log()
    assert analyzer.link.expect("settled").round_id == d.round_id
    assert own.ask(tables, cluster.database)[0]["n"] == 0
    wait_for("the log", lambda: "round erased" in shuffler.log())
