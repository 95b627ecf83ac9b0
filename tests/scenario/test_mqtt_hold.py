"""Devices that report on change: their last values stand, over restarts, and nothing that is kept shows what they are."""
import os
from collections import Counter

import pytest

import cluster as c
from broker import Broker, fate, metrics
from cluster import wait_for
from test_clock import clock
from test_mqtt import NONE, World, log_says, reading, use_mqtt, world  # noqa: F401 (a fixture)
from test_views import NAMES, CHANGED, offer, pseudonym_of_the_changed, row
from views import Worlds, same

N = 500
FILES = ("held", "held-0.key", "held-1.key")


def begin(world, times):
    client = world.client(ready=False)
    wait_for("the client to subscribe", lambda: os.path.exists(world.cluster.path("client.log"))
             and log_says(world.cluster, '"subscribed"') == times)
    return client


def held(world):
    """Of the kept files: mode and size by name, and the bytes of the readings."""
    at = {name: world.cluster.path("client", name) for name in FILES}
    at = {name: path for name, path in at.items() if os.path.exists(path)}
    with open(at["held"], "rb") as f:
        return {name: (os.stat(path).st_mode & 0o777, os.stat(path).st_size) for name, path in at.items()}, f.read()


@pytest.mark.parametrize("hold", ["true", "false"])
def test_contacts_that_report_on_change_are_counted_in_each_round(world, hold):  # noqa: F811
    """Before, all but those that changed vanished from each round after the first, and all from the first after a restart."""
    names = [f"contact{i}" for i in range(N)]
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names=names, hold=hold, save='"1s"', max_age='"1d"')
    client = begin(world, 1)
    closed, opened = "c0", "c1"
    times = 0

    def count(*changed):
        nonlocal times
        times += 1
        before = fate(world.cluster, "kept")
        if changed:
            broker.publish(*(reading(f"contact{i}", colour) for i, colour in changed))
        world.kept(before + len(changed))
        got = Counter(world.taken(world.offer(), N).values())
        world.over(times)
        return got

    assert count(*((i, closed) for i in range(N))) == {closed: N}
    if hold == "false":
        assert count(*((i, opened) for i in range(7))) == {opened: 7, NONE: N - 7}
        assert not os.path.exists(world.cluster.path("client", "held"))
        return
    assert count(*((i, opened) for i in range(7))) == {opened: 7, closed: N - 7}
    # One that opened and closed again, and one of two that changed.
    assert count((7, opened), (7, closed), (0, closed)) == {opened: 6, closed: N - 6}
    assert count() == {opened: 6, closed: N - 6}
    # The gateway restarts, as it is told to, and then by a power cut.
    client.stop()
    files, sealed = held(world)
    assert sorted(set(files) - {"held"})[0].startswith("held-") and len(files) == 2
    assert all(mode == 0o600 for mode, _ in files.values())
    assert b"contact" not in sealed and b"c0" * 3 not in sealed
    client = begin(world, 2)
    assert count() == {opened: 6, closed: N - 6}
    assert count((1, closed)) == {opened: 5, closed: N - 5}
    written = os.stat(world.cluster.path("client", "held")).st_mtime_ns
    wait_for("two further files", lambda: os.stat(world.cluster.path("client", "held")).st_mtime_ns > written + 2 * 10**9)
    client.kill()
    client = begin(world, 3)
    assert count() == {opened: 5, closed: N - 5}
    client.stop()
    # Who no longer wants it keeps nothing.
    use_mqtt(world.cluster, broker, names=names)
    client = begin(world, 4)
    assert not [name for name in FILES if os.path.exists(world.cluster.path("client", name))]
    assert count() == {NONE: N}
    client.stop()


def test_last_values_end_with_max_age_and_with_the_list_and_a_spoilt_file_is_no_fault(world):  # noqa: F811
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="abc", hold="true", save='"1h"', max_age='"1h"')
    client = begin(world, 1)
    broker.publish(reading("a", "c1"), reading("b", "c2"), reading("c", "c3"))
    world.kept(3)
    client.stop()
    use_mqtt(world.cluster, broker, names="ab", hold="true", save='"1h"', max_age='"1h"')
    client = begin(world, 2)
    assert sorted(world.taken(world.offer(), 2).values()) == ["c1", "c2"]
    world.over(1)
    client.stop()
    # Too old by the wall clock, which goes on while nothing runs.
    use_mqtt(world.cluster, broker, names="ab", hold="true", save='"1h"', max_age='"1s"')
    client = begin(world, 3)
    wait_for("them to be too old", lambda: metrics(world.cluster)["tombola_client_mqtt_readings"] == 0)
    broker.publish(reading("a", "c3"))
    world.kept(1)
    client.stop()
    use_mqtt(world.cluster, broker, names="ab", hold="true", save='"1h"', max_age='"1h"')
    with open(world.cluster.path("client", "held"), "r+b") as f:
        f.seek(-1, os.SEEK_END)
        last = f.read(1)[0]
        f.seek(-1, os.SEEK_END)
        f.write(bytes([last ^ 1]))  # of b, which has no value
    client = begin(world, 4)
    assert "last values of before are lost" in client.log() and "the values of 1 of 2 devices are damaged" in client.log()
    assert sorted(world.taken(world.offer(), 2).values()) == ["c3", NONE]
    world.over(2)
    client.stop()


