"""results mqtt: states and sensors at a real broker, kept through its restarts, behind password and TLS."""
import json
import os
import re
import subprocess

import pytest
from paho.mqtt import client as paho

from broker import Broker
from cluster import EXIT, free_port, wait_for
from results import LABELS, Settling


class Reader:
    """What a broker keeps: topic -> message, with how often each came."""

    def __init__(self, broker, user=None, word=None, ca=None):
        self.kept, self.came, self.retained = {}, [], {}
        self.client = paho.Client()
        if user:
            self.client.username_pw_set(user, word)
        if ca:
            self.client.tls_set(ca)
        self.client.on_message = self.take
        self.client.on_connect = lambda c, *_: c.subscribe([("tombola/#", 1), ("homeassistant/#", 1)])
        self.client.connect(broker.host, broker.port)
        self.client.loop_start()

    def take(self, _client, _user, m):
        self.kept[m.topic] = json.loads(m.payload)
        self.retained[m.topic] = m.retain
        self.came.append((m.topic, m.qos))

    def close(self):
        self.client.loop_stop()
        self.client.disconnect()


def mqtt(cluster, broker, *args, name="cursor"):
    return ("results", "mqtt", "--broker", f"{broker.host}:{broker.port}", "--cursor", cluster.path(name), *args)


def template(text, payload):
    """As Home Assistant renders ours: an item of the state, or what stands for none."""
    m = re.fullmatch(r"\{\{ (\()?value_json\['items'\]\[(\d+)\](\.value)? if value_json\['items'\] \| length > (\d+) else "
                     r"(None|\{\}\) \| tojson) \}\}", text)
    assert m and m[2] == m[4] and bool(m[1]) != bool(m[3]), text
    items, i = payload["items"], int(m[2])
    if i >= len(items):
        return None if m[3] else {}
    return items[i]["value"] if m[3] else items[i]


def test_states_and_sensors(cluster):
    broker = Broker(cluster)
    s = Settling(cluster)
    seen = Reader(broker)
    s.settle(1)
    daemon = cluster.start("analyzer", *mqtt(cluster, broker))
    wait_for("the state", lambda: "tombola/test/labels" in seen.kept)
    s.settle(2)
    wait_for("the second state", lambda: "tombola/test/celsius" in seen.kept)
    wait_for("its log", lambda: daemon.log().count("result delivered") == 2)

    # The state is the document that a hook gets.
    state = seen.kept["tombola/test/labels"]
    assert state["schema"] == "tombola.settled/1" and [i["label"] for i in state["items"]] == LABELS
    rows = [r for r in s.rows() if r["query"] == "labels"]
    assert [i["value"] for i in state["items"] + state["no_reading"]] == [r["value"] for r in rows]
    assert all(qos == 1 for _, qos in seen.came)
    # Nothing but these topics: descriptions before the state.
    sensors = {t: m for t, m in seen.kept.items() if t.startswith("homeassistant/")}
    assert set(seen.kept) - set(sensors) == {"tombola/test/labels", "tombola/test/celsius"}
    assert [t for t, _ in seen.came].index("tombola/test/labels") == len(LABELS)
    assert set(sensors) == {f"homeassistant/sensor/tombola_test_labels/{i}/config" for i in range(len(LABELS))} | {
        "homeassistant/sensor/tombola_test_celsius/0/config"}
    assert len({m["unique_id"] for m in sensors.values()}) == len(sensors)
    for m in sensors.values():
        payload = seen.kept[m["state_topic"]]
        value, item = template(m["value_template"], payload), template(m["json_attributes_template"], payload)
        assert value == item["value"] and isinstance(value, float)
        assert m["name"] in (f"labels: {item['label']}", "celsius")
        assert m["device"]["identifiers"] == ["tombola_test"] and m["state_class"] == "measurement"
        # The keys that Home Assistant's schema of an MQTT sensor has.
        assert set(m) == {"name", "unique_id", "state_topic", "value_template", "json_attributes_topic",
                          "json_attributes_template", "state_class", "device", "origin"}
    seen.close()
    # Who comes later is told at once.
    late = Reader(broker)
    wait_for("what is retained", lambda: len(late.kept) == len(seen.kept))
    assert late.kept == seen.kept and all(late.retained.values())
    late.close()


