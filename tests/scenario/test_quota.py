"""Nobody shuts anybody out: what one certificate may use of a shuffler - connections, frames, a share of the round."""
import contextlib
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import threading
import time
import urllib.request

import pytest

import cluster as c
import wire
from cluster import wait_for
from parties import Analyzer, Device
from test_shuffler import submissions
from wire import Refused, pb

BUSY, BAD = pb.ERROR_BUSY, pb.ERROR_BAD_MESSAGE


def started(cluster, limits="", mutant="", **policy):
    cluster.configure(**policy)
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write(f"limits = {{ {limits} }};\n")
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    return shuffler


def enrol(cluster, name, devices=1):
    run = subprocess.run([c.program("tombola"), "pki", "issue", cluster.pki, name, "--role", "client", "--devices",
                          str(devices), "--out", os.path.join(cluster.pki, name)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return name


def knock(cluster, party, times):
    """(links that are open, what the others were told)."""
    ctx, links, told = cluster.tls(party), [], []
    for _ in range(times):
        try:
            links.append(wire.Link.dial(cluster.port, ctx))
        except Refused as e:
            assert e.code == BUSY, e
            told.append(e.text)
    return links, told


def alive(link):
    """Does this link still answer?"""
    try:
        link.ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=0))
    except Refused as e:
        return e.code == pb.ERROR_NOT_FOUND
    except (EOFError, OSError):
        return False
    return True


def metric(cluster, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['shuffler']}/metrics", timeout=180) as r:
        return float(re.search(rf"^{re.escape(name)} (\S+)$", r.read().decode(), re.M)[1])


def cpu(daemon):
    with open(f"/proc/{daemon.process.pid}/stat") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- connections -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mutant", ["", "link.of_one"])
def test_one_certificate_has_its_connections_and_no_more(cluster, mutant):
    started(cluster, "connections = 60;", mutant)
    links, told = knock(cluster, enrol(cluster, "hog"), 40)
    assert len(links) == (40 if mutant else 16) and all("already" in t for t in told)
    assert all(map(alive, links))
    # A place that is given back can be taken again, by the same and by others.
    links.pop().close()
    wait_for("the place", lambda: knock(cluster, "hog", 1)[0])
    assert alive(Device(cluster).link)


@pytest.mark.parametrize("mutant", ["", "link.fair"])
def test_when_all_places_are_taken_those_who_have_most_make_room(cluster, mutant):
    started(cluster, "connections = 32;", mutant)
    hogs = [link for name in ("a", "b") for link in knock(cluster, enrol(cluster, name), 16)[0]]
    assert len(hogs) == 32
    own, told = knock(cluster, "client", 5)
    if mutant:
        assert not own and told == ["too many connections"] * 5
        return
    assert len(own) == 5 and not told and all(map(alive, own))
    assert sum(map(alive, hogs)) == 27 and metric(cluster, 'tombola_shuffler_quota_total{event="displaced"}') == 5
    # A hog that comes back takes nothing from who has less.
    assert len(knock(cluster, "a", 20)[0]) <= 1 and all(map(alive, own))


@pytest.mark.parametrize("mutant", ["", "link.kept"])
def test_the_analyzer_gets_in_however_many_clients_there_are(cluster, mutant):
    started(cluster, "connections = 4;", mutant)
    clients = [knock(cluster, enrol(cluster, f"c{i}"), 1)[0][0] for i in range(4)]
    assert knock(cluster, "client", 1)[1] == ["too many connections"]  # each of the others has one only
    if mutant:
        assert knock(cluster, "analyzer", 1)[1] == ["too many connections"]
        return
    d, data = Analyzer(cluster).dial().open_round(target=2, min_reports=2)
    assert clients[0].ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=5000)).descriptor == data
    # Those that were left half open by an analyzer that lost its network do not keep the next one out.
    links, told = knock(cluster, "analyzer", 9)
    assert not told and len(links) == 9 and alive(clients[1])
    links[-1].ask("witness", get_witness=pb.GetWitness(population="test"))