MAPPED = '( { topics = [ "sensors/+/reading" ]; map = { colour = { path = "colour"; invalid = [ "unavailable" ]; }; }; } )'


def test_a_value_that_is_invalid_ends_the_one_before(world):  # noqa: F811
    """A device that says that it does not know is not counted by what it knew a week ago."""
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="ab", hold="true", topics=None, sources=MAPPED)
    client = begin(world, 1)
    for times, (says, counted) in enumerate((("c1", ["c1", "c2"]), ("unavailable", ["c2", NONE]), ("c3", ["c2", "c3"])), 1):
        broker.publish(reading("a", says), reading("b", "c2") if times == 1 else ("sensors/b/reading", '{"other":1}'))
        world.kept(2 * times)
        assert sorted(world.taken(world.offer(), 2).values()) == counted
        world.over(times)
    client.stop()


def test_a_clock_that_is_set_back_makes_no_value_younger(world):  # noqa: F811
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="ab", hold="true", save='"1h"', max_age='"1h"')
    hands = {}

    def start(times, seconds, slept):
        hands.update(clock(world.cluster, "client", seconds, slept))
        client = world.cluster.start("client", "run", env=hands)
        wait_for("the client to subscribe", lambda: os.path.exists(world.cluster.path("client.log"))
                 and log_says(world.cluster, '"subscribed"') == times)
        return client

    def readings():
        return metrics(world.cluster)["tombola_client_mqtt_readings"]
    client = start(1, 0, 0)
    broker.publish(reading("a", "c1"))
    world.kept(1)
    clock(world.cluster, "client", 0, slept=3000)
    broker.publish(reading("b", "c1"))  # this one is new
    world.kept(2)
    client.stop()
    client = start(2, -86400, 3000)
    assert readings() == 2
    clock(world.cluster, "client", -86400, slept=3700)
    wait_for("the older one to be too old", lambda: readings() == 1)
    client.stop()


def test_a_file_that_somebody_can_mend_ends_the_start_and_is_left_alone(world):  # noqa: F811
    broker = Broker(world.cluster)
    use_mqtt(world.cluster, broker, names="ab", hold="true", save='"1h"', max_age='"1h"')
    client = begin(world, 1)
    broker.publish(reading("a", "c1"), reading("b", "c2"))
    world.kept(2)
    client.stop()
    files = sorted(name for name in FILES if os.path.exists(world.cluster.path("client", name)))
    path, away = world.cluster.path("client", "held"), world.cluster.path("away")
    os.rename(path, away)
    for put, remove, said in ((lambda: world.cluster.write("client/held", "my notes"), os.unlink, "not a file of held readings"),
                              (lambda: os.mkdir(path), os.rmdir, "not a regular file")):
        put()
        client = world.cluster.start("client", "run")
        assert client.wait() == c.EXIT["data"]
        assert f"{path}: {said}" in client.log()
        remove(path)
    os.rename(away, path)
    assert files == sorted(name for name in FILES if os.path.exists(world.cluster.path("client", name)))
    client = begin(world, 2)
    assert sorted(world.taken(world.offer(), 2).values()) == ["c1", "c2"]
    world.over(1)
    client.stop()


# ---- views -----------------------------------------------------------------------------------------------------------

TOPIC = f"sensors/{CHANGED}/reading"
REPORTED = {
    "another value": [b'{"colour":"c3"}'], "nothing": [],
    "more than its memory": [b'{"colour":"c1","x":"' + b"x" * 3000 + b'"}', b"{", b'{"colour":null}'],
    "many fields": [b'{"col\\u006fur":"c1","\\"":1,"\\u0001":2,"":3,"a":[1,2],"b":{"c":[]}}'] * 1000
    + [('{"colour":"c1",' + ",".join(f'"f{i}":{i}' for i in range(300)) + "}").encode()],
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The worlds with a file of last values, and the first one's view."""
    cluster = c.Cluster(tmp_path_factory.mktemp("hold"))
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    broker = Broker(cluster)
    use_mqtt(cluster, broker, names=NAMES, gather='"1100ms"', hold="true", save='"1h"', device_kib="1")
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace("show_readings = true;\n", "")
    cluster.write("client.conf", text)
    worlds = Worlds(cluster, [offer(cluster, 6)], gather=1.1)

    def look(payloads):
        def feed():
            c.wait_for("the client to subscribe", lambda: log_says(cluster, '"subscribed"'))
            others = [(f"sensors/{d}/reading", row("ndjson", d, f"c{i % 4}")) for i, d in enumerate(NAMES) if d != CHANGED]
            broker.publish(*others[:-1], *((TOPIC, p) for p in payloads), others[-1])
        return worlds.run(feed)
    yield look, look([b'{"colour":"c2"}'])
    cluster.close()


@pytest.mark.quiet
@pytest.mark.parametrize("kind", REPORTED)
def test_what_is_kept_shows_nothing_of_what_one_device_reported(kept, kind):
    look, plain = kept
    assert len(plain.sealed) == 6 and "held" in plain.host["files"]
    after = look(REPORTED[kind])
    differing = pseudonym_of_the_changed(plain, after)
    assert len(differing) <= 1, "another device's message"
    same(plain, after, differing)