def test_what_settles_while_the_broker_is_away_is_published_afterwards(cluster):
    broker = Broker(cluster, start=False)
    s = Settling(cluster)
    s.settle(1)
    run = cluster.run("analyzer", *mqtt(cluster, broker, "--once"))
    assert run.returncode == EXIT["unavailable"] and "Connection refused" in run.stderr and str(broker.port) in run.stderr
    assert not os.path.exists(cluster.path("cursor"))
    daemon = cluster.start("analyzer", *mqtt(cluster, broker, "--discovery", ""))
    wait_for("two tries", lambda: daemon.log().count("a result was not taken") >= 1)
    s.settle(2)
    broker.start()
    wait_for("both", lambda: daemon.log().count("result delivered") == 2)
    broker.kill()
    s.settle(3)
    broker.start()
    wait_for("the third", lambda: daemon.log().count("result delivered") == 3)
    seen = Reader(broker)
    wait_for("the state", lambda: "tombola/test/labelsDOT2" in seen.kept)
    assert not any(t.startswith("homeassistant") for t in seen.kept)
    seen.close()
    # All are delivered: a broker that is not there is not even dialled.
    broker.kill()
    assert cluster.run("analyzer", *mqtt(cluster, broker, "--once")).returncode == 0


def test_password_and_tls(cluster):
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)
    for name in ("site", "other"):
        openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", f"/CN={name}", "-days", "2", "-keyout",
                cluster.path(f"{name}.key"), "-out", cluster.path(f"{name}.crt"), "-addext", "subjectAltName=IP:127.0.0.1")
    broker = Broker(cluster, start=False)
    words = broker.password("publisher", "sesame")
    broker.conf = cluster.write("mosquitto.conf", f"""listener {broker.port} 127.0.0.1
user root
persistence false
allow_anonymous false
password_file {words}
certfile {cluster.path("site.crt")}
keyfile {cluster.path("site.key")}
acl_file {cluster.write("acl", "user publisher" + chr(10) + "topic readwrite tombola/#" + chr(10))}
""")
    os.chmod(cluster.path("acl"), 0o600)
    broker.start()
    s = Settling(cluster)
    s.settle(2)
    for name, word in (("good", "sesame"), ("bad", "open")):
        cluster.write(name, word + "\n")
        os.chmod(cluster.path(name), 0o600)

    def once(word="good", ca="site", *args):
        return cluster.run("analyzer", *mqtt(cluster, broker, "--once", "--user", "publisher", "--password-file",
                                             cluster.path(word), "--ca", cluster.path(f"{ca}.crt"), *args))
    for args, code, said in (((), "permission", "uthorized"), (("good", "other"), "unavailable", "self-signed"),
                             (("bad",), "permission", "uthorized"), (("good", "site"), "permission", "uthorized")):
        run = once(*args)
        assert run.returncode == EXIT[code] and said in run.stderr and "sesame" not in run.stderr, run
        assert not os.path.exists(cluster.path("cursor"))
    # The broker takes no description: not allowed to write there, and it says so.
    run = once("good", "site", "--discovery", "")
    assert run.returncode == 0, run.stderr
    seen = Reader(broker, "publisher", "sesame", cluster.path("site.crt"))
    wait_for("the state", lambda: "tombola/test/celsius" in seen.kept)
    seen.close()
    os.chmod(cluster.path("good"), 0o644)
    run = once()
    assert run.returncode == EXIT["permission"] and "good" in run.stderr


@pytest.mark.parametrize("args,said", [
    (("--broker", "127.0.0.1"), "127.0.0.1"),
    (("--broker", "broker.example:1883"), "not on loopback"),
    (("--password-file", "x"), "--user"),
    (("--cert", "x"), "go together"),
    (("--protocol", "4"), "5 or 3.1.1"),
    (("--prefix", "a/#"), "without wildcards"),
    (("--prefix", "$SYS/a"), "without wildcards"),
    (("--discovery", "a/"), "without wildcards"),
    (("--sensors", "many"), "--sensors"),
])
def test_options_that_do_not_fit_are_said(cluster, args, said):
    cluster.configure()
    cluster.plan([])
    base = () if "--broker" in args else ("--broker", f"127.0.0.1:{free_port()}")
    run = cluster.run("analyzer", "results", "mqtt", *base, "--cursor", cluster.path("cursor"), "--once", *args)
    assert run.returncode in (EXIT["usage"], EXIT["config"]) and said in run.stderr, run
