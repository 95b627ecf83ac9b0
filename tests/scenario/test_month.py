"""A month of daily rounds: void tries and a void day, a missed one, restarts and kills of each daemon, renewed certificates, and
an upgrade (all stopped, all started on the state as it is).  One history, one budget, and three parties that agree after every
day.  The clocks go by days as in test_recurring.py; most days are run by `run --once`, as from a timer."""
import os
import shutil
import signal
import subprocess

import pytest

from cluster import program, wait_for
from test_clock import DAY, HOUR, PARTIES
from test_recurring import MINUTE, N, Days, text

pytestmark = pytest.mark.heavy

TRIES = 2
SERVED = (1, 2, 3, 10, 15)  # days on which the analyzer runs as a daemon
LATE, VOID, MISSED = 5, 17, 21


class Month(Days):
    def __init__(self, cluster):
        super().__init__(cluster, count=30, epsilon=90.0, extra={"tries": TRIES})
        self.answered, self.ended = 0, {}

    def once(self):
        run = self.verb("run", "--once")
        assert run.returncode == 0, run.stderr

    def opened(self, times):
        wait_for("the round to be open", lambda: self.log("shuffler").count('"round open"') == times)

    def settled(self, day):
        self.answered += 1
        self.ended[day] = "settled"

    def renew(self):
        """Every party's certificate, for the same key, under daemons that go on."""
        for p in PARTIES:
            old, new = os.path.join(self.cluster.pki, p, f"{p}.crt"), self.cluster.path(f"{p}-new.crt")
            run = subprocess.run([program("tombola"), "pki", "renew", self.cluster.pki, old, "--out", new],
                                 capture_output=True, text=True, env={**os.environ, **self.env(p)})
            assert run.returncode == 0, run.stderr
            shutil.move(new, old)
            if p in self.daemons and self.daemons[p].alive():
                self.daemons[p].process.send_signal(signal.SIGHUP)
                wait_for(f"the {p} to reload", lambda p=p: "certificates reloaded" in self.log(p))

    def check(self, day):
        self.agree(self.answered)
        assert self.stages()[:day] == [self.ended[k] for k in range(1, day + 1)]
        budget = self.json("budget")
        self.slice = getattr(self, "slice", budget["slice_epsilon"])
        assert budget["slice_epsilon"] == budget["population_budget"]["pinned"] == self.slice, "it was spent whole on the first day"


def tries_without_a_client(m, day, tries):
    """The day's round is announced, and nobody is there: each window passes, and what may be tried again is."""
    m.daemons["client"].stop()
    m.start("analyzer")
    opened = m.log("shuffler").count('"round open"')
    for k in range(tries):
        m.at(day, MINUTE + k * (HOUR + MINUTE))
        m.opened(opened + k + 1)
    m.at(day, MINUTE + tries * (HOUR + MINUTE))


def served(m, day):
    """The analyzer is a daemon; on some days somebody dies in the middle, or all are replaced by a newer version."""
    if day == 2:
        m.daemons["client"].stop()
        m.at(day)
        m.opened(day)
        for p in ("analyzer", "shuffler"):
            m.daemons[p].kill()
        m.start("shuffler", "client", "analyzer")
    elif day == 15:
        for p in PARTIES:
            if m.daemons[p].alive():
                m.daemons[p].stop()
        m.at(day)
        m.start("shuffler", "client", "analyzer")
    else:
        if not m.daemons.get("analyzer") or not m.daemons["analyzer"].alive():
            m.start("analyzer")
        if day == 10:
            m.renew()
        m.at(day)
    m.wait_stage(day, "settled")
    m.settled(day)


def one_day(m, day):
    if day in SERVED:
        served(m, day)
    elif day == LATE:
        tries_without_a_client(m, day, 1)
        m.start("client")
        m.wait_stage(day, "settled")
        assert m.rounds()[day - 1]["tries"] == 2
        m.settled(day)
    elif day == VOID:
        tries_without_a_client(m, day, TRIES)
        m.wait_stage(day, "void")
        m.ended[day] = "void"
        m.start("client")
    elif day == MISSED:
        m.ended[day] = "missed"
        return
    else:
        m.at(day)
        if day % 7 == 0:
            m.daemons["shuffler"].kill()
            m.start("shuffler")
        if day % 8 == 0:
            m.restart("client")
        m.once()
        m.settled(day)
    # What goes on as a daemon tomorrow stays up.
    if day + 1 not in SERVED and m.daemons.get("analyzer") and m.daemons["analyzer"].alive():
        m.daemons["analyzer"].stop()
    m.check(day)


def test_a_month(cluster):
    m = Month(cluster)
    m.start("shuffler", "client")
    for day in range(1, 31):
        m.readings(day % (N + 1))
        one_day(m, day)
    assert m.answered == 28
    history = m.json("estimate", "colour", "--history")["rounds"]
    assert [(r["recurrence"], r["stage"]) for r in history] == sorted(m.ended.items())
    assert all(r["result"]["reports"] == N for r in history if r["stage"] == "settled")
    assert len({r["result"]["round"] for r in history if "result" in r}) == 28
    since = m.json("estimate", "colour", "--since", text(m.start_at + 20 * DAY))["rounds"]
    assert [r["recurrence"] for r in since] == list(range(21, 31))
    audit = subprocess.run([program("tombola-accountant"), "audit", "-"], capture_output=True, text=True,
                           input=m.verb("ledger", "export").stdout)
    assert audit.returncode == 0, audit
