"""Readings by MQTT, through a real broker: which count, which do not, and what a broker or client that dies changes."""
import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request

import pytest

import certs
import wire
from broker import Broker, fate, metrics
from chance import within
from cluster import EXIT, wait_for
from parties import Shuffler
from test_attacks import Descriptors
from test_clock import clock
from test_metrics import MQTT, described, documented, get
from test_rounds import COLOURS, histogram

SURE = 15.0  # epsilon0 so high that a report is its reading, but for one in a million; where there is a seed, for none
NOT_YET = 0.3  # seconds in which nothing may happen


NONE = "c4"  # what a device without a reading says in a World's rounds


def use_mqtt(cluster, broker, spread="0s", names="abc", **keys):
    """Point the client at the broker, for the devices of these names; keys are of its group `mqtt`."""
    said = {"port": str(broker.port), "topics": '[ "sensors/+/reading" ]', "gather": '"0s"', "devices": '"devices.txt"',
            **keys}
    cluster.write("devices.txt", "".join(f"{n}\n" for n in names))
    with open(cluster.path("client.conf")) as f:
        lines = [x for x in f.read().splitlines() if not x.startswith(("input", "mqtt", "spread", "show_readings"))]
    cluster.write("client.conf", "\n".join(lines) + f'\nspread = "{spread}";\nshow_readings = true;\nmqtt = {{ '
                  + " ".join(f"{k} = {v};" for k, v in said.items() if v is not None) + " };\n")


def log_says(cluster, text):
    with open(cluster.path("client.log")) as f:
        return f.read().count(text)


def subscribed(cluster):
    wait_for("the client to subscribe", lambda: log_says(cluster, '"subscribed"'))


def reading(device, colour):
    return f"sensors/{device}/reading", json.dumps({"colour": colour})


class World:
    """A Python shuffler that offers rounds when it is told to, and sees what comes."""

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.configure(min_batch=1, max_epsilon0="inf", epsilon=1000.0, devices=1000)
        self.shuffler = Shuffler(cluster)
        self.analyzer = Descriptors(cluster)
        self.broker = None

    def client(self, mutant="", ready=True):
        made = self.cluster.start("client", "run", mutant=mutant, env={"TOMBOLA_TEST_SEED": "mqtt"})
        if ready:
            subscribed(self.cluster)
        return made

    def kept(self, n):
        wait_for(f"{n} readings to be held", lambda: fate(self.cluster, "kept") >= n)

    def offer(self, window_ms=60000):
        """A round, and the data it is opened with."""
        d, data = self.analyzer.offer(self.shuffler, epsilon0=SURE, target=1000, min_reports=1, window_ms=window_ms, bins=5,
                                      none=4)
        return {"d": d, "data": data, "hpke": self.analyzer.hpke}

    def taken(self, r, n):
        """The colours of the n devices that took part in a round, by pseudonym."""
        took = self.shuffler.rounds[r["d"].round_id]["taken"]
        wait_for(f"{n} reports", lambda: len(took) >= n)
        self.analyzer.hpke = r["hpke"]
        return {p: f"c{self.analyzer.value(r['data'], s)}" for p, s in took.items()}

    def over(self, times):
        wait_for("the round to be over", lambda: log_says(self.cluster, '"round done"') >= times)


@pytest.fixture
def world(cluster):
    made = World(cluster)
    yield made
    made.shuffler.close()


