"""Rehearsals attacked: by who has the analyzer's connection, by clients that lie, by a shuffler that lies, and by who compares two
worlds.  A rehearsal can be wrong or absent, and costs, pins and tells nothing else."""
import os
import sqlite3
import struct
import threading
import time

import pytest

import wire
from cluster import EXIT, wait_for
from parties import Analyzer, Device, Shuffler
from test_rehearse import N, begin, change, deployed, document, nothing_is_spent, rehearse
from test_views import CHANGED, pseudonym_of_the_changed, row, set_out, write
from views import Watcher, Worlds, same
from wire import Refused, pb


def draft(analyzer, min_reports=2, entries=1, **fields):
    """A plan as a question; nothing of it goes to the analyzer's chain."""
    d = analyzer.descriptor(min_reports=min_reports, target=max(min_reports, 2))
    p = pb.Plan(version=1, population="test", name="test", mode="plan", unit="device", number=1, epsilon=4.0, delta=1e-8,
                honest_fraction=1.0, tries=3, file_hash=os.urandom(32),
                entries=[Analyzer.entry(d, i + 1) for i in range(entries)])
    for k, v in fields.items():
        setattr(p, k, v)
    return p.SerializeToString()


def question(key, data, wait_ms=1000, asked_ms=None, purpose="rehearsal"):
    asked_ms = int(time.time() * 1000) if asked_ms is None else asked_ms
    return pb.Rehearse(draft=data, asked_ms=asked_ms, wait_ms=wait_ms,
                       signature=wire.sign(key, purpose, struct.pack(">q", asked_ms) + data))


def ask(analyzer, q, seconds=60):
    """Again while the shuffler is busy."""
    end = time.monotonic() + seconds
    while True:
        try:
            return analyzer.link.ask("rehearsed", rehearse=q)
        except Refused as e:
            if e.code != pb.ERROR_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.1)


def counted(cluster):
    """Rows of the client's database by table."""
    with sqlite3.connect(f"file:{cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
        tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}


def test_drafts_by_the_thousand_are_a_few_rehearsals_and_a_round_goes_on(cluster):
    deployed(cluster, n=2, devices=2, listed=2)
    _, client = begin(cluster)
    before = counted(cluster)
    analyzer, thief = Analyzer(cluster).dial(), Analyzer(cluster).dial()
    began = time.monotonic()
    told, busy = 0, 0
    for _ in range(1000):
        try:
            analyzer.link.ask("rehearsed", rehearse=question(analyzer.key, draft(analyzer), wait_ms=500))
            told += 1
        except Refused as e:
            assert e.code == pb.ERROR_BUSY, e
            busy += 1
    most = (time.monotonic() - began) / 2 + 2  # one, and then one in two seconds
    assert told + busy == 1000 and 1 <= told <= most, (told, most)
    assert client.log().count("a rehearsal was answered") <= most
    assert counted(cluster) == before
    nothing_is_spent(cluster)
    # While one waits for a client that says nothing, a plan is pinned and its round runs.
    dumb = Device(cluster)
    dumb.link.send(get_round=pb.GetRound(population="test", wait_ms=30000))
    time.sleep(2.1)
    thief.link.send(rehearse=question(thief.key, draft(thief, entries=300), wait_ms=30000))
    d, data = analyzer.open_round(target=2, min_reports=2)
    assert dumb.link.expect("round").descriptor == data


def test_the_pause_is_what_bounds_them(cluster):
    deployed(cluster, n=2)
    begin(cluster, "shuffler", mutant="shuffler.rehearse.rest")
    analyzer = Analyzer(cluster).dial()
    for _ in range(5):
        assert analyzer.link.ask("rehearsed", rehearse=question(analyzer.key, draft(analyzer))).answered == 0


