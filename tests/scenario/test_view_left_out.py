"""Who is left out of a round, and what is said of it, does not depend on a reading: worlds that differ in one device's data, in which a
round closes before some devices, has a limit for their certificate, or is declined."""
import json

import pytest

import cluster as c
import views
from test_left_out import lines, policy_of, stage
from test_metrics import values
from test_views import CHANGED, NAMES, pseudonym_of_the_changed, ran, row, sent, set_out, write
from views import same, spoken, stripped
from wire import pb

pytestmark = pytest.mark.quiet

TAKEN = 2
CHANGES = [b"d2,c3", b"d2,purple", b'd2,"c1', b"d2", b"d2," + b"x" * 2_000_000, b"d2,c1\nd2,c3", None]


def leaves_out(outcome):
    """A shuffler takes the first devices that come, and leaves the others out."""
    def outcomes(self, r, m):
        n = len(m.pseudonyms) // 32
        out = []
        for i in range(n):
            p = m.pseudonyms[32 * i:32 * i + 32]
            if p in r["taken"] or len(r["taken"]) < TAKEN:
                r["taken"][p] = True
                out.append(pb.OUTCOME_ACCEPTED)
            else:
                out.append(outcome)
        return bytes(out)
    return outcomes


@pytest.mark.parametrize("outcome,count,words", [(pb.OUTCOME_CLOSED, "closed", "closed: they came after the dea"),
                                                 (pb.OUTCOME_OVER_LIMIT, "over_limit", "over limit: max_share of the shuffler's policy")],
                         ids=["closed", "over_limit"])
@pytest.mark.parametrize("look", [sent, ran], ids=["command", "daemon"])
def test_what_is_said_of_devices_left_out_shows_no_reading(tmp_path, monkeypatch, look, outcome, count, words):
    monkeypatch.setattr(views.Watcher, "outcomes", leaves_out(outcome))
    worlds = set_out(tmp_path, listed=True)
    before = look(worlds, "csv", row("csv", CHANGED, "c2"))
    # It is said, by `check` of a client that does not run, and in the log of one that does.
    said = before.host["check"][1]
    assert f"{len(NAMES) - TAKEN} {words}" in said, said
    assert look is sent or f"'{count}': {len(NAMES) - TAKEN}" in str(before.host["log"]), before.host["log"]
    for changed in CHANGES[(look is ran)::2]:
        print(changed and changed[:20])
        after = look(worlds, "csv", changed)
        same(before, after, pseudonym_of_the_changed(before, after)[:1])
    worlds.cluster.close()


def declined(worlds, changed):
    """Everything that anybody sees of a daemon that declines the round."""
    write(worlds, "csv", changed)
    watcher, answers = worlds.begin(), []
    ask = watcher.on_get_round

    def asked(link, m):
        if m.declined:
            answers.append((m.declined, m.declined_why, m.listed, m.ByteSize()))
        ask(link, m)
    watcher.on_get_round = asked
    client = worlds.cluster.start("client", "run", env={"TOMBOLA_TEST_SEED": views.SEED})
    try:
        c.wait_for("the client to say that it declines", lambda: answers)
        view = {"answer": answers[0], "exit": client.kill(15), "log": spoken(client.log()), "submits": watcher.received}
        run = worlds.cluster.run("client", "check")
        view |= {"check": (run.returncode, run.stdout), "status": stripped(worlds.cluster.json("client", "status"))}
    finally:
        if client.alive():
            client.kill()
        watcher.close()
    return view


def test_a_round_that_is_declined_shows_no_reading(tmp_path):
    """The policy and the length of the list are all that is told."""
    worlds = set_out(tmp_path, listed=True)
    policy_of(worlds.cluster, "client", min_batch=10000)
    before = declined(worlds, row("csv", CHANGED, "c2"))
    assert before["answer"][2] == len(NAMES) and before["submits"] == []
    assert "min_batch is 10000" in before["check"][1], before["check"]
    for changed in CHANGES:
        after = declined(worlds, changed)
        for part, seen in before.items():
            assert seen == after[part], (part, seen, after[part])
    worlds.cluster.close()


def left_out(folder, changed):
    """What the real shuffler and the analyzer say of a round that takes two of six devices."""
    cluster = c.Cluster(folder)
    try:
        cluster.two_colours(len(NAMES), min_reports=TAKEN, target=len(NAMES), window="5s")
        policy_of(cluster, "shuffler", max_share=0.34, min_batch=TAKEN)
        policy_of(cluster, "client", min_batch=TAKEN)
        with open(cluster.path("client.conf")) as f:
            text = f.read()
        cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
        cluster.write("devices.txt", "".join(f"{n}\n" for n in NAMES))
        with open(cluster.path("readings.csv"), "wb") as f:
            f.write(b"device,colour\n" + b"".join((row("csv", d, "c1") if d != CHANGED else changed or b"") + b"\n" for d in NAMES))
        shuffler = cluster.start("shuffler", "run")
        cluster.wait_listening()
        client, analyzer = cluster.start("client", "run"), cluster.start("analyzer", "run")
        stage(cluster, "settled")
        result = cluster.json("analyzer", "round", "show", "1")["result"]
        c.wait_for("the round to be over", lambda: lines(client, "round done"))
        metrics = values(cluster, "shuffler")
        said = {"shuffler": lines(shuffler, "devices of a round were not taken"), "analyzer": lines(analyzer, "devices were not taken"),
                "client": lines(client, "round done")}
        run = cluster.run("client", "check")
        return {"result": (result["participants"], result["left_out"]), "check": (run.returncode, run.stdout),
                "metrics": {k: v for k, v in metrics.items() if "left_out" in str(k) or "reports_total" in str(k)},
                "logs": json.dumps({who: [{k: v for k, v in l.items() if k not in views.CLOCKS + ("round_id", "seconds", "took")} for l in of]
                                    for who, of in said.items()})}
    finally:
        cluster.close()


def test_the_shuffler_and_the_analyzer_tell_the_same_of_devices_left_out(tmp_path):
    seen = []
    for i, changed in enumerate((b"d2,c1", b'd2,"c1')):
        (tmp_path / str(i)).mkdir()
        seen.append(left_out(tmp_path / str(i), changed))
    one, other = seen
    assert one["result"] == (TAKEN, [{"why": "max_share", "by": "shuffler", "devices": len(NAMES) - TAKEN,
                                      "text": "were over max_share of the shuffler's policy"}])
    for part, what in one.items():
        assert what == other[part], (part, what, other[part])