def test_a_round_of_published_readings_and_its_estimates(cluster):
    n = 400
    cluster.configure(min_batch=100, devices=n)
    broker = Broker(cluster)
    use_mqtt(cluster, broker, topics='[ "home/+/+" ]', payload='"text"', field='"topic:3"', gather='"500ms"',
             names=[f"dev{i}" for i in range(n)])
    colours = [COLOURS[0 if i % 4 else 1 + i % 3] for i in range(n)]
    cluster.plan([histogram(n, 4.0)], epsilon=10.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    subscribed(cluster)
    broker.publish(*((f"home/dev{i}/colour", c) for i, c in enumerate(colours)))
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["reports"] == result["participants"] == n and result["bad"] == 0
    for item in result["items"]:
        assert within(item, colours.count(item["label"]), step=1.3), (item, colours)
    client.stop()
    assert "dev1" not in client.log() and "home/" not in client.log()


SOURCES = ('( {{ topics = [ "zigbee/#" ]; device = "topic:2-"; {0} }}, '
           '{{ topics = [ "shelly/+/colour" ]; payload = "text"; field = "topic:3"; {1} }} )')
SEVERAL = (("zigbee/kitchen/left", '{"colour":"c1"}'), ("zigbee/kitchen/right", '{"colour":"c2"}'),
           ("zigbee/hall", '{"colour":"c3"}'), ("shelly/hall", "c0"), ("shelly/hall/colour", "c0"))


def test_sources_of_several_kinds_answer_one_question(world):
    """Names of several levels are devices of their own; what two sources call alike is one device, or two with groups."""
    broker = Broker(world.cluster)
    alike = ["kitchen/left", "kitchen/right", "hall"]
    apart = ["zigbee/kitchen/left", "zigbee/kitchen/right", "zigbee/hall", "shelly/hall"]
    for times, (names, groups) in enumerate(((alike, ("", "")), (apart, ('group = "zigbee";', 'group = "shelly";'))), 1):
        use_mqtt(world.cluster, broker, names=names, topics=None, sources=SOURCES.format(*groups))
        client = world.client(ready=False)
        wait_for("the client to subscribe", lambda: os.path.exists(world.cluster.path("client.log"))
                 and log_says(world.cluster, '"subscribed"') == times)
        broker.publish(*SEVERAL)
        world.kept(4)
        got = sorted(world.taken(world.offer(), len(names)).values())
        world.over(times)
        assert got in ([["c0", "c1", "c2"], ["c1", "c2", "c3"]] if names is alike else [["c0", "c1", "c2", "c3"]])
        assert fate(world.cluster, "kept") == 4
        run = world.cluster.run("client", "check-config")
        assert ("have the same name are one device" in run.stdout) == (names is alike), run.stdout
        client.stop()


@pytest.mark.parametrize("keys,mutant,reports", [
    ({}, "", 1), ({"retained": "true"}, "", 3), ({}, "client.mqtt.retained", 3)])
def test_retained_messages_are_no_readings_unless_they_shall_be(world, keys, mutant, reports):
    broker = Broker(world.cluster)
    # Not MQTT 5, where the broker is told not to send them at all.
    use_mqtt(world.cluster, broker, protocol='"3.1.1"', **keys)
    broker.publish(reading("a", "c1"), reading("b", "c1"), retain=True)
    world.client(mutant)
    broker.publish(reading("c", "c2"))
    world.kept(reports)
    assert fate(world.cluster, "retained") == 3 - reports
    r = world.offer()
    got = world.taken(r, 3)
    world.over(1)
    assert sorted(got.values()) == [*["c1", "c1", "c2"][3 - reports:], *[NONE] * (3 - reports)]


def test_a_broker_of_mqtt_5_is_told_to_send_no_retained_message(world):
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker)
    broker.publish(reading("a", "c1"), retain=True)
    world.client()
    broker.publish(reading("c", "c2"))
    world.kept(1)
    assert fate(world.cluster, "retained") == 0