def test_a_draft_is_no_plan_and_a_plan_is_no_draft(cluster):
    """Each signature is for one purpose, whoever shows it to whom."""
    deployed(cluster, n=2)
    begin(cluster, "shuffler")
    analyzer = Analyzer(cluster).dial()
    data = draft(analyzer)
    thief = wire.Ed25519PrivateKey.generate()
    day = 86400000
    now = int(time.time() * 1000)
    wrong = {"a plan's": question(analyzer.key, data, purpose="plan"), "a thief's": question(thief, data),
             "an old one": question(analyzer.key, data, asked_ms=now - 2 * day),
             "one to come": question(analyzer.key, data, asked_ms=now + 2 * day),
             "another's population": question(analyzer.key, draft(analyzer, population="tess"))}
    moved = question(analyzer.key, data)
    moved.asked_ms += 1
    wrong["at another time"] = moved
    plain = pb.Rehearse(draft=data, asked_ms=now, signature=wire.sign(analyzer.key, "plan", data))
    wrong["the plan as it was signed"] = plain
    for what, q in wrong.items():
        with pytest.raises(Refused) as e:
            analyzer.link.ask("rehearsed", rehearse=q)
        assert e.value.code == pb.ERROR_SIGNATURE, what
    # The question's own signature makes no plan of the draft.
    good = question(analyzer.key, data)
    analyzer.extend()
    analyzer.chain.add(kind=pb.RECORD_PLAN, time_ms=2, plan=data, signature=good.signature)
    with pytest.raises(Refused) as e:
        analyzer.extend()
    assert e.value.code == pb.ERROR_SIGNATURE or e.value.code == pb.ERROR_LEDGER, e.value


@pytest.mark.parametrize("check", ["round.rehearsal.signature", "round.rehearsal.time"])
def test_without_a_check_an_old_or_a_strange_question_is_answered(cluster, check):
    deployed(cluster, n=2)
    begin(cluster, "shuffler", mutant=check)
    analyzer = Analyzer(cluster).dial()
    old = question(analyzer.key, draft(analyzer), asked_ms=1000)
    if check == "round.rehearsal.signature":
        old = question(wire.Ed25519PrivateKey.generate(), draft(analyzer))
    ask(analyzer, old)


