"""Nothing that anybody sees beside the sealed messages depends on a reading, in any row of the protocol table: a plan of all rows,
whose every round is answered in worlds that differ in one device's readings, each row's in another way."""
import json
import subprocess

import pytest

import cluster as c
import rows
from broker import Broker
from houses import Houses, alike
from test_blanket import POLICY
from test_mqtt import log_says, use_mqtt
from views import Worlds, same

pytestmark = pytest.mark.quiet

DEVICES = [f"d{i}" for i in range(6)]
CHANGED = 2
ABSENT = object()

# What one device's field may hold instead, by what the row reads: as many of each.
JSON = {
    "category": ["c1", "purple", [1, {"x": 2}], None, ABSENT, "", 'c1","device":"d3'],
    "number": [25.5, 1e300, [1], None, ABSENT, "12x", True],
    "text": ["elsewhere", "x" * 3000, [1], None, ABSENT, "", 'x"}\n{"device":"d3"'],
    "set": [["c0", "c1", "c2", "c3"], [], [["c1"]], None, ABSENT, "c1;purple;", ["x" * 3000, "c2"]],
    "vector": [[40.0] * 6, [1e300] * 6, [1.0], None, ABSENT, 3.0, [[0], "x", 2, 3, 4, 5]],
}
TEXT = {
    "category": ["c1", "purple", "", '"c1"'], "number": ["25.5", "1e300", "", "nan"],
    "text": ["elsewhere", "x" * 3000, "", "a b"], "set": ["c0;c1;c2;c3", "x" * 3000, "", "c1;"], "vector": ["40 40 40 40 40 40", "1e300 0 0 0 0 0", "", "1 2"],
}


def test_the_plan_has_every_row_of_the_table():
    run = subprocess.run([c.program("tombola"), "plan", "protocols", "--json"], capture_output=True, text=True, check=True)
    assert sorted(rows.NAMES) == sorted(r["name"] for r in json.loads(run.stdout)["protocols"])


def mixed(kinds, world):
    """The changed device's fields: each row's in another way, and over the worlds each way in every row."""
    out = {n: kinds[rows.kind(n)][(i + world) % len(kinds["text"])] for i, n in enumerate(rows.NAMES)}
    return {n: v for n, v in out.items() if v is not ABSENT}


def good(i):
    return {n: rows.good(n, i) for n in rows.NAMES}


def as_csv(device, of):
    text = ((";" if rows.kind(n) == "set" else " ").join(map(str, v)) if isinstance(v, list) else str(v)
            for n, v in ((n, of.get(n, "")) for n in rows.NAMES))
    return f"{device},on,{','.join(text)}".encode()


ROW = {"ndjson": rows.ndjson, "csv": as_csv}


def broken(ext):
    """Lines of the changed device that may reach for what stands around them."""
    line = ROW[ext]("d2", good(1))
    if ext == "csv":
        return {"an open quote": line.replace(b"c1", b'"c1', 1), "two lines in quotes": line[:-3] + b'"x\n' + as_csv("d9", good(2)),
                "a field short": line[:-3].rsplit(b",", 1)[0], "no row": None, "a NUL": line.replace(b"c1", b"c\0", 1)}
    return {"an open string": line[:-2], "open braces": line.replace(b'"c1"', b'{{{[[["', 1), "a second device": line[:-1] + b',"device":"d3"}',
            "several": b"\n".join([line, line[:50], b'{"device":"d2"}', b'{"device":"d22"}']), "no row": None}


def configured(folder, ext, names, broker_of=lambda cluster: None):
    """A deployment whose client answers every row, for these devices; its broker."""
    cluster = c.Cluster(folder, devices=1000)
    cluster.configure(min_batch=2, max_epsilon0="inf", client_policy=POLICY.format(accept="true"))
    broker = broker_of(cluster)
    if not broker:
        cluster.write("devices.txt", "".join(f"{n}\n" for n in names))
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace("show_readings = true;\n", "").replace("readings.csv", f"readings.{ext}")
    # Proofs are asked for at moments that are no world's.
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
                  + "proofs = 0;\n")
    return cluster, broker


def broker_of(cluster):
    broker = Broker(cluster)  # as it comes
    use_mqtt(cluster, broker, names=DEVICES, gather='"0s"', device_kib="16", payload_max="8192", readings="8")
    return broker


def set_out(folder, ext):
    """Worlds of that client and a shuffler that watches it."""
    cluster, broker = configured(folder, ext, DEVICES, broker_of if ext == "mqtt" else lambda _: None)
    return Worlds(cluster, rows.offers(cluster, rows.plan(1_000_000, 4.0), 45.0), prepare=0.02,
                  settle=0.5 if broker else None), broker


def write(cluster, ext, changed, names=DEVICES):
    lines = [ROW[ext](d, good(i)) if i != CHANGED else changed for i, d in enumerate(names)]
    with open(cluster.path(f"readings.{ext}"), "wb") as f:
        f.write((f"device,fan,{','.join(rows.NAMES)}\n".encode() if ext == "csv" else b"")
                + b"".join(line + b"\n" for line in lines if line is not None))