@pytest.mark.parametrize("mutant", ("", "client.mqtt.once"))
def test_a_device_takes_part_once_and_a_reading_counts_once(world, mutant):
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="ab")
    client = world.client(mutant)
    broker.publish(*(reading("a", "c1") for _ in range(7)), reading("b", "c2"), reading("b", "c3"))
    world.kept(9)
    first = world.offer()
    got = world.taken(first, 2)
    world.over(1)
    assert sorted(got.values()) in (["c1", "c2"], ["c1", "c3"])
    # What comes after a round has drawn is for the next one, and nothing is there twice.
    broker.publish(reading("a", "c3"))
    world.kept(10)
    second = world.offer()
    world.over(2)
    again = world.taken(second, 2)
    assert set(again) == set(got), "a device has one pseudonym"
    if mutant:
        assert NONE not in again.values()
        return
    assert sorted(again.values()) == ["c3", NONE] and len(world.taken(first, 2)) == 2
    # Nothing new: both take part all the same.
    third = world.offer()
    world.over(3)
    assert list(world.taken(third, 2).values()) == [NONE, NONE]
    client.stop()


def test_a_round_that_closes_while_readings_are_gathered_costs_nothing(world):
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="a", gather='"2s"')
    client = world.client()
    broker.publish(reading("a", "c1"))
    world.kept(1)
    r = world.offer()
    wait_for("the client to gather", lambda: metrics(world.cluster)['tombola_client_phase{phase="preparing"}'] == 1)
    with world.shuffler.lock:
        world.shuffler.rounds[r["d"].round_id]["sealed"] = True
    wait_for("the round to be passed over", lambda: "closed before its readings were drawn" in client.log())
    assert not world.shuffler.received and not world.cluster.charged()
    # The reading was not used: it counts in the next round.
    assert list(world.taken(world.offer(), 1).values()) == ["c1"]


def test_messages_that_are_no_readings_are_counted_and_never_shown(world):
    broker = Broker(world.cluster, "allow_anonymous true", "message_size_limit 0")
    use_mqtt(world.cluster, broker, topics='[ "sensors/#" ]', payload_max="64", protocol='"3.1.1"',
             names=["good", "secret-device"])
    client = world.client()
    topic = "sensors/secret-device/reading"
    broker.publish((topic, b"hush{"), (topic, b'["hush"]'), (topic, b""), (topic, b'{"colour":"\xff"}'),
                   (topic, b'{"colour":"c0","colour":"c1"}'), ("sensors", b'{"colour":"c1"}'),
                   (f"sensors/{'x' * 201}/reading", b'{"colour":"c1"}'), (topic, b'{"colour":"' + b"h" * 64 + b'"}'),
                   # Those are held; what they say is seen when a round asks for a colour.
                   (topic, b'{"color":"hush"}'), (topic, b'{"colour":"hush"}'), reading("good", "c1"))
    world.kept(3)
    assert (fate(world.cluster, "malformed"), fate(world.cluster, "no_device"), fate(world.cluster, "too_large")) == (
        5, 2, 1)
    assert sorted(world.taken(world.offer(), 2).values()) == ["c1", NONE]
    world.over(1)
    page = get(world.cluster, "client")[1]
    assert {n: row for n, row in described(page).items() if n.startswith(MQTT)} == {
        n: row for n, row in documented().items() if n.startswith(MQTT)}
    assert "hush" not in page and "secret" not in page
    client.stop()
    assert '"rows_left_out":2' in client.log() and '"first_left_out":"mqtt: no field' in client.log(), client.log()
    assert "hush" not in client.log() and "secret-device" not in client.log() and "hhh" not in client.log()


