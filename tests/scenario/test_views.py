"""Nothing that anybody sees beside the sealed messages depends on a reading: worlds that differ in one device's data."""
import functools
import json
import os
import shutil
import sqlite3

import pytest

import cluster as c
import wire
from broker import Broker, metrics
from parties import Shuffler
from test_attacks import Descriptors
from test_mqtt import log_says, use_mqtt
from test_rounds import histogram
from views import Worlds, same

pytestmark = pytest.mark.quiet

NAMES = [f"d{i}" for i in range(6)]
CHANGED = "d2"
NONE = 4  # category of a device without a reading
BIG = 5_000_000

# What the one device's row may be, by format; None: there is none.
CSV = {
    "another value": b"d2,c3", "outside the domain": b"d2,purple", "another type": b"d2,1e5", "an empty field": b"d2,",
    "a field short": b"d2", "a field too many": b"d2,c1,c1", "an open quote": b'd2,"c1', "a stray quote": b'd2,c1"',
    "a NUL": b"d2,c\0001", "bad UTF-8": b"d2,\xff\xfe\xc3", "a carriage return": b"d2,c1\rd3,c2", "huge": b"d2," + b"x" * BIG,
    "several": b"d2,c1\nd2,c3\nd2,\nd2,\"", "a thousand": b"d2,c1\n" * 999 + b"d2,c1",
}
NDJSON = {
    "another value": b'{"device":"d2","colour":"c3"}', "outside the domain": b'{"device":"d2","colour":"purple"}',
    "another type": b'{"device":"d2","colour":[1,{"x":2}]}', "null": b'{"device":"d2","colour":null}',
    "missing": b'{"device":"d2"}', "an extra field": b'{"device":"d2","colour":"c1","purple":"x"}',
    "twice": b'{"device":"d2","colour":"c1","colour":"c2"}', "a second device": b'{"device":"d2","colour":"c1","device":"d3"}',
    "open braces": b'{"device":"d2","colour":{{{[[["', "an open string": b'{"device":"d2","colour":"c1',
    "escaped newlines": b'{"device":"d2","colour":"c1\\n{\\"device\\":\\"d3\\"}"}', "a NUL": b'{"device":"d2","colour":"c\0"}',
    "bad UTF-8": b'{"device":"d2","colour":"\xff"}', "huge": b'{"device":"d2","colour":"' + b"x" * BIG + b'"}',
    "several": b'{"device":"d2","colour":"c1"}\n{"device":"d2","colour":"c2"}\n{"device":"d2"}',
}
# These only where a list says who takes part: the file says it else.
LISTED = {
    "csv": {"no row": None, "a device that nobody listed": b"d2,c1\nx,c2\nd22,c3", "no device": b",c1", "only a quote": b'"'},
    "ndjson": {"no row": None, "a device that nobody listed": b'{"device":"d2","colour":"c1"}\n{"device":"x","colour":"c1"}',
               "no device": b'{"colour":"c1"}', "no JSON": b"d2"},
}
ROWS = {"csv": CSV, "ndjson": NDJSON}


def row(ext, device, colour):
    return (f"{device},{colour}" if ext == "csv" else json.dumps({"device": device, "colour": colour})).encode()


def write(worlds, ext, changed):
    """The file of readings, in which the changed device stands in the middle."""
    rows = [row(ext, d, f"c{i % 4}") if d != CHANGED else changed for i, d in enumerate(NAMES)]
    with open(worlds.cluster.path(f"readings.{ext}"), "wb") as f:
        f.write((b"device,colour\n" if ext == "csv" else b"") + b"".join(r + b"\n" for r in rows if r is not None))
    return worlds.cluster.path(f"readings.{ext}")