def test_a_client_takes_what_places_it_gets(cluster):
    """One where it wants four: its round goes on, and it does not knock for the others again and again."""
    n = 30
    cluster.two_colours(n)
    for party, text in (("shuffler", "limits = { connections_per_certificate = 1; };\n"),
                        ("client", "connections = 4; frame_devices = 3;\n")):
        with open(cluster.path(f"{party}.conf"), "a") as f:
            f.write(text)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0 and "settled" in run.stdout + run.stderr, run.stderr
    refused = 'tombola_connections_refused_total{reason="limit"}'
    wait_for("it to be turned away", lambda: metric(cluster, refused) >= 1)
    time.sleep(2)
    assert metric(cluster, refused) <= 3
    assert client.alive()


class Hog:
    """A process that does the same again and again until it is stopped."""

    def __init__(self, act, *args):
        self.done = multiprocessing.get_context("fork").Value("i", 0)
        self.process = multiprocessing.get_context("fork").Process(target=self.run, args=(act, *args), daemon=True)
        self.process.start()

    def run(self, act, *args):
        while True:
            with contextlib.suppress(OSError, EOFError, Refused):
                act(self.done, *args)

    def stop(self):
        self.process.kill()
        self.process.join(10)


def served(cluster, times):
    """Seconds that a connection with one question takes: median and the longest."""
    took = []
    for _ in range(times):
        begin = time.monotonic()
        link = wire.Link.dial(cluster.port, cluster.tls("client"))
        assert alive(link)
        took.append(time.monotonic() - begin)
        link.close()
    return statistics.median(took), max(took)


def test_a_hog_that_keeps_knocking_holds_up_nobody(cluster, capsys):
    n = 40
    cluster.two_colours(n)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    held = []

    def knocks(done, ctx):
        held.append(wire.Link.dial(cluster.port, ctx))
        done.value += 1

    idle = served(cluster, 20)
    enrol(cluster, "hog")
    hogs = [Hog(knocks, cluster.tls("hog")) for _ in range(3)]
    try:
        wait_for("the hogs", lambda: sum(h.done.value for h in hogs) >= 16)
        busy = served(cluster, 20)
        client = cluster.start("client", "run")
        run = cluster.run("analyzer", "run", "--once")
        assert run.returncode == 0, run.stderr
        busy = max(busy, served(cluster, 20))
    finally:
        for h in hogs:
            h.stop()
    with capsys.disabled():
        print("\n" + json.dumps({"idle median and longest ms": [round(t * 1e3, 1) for t in idle],
                                 "beside hogs": [round(t * 1e3, 1) for t in busy]}))
    assert "settled" in run.stdout + run.stderr and shuffler.alive() and client.alive()
    # Three processes that do nothing but handshakes share two cores with everybody; nobody waits for a place.
    assert busy[0] < 10 * idle[0] + 0.2 and busy[1] < 5


# ---- frames ----------------------------------------------------------------------------------------------------------

def junk_frame(d, devices):
    """A Submit of as many devices, well-formed, of nothing."""
    body = pb.Frame(submit=pb.Submit(round_id=d.round_id, pseudonyms=os.urandom(32 * devices),
                                     sealed=os.urandom(64 * devices),
                                     salts=os.urandom(32 * devices))).SerializeToString()
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("mutant", ["", "shuffler.rate,shuffler.junk"])
def test_a_flood_of_junk_costs_its_sender_and_nobody_else(cluster, mutant):
    """Four connections of a certificate of one device send what is refused, as fast as they may."""
    n = 20
    shuffler = started(cluster, mutant=mutant, devices=n)
    analyzer = Analyzer(cluster).dial()
    d, data = analyzer.open_round(target=n, min_reports=n)
    enrol(cluster, "hog")
    frame = junk_frame(d, 4096)

    def throw(_, ctx):
        link = wire.Link.dial(cluster.port, ctx)
        threading.Thread(target=lambda: all(iter(lambda: link.sock.recv(65536), b"")), daemon=True).start()
        while True:
            link.sock.sendall(frame)

    refused = 'tombola_shuffler_requests_refused_total{reason="bad_message"}'
    before, begin = metric(cluster, refused), time.monotonic()
    hogs = [Hog(throw, cluster.tls("hog")) for _ in range(4)]
    try:
        def state():
            """Junk frames that were looked at, and how many may be: two seconds' worth at once, then the rate, of 500 frames
            a second of which each counts 25; a frame more of each connection was under way."""
            count, took = metric(cluster, refused) - before, time.monotonic() - begin
            return count, (2 + took) * 500 / 25 + 8

        wait_for("some of them", lambda: state()[0] > 70)
        if mutant:
            # As fast as this machine can, which may be slower than the limit; but nobody is held back.
            assert all(metric(cluster, f'tombola_shuffler_quota_total{{event="{e}"}}') == 0 for e in ("paused", "junk"))
            return
        # What comes at once is over: from here on it is the rate.
        used, since = cpu(shuffler), time.monotonic()
        time.sleep(3)
        share = (cpu(shuffler) - used) / (time.monotonic() - since)
        count, allowed = state()
        junk = metric(cluster, 'tombola_shuffler_quota_total{event="junk"}')
        assert count <= allowed and junk >= 1, (count, allowed, junk)
        # Without the limits junk takes nearly a core.  A sanitizer makes the frames that are let in dearer.
        assert share < (0.6 if c.sanitized() else 0.35), share
        device = Device(cluster)
        assert device.submit(d, submissions(d, data, [i % 4 for i in range(n)])) == [pb.OUTCOME_ACCEPTED] * n
    finally:
        for h in hogs:
            h.stop()
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == n


