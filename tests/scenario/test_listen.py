"""`devices --listen`: whoever has a broker and no list gets one to edit, and nothing else comes of it."""
import json
import os
import signal
import subprocess

import pytest

import cluster as c
from broker import Broker
from cluster import EXIT, wait_for
from test_mqtt import use_mqtt


class Listening:
    """The verb, whose output is kept apart from what it says."""

    def __init__(self, cluster, time="10m"):
        self.cluster, self.said = cluster, cluster.path("listen.err")
        with open(self.said, "wb") as err:
            self.process = subprocess.Popen(
                [c.program("tombola-client"), "--config", cluster.path("client.conf"), "devices", "--listen", time],
                stdout=subprocess.PIPE, stderr=err, stdin=subprocess.DEVNULL)

    def err(self):
        with open(self.said) as f:
            return f.read()

    def subscribed(self):
        wait_for("the verb to subscribe", lambda: "subscribed" in self.err())
        return self

    def end(self, sig=None, acknowledged=0):
        """The exit code, and the names, once the verb has had so many messages."""
        def acks():
            with open(self.cluster.path("mosquitto.log")) as f:
                return f.read().count("Received PUBACK from")
        if acknowledged:
            wait_for("the verb to have the messages", lambda: acks() >= acknowledged)
        if sig:
            self.process.send_signal(sig)
        out, _ = self.process.communicate(timeout=c.PATIENCE)
        return self.process.returncode, out.decode()


@pytest.fixture
def at(cluster):
    """A client without a list, and without all that a round needs: it has to listen as it is."""
    cluster.configure(min_batch=1)
    return cluster


def broker_of(cluster):
    """A broker that logs what is acknowledged."""
    return Broker(cluster, "allow_anonymous true", "log_type all")


def test_whoever_has_no_list_gets_one_that_check_config_takes(at):
    broker = broker_of(at)
    use_mqtt(at, broker, devices=None)
    refused = at.run("client", "check-config")
    assert refused.returncode == EXIT["config"] and "`tombola-client devices --listen 10m`" in refused.stderr
    before = os.listdir(at.path("client"))
    listening = Listening(at).subscribed()
    broker.publish(("sensors/pump b/reading", '{"celsius":1}'), ("sensors/a/reading", '{"celsius":1,"state":"on"}'),
                   ("sensors/a/reading", '{"celsius":2}'), ("sensors/Z/reading", '{"state":"on"}'), ("other/x", "{}"),
                   ("sensors/y/reading", "no object"))
    code, names = listening.end(signal.SIGINT, 5)  # what has come counts
    said = listening.err()
    assert (code, names) == (0, "Z\na\npump b\n"), said
    assert 'field "celsius": 2 devices\n' in said and 'field "state": 2 devices\n' in said
    assert "3 devices in 5 messages, 1 malformed\n" in said
    assert os.listdir(at.path("client")) == before, "the verb writes no state"
    use_mqtt(at, broker, devices='"listed.txt"')
    at.write("listed.txt", names)
    assert at.run("client", "check-config").returncode == 0


def test_what_a_round_needs_beside_the_broker_is_not_asked_for(at):
    """Neither keys nor policy are there yet, no shuffler runs, and the time ends by itself.  What is retained is heard where readings
    may be retained."""
    broker = broker_of(at)
    use_mqtt(at, broker, devices=None, retained="true")
    broker.publish(("sensors/a/reading", "{}"), retain=True)
    with open(at.path("client.conf")) as f:
        text = f.read()
    at.write("client.conf", text.replace('policy = "', 'policy = "not-yet-').replace('analyzer_key = "', 'analyzer_key = "not-yet-'))
    assert at.run("client", "check-config").returncode == EXIT["config"]
    # A busy machine may need more than the first time to connect.
    assert any(Listening(at, time).end() == (0, "a\n") for time in ("2s", "10s", "60s"))


def test_names_that_a_list_cannot_hold_are_named_with_the_reason(at):
    broker = broker_of(at)
    use_mqtt(at, broker, devices=None, topics='[ "all" ]', device='"field:id"', payload_max="100000")
    bad = {" a": "white space at its ends", "b\t": "white space at its ends", "c\rd": "a CR", "e\nf": "a line end",
           "\ufeffg": "byte order mark", "h\x1b[2J": "a terminal may obey", "i\u202ej": "a terminal may obey"}
    listening = Listening(at).subscribed()
    broker.publish(*(("all", json.dumps({"id": name})) for name in (*bad, "good", "x" * 200, "x" * 201)), ("all", "{}"))
    code, names = listening.end(signal.SIGINT, len(bad) + 4)
    said = listening.err()
    assert (code, names) == (0, "good\n" + "x" * 200 + "\n"), said
    lines = [line for line in said.splitlines() if line.startswith("left out: ")]
    assert len(lines) == len(bad) + 1
    for line, (name, why) in zip(lines, bad.items()):
        assert why in line and line.startswith(f"left out: '{name[0] if name[0] == ' ' else ''}"), (line, name)
    assert "names no device" in lines[-1] and "'all'" in lines[-1]
    assert "\x1b" not in said and "\u202e" not in said and "2 no_device" in said
    # A terminal shows no more than a few, however many a broker sends.
    listening = Listening(at).subscribed()
    broker.publish(*(("all", json.dumps({"id": f" {i}"})) for i in range(50)))
    assert listening.end(signal.SIGINT, len(bad) + 54) == (EXIT["noinput"], "")
    said = listening.err()
    assert said.count("left out: '") == 20 and "there may be more; 20 are shown" in said and "no device was heard" in said


def test_without_a_broker_or_a_time_it_says_so(at):
    broker = Broker(at, start=False)
    use_mqtt(at, broker, devices=None)
    listening = Listening(at, "2s")
    assert listening.end() == (EXIT["unavailable"], "")
    assert f"the broker 127.0.0.1:{broker.port} was not reached" in listening.err()
    for args in ((), ("--listen", "0s"), ("--listen", "8d"), ("--listen", "soon")):
        run = at.run("client", "devices", *args)
        assert (run.returncode, run.stdout) == (EXIT["usage"], "") and "--listen" in run.stderr, args
    with open(at.path("client.conf")) as f:
        text = f.read()
    at.write("client.conf", "\n".join(x for x in text.splitlines() if not x.startswith("mqtt")) + "\n")
    run = at.run("client", "devices", "--listen", "1s")
    assert run.returncode == EXIT["config"] and "mqtt.topics or mqtt.sources" in run.stderr