def set_out(folder, ext="csv", listed=False, **kw):
    """Worlds whose client reads a file, or is told one."""
    cluster = c.Cluster(folder)
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("devices.txt", "".join(f"{n}\n" for n in NAMES))
    cluster.write("client.conf", text.replace("readings.csv", f"readings.{ext}").replace(
        'device_field = "device";', 'device_field = "device"; devices = "devices.txt";' if listed else 'device_field = "device";'))
    return Worlds(cluster, [offer(cluster, 6)], **kw)


def offer(cluster, target):
    """A round that stays open for as long as the worlds last."""
    analyzer = Descriptors(cluster)
    d = analyzer.descriptor(bins=5, none=NONE, epsilon0=2.0, target=target, min_reports=2, window_ms=3_600_000)
    data = analyzer.reserve(d)
    return d, data, wire.sign(analyzer.key, "descriptor", data), analyzer.chain.records


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Worlds by format and by whether a list is given, and what the command shows where nothing is wrong."""
    @functools.cache
    def made(ext, listed):
        worlds = set_out(tmp_path_factory.mktemp(f"{ext}-{listed}"), ext, listed)
        return worlds, sent(worlds, ext, row(ext, CHANGED, "c2"))
    return made


def sent(worlds, ext, changed, mutant=""):
    return worlds.send(write(worlds, ext, changed), "--wait", "3m", mutant=mutant)


def ran(worlds, ext, changed, mutant=""):
    write(worlds, ext, changed)
    return worlds.run(lambda: None, mutant=mutant)


def pseudonym_of_the_changed(one, other):
    """The one whose bytes differ; none if the randomizer gave both values the same bits."""
    return [p for p in one.sealed if one.sealed[p] != other.sealed.get(p)]


@pytest.mark.parametrize("look", [sent, ran], ids=["command", "daemon"])
@pytest.mark.parametrize("listed", [False, True], ids=["found", "listed"])
@pytest.mark.parametrize("ext", ROWS)
def test_a_file_shows_nothing_of_one_devices_reading(tmp_path, ext, listed, look):
    """Every second case by the command, the others by the daemon: the worlds and their first view are made once for them."""
    worlds = set_out(tmp_path, ext, listed)
    before = look(worlds, ext, row(ext, CHANGED, "c2"))
    assert len(before.sealed) == 6 and (look is ran or before.shuffler["slots"][0] == 1)
    kinds = {**ROWS[ext], **(LISTED[ext] if listed else {})}
    for kind in list(kinds)[(look is ran)::2]:
        print(kind)  # shown where it fails
        after = look(worlds, ext, kinds[kind])
        differing = pseudonym_of_the_changed(before, after)
        assert len(differing) <= 1
        same(before, after, differing)
    worlds.cluster.close()


def test_the_worlds_are_the_same_when_nothing_is_changed(files):
    """And a change of a value is seen where it may be seen, so that a comparison is one."""
    worlds, plain = files("csv", False)
    same(plain, sent(worlds, "csv", row("csv", CHANGED, "c2")))
    values = set()
    for colour in range(4):
        after = sent(worlds, "csv", row("csv", CHANGED, f"c{colour}"))
        values.add(tuple(map(tuple, after.sealed.values())))
    assert len(values) > 1


@pytest.mark.parametrize("options", [("--json",), ("-v", "-v", "-v")], ids=["json", "verbose"])
def test_no_way_to_say_more_says_more_of_a_reading(files, options):
    worlds, _ = files("csv", True)
    look = [worlds.send(write(worlds, "csv", changed), "--wait", "3m", *options)
            for changed in (row("csv", CHANGED, "c2"), b"d2,purple", b'd2,"c1', None)]
    for other in look[1:]:
        same(look[0], other, pseudonym_of_the_changed(look[0], other)[:1])


# What stands where a daemon with a list of devices looks for its file of readings; None: nothing.
ABSENT = {"no file": None, "a folder": "folder", "an empty file": b"", "no header": b"d2,c1\n", "no such column": b"device,color\nd2,c1\n",
          "no device column": b"name,colour\nd2,c1\n", "a column twice": b"device,colour,colour\nd2,c1,c1\n", "an open quote": b'"device,colour\nd2,c1\n',
          "UTF-16": "device,colour\nd2,c1\n".encode("utf-16"), "NULs": bytes(5000)}


def one_listed(tmp_path):
    """Worlds whose gateway has one device, which a list names."""
    cluster = c.Cluster(tmp_path)
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    cluster.write("devices.txt", f"{CHANGED}\n")
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace("show_readings = true;\n", "")
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    return Worlds(cluster, [offer(cluster, 2)])


def test_a_producer_that_writes_no_file_has_no_reading(tmp_path):
    """A gateway of one device, which takes part as with a file that says nothing of it."""
    worlds = one_listed(tmp_path)
    path = worlds.cluster.path("readings.csv")

    def look(content):
        shutil.rmtree(path, ignore_errors=True)
        if os.path.isfile(path):
            os.unlink(path)
        if content == "folder":
            os.mkdir(path)
        elif content is not None:
            with open(path, "wb") as f:
                f.write(content)
        return worlds.run(lambda: None)

    one = look(b"device,colour\n" + row("csv", CHANGED, "c2") + b"\n")
    assert len(one.sealed) == 1
    for kind, content in {"no row": b"device,colour\n", **ABSENT}.items():
        print(kind)  # shown where it fails
        same(one, look(content), list(one.sealed))
    worlds.cluster.close()


def test_without_the_rule_a_file_that_is_not_there_shows(tmp_path):
    worlds = one_listed(tmp_path)
    watcher = worlds.begin()
    client = worlds.cluster.start("client", "run", mutant="client.absent")
    c.wait_for("the round to be passed over", lambda: '"round passed over"' in client.log())
    client.stop()
    watcher.close()
    assert not watcher.received


# Where the device stands behind its reading, what the reading may do to its line.
BEHIND = {
    "csv": [b"c2,d2", b"c1,d3,d2", b'"c1,d2', b"c1,,,d2", b"c1\0,d2", b"d2"],
    "ndjson": [b'{"colour":"c2","device":"d2"}', b'{"colour":"c1","device":"d3","device":"d2"}', b'{"colour":{{{,"device":"d2"}',
               b'{"colour":"c1,"device":"d2"}', b'{"colour":"c1"}', b'{"colour":"c1\0","device":"d2"}'],
}


@pytest.mark.parametrize("ext", BEHIND)
def test_with_a_list_it_does_not_matter_where_in_its_line_a_device_stands(files, ext):
    worlds, _ = files(ext, True)

    def look(changed):
        rows = [f"c{i % 4},{n}" if ext == "csv" else json.dumps({"colour": f"c{i % 4}", "device": n}) for i, n in enumerate(NAMES)]
        with open(worlds.cluster.path(f"readings.{ext}"), "wb") as f:
            f.write(b"colour,device\n" if ext == "csv" else b"")
            f.write(b"".join((r.encode() if n != CHANGED else changed) + b"\n" for r, n in zip(rows, NAMES)))
        return worlds.send(worlds.cluster.path(f"readings.{ext}"), "--wait", "3m")

    one = look(BEHIND[ext][0])
    for changed in BEHIND[ext][1:]:
        other = look(changed)
        differing = pseudonym_of_the_changed(one, other)
        assert len(differing) <= 1, "another device's message"
        same(one, other, differing)


@pytest.mark.parametrize("ext", ["csv", "ndjson", "mqtt"])
def test_a_gateway_of_one_device_takes_part_whatever_that_reads(tmp_path, ext):
    """There is nobody else whose reading would keep the round going."""
    cluster = c.Cluster(tmp_path)
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    broker = Broker(cluster) if ext == "mqtt" else None
    if broker:
        use_mqtt(cluster, broker, names=[CHANGED], gather='"0s"')
    cluster.write("devices.txt", f"{CHANGED}\n")
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace("show_readings = true;\n", "").replace("readings.csv", f"readings.{ext}")
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    worlds = Worlds(cluster, [offer(cluster, 2)], settle=0.3 if broker else None)

    def look(changed):
        def feed():
            if broker:
                c.wait_for("the client to subscribe", lambda: log_says(cluster, '"subscribed"'))
            if broker and changed is not None:
                broker.publish((TOPIC, changed))
        if not broker:
            with open(cluster.path(f"readings.{ext}"), "wb") as f:
                f.write((b"device,colour\n" if ext == "csv" else b"") + (changed + b"\n" if changed is not None else b""))
        return worlds.run(feed)

    good = row("csv" if ext == "csv" else "ndjson", CHANGED, "c2")
    one = look(good)
    assert len(one.sealed) == 1
    for changed in (good[:-2], b"\0", None):
        same(one, look(changed), list(one.sealed))
    cluster.close()


# The check, whether a list says who takes part, and what its removal lets show.
MUTANTS = [("client.none", "csv", True, b"d2,purple"), ("client.unlisted", "csv", True, b"d2,c1\nx,c2"),
           ("client.csv_line", "csv", True, b'd2,"c1'), ("client.ndjson_line", "ndjson", False, b'{"device":"d2","colour":{{{[[["'),
           ("client.silent", "csv", True, b"d2,purple")]


@pytest.mark.parametrize("look", [sent, ran], ids=["command", "daemon"])
@pytest.mark.parametrize("mutant,ext,listed,changed", MUTANTS, ids=[m[0] for m in MUTANTS])
def test_without_the_rule_a_reading_shows(files, mutant, ext, listed, changed, look):
    """The two worlds, both without it."""
    worlds, _ = files(ext, listed)
    before = look(worlds, ext, row(ext, CHANGED, "c2"), mutant=mutant)
    after = look(worlds, ext, changed, mutant=mutant)
    with pytest.raises(AssertionError):
        same(before, after, pseudonym_of_the_changed(before, after)[:1])


def test_nothing_leaves_before_the_moment_that_was_fixed(tmp_path):
    """However fast a file is read and however long it is: no connection and no frame before, and then both."""
    worlds = set_out(tmp_path, connections=3)
    long = b"d2,c1\n" * 20000 + b"d2,c1"
    for changed in (row("csv", CHANGED, "c2"), long):
        view = sent(worlds, "csv", changed)
        assert set(view.shuffler["slots"]) == {1} and set(view.shuffler["late connections"]) <= {1}, view.shuffler
    view = sent(worlds, "csv", row("csv", CHANGED, "c2"), mutant="client.times")
    assert view.shuffler["slots"][0] == 0


class Counting(Shuffler):
    """Looks into the client's store when the first frame comes."""
    stored = None

    def on_submit(self, link, m):
        if self.stored is None:
            with sqlite3.connect(f"file:{self.cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
                (self.stored,), = db.execute("SELECT sum(length(outcomes)) FROM reports")
        super().on_submit(link, m)


@pytest.mark.parametrize("mutant", ("", "client.sealed_first"))
def test_nothing_leaves_before_all_is_sealed(cluster, mutant):
    """When the first frame comes each of so many devices that they are sealed in several parts is stored."""
    n = 9000
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0, devices=n)
    path = cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i % 4}\n" for i in range(n)))
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace('prepare = "50ms";', 'prepare = "1ms";'))
    fake = Counting(cluster)
    Descriptors(cluster).offer(fake, target=n, min_reports=1)
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m", mutant=mutant)
    fake.close()
    assert fake.stored is not None, run.stderr
    assert (fake.stored == n) == (mutant == ""), fake.stored


