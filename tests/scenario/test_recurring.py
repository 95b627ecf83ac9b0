"""Rounds that recur: one query, one history, one budget.  The parties' clocks go by days, so no test waits for a window and
none depends on how fast the machine is."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

from browser import Browser
from cluster import EXIT, program, sanitized, wait_for
from test_clock import DAY, HOUR, PARTIES, SHIM, clock

MINUTE = 60
N = 20


def text(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


class Days:
    """A deployment whose three clocks are set together."""

    def __init__(self, cluster, count=4, first=DAY, epsilon=8.0, extra=None, **keys):
        self.cluster, self.start_at = cluster, int(time.time()) + first
        cluster.two_colours(N)
        cluster.configure(min_batch=N, epsilon=epsilon)
        cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
                       "min_reports": N, "target": N, "values": ["c0", "c1"], "window": "1h", "every": "24h",
                       "count": count, "start": text(self.start_at), **keys}], epsilon=epsilon, **(extra or {}))
        self.seconds, self.daemons, self.zone = {}, {}, "UTC"
        for p in PARTIES:
            self.set(p, 0)

    def set(self, party, seconds):
        """So many seconds pass for this party."""
        clock(self.cluster, party, 0, seconds)
        self.seconds[party] = seconds

    def at(self, day, seconds=MINUTE):
        """Everybody's clock: so long after recurrence `day` (from 1) was to open.  The analyzer's is the last to go."""
        for p in PARTIES:
            self.set(p, int(self.start_at + (day - 1) * DAY + seconds - time.time()))

    def env(self, party):
        return {"TZ": self.zone, "LD_PRELOAD": SHIM, "TOMBOLA_CLOCK": self.cluster.path(f"{party}.clock"),
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def start(self, *parties):
        for p in parties:
            self.daemons[p] = self.cluster.start(p, "run", env=self.env(p))
            if p == "shuffler":
                self.cluster.wait_listening()

    def restart(self, *parties):
        for p in parties:
            self.daemons[p].stop()
        self.start(*parties)

    def log(self, party):
        return self.daemons[party].log()

    def verb(self, *args):
        return self.cluster.run("analyzer", *args, env=self.env("analyzer"))

    def json(self, *args):
        run = self.verb(*args, "--json")
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def rounds(self):
        return self.json("round", "list")["rounds"]

    def stages(self):
        return ["missed" if r["missed"] else r["stage"] for r in self.rounds()]

    def wait_stage(self, day, stage):
        wait_for(f"recurrence {day} to be {stage}", lambda: self.stages()[day - 1] == stage)

    def wait_waiting(self, times):
        wait_for("the analyzer to wait for a round",
                 lambda: self.log("analyzer").count("waiting until a round opens") == times)

    def readings(self, holders):
        """So many devices hold c0, the others c1."""
        self.cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{int(i >= holders)}\n" for i in range(N)))

    def counted(self, label):
        """How many c0 the result of a recurrence says."""
        result = self.json("estimate", label)
        assert result["reports"] == N
        return next(i["value"] for i in result["items"] if i["label"] == "c0")

    def answered_with(self, holders):
        """At epsilon0 9 a device tells the other colour with probability 1.2e-4: four of N do with 1e-12, and no two days'
        readings are as near to each other."""
        for day, held in holders.items():
            assert abs(self.counted(f"colour#{day}") - held) < 3.5, (day, held, self.counted(f"colour#{day}"))

    def agree(self, answered):
        """One budget, three parties: each has taken the slice of the one plan, whatever recurred, and each recurrence was
        answered once."""
        budget = self.json("budget")
        shuffler, client = (json.loads(self.cluster.run(p, "status", "--json").stdout) for p in ("shuffler", "client"))
        for said in (budget, shuffler, client):
            plan, = said["plans"]
            assert plan["epsilon"] == said["population_budget"]["pinned"] == budget["slice_epsilon"]
        assert budget["rounds"]["accepted"] == shuffler["plans"][0]["answered"] == answered
        with sqlite3.connect(f"file:{self.cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
            accepted = db.execute("SELECT plan_entry, count(*) FROM ledger WHERE kind = 'over' AND note = ? "
                                  "GROUP BY plan_entry", (f"{N} accepted",)).fetchall()
        assert len(accepted) == answered and all(n == 1 for _, n in accepted), accepted
        assert client["plans"][0]["answered"] == answered
        assert self.verb("ledger", "verify").returncode == 0


@pytest.fixture
def days(cluster):
    return Days(cluster)


def summer_from(day_of_year, days):
    """A time zone whose clocks go an hour forward on that day, and back so many days later."""
    return f"AAA0BBB,{day_of_year % 365},{(day_of_year + days) % 365}"


def test_a_query_recurs_through_restarts_voids_missed_days_and_summer_time(cluster):
    d = Days(cluster, count=6, epsilon0=9.0, epsilon=90.0)
    d.zone = summer_from(time.gmtime(d.start_at).tm_yday, 3)
    d.readings(15)
    d.start(*PARTIES)
    wait_for("the analyzer to wait", lambda: "waiting until a round opens" in d.log("analyzer"))
    assert d.json("status")["state"]["code"] == "scheduled" and d.stages() == ["planned"] * 6
    d.at(1)
    d.wait_stage(1, "settled")
    d.agree(1)

    # Everybody dies while the second is open; each device answers with the reading that it has then.
    d.readings(5)
    d.daemons["client"].stop()
    d.at(2)
    wait_for("the round to open", lambda: d.log("shuffler").count('"round open"') == 2)
    for p in ("analyzer", "shuffler"):
        d.daemons[p].kill()
    d.start(*PARTIES)
    d.wait_stage(2, "settled")
    d.agree(2)

    # Nobody answers the third within its window; its second try is answered, late on the same day.
    d.daemons["client"].stop()
    d.at(3)
    wait_for("the round to open", lambda: d.log("shuffler").count('"round open"') == 3)
    d.at(3, MINUTE + HOUR + MINUTE)
    wait_for("the second try", lambda: d.log("shuffler").count('"round open"') == 4)
    d.start("client")
    d.wait_stage(3, "settled")
    assert d.rounds()[2]["tries"] == 2
    d.agree(3)

    # Nobody is there on the fourth day and the fifth.
    for p in PARTIES:
        d.daemons[p].stop()
    d.readings(20)
    d.at(6)
    d.start(*PARTIES)
    d.wait_stage(6, "settled")
    wait_for("the end", lambda: "the plan is through" in d.log("analyzer"))
    missed = [json.loads(line) for line in d.log("analyzer").splitlines() if '"missed: ' in line]
    assert [(m["missed"], m["first"], m["last"]) for m in missed] == [(2, "colour#4", "colour#5")]
    assert d.stages() == ["settled"] * 3 + ["missed"] * 2 + ["settled"]
    assert d.json("status")["state"]["text"].endswith("4 of 6 rounds charged, 2 missed")
    d.agree(4)

    # Late by an operator's word alone.
    d.daemons["analyzer"].stop()
    late = d.verb("round", "run", "colour#4")
    assert late.returncode == 0 and "colour#4 (round 4)" in late.stdout, late
    d.agree(5)
    d.answered_with({1: 15, 2: 5, 3: 5, 4: 20, 6: 20})
    assert d.json("estimate", "colour")["round"] == 4, "the newest is the last that was charged"

    history = d.json("estimate", "colour", "--history")
    assert [(r["recurrence"], r["stage"]) for r in history["rounds"]] == [
        (1, "settled"), (2, "settled"), (3, "settled"), (5, "missed"), (6, "settled"), (4, "settled")]
    assert [r["result"]["round"] for r in history["rounds"] if "result" in r] == [1, 2, 3, 6, 4]
    since = text(d.start_at + 4 * DAY)
    assert [r["recurrence"] for r in d.json("estimate", "colour", "--since", since)["rounds"]] == [5, 6, 4]
    csv = d.verb("estimate", "colour", "--history", "--csv").stdout.splitlines()
    assert len(csv) == 1 + 5 * 3 + 1 and sum(",missed," in line for line in csv) == 1
    assert all(line.count(",") == csv[0].count(",") for line in csv)
    table = d.verb("estimate", "colour", "--since", since[:10]).stdout
    assert "colour#5" in table and "colour#3" not in table
    assert d.verb("estimate", "colour", "--since", "yesterday").returncode == EXIT["usage"]
    assert "colour recurs every 1d: 6 of 6 fit, 5 answered, 1 missed\n" in d.verb("round", "list").stdout


def peak_mib(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) / 1024


def test_a_daily_year_is_one_plan_with_the_limits_that_parties_have_by_default(cluster):
    d = Days(cluster, count=366, epsilon0=0.1, epsilon=50.0)
    cost = subprocess.run([program("tombola"), "plan", "cost", cluster.path("plan.conf")], capture_output=True, text=True)
    assert cost.returncode == 0 and "366 of 366 rounds fit" in cost.stdout, cost
    d.readings(10)
    d.start(*PARTIES)
    wait_for("the analyzer to wait", lambda: "waiting until a round opens" in d.log("analyzer"))
    assert d.stages() == ["planned"] * 366
    d.at(1)
    d.wait_stage(1, "settled")
    d.agree(1)
    for p in PARTIES:
        d.daemons[p].stop()
    d.at(80)  # the certificates are of 90 days
    d.start(*PARTIES)
    d.wait_stage(80, "settled")
    assert d.stages() == ["settled"] + ["missed"] * 78 + ["settled"] + ["planned"] * 286
    d.agree(2)
    pinned = [json.loads(line)["entries"] for p in PARTIES for line in d.log(p).splitlines() if '"plan pinned"' in line]
    assert pinned and set(pinned) == {366}, pinned
    peaks = {p: peak_mib(d.daemons[p]) for p in PARTIES}
    assert sanitized() or max(peaks.values()) < 128, peaks


def test_clock_steps_while_the_analyzer_waits(days):
    d = days
    d.start(*PARTIES)
    d.at(1)
    d.wait_stage(1, "settled")
    # Hours back, a day back, and forward again: what was answered is not asked again, and nothing opens early.
    for times, step in enumerate((-12 * HOUR, -DAY, DAY - 10 * MINUTE), 1):
        d.wait_waiting(times)
        for p in PARTIES:
            d.set(p, d.seconds[p] + step)
        d.restart("analyzer")
        d.wait_waiting(times + 1)
        assert d.stages() == ["settled"] + ["planned"] * 3
    d.at(2)
    d.wait_stage(2, "settled")
    # The same while it runs.
    d.wait_waiting(5)
    d.at(1, HOUR)
    assert d.json("status")["state"]["code"] == "scheduled"
    d.at(3)
    d.wait_stage(3, "settled")
    assert d.stages() == ["settled"] * 3 + ["planned"]
    assert "missed" not in d.log("analyzer")
    d.agree(3)


def test_once_runs_what_is_due_and_says_what_is_not(days):
    d = days
    d.start("shuffler", "client")
    early = d.verb("run", "--once")
    assert early.returncode == 0 and d.stages() == ["planned"] * 4
    said, = [json.loads(line) for line in early.stderr.splitlines() if '"not due yet"' in line]
    assert (said["rounds"], said["next"], said["opens"]) == (4, "colour#1", text(d.start_at))
    d.at(2)
    due = d.verb("run", "--once")
    assert due.returncode == 0 and d.stages() == ["missed", "settled", "planned", "planned"], due
    missed, = [json.loads(line) for line in due.stderr.splitlines() if '"missed: ' in line]
    assert (missed["first"], missed["missed"]) == ("colour#1", 1)
    said, = [json.loads(line) for line in due.stderr.splitlines() if '"not due yet"' in line]
    assert (said["rounds"], said["next"]) == (2, "colour#3")
    # Again at once: nothing is asked twice.
    assert d.verb("run", "--once").returncode == 0 and d.stages() == ["missed", "settled", "planned", "planned"]
    # Early, when an operator says so.
    assert d.verb("round", "run", "colour#4").returncode == 0
    assert d.stages() == ["missed", "settled", "planned", "settled"]
    assert d.verb("round", "run", "colour#5").returncode == EXIT["usage"]
    d.agree(2)


def test_what_does_not_fit_is_refused_from_the_start(cluster):
    d = Days(cluster, count=30, epsilon=5.0)
    checked = subprocess.run([program("tombola"), "plan", "check", cluster.path("plan.conf")], capture_output=True,
                             text=True)
    fit = sum(r["fits"] for r in json.loads(subprocess.run(
        [program("tombola"), "plan", "cost", cluster.path("plan.conf"), "--json"], capture_output=True,
        text=True).stdout)["rounds"])
    assert 2 <= fit < 29
    assert checked.returncode == 0 and checked.stdout.splitlines()[1] == (
        f"colour every 1d from {text(d.start_at)}: {fit} of 30 fit, the last {30 - fit} are refused")
    d.start(*PARTIES)
    d.at(1)
    d.wait_stage(1, "settled")
    assert d.stages() == ["settled"] + ["planned"] * (fit - 1) + ["refused"] * (30 - fit)
    log = [json.loads(line) for line in d.log("analyzer").splitlines()]
    assert [(e["fit"], e["of"]) for e in log if e["msg"] == "recurrences that fit"] == [(fit, 30)]
    assert [e["query"] for e in log if e["msg"] == "round refused by the budget"] == [f"colour#{fit + 1}"]
    d.daemons["analyzer"].stop()
    refused = d.verb("round", "run", f"colour#{fit + 1}")
    assert refused.returncode == EXIT["budget"] and f"(colour#{fit + 1}) refused" in refused.stderr
    assert f"spent by rounds 1 to {fit} (colour) " in refused.stderr
    d.agree(1)


def test_recurrences_under_a_filter_are_judged_when_they_are_due(cluster):
    d = Days(cluster, count=3, epsilon=6.0, extra={"mode": "adaptive"})
    cluster.accept_adaptive()
    d.start(*PARTIES)
    d.at(1)
    d.wait_stage(1, "settled")
    d.restart("analyzer")
    d.at(3)
    wait_for("the third to be judged", lambda: d.stages()[2] in ("settled", "refused"))
    assert d.stages()[:2] == ["settled", "missed"]
    assert [r["recurrence"] for r in d.json("estimate", "colour", "--history")["rounds"]][:2] == [1, 2]


@pytest.fixture
def browser():
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: deploy/setup.sh test")
    opened = Browser()
    yield opened
    opened.close()


def test_the_dashboard_shows_one_card_with_its_trend(cluster, browser):
    d = Days(cluster, count=30, epsilon0=9.0, epsilon=70.0)
    d.start(*PARTIES)
    for day, holders in ((1, 3), (2, 10), (4, 17)):
        d.readings(holders)
        d.at(day)
        d.wait_stage(day, "settled")
    stages = d.stages()
    refused = stages.count("refused")
    assert refused > 1
    browser.go(f"http://127.0.0.1:{cluster.http['analyzer']}/")
    browser.until("document.querySelectorAll('.card circle').length > 0")
    cards = browser.js("[...document.querySelectorAll('.card h3')].map(e => e.textContent)")
    assert cards == ["colour#4"]
    # Each point stands at its value, and at its recurrence: the missed one leaves a gap.
    points = browser.js("[...document.querySelectorAll('.trend')].map(t => [...t.querySelectorAll('circle')].map(c => "
                        "['cx', 'cy', 'data-recurrence', 'data-value'].map(a => Number(c.getAttribute(a)))))")
    d.answered_with({1: 3, 2: 10, 4: 17})
    counted = [pytest.approx(d.counted(f"colour#{k}"), rel=1e-9) for k in (1, 2, 4)]
    c0 = next(p for p in points if [x[3] for x in p] == counted)
    assert [x[2] for x in c0] == [1, 2, 4]
    assert c0[2][0] - c0[1][0] == pytest.approx(2 * (c0[1][0] - c0[0][0]))
    assert (c0[0][1] - c0[1][1]) / (c0[1][3] - c0[0][3]) == pytest.approx((c0[1][1] - c0[2][1]) / (c0[2][3] - c0[1][3]))
    assert c0[0][1] > c0[1][1] > c0[2][1]
    # A row for what was answered or missed, one for all that is to come, one for all that was refused.
    rows = browser.js("[...document.querySelectorAll('#rounds tbody tr')].map(r => [...r.children].map(c => c.textContent))")
    assert [r[1] for r in rows] == ["colour#1", "colour#2", "colour#3", "colour#4", "colour#5", f"colour#{31 - refused}"]
    opens = time.strftime("%m-%d %H:%M UTC", time.gmtime(d.start_at + 4 * DAY))
    listed = {r["round"]: r["epsilon_total"] for r in d.rounds()}
    held = [float(r[-3]) for r in rows]
    assert held[:5] == [pytest.approx(listed[k], abs=2e-4) for k in range(1, 6)]
    assert held[5] == pytest.approx(listed[30 - refused], abs=2e-4), "a refused round leaves the total of all entries"
    assert [r[-1] for r in rows] == ["charged", "charged", "missed", "charged",
                                     f"opens {opens}, and {stages.count('planned') - 1} more",
                                     f"REFUSED, and {refused - 1} more"]
    assert browser.complaints == []