@pytest.mark.parametrize("mutant", ("", "client.mqtt.quota"))
def test_an_overload_is_dropped_and_memory_stays_bounded(world, mutant):
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, readings="2", payload_max="1024", device_kib="1",
             names=[f"d{i}" for i in range(20)])
    world.client(mutant)
    # Taken and thrown away: a broker that is to keep it stops sending to us after twenty.
    broker.publish(("sensors/big/reading", b'{"colour":"' + b"x" * 8000 + b'"}'))
    for _ in range(4):
        broker.publish(*((f"sensors/d{i}/reading", b'{"colour":"c1"}') for i in range(50)), qos=0)
    wait_for("all to come", lambda: fate(world.cluster, "kept") + fate(world.cluster, "unlisted") == 200)
    now = metrics(world.cluster)
    assert fate(world.cluster, "kept") == 80 and now["tombola_client_mqtt_readings"] == 40
    assert now['tombola_client_mqtt_forgotten_total{why="replaced"}'] == 40 and fate(world.cluster, "too_large") == 1
    assert now["tombola_client_mqtt_devices"] == 20 and now["tombola_client_mqtt_memory_bytes"] <= 20 * 1024
    assert len(world.taken(world.offer(), 20)) == 20
    # Two of these are more than a device may hold: the older goes, and nobody else's.
    broker.publish(*(("sensors/d3/reading", b'{"colour":"c1","x":"' + b"x" * 700 + b'"}') for _ in range(2)))
    world.kept(82)
    grown = metrics(world.cluster)["tombola_client_mqtt_memory_bytes"] - now["tombola_client_mqtt_memory_bytes"]
    assert (grown < 1024) == (not mutant), grown


def test_a_broker_that_is_away_is_waited_for_and_said_once(world):
    broker = Broker(world.cluster, start=False)
    use_mqtt(world.cluster, broker)
    client = world.client(ready=False)
    wait_for("the client to say it", lambda: log_says(world.cluster, "MQTT broker, retrying"))
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://127.0.0.1:{world.cluster.http['client']}/readyz", timeout=180)
    first = world.offer()  # before anything could be read: it goes without
    time.sleep(NOT_YET)
    assert log_says(world.cluster, "MQTT broker, retrying") == 1
    broker.start()
    subscribed(world.cluster)
    urllib.request.urlopen(f"http://127.0.0.1:{world.cluster.http['client']}/readyz", timeout=180)
    assert list(world.taken(first, 3).values()) == [NONE] * 3
    world.over(1)
    broker.publish(reading("a", "c1"))
    world.kept(1)
    # What is held outlives the broker, and comes together with what its successor brings.
    broker.publish(reading("b", "c2"))
    world.kept(2)
    broker.kill()
    wait_for("the client to say it", lambda: log_says(world.cluster, "MQTT broker, retrying") == 2)
    broker.start()
    wait_for("it to be back", lambda: metrics(world.cluster)["tombola_client_mqtt_connections_total"] == 2)
    broker.publish(reading("c", "c3"))
    world.kept(3)
    assert sorted(world.taken(world.offer(), 3).values()) == ["c1", "c2", "c3"]
    assert metrics(world.cluster)["tombola_client_mqtt_connected"] == 1
    client.stop()


def test_a_client_that_dies_loses_readings_but_no_report_and_charges_nothing_for_them(world):
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, spread="1h", names="ab", gather='"1h"', client_id='"tombola"')
    client = world.client()
    broker.publish(reading("a", "c1"))
    world.kept(1)
    r = world.offer(window_ms=120000)
    wait_for("the client to gather", lambda: metrics(world.cluster)['tombola_client_phase{phase="preparing"}'] == 1)
    client.kill()
    assert not world.cluster.charged()
    # What is published meanwhile does not count, whatever broker keeps it.
    broker.publish(reading("b", "c1"))
    use_mqtt(world.cluster, broker, spread="1h", names="ab", gather='"2s"', client_id='"tombola"')
    before = log_says(world.cluster, '"subscribed"')
    client.start()
    wait_for("the client to subscribe again", lambda: log_says(world.cluster, '"subscribed"') > before)
    broker.publish(reading("b", "c2"))
    wait_for("the sealed report to be stored", world.cluster.charged)
    client.kill()
    assert not world.taken(r, 0)
    # It has its bytes: whatever the device says now, those are sent, once.
    use_mqtt(world.cluster, broker, names="ab", client_id='"tombola"')
    client.start()
    got = world.taken(r, 2)
    world.over(1)
    assert sorted(got.values()) == ["c2", NONE] and len(world.shuffler.received) == 1
    client.stop()


