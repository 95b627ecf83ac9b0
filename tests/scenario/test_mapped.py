"""A map through the three real daemons: nested JSON, and CSV with semicolons, decimal commas and comments, counted as what they say."""
import json
import re

import pytest

import documents
from chance import within
from cluster import EXIT
from parties import Shuffler
from test_attacks import Descriptors
from test_rounds import run_plan

# What a sensor says of degrees Celsius, how many do, and what it is in degrees Fahrenheit; None: no reading.
SAID = [(21.5, 90, "70.7"), (0, 50, "32"), (-40.0, 30, "-40"), (-127.0, 40, None), ("21.5 C", 30, None), (None, 30, None)]
N = sum(n for _, n, _ in SAID)
LEVELS = ["80", "90"]
MAP = """map = {
    temperature = { path = "%s"; scale = 1.8; offset = 32.0; invalid = [ -127.0, -9999.0 ]; };
    battery = { path = "%s"; unit = "%%"; invalid = ( "n/a" ); };
    device = { path = "%s"; };
  };"""


def held():
    """Of each device what its sensor says, and the level of its battery."""
    return [(said, LEVELS[i % 3] if i % 3 < 2 else None) for i, said in enumerate(s for s, n, _ in SAID for _ in range(n))]


def change(cluster, keys, before=""):
    """The configuration's input has further keys."""
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    old = 'input = { path = "readings.csv"; device_field = "device"; };'
    assert old in text
    path = "" if keys.startswith("path") else 'path = "readings.csv"; '
    cluster.write("client.conf", text.replace(old, f'{before}input = {{ {path}device_field = "device"; {keys} }};'))


def tasmota():
    """Objects as Tasmota's, with an array beside."""
    lines = []
    for i, (said, level) in enumerate(held()):
        sensor = {"Humidity": 41.2, **({} if said is None else {"Temperature": said})}
        lines.append(json.dumps({"Time": "2026-01-01T00:00:00", "dev.id": f"d{i}", "AM2301": sensor, "TempUnit": "C",
                                 "power": [{"level": 1}, {"level": f"{level} %" if level else "n/a"}]}))
    return "\n".join(lines) + "\n"


def logger():
    """CSV as a logger of a German spreadsheet writes it."""
    lines = ["# exported by logger 1.0; 2026-01-01", '"Sensor; ID";"Temp. (C)";Status;Akku']
    for i, (said, level) in enumerate(held()):
        number = "" if said is None else str(said).replace(".", ",")
        lines.append(f"d{i};{number};\"on; and \"\"well\"\"\";{level + ',0%' if level else 'n/a'}")
        if i % 50 == 0:
            lines.append("# still; alive")
    return "\r\n".join(lines) + "\r\n"


INPUTS = {
    "ndjson": ("readings.ndjson", tasmota, MAP % ("AM2301.Temperature", "power[1].level", "dev\\\\.id")),
    "csv": ("readings.csv", logger, 'delimiter = ";"; decimal_comma = true; comment = "#"; ' +
            MAP % ("Temp. (C)", "Akku", "Sensor; ID")),
}