# ---- by MQTT ---------------------------------------------------------------------------------------------------------

TOPIC = f"sensors/{CHANGED}/reading"
PUBLISHED = {
    "another value": [b'{"colour":"c3"}'], "outside the domain": [b'{"colour":"purple"}'], "another type": [b'{"colour":[1]}'],
    "missing": [b"{}"], "nothing": [], "empty": [b""], "an extra field": [b'{"colour":"c1","x":"y"}'],
    "another's name": [b'{"colour":"c1","device":"d3"}'], "open braces": [b'{"colour":{{{[[["'],
    "newlines": [b'{"colour":\n\n"c1"}\n{"colour":"c2"}\n'], "escaped newlines": [b'{"colour":"c1\\n{}"}'],
    "a NUL": [b'{"colour":"c\0"}'], "bad UTF-8": [b'{"colour":"\xff"}'], "too large": [b'{"colour":"' + b"x" * 5000 + b'"}'],
    "more than its memory": [b'{"colour":"' + b"x" * 1500 + b'"}'], "a flood": [b'{"colour":"c1"}'] * 3000,
    "a flood of large ones": [b'{"colour":"c2","x":"' + b"x" * 900 + b'"}'] * 1000 + [b"{"] * 1000,
    # More than a broker queues, and as many that are too large as it sends before one is acknowledged.
    "a long flood": [b'{"colour":"c1"}'] * 30000, "many too large": [b"x" * 9000] * 100, "one very large": [b"x" * 40_000_000],
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    cluster = c.Cluster(tmp_path_factory.mktemp("mqtt"))
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    broker = Broker(cluster)  # as it comes
    use_mqtt(cluster, broker, names=NAMES, gather='"1100ms"', device_kib="1", payload_max="4096", readings="8")
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace("show_readings = true;\n", "")
    cluster.write("client.conf", text)
    worlds = Worlds(cluster, [offer(cluster, 6)], gather=1.1)

    def look(payloads, devices=NAMES):
        def feed():
            c.wait_for("the client to subscribe", lambda: log_says(cluster, '"subscribed"'))
            others = [(f"sensors/{d}/reading", row("ndjson", d, f"c{i % 4}")) for i, d in enumerate(devices) if d != CHANGED]
            # One of them behind all that the changed device says, the others before.
            broker.publish(*others[:-1], *((TOPIC, p) for p in payloads), others[-1], qos=1 if len(payloads) < 5000 else 0)
        return worlds.run(feed)
    yield look, look([b'{"colour":"c2"}'])
    cluster.close()


@pytest.mark.parametrize("kind", PUBLISHED)
def test_mqtt_shows_nothing_of_what_one_device_publishes(published, kind):
    look, plain = published
    assert len(plain.sealed) == 6
    after = look(PUBLISHED[kind])
    differing = pseudonym_of_the_changed(plain, after)
    assert len(differing) <= 1, "another device's message"
    same(plain, after, differing)


def test_devices_that_nobody_listed_change_nothing(published):
    look, plain = published
    same(plain, look([b'{"colour":"c2"}'], devices=[*NAMES, *(f"x{i}" for i in range(500))]))


# ---- the real shuffler and analyzer ----------------------------------------------------------------------------------

@pytest.mark.parametrize("changed", [b"d2,c1", b"d2,purple", b'd2,"c1', b"d2", None], ids=str)
def test_a_manifest_counts_the_listed_devices_whatever_they_read(cluster, changed):
    cluster.configure(min_batch=6, devices=6)
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    cluster.write("devices.txt", "".join(f"{n}\n" for n in NAMES))
    with open(cluster.path("readings.csv"), "wb") as f:
        f.write(b"device,colour\n" + b"".join((row("csv", d, "c1") if d != CHANGED else changed or b"\n") + b"\n" for d in NAMES))
    cluster.plan([histogram(6, 2.0)], epsilon=40.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == 6 and result["bad"] == 0
    c.wait_for("the round to be over", lambda: '"round done"' in client.log())
    done, = (json.loads(line) for line in client.log().splitlines() if '"round done"' in line)
    assert done["devices"] == done["accepted"] == 6
    assert not {"rows_left_out", "duplicates", "first_left_out", "unlisted", "without_reading"} & set(done)
    assert "tombola_client_readings_total" not in str(metrics(cluster))
    client.stop()


# ---- lists and policies ----------------------------------------------------------------------------------------------

def test_a_list_is_read_again_when_told_and_a_broken_one_is_not(cluster):
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    cluster.write("readings.csv", "device,colour\na,c1\nb,c2\nc,c3\n")
    cluster.write("devices.txt", "a\nb\n")
    fake, analyzer = Shuffler(cluster), Descriptors(cluster)
    client = cluster.start("client", "run")

    def devices_of_a_round(n):
        d, _ = analyzer.offer(fake, target=1000, min_reports=1, epsilon0=1.0)
        took = fake.rounds[d.round_id]["taken"]
        c.wait_for(f"{n} devices", lambda: len(took) == n)
        c.wait_for("the round to be over", lambda: client.log().count('"round done"') == analyzer.sequence)

    def reload(said):
        before = client.log().count(said)
        client.process.send_signal(1)
        c.wait_for(said, lambda: client.log().count(said) > before)

    devices_of_a_round(2)
    cluster.write("devices.txt", "a\nb\nc\nd\ne\n")
    reload("list of devices reloaded")
    devices_of_a_round(5)
    cluster.write("devices.txt", "a\na\n")
    reload("the old files stay in force")
    devices_of_a_round(5)
    client.stop()
    fake.close()
    # At the start there is no old one.
    run = cluster.run("client", "run", "--rounds", "1")
    assert run.returncode == c.EXIT["config"] and "devices.txt:2: the device of line 1 again" in run.stderr, run.stderr


@pytest.mark.parametrize("mutant", ("", "client.device_field"))
def test_no_query_may_ask_who_a_device_is(cluster, mutant):
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    fake = Shuffler(cluster)
    path = cluster.write("readings.csv", "device,colour\nc1,c1\nc2,c2\n")
    d, _ = Descriptors(cluster).offer(fake, field="device", target=2, min_reports=1)
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m", mutant=mutant)
    fake.close()
    if mutant:
        assert run.returncode == 0 and len(fake.rounds[d.round_id]["taken"]) == 2
        return
    assert run.returncode == c.EXIT["permission"] and "names the device" in run.stderr, run.stderr
    assert not fake.received
    assert cluster.json("client", "status")["population_budget"]["pinned"] == 0


@pytest.mark.parametrize("mutant", ("", "client.policy.fields"))
def test_no_query_may_ask_for_a_field_that_a_policy_does_not_list(cluster, mutant):
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write('fields = [ "colour" ];\n')
    fake = Shuffler(cluster)
    path = cluster.write("readings.csv", "device,colour,diagnosis\nd0,c1,c1\nd1,c2,c2\n")
    d, _ = Descriptors(cluster).offer(fake, field="diagnosis", target=2, min_reports=1)
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m", mutant=mutant)
    fake.close()
    if mutant:
        assert run.returncode == 0 and len(fake.rounds[d.round_id]["taken"]) == 2
        return
    assert run.returncode == c.EXIT["permission"] and "'diagnosis' is not among the allowed fields" in run.stderr, run.stderr
    assert not fake.received


def test_a_list_needs_a_field_that_names_the_device(cluster):
    cluster.configure()
    cluster.write("devices.txt", "1\n")
    path = cluster.write("readings.csv", "colour\nc1\n")
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace('device_field = "device";', 'devices = "devices.txt";'))
    run = cluster.run("client", "check-config")
    assert run.returncode == c.EXIT["config"] and "input.devices needs input.device_field" in run.stderr
    cluster.write("client.conf", text.replace(' device_field = "device";', ""))
    run = cluster.run("client", "send", path, "--devices", cluster.path("devices.txt"))
    assert run.returncode == c.EXIT["usage"] and "--devices needs --device-field" in run.stderr