def test_what_was_queued_while_the_client_was_away_does_not_count(world):
    """A broker keeps 1,000 messages for a session, and drops the rest: of the others' readings as many as one device's crowd out."""
    names = [f"d{i}" for i in range(20)]
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names=names, gather='"500ms"', client_id='"tombola"', clean_session="false")
    world.client().stop()
    for times, n in enumerate((1, 1500), 1):
        broker.publish(*[reading("d2", "c1")] * n, *(reading(d, "c1") for d in names))
        client = world.client(ready=False)
        wait_for("the client to subscribe", lambda: log_says(world.cluster, '"subscribed"') == 1 + times)
        broker.publish(reading("d3", "c2"))
        world.kept(1)
        assert sorted(world.taken(world.offer(), 20).values()) == ["c2"] + [NONE] * 19, n
        world.over(times)
        client.stop()


@pytest.mark.parametrize("qos,size", [(0, 0), (1, 0), (0, 3000), (1, 9000)])
def test_what_one_device_publishes_costs_nobody_else_a_reading(world, qos, size):
    """At a broker as it comes, which queues 1,000 messages and sends 20 at a time, and whatever a payload's length is."""
    names = [f"d{i}" for i in range(100)]
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names=names, gather='"1s"')
    client = world.client()
    flood = [("sensors/d2/reading", json.dumps({"colour": "c1", "x": "x" * size}))] * (3000 if qos and size else 10000 if size else 30000)
    broker.publish(*flood, *(reading(d, "c2") for d in names if d != "d2"), qos=qos)
    wait_for("all to come", lambda: fate(world.cluster, "kept") + fate(world.cluster, "too_large") == len(flood) + 99)
    got = world.taken(world.offer(), 100)
    assert sorted(got.values())[1:-1] == ["c2"] * 98 and list(got.values()).count("c2") == 99
    assert metrics(world.cluster)["tombola_client_mqtt_connections_total"] == 1
    client.stop()


CONNACK, SUBACK = b"\x20\x02\x00\x00", b"\x90\x03\x00\x01"
ANSWERS = [bytes([255]) * 200, CONNACK + SUBACK + b"\x80",
           CONNACK + SUBACK + b"\x01" + b"\x30\x04\x00\x20hu" + b"\x30\xff\xff\xff\xff\xff"]