def test_a_rehearsal_and_then_another_plan(cluster):
    """What was rehearsed binds nobody: the plan that is signed is another one, and all of its slice is free."""
    deployed(cluster)
    begin(cluster)
    assert document(cluster, 0)["would_take"] == 1
    change(cluster, "plan.conf", "^name = .*$", 'name = "other";')
    change(cluster, "plan.conf", "^budget.*$", 'budget = { epsilon = 50.0; delta = 1e-06; unit = "device"; };')
    assert cluster.run("analyzer", "run", "--once").returncode == 0
    with sqlite3.connect(f"file:{cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
        assert db.execute("SELECT count(*) FROM pin").fetchone() == (1,)


# ---- Clients that lie ------------------------------------------------------------------------------------------------

def lying(cluster, answers, mutant="", devices=30):
    """The result, when a client with a certificate of so many devices gives these answers."""
    deployed(cluster, n=2, devices=devices)
    begin(cluster, "shuffler", mutant=mutant)
    analyzer, liar, result = Analyzer(cluster).dial(), Device(cluster), []
    data = draft(analyzer, min_reports=1000)
    thread = threading.Thread(target=lambda: result.append(ask(analyzer, question(analyzer.key, data, wait_ms=1500))))
    liar.link.send(rehearsal_answer=pb.RehearsalAnswer(draft_hash=wire.sha256(data), devices=7, taken=b"\1"))  # unasked
    liar.link.send(get_round=pb.GetRound(population="test", wait_ms=30000, rehearses=True))
    thread.start()
    asked = liar.link.expect("rehearse")
    assert asked.draft == data and asked.wait_ms == 0
    for answer in answers(wire.sha256(data)):
        liar.link.send(rehearsal_answer=answer)
    thread.join()
    return result[0]


def test_a_client_claims_no_more_devices_than_its_certificate_has(cluster):
    r = lying(cluster, lambda h: [pb.RehearsalAnswer(draft_hash=h, devices=2**64 - 1, taken=b"\xff" * 125)])
    assert (r.entries[0].participants, r.entries[0].at_most) == (30, 30) and r.certificates[0].taken == b"\1"


def test_without_the_check_it_does(cluster):
    r = lying(cluster, lambda h: [pb.RehearsalAnswer(draft_hash=h, devices=10**6, taken=b"\1")], mutant="shuffler.rehearse.devices")
    assert r.entries[0].participants == 1000


def test_a_client_answers_once_and_about_the_draft(cluster):
    r = lying(cluster, lambda h: [pb.RehearsalAnswer(draft_hash=b"\1" * 32, devices=9), pb.RehearsalAnswer(draft_hash=h, devices=5, taken=b"\1"),
                                  pb.RehearsalAnswer(draft_hash=h, devices=6, taken=b"\1")])
    assert (r.answered, r.entries[0].participants, r.certificates[0].listed) == (1, 5, 5)


def test_a_client_that_says_nothing_is_waited_for_so_long_and_called_silent(cluster):
    began = time.monotonic()
    r = lying(cluster, lambda h: [])
    assert (r.silent, r.answered, r.certificates[0].state) == (1, 0, 3) and time.monotonic() - began < 60


def test_a_clients_text_drives_no_terminal(cluster):
    """And a person's command shows it harmless."""
    fault = pb.RehearsalFault(entry=1, entries=1, place="\x1b[2J", text="\x1b]0;owned\x07 \u202eevil")
    r = lying(cluster, lambda h: [pb.RehearsalAnswer(draft_hash=h, devices=5, faults=[fault])])
    got = r.certificates[0].faults[0]
    assert "\x1b" not in got.text + got.place and "\u202e" not in got.text and "evil" in got.text


# ---- A shuffler that lies --------------------------------------------------------------------------------------------

class Asking(Shuffler):
    """Answers every request for a round with this question, and keeps what comes back."""

    def __init__(self, cluster, questions):
        self.questions, self.answers, self.gets = questions, [], []
        super().__init__(cluster)

    def on_get_round(self, link, m):
        self.gets.append((time.monotonic(), m.rehearses))
        link.send(rehearse=self.questions(len(self.gets)))

    def on_rehearsal_answer(self, link, m):
        self.answers.append(m)


def test_a_shuffler_that_asks_without_end_is_asked_slowly_and_learns_nothing_more(cluster):
    deployed(cluster)
    analyzer = Analyzer(cluster)
    q = question(analyzer.key, draft(analyzer, min_reports=N))
    forged = question(wire.Ed25519PrivateKey.generate(), draft(analyzer, min_reports=N))
    shuffler = Asking(cluster, lambda n: q if n % 2 else forged)
    client = cluster.start("client", "run")
    began = time.monotonic()
    wait_for("some questions", lambda: len(shuffler.gets) >= 6)
    assert time.monotonic() - began >= 2.4  # half a second between two
    assert all(rehearses for _, rehearses in shuffler.gets)
    assert 1 <= len(shuffler.answers) <= (len(shuffler.gets) + 1) // 2  # to the analyzer's questions alone
    assert {a.draft_hash for a in shuffler.answers} == {wire.sha256(q.draft)} and shuffler.answers[0].devices == N
    assert "a rehearsal is not answered" in client.log()
    client.stop()
    assert counted(cluster)["pin"] == counted(cluster)["plan"] == 0
    shuffler.close()


def test_without_its_own_check_a_client_that_declines_answers(cluster):
    deployed(cluster, client="rehearse = false;\n")
    analyzer = Analyzer(cluster)
    q = question(analyzer.key, draft(analyzer, min_reports=N))
    for mutant in ("", "client.rehearse"):
        shuffler = Asking(cluster, lambda n: q)
        client = cluster.start("client", "run", mutant=mutant)
        wait_for("an answer", lambda: shuffler.answers)
        assert shuffler.answers[0].declined == (mutant == "") and shuffler.answers[0].devices == (N if mutant else 0)
        client.stop()
        shuffler.close()


class Lying(Shuffler):
    """Tells the analyzer of a rehearsal that was none."""

    def __init__(self, cluster, result):
        self.result = result
        super().__init__(cluster)

    def on_get_witness(self, link, m):
        link.send(witness=pb.Witness())

    def on_get_policy(self, link, m):
        link.send(policy=pb.Policy(population="test", max_epsilon=100, delta=1e-3, max_epsilon0=100, honest_fraction=1.0,
                                   max_plan_entries=100, max_tries=3, max_target=10**6, max_window_ms=10**9))

    def on_rehearse(self, link, m):
        link.send(rehearsed=self.result(m))


@pytest.mark.parametrize("result, code, text", [
    (lambda m: pb.Rehearsed(draft_hash=b"\1" * 32, max_share=1.0, entries=[pb.RehearsedEntry()]), "protocol", "another plan"),
    (lambda m: pb.Rehearsed(draft_hash=wire.sha256(m.draft), max_share=1.0), "protocol", "0 entries of 1"),
    (lambda m: pb.Rehearsed(draft_hash=wire.sha256(m.draft), max_share=2.0, entries=[pb.RehearsedEntry()]), "protocol", "max_share"),
    # That all is well can be said by whoever is the shuffler.
    (lambda m: pb.Rehearsed(draft_hash=wire.sha256(m.draft), taken=b"\1", max_share=1.0, answered=2**32 - 1, entries=[pb.RehearsedEntry(
        listed=2**64 - 1, participants=2**64 - 1, at_most=2**64 - 1)]), None, ""),
], ids=["another", "short", "share", "well"])
def test_a_shuffler_can_mislead_and_do_nothing_else(cluster, result, code, text):
    deployed(cluster)
    shuffler = Lying(cluster, result)
    run = rehearse(cluster)
    assert run.returncode == (EXIT[code] if code else 0) and text in run.stderr, run
    assert os.listdir(cluster.path("analyzer")) == []
    shuffler.close()


# ---- Two worlds ------------------------------------------------------------------------------------------------------

class Rehearsing(Watcher):
    """Asks before the round, which comes after the answer; or, with `hurry`, at once."""

    hurry = False

    def __init__(self, cluster, offers, q):
        self.q, self.said, self.rehearsed = q, [], False
        super().__init__(cluster, offers)

    def on_get_round(self, link, m):
        if self.rehearsed or not m.rehearses:
            super().on_get_round(link, m)
            return
        self.rehearsed, again = True, None
        link.send(rehearse=self.q)
        while not self.hurry and not self.said:
            frame = link.receive()
            if frame.WhichOneof("kind") == "get_round":
                again = frame.get_round
            else:
                self.on_rehearsal_answer(link, frame.rehearsal_answer)
        if again:
            self.asked.append("get_round")
            super().on_get_round(link, again)

    def on_rehearsal_answer(self, link, m):
        self.frames.append((id(link), 0.0, "rehearsal_answer", m.ByteSize()))
        self.said.append(m.SerializeToString())


class RehearsedWorlds(Worlds):
    hurry = False

    def begin(self):
        super().begin().close()
        self.watcher = Rehearsing(self.cluster, self.offers, self.q)
        self.watcher.hurry = self.hurry
        return self.watcher


@pytest.mark.quiet
def test_worlds_that_differ_in_one_reading_give_the_same_bytes(tmp_path):
    worlds = set_out(tmp_path, "csv", True)
    worlds.__class__ = RehearsedWorlds
    analyzer = Analyzer(worlds.cluster)
    worlds.q = question(analyzer.key, draft(analyzer, min_reports=10**6))
    looks, said = [], []
    for changed in (row("csv", CHANGED, "c2"), row("csv", CHANGED, "c3"), b"d2,purple", b'd2,"c1', None):
        write(worlds, "csv", changed)
        looks.append(worlds.run(lambda: None))
        said.append(worlds.watcher.said)
    assert len(said[0]) == 1 and all(s == said[0] for s in said)
    assert pb.RehearsalAnswer.FromString(said[0][0]).devices == 6
    for other in looks[1:]:
        same(looks[0], other, pseudonym_of_the_changed(looks[0], other))
    worlds.cluster.close()


@pytest.mark.quiet
@pytest.mark.parametrize("mutant", ["", "client.rehearse.cut"])
def test_a_round_ends_the_composition_and_no_answer_comes_beside_its_readings(tmp_path, mutant):
    """A draft of a thousand entries takes longer than the half second after which the client asks for a round."""
    worlds = set_out(tmp_path, "csv", True)
    worlds.__class__, worlds.hurry = RehearsedWorlds, True
    analyzer = Analyzer(worlds.cluster)
    with open(worlds.cluster.path("client-policy.conf"), "a") as f:
        f.write("max_plan_entries = 1000;\n")
    worlds.q = question(analyzer.key, draft(analyzer, min_reports=10**6, entries=1000))
    write(worlds, "csv", row("csv", CHANGED, "c2"))
    worlds.run(lambda: None, mutant=mutant)
    assert len(worlds.watcher.said) == (1 if mutant else 0)
    if mutant:
        assert pb.RehearsalAnswer.FromString(worlds.watcher.said[0]).unfinished
    worlds.cluster.close()
