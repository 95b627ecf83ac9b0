"""A clock that is wrong while rounds run.  Who refuses by its clock says so, the other one waits and says so, and nothing is
spent or lost that can wait: once the clock is right each round ends as any other, and each device counts once."""
import json
import re

import pytest

import parties
from cluster import wait_for
from test_clock import DAY, HOUR, N, PARTIES, check_settled, clock, start

ROUNDS = 5


def log_of(daemon):
    return [json.loads(line) for line in daemon.log().splitlines()]


def warned(daemon, text):
    return [e for e in log_of(daemon) if text in e["msg"] and e["level"] == "warn"]


def kinds(cluster):
    export = cluster.run("analyzer", "ledger", "export").stdout
    return [json.loads(line)["kind"] for line in export.splitlines()][1:]


def slowly(cluster):
    """The client sends one device in a frame, over seconds."""
    with open(cluster.path("client.conf"), "a") as f:
        f.write('frame_devices = 1;\nconnections = 1;\nspread = "6s";\n')


def taken(cluster):
    """How many participants the shuffler has."""
    found = re.search(r": (\d+) of \d+ participants", cluster.run("shuffler", "status").stdout)
    return int(found.group(1)) if found else 0


def counts_once(cluster, rounds=1):
    """Each device is in each round once: the result counts them all, the client's ledger says so, and its reports were kept
    until they were answered."""
    for n in range(1, rounds + 1):
        shown = cluster.json("analyzer", "round", "show", str(n))
        assert shown["result"]["reports"] == shown["result"]["messages"] == N
    ledger = cluster.json("client", "status")["ledger"]
    assert [e["note"] for e in ledger if e["kind"] == "over"] == [f"{N} accepted"] * rounds, ledger
    assert sum(e["kind"] == "charged" for e in ledger) == rounds


def test_a_shuffler_an_hour_ahead_for_a_moment_voids_nothing(cluster):
    cluster.two_colours(N)
    cluster.configure(min_batch=N, epsilon=50.0)
    cluster.plan([{"query": f"colour{i}", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0,
                   "min_reports": N, "target": N, "values": ["c0", "c1"], "window": "30m"} for i in range(ROUNDS)],
                 epsilon=40.0)
    for p in PARTIES:
        clock(cluster, p, 0)
    clock(cluster, "shuffler", HOUR)
    shuffler = start(cluster, "shuffler")
    cluster.wait_listening()
    client, analyzer = start(cluster, "client"), start(cluster, "analyzer")
    wait_for("the shuffler to refuse", lambda: warned(shuffler, "refused"))
    wait_for("the analyzer to wait, or to end", lambda: not analyzer.alive() or warned(analyzer, "by its clock"))
    assert analyzer.alive(), analyzer.log()
    assert "passed by" in warned(analyzer, "by its clock")[0]["reason"]
    clock(cluster, "shuffler", 0)
    assert analyzer.wait() == 0, analyzer.log()
    assert kinds(cluster) == ["plan"] + ["entry"] * ROUNDS + ["reserve", "charge", "settle"] * ROUNDS
    wait_for("the client", lambda: client.log().count('"round done"') == ROUNDS)
    counts_once(cluster, ROUNDS)


def late_start(cluster, mutant=""):
    """A shuffler dies in a round and starts again with a clock an hour ahead, past the deadline.  The analyzer, which runs."""
    cluster.two_colours(N, window="30m")
    slowly(cluster)
    for p in PARTIES:
        clock(cluster, p, 0)
    shuffler = start(cluster, "shuffler")
    cluster.wait_listening()
    analyzer, client = start(cluster, "analyzer"), start(cluster, "client")
    wait_for("a first report", lambda: 0 < taken(cluster) < N)
    shuffler.kill()
    assert '"round done"' not in client.log()
    again = cluster.start("shuffler", "run", mutant=mutant, env=clock(cluster, "shuffler", HOUR))
    return again, analyzer, client


def test_a_shuffler_that_starts_with_a_clock_past_the_deadline_waits_for_the_right_time(cluster):
    shuffler, analyzer, client = late_start(cluster)
    wait_for("the shuffler to wait", lambda: warned(shuffler, "over before this start"))
    clock(cluster, "shuffler", 0)
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the client", lambda: '"round done"' in client.log())
    assert kinds(cluster) == ["plan", "entry", "reserve", "charge", "settle"]
    counts_once(cluster)


def test_without_the_wait_such_a_start_ends_the_try(cluster):
    late_start(cluster, "shuffler.late_start")
    wait_for("the void try", lambda: "void" in kinds(cluster))