def test_a_broker_that_talks_nonsense_is_left_and_dialled_again(world):
    broker = Broker(world.cluster, start=False)
    use_mqtt(world.cluster, broker, protocol='"3.1.1"')
    served = []

    def serve(listener):
        for answer in ANSWERS:
            link, _ = listener.accept()
            with link, contextlib.suppress(ConnectionResetError):
                link.recv(1000)
                link.sendall(answer)
                link.settimeout(180)
                while link.recv(1000):  # until the client is gone
                    pass
            served.append(answer)

    with socket.create_server(("127.0.0.1", broker.port)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        client = world.client(ready=False)
        wait_for("all answers to be heard", lambda: len(served) == len(ANSWERS))
        thread.join()
    assert client.alive() and not fate(world.cluster, "kept")
    assert "MQTT broker, retrying" in client.log()
    # And a good one is still welcome.
    broker.start()
    wait_for("a good one to be found", lambda: metrics(world.cluster)["tombola_client_mqtt_connected"] == 1)
    client.stop()


@pytest.mark.parametrize("mutant", ("", "client.mqtt.unasked"))
def test_a_topic_that_is_no_longer_asked_for_is_not_reported_on(world, mutant):
    """A broker that sends what an earlier session subscribed to, beside what this one does."""
    broker = Broker(world.cluster, start=False)
    use_mqtt(world.cluster, broker, protocol='"3.1.1"', names="ab")

    def publish(topic, payload):
        return b"\x30" + bytes((2 + len(topic) + len(payload), 0, len(topic))) + topic + payload

    with socket.create_server(("127.0.0.1", broker.port)) as listener:
        client = world.client(mutant, ready=False)
        link, _ = listener.accept()
        with link:
            link.recv(1000)
            link.sendall(CONNACK + SUBACK + b"\x01")
            link.sendall(publish(b"sensors/a/old", b'{"colour":"c1"}') + publish(b"sensors/b/reading", b'{"colour":"c2"}'))
            world.kept(1 + bool(mutant))
            assert fate(world.cluster, "unasked") == (not mutant)
            assert sorted(world.taken(world.offer(), 2).values()) == (["c1", "c2"] if mutant else ["c2", NONE])
            world.over(1)
    client.stop()


def test_a_byte_order_mark_and_a_host_that_slept(world):
    """Readings age while the host sleeps, when the monotonic clock stands."""
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="ab", max_age='"1m"')
    client = world.cluster.start("client", "run", env=clock(world.cluster, "client", 0))
    subscribed(world.cluster)
    broker.publish(("sensors/a/reading", b'\xef\xbb\xbf{"colour":"c1"}'), ("sensors/b/reading", b'{"colour":"c2"}'))
    world.kept(2)
    assert sorted(world.taken(world.offer(), 2).values()) == ["c1", "c2"]
    world.over(1)
    broker.publish(reading("a", "c1"), reading("b", "c2"))
    world.kept(4)
    clock(world.cluster, "client", 0, slept=120)
    wait_for("what is too old to go", lambda: metrics(world.cluster)["tombola_client_mqtt_readings"] == 0)
    broker.publish(reading("b", "c3"))
    world.kept(5)
    assert metrics(world.cluster)["tombola_client_mqtt_readings"] == 1
    client.stop()


@pytest.fixture
def guarded(world):
    """A broker with TLS, certificates and passwords."""
    folder = world.cluster.path("pki")
    ca = certs.authority(folder, "site", "site CA")
    cert, key = certs.issue(folder, "broker", "shuffler", ca)
    certs.issue(folder, "nameless", "shuffler", ca, hosts=False)
    broker = Broker(world.cluster, f"cafile {folder}/site.crt", f"certfile {cert}", f"keyfile {key}",
                    "require_certificate true", "allow_anonymous false",
                    f"password_file {world.cluster.path('passwords')}", start=False)
    broker.password("gateway", "open sesame")
    mine = certs.issue(folder, "gateway", "client", ca)
    broker.login = {"auth": {"username": "gateway", "password": "open sesame"},
                    "tls": {"ca_certs": f"{folder}/site.crt", "certfile": mine[0], "keyfile": mine[1],
                            "tls_version": ssl.PROTOCOL_TLS_CLIENT}}
    certs.authority(folder, "other", "other CA")
    certs.write(world.cluster.path("password"), b"open sesame\n")
    broker.start()

    def keys(ca="site", **change):
        return {"username": '"gateway"', "password_file": '"password"',
                "tls": f'{{ ca = "pki/{ca}.crt"; cert = "{mine[0]}"; key = "{mine[1]}"; }}', **change}
    return world, broker, keys


def test_password_and_tls(guarded):
    world, broker, keys = guarded
    use_mqtt(world.cluster, broker, names=[f"d{i}" for i in range(100)], **keys())
    client = world.client()
    broker.publish(*(reading(f"d{i}", "c1") for i in range(100)))
    world.kept(100)
    assert len(world.taken(world.offer(), 100)) == 100
    client.stop()