def test_more_devices_than_a_certificate_has_cost_next_to_nothing(cluster):
    """Processor time of the shuffler for such a frame, and for one whose devices are looked at one by one."""
    frames, cost = 150, {}
    for mutant in ("shuffler.rate,shuffler.junk", "shuffler.rate,shuffler.junk,shuffler.devices_first"):
        shuffler = started(cluster, mutant=mutant)
        enrol(cluster, f"hog{len(cost)}")
        analyzer = Analyzer(cluster).dial()
        analyzer.extend()
        d, data = analyzer.open_round(target=9, min_reports=9)
        link = wire.Link.dial(cluster.port, cluster.tls(f"hog{len(cost)}"))
        frame, answers = junk_frame(d, 4096), set()
        used = cpu(shuffler)
        for _ in range(frames):
            link.sock.sendall(frame)
            answers.add(link.receive().WhichOneof("kind"))
        cost[mutant] = (cpu(shuffler) - used) / frames
        assert answers == ({"error"} if len(cost) == 1 else {"receipt"})
        shuffler.kill()
        cluster.reset_shuffler()
    few, many = cost.values()
    assert 2 * few < many, cost


@pytest.mark.parametrize("mutant", ["", "shuffler.junk"])
def test_submissions_that_are_refused_in_a_row_end_the_connection(cluster, mutant):
    started(cluster, "frames_per_second = 1000000;", mutant)
    analyzer = Analyzer(cluster).dial()
    d, data = analyzer.open_round(target=9, min_reports=9)
    enrol(cluster, "hog")
    device = Device(cluster, "hog")
    bad = pb.Submit(round_id=d.round_id, pseudonyms=os.urandom(64), sealed=os.urandom(128),
                    salts=os.urandom(64))  # two devices
    # One that is accepted begins the row anew.
    for i in range(2):
        for _ in range(15):
            with pytest.raises(Refused):
                device.link.ask("receipt", submit=bad)
        if i == 0:
            sent = submissions(d, data, [1])
            assert device.submit(d, sent) == [pb.OUTCOME_ACCEPTED]
    told = []
    with contextlib.suppress(EOFError, OSError):
        for _ in range(20):
            with pytest.raises(Refused) as e:
                device.link.ask("receipt", submit=bad)
            told.append(e.value.code)
    assert len(told) == (20 if mutant else 1) and set(told) == {BAD}
    assert Device(cluster, "hog").submit(d, sent) == [pb.OUTCOME_ACCEPTED]


