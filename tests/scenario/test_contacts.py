"""500 door contacts that report on change, asked once a day: the whole of it, from a broker to the analyzer's answer.  The gateway
restarts between two days, dies in the middle of a round, and hears nothing for a day; the count is right on each."""
import os

import pytest

from broker import Broker, fate
from cluster import wait_for
from test_mqtt import log_says, use_mqtt
from test_recurring import Days, text

N = 500
SURE = 14.0  # a device says something else with probability 2e-6: four of N do in a round once in 10^13

pytestmark = pytest.mark.heavy


class Contacts(Days):
    def __init__(self, cluster):
        super().__init__(cluster)
        cluster.configure(min_batch=N, devices=N, epsilon=1000.0)
        cluster.plan([{"query": "door", "type": "histogram", "protocol": "grr", "field": "contact", "epsilon0": SURE, "min_reports": N,
                       "target": N, "values": ["open", "closed"], "window": "1h", "every": "24h", "count": 6,
                       "start": text(self.start_at)}], epsilon=100.0)
        self.broker, self.begun, self.day = Broker(cluster), 0, 0
        self.is_open, self.told = set(), 0
        use_mqtt(cluster, self.broker, names=[f"door{i}" for i in range(N)], hold="true", save='"1s"', max_age='"30d"')

    def gateway(self):
        self.begun += 1
        self.told = 0
        self.start("client")
        wait_for("the gateway to subscribe", lambda: log_says(self.cluster, '"subscribed"') == self.begun)

    def change(self, now_open=(), now_closed=()):
        """These report; nobody else says anything."""
        said = [(i, "open") for i in now_open] + [(i, "closed") for i in now_closed]
        self.is_open = (self.is_open | set(now_open)) - set(now_closed)
        self.broker.publish(*((f"sensors/door{i}/reading", f'{{"contact":"{state}"}}') for i, state in said))
        self.told += len(said)
        wait_for("the gateway to have them", lambda: fate(self.cluster, "kept") >= self.told)

    def saved(self):
        """The file of last values was written twice since now: with all that was told before."""
        path = self.cluster.path("client", "held")
        before = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        for _ in range(2):
            wait_for("the last values to be saved", lambda: os.path.exists(path) and os.stat(path).st_mtime_ns > before)
            before = os.stat(path).st_mtime_ns

    def ask(self, in_the_middle=None):
        """The next day's round; the count must be what the doors are."""
        self.day += 1
        self.at(self.day)
        if in_the_middle:
            self.start("analyzer")
            wait_for("the round to be open", lambda: self.log("shuffler").count('"round open"') == self.day)
            in_the_middle()
            self.wait_stage(self.day, "settled")
            self.daemons["analyzer"].stop()
        else:
            run = self.verb("run", "--once")
            assert run.returncode == 0, run.stderr
        result = self.json("estimate", f"door#{self.day}")
        counts = {item["label"]: item["value"] for item in result["items"]}
        assert result["reports"] == result["participants"] == N, result
        assert abs(counts["open"] - len(self.is_open)) < 3.5 and abs(counts["closed"] - (N - len(self.is_open))) < 3.5, (
            self.day, len(self.is_open), counts)


def test_the_count_is_right_each_day_through_restarts_of_the_gateway(cluster):
    d = Contacts(cluster)
    d.start("shuffler")
    d.gateway()
    d.change(now_open=range(40), now_closed=range(40, N))
    d.ask()
    d.change(now_open=range(100, 130), now_closed=range(10))
    d.ask()
    # It restarts, as it is told to, and nobody reports anything for a day.
    d.daemons["client"].stop()
    d.gateway()
    d.ask()
    # It is away when the round opens, and comes back in its middle.
    d.change(now_open=range(200, 210), now_closed=(100, 101))
    d.saved()
    d.daemons["client"].kill()
    d.ask(in_the_middle=d.gateway)
    # A door that opens and closes again within a day is closed; one that says the same again is as it was.
    d.change(now_open=(300,))
    d.change(now_closed=(300,), now_open=(200,))
    d.ask()
    # A power cut a moment after a change that was saved, and then a day without a word.
    d.change(now_closed=range(100, 130))
    d.saved()
    d.daemons["client"].kill()
    d.gateway()
    d.ask()
    assert len(d.is_open) == 30 + 10