def test_changed_files_for_the_broker_are_judged_at_once(guarded):
    """A right CA in the place of a wrong one ends the pause before the next try; a spoilt one ends no connection, and is said."""
    world, broker, keys = guarded
    path = world.cluster.path("pki", "changing.crt")
    shutil.copy(world.cluster.path("pki", "other.crt"), path)
    use_mqtt(world.cluster, broker, **keys(ca="changing"))
    client = world.client(ready=False)
    wait_for("the client to say it", lambda: log_says(world.cluster, "MQTT broker, retrying"))
    shutil.copy(world.cluster.path("pki", "site.crt"), path)
    wait_for("the file to be judged", lambda: log_says(world.cluster, "are used from the next connection on"))
    subscribed(world.cluster)
    certs.write(path, b"no certificate\n")
    wait_for("the file to be judged", lambda: log_says(world.cluster, "cannot be used; a connection stays until it ends"))
    broker.publish(reading("a", "c1"))
    world.kept(1)
    assert log_says(world.cluster, "changing.crt") and log_says(world.cluster, '"subscribed"') == 1
    client.stop()


@pytest.mark.parametrize("change,why", [
    ({"ca": "other"}, "self-signed certificate"), ({}, "ip address mismatch"),
    ({"host": '"localhost"'}, "hostname mismatch"), ({"password_file": '"wrong"'}, "not authori")])
def test_a_broker_that_cannot_be_trusted_or_does_not_trust_us_is_no_broker(guarded, change, why):
    world, broker, keys = guarded
    certs.write(world.cluster.path("wrong"), b"close sesame\n")
    if "mismatch" in why:
        broker.kill()
        with open(broker.conf) as f:
            text = f.read()
        world.cluster.write("mosquitto.conf", text.replace("broker.crt", "nameless.crt")
                            .replace("broker.key", "nameless.key"))
        broker.start()
    use_mqtt(world.cluster, broker, **keys(**change))
    client = world.client(ready=False)
    wait_for("the client to say it", lambda: log_says(world.cluster, "MQTT broker, retrying"))
    time.sleep(NOT_YET)
    assert client.alive() and not log_says(world.cluster, '"subscribed"')
    assert why in client.log().lower(), client.log()
    assert "sesame" not in client.log()
    client.stop()


FAULTS = [  # what is said together
    ({"topics": '[ "sensors/#/x", "a/b/+", "c", "$share/g/a/+" ]', "host": '"broker.example"', "protocol": '"4"',
      "qos": "0", "password_file": '"open"', "username": '"u"', "tls": '{ cert = "client.conf"; }'},
     ["is no MQTT topic filter", "'c' has 1 topic levels, and topic:2 is wanted", "each would report it",
      "not on loopback without tls.ca", 'neither "5" nor "3.1.1"', "drops messages of QoS 0", "chmod 600", "go together"]),
    ({"device": '"level 2"', "password_file": '"none"', "username": '"u"', "tls": '{ ca = "none.crt"; }'},
     ['neither "topic:N"', "no such file", "none.crt"]),
    ({"payload": '"xml"', "password_file": '"none"'}, ["neither json nor text", "password_file needs username"]),
    ({"payload": '"text"'}, ['payload "text" needs field']),
    ({"field": '"colour"'}, ['field is for payload "text"']),
    ({"qos": "2", "retaned": "true"}, ["out of range", "did you mean 'retained'?"]),
    ({"memory_mib": "64", "wait": '"1m"'}, ["see mqtt.device_kib", "does not wait for readings"]),
    ({"devices": '"none"'}, ["No such file"]), ({"devices": '"twice"'}, ["twice:2: the device of line 1 again"]),
]


def test_check_config_names_the_place_of_each_fault(cluster):
    cluster.configure()
    broker = Broker(cluster, start=False)
    with open(cluster.path("open"), "w") as f:
        f.write("word\n")
    os.chmod(cluster.path("open"), 0o644)
    cluster.write("twice", "a\na\n")
    use_mqtt(cluster, broker)
    assert cluster.run("client", "check-config").returncode == 0
    for keys, said in FAULTS:
        use_mqtt(cluster, broker, **keys)
        run = cluster.run("client", "check-config")
        with open(cluster.path("client.conf")) as f:
            line = f.read().split("mqtt =")[0].count("\n") + 1
        assert run.returncode in (EXIT["config"], EXIT["permission"]), (keys, run.stderr)
        for words in said:
            assert any(x.startswith(f"{cluster.path('client.conf')}:{line}: ") and words in x
                       for x in run.stderr.splitlines()), (words, run.stderr)
    # Meant that way.
    use_mqtt(cluster, broker, host='"broker.example"', plaintext_to_remote="true")
    assert cluster.run("client", "check-config").returncode == 0