@pytest.mark.parametrize("mutant", ["", "shuffler.rate"])
def test_a_flood_of_questions_pauses_its_sender_alone(cluster, mutant):
    started(cluster, "frames_per_second = 100;", mutant)
    enrol(cluster, "hog")
    link, answers = wire.Link.dial(cluster.port, cluster.tls("hog")), []
    question = pb.Frame(get_round=pb.GetRound(population="test", after=0, wait_ms=0)).SerializeToString()
    flood = (len(question).to_bytes(4, "big") + question) * 3000

    def listen():
        with contextlib.suppress(EOFError, OSError):
            while True:
                link.receive()
                answers.append(time.monotonic())

    begin = time.monotonic()
    threading.Thread(target=listen, daemon=True).start()
    threading.Thread(target=lambda: link.sock.sendall(flood), daemon=True).start()
    wait_for("answers", lambda: len(answers) > 100)
    other = Device(cluster)
    took = []
    for _ in range(10):  # 25 for the connection: far below what it may
        asked = time.monotonic()
        assert alive(other.link)
        took.append(time.monotonic() - asked)
    assert statistics.median(took) < 10, took  # behind the flood it would be 30
    if mutant:
        wait_for("all answers", lambda: len(answers) == 3000)
        return
    time.sleep(1)
    now = time.monotonic()
    assert len([a for a in answers if a <= now]) <= (2 + now - begin) * 100
    # Paused, not ended: it goes on at its rate.
    seen = len(answers)
    wait_for("more answers", lambda: len(answers) > seen + 50)
    assert metric(cluster, 'tombola_shuffler_quota_total{event="paused"}') >= 1


# ---- a share of the round --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mutant", ["", "shuffler.share"])
def test_one_certificate_is_at_most_its_share_of_a_round(cluster, mutant):
    cluster.configure()
    with open(cluster.path("shuffler-policy.conf")) as f:
        text = f.read()
    cluster.write("shuffler-policy.conf", text.replace("max_share = 1.0", "max_share = 0.5"))
    cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    d, data = analyzer.open_round(target=10, min_reports=10)
    out = Device(cluster).submit(d, submissions(d, data, [0] * 8))
    assert out == [pb.OUTCOME_ACCEPTED] * 8 if mutant else [pb.OUTCOME_ACCEPTED] * 5 + [pb.OUTCOME_OVER_LIMIT] * 3
    if mutant:
        return
    enrol(cluster, "other", 1000)
    assert Device(cluster, "other").submit(d, submissions(d, data, [1] * 5)) == [pb.OUTCOME_ACCEPTED] * 5
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == 10


def test_a_gateway_of_more_devices_than_its_certificate_names_sends_those_that_it_may(cluster):
    """Frames of more devices than that are refused as a whole, so a real client makes smaller ones."""
    n = 7
    cluster.two_colours(n)
    cluster.configure(min_batch=n, devices=n)
    with open(cluster.path("readings.csv"), "w") as f:
        f.write("device,colour\n")
        f.writelines(f"d{i},c{i % 2}\n" for i in range(20))
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0 and "settled" in run.stdout + run.stderr, run.stderr
    assert client.alive()


@pytest.mark.parametrize("mutant", ["", "link.frame_time"])
def test_a_frame_that_does_not_end_ends_its_connection(cluster, mutant):
    """A byte now and then is no silence, but five times `idle` is the most that a frame may take."""
    idle = 4.0  # seconds; this process sends twenty times as often
    started(cluster, f'idle = "{idle:g}s";', mutant, devices=10)
    never, slow, quick = (wire.Link.dial(cluster.port, cluster.tls("client")) for _ in range(3))
    ask = pb.Frame(get_round=pb.GetRound(population="test", after=0, wait_ms=0)).SerializeToString()
    whole = len(ask).to_bytes(4, "big") + ask
    never.sock.sendall((wire.FRAME_MAX).to_bytes(4, "big"))
    begin, sent, ended = time.monotonic(), 0, None
    while ended is None and time.monotonic() < begin + (7 * idle if mutant else 180):
        time.sleep(idle / 20)
        try:
            never.sock.sendall(b"\x52")
        except OSError:
            ended = time.monotonic() - begin
        if sent < len(whole) and sent < (time.monotonic() - begin) / idle / 4 * len(whole):
            slow.sock.sendall(whole[sent:sent + 1])
            sent += 1
        assert alive(quick)
    if mutant:
        assert ended is None
        return
    assert ended and ended > 5 * idle, ended
    # A frame that took four times `idle` was whole in time.
    assert sent == len(whole)
    with pytest.raises(Refused) as none:
        slow.expect("round")
    assert none.value.code == pb.ERROR_NOT_FOUND
