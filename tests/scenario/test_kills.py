"""kill -9 of each daemon at random moments of real rounds: nothing acknowledged is lost or doubled, no charge is lost."""
import json
import random
import threading
import time

import pytest

from cluster import wait_for
from test_rounds import histogram, readings

pytestmark = pytest.mark.quiet

DEVICES, ROUNDS, KILLS = 1500, 4, 45


class Killer(threading.Thread):
    """Kills a random daemon every so often and starts it again at once."""

    def __init__(self, daemons, seed):
        super().__init__(daemon=True)
        self.daemons, self.rng, self.kills, self.done = daemons, random.Random(seed), {}, False

    def run(self):
        while not self.done:
            time.sleep(0.02 + self.rng.random() * 0.45)
            name, d = self.rng.choice(list(self.daemons.items()))
            if d.alive():
                d.kill()
                self.kills[name] = self.kills.get(name, 0) + 1
            if name != "analyzer" or not self.finished(d):
                d.start()

    def finished(self, d):
        return d.process.returncode == 0


def test_a_plan_survives_kills_of_every_daemon(cluster):
    cluster.configure(min_batch=1000, devices=DEVICES, epsilon=40.0)
    readings(cluster, DEVICES)
    cluster.plan([histogram(DEVICES, 2.0, query=f"q{i}", window="10m") for i in range(ROUNDS)], epsilon=40.0)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    daemons = {"shuffler": shuffler, "client": cluster.start("client", "run"),
               "analyzer": cluster.start("analyzer", "run")}
    killer = Killer(daemons, seed=20261121)
    killer.start()

    settled = wait_for_plan(cluster, killer)
    killer.done = True
    killer.join()
    assert sum(killer.kills.values()) >= KILLS and min(killer.kills.values()) >= 8, killer.kills
    for r in settled:
        # Target and minimum are all devices: a lost report would leave the round open, a doubled one would show here.
        assert r["reports"] == DEVICES, r
        result = cluster.json("analyzer", "round", "show", str(r["round"]))["result"]
        assert result["messages"] == sum(result["counts"]) == DEVICES and result["duplicates"] == 0

    export = [json.loads(x) for x in cluster.run("analyzer", "ledger", "export", "--json").stdout.splitlines()]
    order = {}
    for record in export:
        order.setdefault(record.get("round_id"), []).append(record["kind"])
    charged = [k for rid, k in order.items() if rid and "charge" in k]
    assert len(charged) == ROUNDS
    for kinds in charged:
        assert kinds == ["reserve", "charge", "settle"], kinds


def wait_for_plan(cluster, killer):
    def done():
        run = cluster.run("analyzer", "round", "list", "--json")
        if run.returncode != 0:
            return None
        rounds = json.loads(run.stdout)["rounds"]
        enough = sum(killer.kills.values()) >= KILLS and min(killer.kills.values(), default=0) >= 8
        return rounds if enough and all(r["stage"] == "settled" for r in rounds) else None

    return wait_for("all rounds settled in spite of the kills", done, 240)