@pytest.mark.parametrize("mutant,keys", [
    ("client.mqtt.plaintext", {"host": '"broker.example"'}), ("client.mqtt.qos", {"qos": "0"}),
    ("mqtt.password_mode", {"username": '"u"', "password_file": '"open"'})])
def test_without_the_check_the_configuration_passes(cluster, mutant, keys):
    cluster.configure()
    with open(cluster.path("open"), "w") as f:
        f.write("word\n")
    os.chmod(cluster.path("open"), 0o644)
    use_mqtt(cluster, Broker(cluster, start=False), **keys)
    assert cluster.run("client", "check-config").returncode in (EXIT["config"], EXIT["permission"])
    assert cluster.run("client", "check-config", mutant=mutant).returncode == 0


def test_check_config_names_what_needs_a_broker_without_limits(cluster):
    cluster.configure()
    broker = Broker(cluster, start=False)
    for keys, said in (({}, []), ({"clean_session": "false", "client_id": '"x"', "qos": "1"}, ["clean_session"]),
                       ({"protocol": '"3.1.1"', "retained": "true"}, ["protocol", "retained"])):
        use_mqtt(cluster, broker, **keys)
        run = cluster.run("client", "check-config")
        assert run.returncode == 0 and [x for x in run.stdout.splitlines() if x.startswith("mqtt.")] == [
            x for x in run.stdout.splitlines() if any(x.startswith(f"mqtt.{k} = ") for k in said)], run.stdout
        assert run.stdout.count("mqtt.") == len(said), run.stdout


def test_a_file_and_a_broker_at_once_is_a_fault(cluster):
    cluster.configure()
    use_mqtt(cluster, Broker(cluster, start=False))
    with open(cluster.path("client.conf"), "a") as f:
        f.write('input = { path = "readings.csv"; };\n')
    run = cluster.run("client", "check-config")
    assert run.returncode == EXIT["config"] and "not both" in run.stderr


@pytest.mark.parametrize("path", ("deploy/mosquitto.conf", "deploy/compose/mosquitto.conf"))
def test_a_broker_with_the_shipped_configuration_lets_readings_through(world, path):
    broker = Broker(world.cluster, start=False)
    with open(os.path.join(wire.ROOT, path)) as f:
        text = f.read()
    acl = world.cluster.write("acl", "".join(m + "\n" for m in re.findall(r"^#   (.*)", text, re.M)))
    passwords = broker.password("tombola", "open sesame")
    broker.password("a", "sesame", add=True)
    # Ports and places are this test's.
    world.cluster.write("mosquitto.conf", re.sub(r"listener 1883.*", f"listener {broker.port} 127.0.0.1\nuser root", text)
                        .replace("/etc/mosquitto/passwords", passwords).replace("/etc/mosquitto/acl", acl))
    certs.write(world.cluster.path("password"), b"open sesame")
    broker.start()
    use_mqtt(world.cluster, broker, names="ab", username='"tombola"', password_file='"password"')
    world.client()
    broker.login = {"auth": {"username": "a", "password": "sesame"}}
    if "acl_file" in text:
        broker.publish(reading("b", "c3"))  # not for a to say
    broker.publish(reading("a", "c1"))
    world.kept(1)
    assert sorted(world.taken(world.offer(), 2).values()) == ["c1", NONE]
    world.over(1)
    assert fate(world.cluster, "kept") == 1