def compare(look, changes, rows_that_tell):
    """Every world against the first: (what was changed, its readings)."""
    one = look(changes[0][1])
    assert len(one.sealed) == len(DEVICES) and {len(s) for s in one.sealed.values()} == {len(rows.NAMES)}
    told = set()
    for what, changed in changes[1:]:
        other = look(changed)
        differing = [p for p in one.sealed if one.sealed[p] != other.sealed.get(p)]
        assert len(differing) <= 1, (what, "another device's message")
        same(one, other, differing)
        told |= {i for p in differing for i, s in enumerate(one.sealed[p]) if s != other.sealed[p][i]}
    # What was changed was read: in nearly all rows it is another message, as chance has it.
    assert len(told) >= rows_that_tell, [rows.NAMES[i] for i in range(len(rows.NAMES)) if i not in told]


@pytest.mark.parametrize("ext,how", [("ndjson", "fields"), ("ndjson", "lines"), ("csv", "fields"), ("csv", "lines")])
def test_in_no_row_a_file_shows_anything_of_one_devices_readings(tmp_path, ext, how):
    worlds, _ = set_out(tmp_path, ext)

    def look(changed):
        write(worlds.cluster, ext, changed)
        return worlds.run(lambda: None)

    kinds = JSON if ext == "ndjson" else TEXT
    changes = [(f"fields, {w}", ROW[ext]("d2", mixed(kinds, w))) for w in range(len(kinds["text"]))] if how == "fields" \
        else list(broken(ext).items())
    compare(look, [("nothing", ROW[ext]("d2", good(3))), *changes], 15)
    worlds.cluster.close()


def test_in_no_row_mqtt_shows_anything_of_one_devices_readings(tmp_path):
    worlds, broker = set_out(tmp_path, "mqtt")
    cluster, topic = worlds.cluster, "sensors/d2/reading"

    def look(payloads):
        def feed():
            c.wait_for("the client to subscribe", lambda: log_says(cluster, '"subscribed"'))
            broker.publish(*((f"sensors/{d}/reading", rows.ndjson(d, good(i))) for i, d in enumerate(DEVICES) if i != CHANGED),
                           *((topic, p) for p in payloads))
        return worlds.run(feed)

    swallow = [b'{"grr":"c1', rows.ndjson("d3", good(1)) + b"\n" + rows.ndjson("d4", good(1)), b"{" * 7000, b"x" * 9000]
    compare(look, [("nothing", [rows.ndjson("d2", good(3))]), ("no reading", []), ("broken", swallow),
                   *((f"fields, {w}", [rows.ndjson("d2", mixed(JSON, w))]) for w in (0, 2)),
                   ("a flood", [rows.ndjson("d2", good(1))] * 300)], 15)
    cluster.close()


# ---- all three daemons -----------------------------------------------------------------------------------------------

N = 200  # so many that composing all rows at this epsilon0 takes no longer than a second
FAINT = 0.25
EVENED = ("ss-double", "ss-topk")  # the shuffler drops messages of a tag and adds others, as many as there are too many or too few


def same_functions(one, other):
    """Results of two worlds: they differ as two batches may that differ in one device's messages, where the others drew the
    same numbers.  How many do."""
    moved = 0
    for a, b in zip(one.results, other.results, strict=True):
        if a is None or b is None:
            assert a == b
            continue
        assert a.keys() == b.keys()
        for key in ("participants", "messages", "opened", "duplicates", "bad", "reports", "estimand", "epsilon_round"):
            assert a[key] == b[key], (a["query"], key)
        assert [i["label"] for i in a["items"]] == [i["label"] for i in b["items"]]
        apart = [abs(x - y) for x, y in zip(a["counts"], b["counts"], strict=True)]
        if not any(apart):
            assert a["items"] == b["items"], a["query"]
        moved += any(apart)
        if c.seeded() and a["query"] not in EVENED:
            assert max(apart) <= a["messages"] // N, (a["query"], apart)
    return moved


@pytest.mark.heavy
def test_in_no_row_three_daemons_show_anything_of_one_devices_readings(tmp_path):
    names = [f"d{i}" for i in range(N)]
    cluster, _ = configured(tmp_path, "ndjson", names)
    with open(cluster.path("client.conf"), "a") as f:
        f.write("connections = 1;\n")
    cluster.plan(rows.plan(N, FAINT), epsilon=45.0, tries=1)
    houses, seen = Houses(cluster), []
    for changed in (rows.ndjson("d2", good(3)), rows.ndjson("d2", mixed(JSON, 1))):
        write(cluster, "ndjson", changed, names)
        seen.append(houses.run())
    cluster.close()
    stages = [r["stage"] for r in seen[0].public["rounds"]]
    # All devices are of one class, so that the other has too few.
    assert stages == ["void" if n.startswith("gspa") else "settled" for n in rows.NAMES]
    assert len([t for t in seen[0].public["frames"]["client"] if t[0] == "up"]) == 1
    alike(*seen)
    assert same_functions(*seen) > 0