@pytest.mark.parametrize("form", INPUTS)
def test_devices_count_as_what_their_payload_says(cluster, form):
    name, write, keys = INPUTS[form]
    levels = LEVELS if form == "ndjson" else [f"{x}.0" for x in LEVELS]
    cluster.configure(min_batch=100, devices=N)
    cluster.write(name, write())
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(N)))
    change(cluster, f'path = "{name}"; devices = "devices.txt"; {keys}', "show_readings = true;\n")
    cluster.plan([{"query": q, "type": "histogram", "protocol": "grr", "field": q, "epsilon0": 16.0, "min_reports": N, "target": N,
                   "values": values, "window": "2m"}
                  for q, values in (("temperature", [v for _, _, v in SAID if v]), ("battery", levels))], epsilon=45.0)
    run, shuffler, client = run_plan(cluster)
    assert run.returncode == 0, run.stderr
    for query, truth in (("temperature", {v: n for _, n, v in SAID if v}), ("battery", {x: N // 3 for x in levels})):
        answer = cluster.json("analyzer", "estimate", query)
        got = answer["items"] + answer["no_reading"]
        assert [i["label"] for i in got] == [*truth, "(no reading)"]
        for item, count in zip(got, [*truth.values(), N - sum(truth.values())], strict=True):
            assert within(item, count, step=1.01), (item, count)
    client.stop()
    shuffler.stop()
    # What cannot be read is said with its place, and so is what the map calls invalid.
    first = 1 + sum(n for _, n, _ in SAID[:3])
    assert f"{name}:{first if form == 'ndjson' else first + 2 + 4}: field 'temperature' has a value that its map calls invalid" \
        in client.log(), client.log()


def test_the_page_reads_what_it_shows(cluster):
    """doc/readings.md: two of four devices have a reading, 70.7 and 68, in JSON and in CSV."""
    text = {name: [b.text for b in documents.blocks(documents.read("doc/readings.md")) if b.language == name]
            for name in ("json", "text", "conf")}
    cluster.write("devices.txt", "d1\nd2\nd3\nd4\n")
    cluster.plan([{"query": "temperature", "type": "mean", "protocol": "levels", "field": "temperature", "epsilon0": 1.0,
                   "range": [68.0, 70.7], "min_reports": 1, "target": 4, "window": "1h"}])
    for (rows,), conf, name in zip((text["json"], text["text"]), text["conf"], ("readings.ndjson", "readings.csv"), strict=True):
        cluster.configure()
        cluster.write(name, rows)
        with open(cluster.path("client.conf")) as f:
            whole = f.read()
        cluster.write("client.conf", re.sub(r"^input = .*\n", lambda _: conf, whole, flags=re.M))
        run = cluster.run("client", "encode", "--dry-run", "--plan", cluster.path("plan.conf"), cluster.path(name), "--each", "--json",
                          "--device-field", "id", "--devices", cluster.path("devices.txt"))
        one, = json.loads(run.stdout)["rounds"]
        assert [one[k] for k in ("devices", "taken", "clamped", "none")] == [4, 2, 0, 2], one
        assert {d["device"]: d["state"] for d in one["device"] if d["state"] == "NONE"} == {"d3": "NONE", "d4": "NONE"}, one


@pytest.mark.parametrize("field", ["device", "dev.id"])
def test_no_query_may_ask_who_a_device_is_under_any_name(cluster, field):
    """Neither by the field that names it, nor by the name that it has in the payload."""
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=20.0)
    path = cluster.write("readings.ndjson", '{"dev.id":"c1"}\n{"dev.id":"c2"}\n')
    change(cluster, 'map = { device = { path = "dev\\\\.id"; }; };')
    fake = Shuffler(cluster)
    Descriptors(cluster).offer(fake, field=field, target=2, min_reports=1)
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m")
    fake.close()
    assert run.returncode == EXIT["permission"] and f"'{field}' names the device" in run.stderr and not fake.received, run.stderr


# What the map or the form says, and the one line of it.
REFUSED = {
    "map = { t = { scale = 0; }; };": "client.conf:9: scale of 't' in map: 0 would make every reading the offset",
    "map = { t = { scale = 1e999; }; };": "client.conf:9: finite number expected for 'input.map.t.scale'",
    "map = { t = { path = \"a..b\"; }; };": "client.conf:9: path of 't' in map: 'a..b' is no path",
    "map = { t = { path = \"device\"; }; };": "client.conf:9: path of 't' in map: the device's name stands there",
    'delimiter = ";";': "client.conf:9: input.delimiter is of CSV, and the input has another format",
    'comment = "#";': "client.conf:9: input.comment is of CSV",
    'format = "csv"; decimal_comma = true;': "client.conf:9: decimal_comma needs another delimiter than the comma",
    'format = "csv"; delimiter = ".";': "client.conf:9: delimiter is none of",
    'format = "csv"; delimiter = ";"; comment = ";";': "client.conf:9: comment contains the delimiter",
}


def test_what_cannot_be_meant_is_one_line(cluster):
    cluster.write("readings.ndjson", "{}\n")
    for keys, said in REFUSED.items():
        cluster.configure()
        change(cluster, f'path = "readings.ndjson"; {keys}')
        run = cluster.run("client", "check-config")
        lines = (run.stdout + run.stderr).splitlines()
        assert run.returncode == 78 and len(lines) == 1 and said in lines[0], (keys, lines)