def test_a_round_that_is_over_ends_when_the_wait_is(cluster):
    """The clock was right: half a minute later the try is void, and the next one is answered."""
    shuffler, analyzer, _ = late_start(cluster)
    wait_for("the shuffler to wait", lambda: warned(shuffler, "over before this start"))
    wait_for("the void try", lambda: "void" in kinds(cluster))
    clock(cluster, "shuffler", 0)
    assert analyzer.wait() == 0, analyzer.log()
    assert kinds(cluster)[-3:] == ["reserve", "charge", "settle"]


def test_a_client_a_day_ahead_while_it_sends_goes_on(cluster):
    cluster.two_colours(N, window="30m")
    slowly(cluster)
    for p in PARTIES:
        clock(cluster, p, 0)
    start(cluster, "shuffler")
    cluster.wait_listening()
    client, analyzer = start(cluster, "client"), start(cluster, "analyzer")
    wait_for("a first report", lambda: taken(cluster) > 0)
    clock(cluster, "client", DAY)
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the client", lambda: '"round done"' in client.log())
    assert len(warned(client, "the clock was set")) == 1, client.log()
    check_settled(cluster)
    counts_once(cluster)


@pytest.mark.parametrize("seconds", (DAY, -4 * 60), ids=str)
def test_a_client_that_starts_again_with_a_wrong_clock_keeps_its_reports(cluster, seconds):
    cluster.two_colours(N, window="30m")
    slowly(cluster)
    for p in PARTIES:
        clock(cluster, p, 0)
    start(cluster, "shuffler")
    cluster.wait_listening()
    client, analyzer = start(cluster, "client"), start(cluster, "analyzer")
    wait_for("a first report", lambda: taken(cluster) > 0)
    client.kill()
    clock(cluster, "client", seconds)
    client = start(cluster, "client")
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the client", lambda: client.log().count('"round done"') == 1)
    check_settled(cluster)
    counts_once(cluster)


class Silent(parties.Shuffler):
    """Answers no report before it is told to."""
    silent = True

    def on_submit(self, link, m):
        if not self.silent:
            super().on_submit(link, m)


def test_reports_are_kept_until_the_shuffler_says_that_the_round_is_closed(cluster):
    cluster.two_colours(N, window="2s")
    shuffler = Silent(cluster)
    client, analyzer = cluster.start("client", "run"), cluster.start("analyzer", "run", "--once")
    wait_for("the deadline to pass", lambda: "what is stored is kept" in client.log() or '"round done"' in client.log())
    assert '"round done"' not in client.log(), client.log()
    shuffler.silent = False
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the client", lambda: '"round done"' in client.log())
    counts_once(cluster)
    # The same bytes again: nothing was randomized twice.
    assert len(set(shuffler.received)) == 1, len(shuffler.received)
    shuffler.close()


def test_a_client_an_hour_behind_waits_and_spends_nothing(cluster):
    """Its certificate is older than that, as it would be in service."""
    cluster.two_colours(N, window="30m")
    for p in PARTIES:
        clock(cluster, p, HOUR)
    clock(cluster, "client", 2 * 60)
    shuffler = start(cluster, "shuffler")
    cluster.wait_listening()
    client, analyzer = start(cluster, "client"), start(cluster, "analyzer")
    wait_for("the client to pass the round over", lambda: warned(client, "round passed over"))
    assert "it opens only in 3" in warned(client, "round passed over")[0]["reason"]
    assert not cluster.charged()
    wait_for("the shuffler to be told", lambda: warned(shuffler, "by its clock"))
    clock(cluster, "client", HOUR)
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the client", lambda: '"round done"' in client.log())
    check_settled(cluster)
    counts_once(cluster)


def test_an_analyzer_a_day_ahead_waits_and_opens_nothing(cluster):
    cluster.two_colours(N, window="30m")
    for p in PARTIES:
        clock(cluster, p, 0)
    clock(cluster, "analyzer", DAY)
    shuffler = start(cluster, "shuffler")
    cluster.wait_listening()
    start(cluster, "client")
    analyzer = start(cluster, "analyzer")
    wait_for("the shuffler to refuse", lambda: warned(shuffler, "refused"))
    wait_for("the analyzer to wait", lambda: warned(analyzer, "by its clock"))
    assert "it opens only in 86" in warned(analyzer, "by its clock")[0]["reason"]
    clock(cluster, "analyzer", 0)
    assert analyzer.wait() == 0, analyzer.log()
    # What was signed for tomorrow was never announced; no client was asked, so it was no try.
    assert kinds(cluster) == ["plan", "entry", "reserve", "void", "reserve", "charge", "settle"]
    assert cluster.json("analyzer", "round", "list")["rounds"][0]["tries"] == 1
    counts_once(cluster)
