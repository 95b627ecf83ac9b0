"""The recipes of deploy/integrations, as they stand: PostgreSQL, Kafka, Grafana, Telegraf, Home Assistant, Prometheus."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile

import pytest
import yaml

import cluster as c
import wire
from broker import Broker, fate
from cluster import wait_for
from postgresql import Server, programs
from results import N, Settling
from test_metrics import promtool
from test_mqtt import subscribed, use_mqtt

DEPLOY = os.path.join(wire.ROOT, "deploy")
RECIPES = os.path.join(DEPLOY, "integrations")


def recipe(name, folder=RECIPES):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    made = c.Cluster(tmp_path_factory.mktemp("settled"))
    s = Settling(made)
    s.settle(1, 2)
    yield s
    made.close()


# ---- PostgreSQL, and what Grafana asks it ----------------------------------------------------------------------------

@pytest.fixture(scope="module")
def postgres():
    if programs() is None:
        pytest.skip("no PostgreSQL server: deploy/setup.sh test")
    server = Server(fsync="off")
    yield server
    server.close()


@pytest.fixture(scope="module")
def loaded(settled, postgres):
    """The table, with the settled rounds in it, and how to load more."""
    run = subprocess.run(postgres.psql("postgres", "-f", os.path.join(RECIPES, "postgresql.sql")), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr

    def load():
        return subprocess.run([os.path.join(RECIPES, "postgresql-load.sh"), "-h", postgres.folder, "-p", postgres.port, "-U",
                               "postgres", "-d", "postgres"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{c.BUILD}/bin:{os.environ['PATH']}",
                                   "TOMBOLA_CONFIG": settled.cluster.path("analyzer.conf")})
    run = load()
    assert run.returncode == 0, run.stderr
    return load


def test_postgresql_holds_each_round_once_and_as_it_is(settled, postgres, loaded):
    rows = settled.rows()
    for _ in range(2):
        assert loaded().returncode == 0
        stored = postgres.ask("SELECT * FROM tombola_result ORDER BY seq, no_reading, label")
        assert len(stored) == len(rows)
    for row in rows:
        mine, = (s for s in stored if (s["id"], s["no_reading"], s["label"]) == (row["id"], row["no_reading"], row["label"]))
        assert set(mine) == set(row) - {"schema"}
        for key in set(mine) - {"time"}:
            assert mine[key] == row[key], key
        assert mine["time"][:19] == row["time"][:19]
    # A table that lacks the last round gets it, whole.
    postgres.do("DELETE FROM tombola_result WHERE round = 2")
    assert loaded().returncode == 0
    assert postgres.ask("SELECT count(*) FROM tombola_result")[0]["count"] == len(rows)


def dashboard():
    return json.loads(recipe("tombola.json", os.path.join(DEPLOY, "grafana")))


def test_grafanas_dashboard_fits_its_schema():
    board = dashboard()
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= set(board)
    sources = {v["name"]: v["query"] for v in board["templating"]["list"] if v["type"] == "datasource"}
    ids, cells = set(), set()
    for panel in board["panels"]:
        assert panel["type"] in ("gauge", "timeseries", "stat", "table") and panel["title"]
        assert panel["id"] not in ids
        ids.add(panel["id"])
        at = panel["gridPos"]
        mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not mine & cells and max(x for x, _ in mine) < 24
        cells |= mine
        for target in (panel, *panel["targets"]):
            kind, uid = target["datasource"]["type"], target["datasource"]["uid"]
            assert sources[uid.strip("${}")] == kind
        assert {"expr"} <= set(panel["targets"][0]) or {"rawSql", "format"} <= set(panel["targets"][0])


@promtool
def test_prometheus_has_what_the_dashboard_asks_it():
    names = set(re.findall(r"tombola_\w+", recipe("metrics.md", os.path.join(wire.ROOT, "doc"))))
    asked = [t["expr"] for p in dashboard()["panels"] for t in p["targets"] if "expr" in t]
    assert len(asked) == 3
    for expr in asked:
        assert set(re.findall(r"tombola_\w+", expr)) <= names, expr
    rules = {"groups": [{"name": "dashboard", "rules": [{"record": f"x{i}", "expr": e} for i, e in enumerate(asked)]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as f:
        yaml.safe_dump(rules, f)
        f.flush()
        run = subprocess.run(["promtool", "check", "rules", f.name], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_postgresql_answers_what_the_dashboard_asks_it(settled, postgres, loaded):
    def grafana(text, query):
        text = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 BETWEEN '2020-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'", text)
        return text.replace("$query", query)
    board = dashboard()
    variable, = (v["query"] for v in board["templating"]["list"] if v["type"] == "query")
    assert [r["query"] for r in postgres.ask(variable)] == ["celsius", "labels"]
    sql = {p["title"]: p["targets"][0]["rawSql"] for p in board["panels"] if "rawSql" in p["targets"][0]}
    assert len(sql) == 3
    items = settled.document("labels")["items"]
    for title, text in sql.items():
        rows = postgres.ask(grafana(text, "labels"))
        if "newest" in title:
            assert {r["item"]: r["value"] for r in rows if r["item"] != "(no reading)"} == {i["label"]: i["value"] for i in items}
        elif "estimates" in title:
            assert {(r["metric"], r["lower"], r["upper"]) for r in rows} == {
                (i["label"], i["joint_lower"], i["joint_upper"]) for i in items}
        else:
            assert [r["query"] for r in rows] == ["celsius", "labels"]


# ---- Kafka -----------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed: deploy/setup.sh test")
def test_kafka_is_given_each_round_and_a_broker_that_is_away_is_noticed(settled):
    cluster = settled.cluster
    text = recipe("kafka.conf").replace("/usr/bin/kcat", shutil.which("kcat")).replace("localhost:9092", "127.0.0.1:1")
    base = recipe("analyzer.conf", cluster.dir)

    def deliver(more):
        with open(cluster.path("kafka.conf"), "w") as f:
            f.write(base + text.replace("20000", "3000").replace('" ];', f'"{more} ];'))
        return subprocess.run([c.program("tombola-analyzer"), "--config", cluster.path("kafka.conf"), "results", "hook", "--once",
                               "--cursor", cluster.path("kafka.cursor")], capture_output=True, text=True)
    run = deliver("")
    assert run.returncode == 1 and "kcat: ended with 1" in run.stderr
    # librdkafka's own broker, in the process.
    run = deliver(', "-X", "test.mock.num.brokers=1", "-T"')
    assert run.returncode == 0, run.stderr
    # -T says what was sent.
    said = [json.JSONDecoder().raw_decode(run.stderr, m.start())[0] for m in re.finditer(r'\{"schema":"tombola.settled', run.stderr)]
    assert [d["round"] for d in said] == [1, 2], run.stderr


# ---- readings of Telegraf and Home Assistant -------------------------------------------------------------------------

TELEGRAF = 'telegraf/d%d/cpu', '{"celsius":%d,"host":"d%d","name":"cpu","timestamp":1795000000}'


@pytest.mark.parametrize("name,field,topic,payload,wrong", [
    ("telegraf", "celsius", *TELEGRAF, ("telegraf/d0/cpu", "not json")),
    ("home-assistant", "state", "homeassistant/sensor/d%d/state", "%d", None),
])
def test_their_readings_are_answered_from(cluster, name, field, topic, payload, wrong):
    cluster.configure(min_batch=N, devices=N)
    broker = Broker(cluster)
    group = re.search(r"mqtt = \{(.*)\};", recipe(f"{name}-client.conf"), re.S)[1]
    keys = dict(re.findall(r"(\w+) = (.*?);", group))
    assert keys.pop("devices") == '"devices.txt"'
    use_mqtt(cluster, broker, names=[f"d{i}" for i in range(N)], gather='"500ms"', **keys)
    cluster.plan([{"query": "warm", "type": "histogram", "protocol": "grr", "field": field, "epsilon0": 16.0, "min_reports": N,
                   "target": N, "values": ["5", "15", "25"], "window": "1h"}], epsilon=50.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    subscribed(cluster)
    values = [5, 15, 15, 25]
    texts = [(topic % i, payload % ((values[i % 4], i) if payload.count("%d") > 1 else values[i % 4])) for i in range(N - 4)]
    broker.publish(*texts, *([wrong] if wrong else []))
    wait_for("the readings", lambda: fate(cluster, "kept") == N - 4)
    if wrong:
        assert fate(cluster, "malformed") == 1
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "estimate", "warm")
    counted = [round(i["value"]) for i in result["items"]]
    nobody, = result["no_reading"]
    truth = [(N - 4) // 4, (N - 4) // 2, (N - 4) // 4, 4]
    # An answer is changed with a chance below 4e-7, so more than two of 40 are in fewer than one of 10^15 rounds.
    assert sum(abs(a - b) for a, b in zip([*counted, round(nobody["value"])], truth, strict=True)) <= 4


def test_one_client_reads_what_nine_programs_publish(cluster):
    """Each device has a temperature of its own, so each count says that this payload was read as what it is."""
    text = recipe("mqtt-client.conf")
    said = dict(re.findall(r"^\s*#> (\S+) (.+)$", text, re.M))
    devices = dict(re.findall(r"^\s*#= (\S+) (\S+)$", text, re.M))
    assert len(said) == len(devices) == len(set(devices.values())) == 9
    cluster.configure(min_batch=9, devices=9)
    broker = Broker(cluster)
    sources = re.search(r"sources = (\(.*\));\n\tdevices", text, re.S)[1]
    use_mqtt(cluster, broker, names=list(devices), gather='"500ms"', topics=None, sources=sources)
    cluster.plan([{"query": "warm", "type": "histogram", "protocol": "grr", "field": "temperature", "epsilon0": 16.0,
                   "min_reports": 9, "target": 9, "values": sorted(devices.values()), "window": "1h"}], epsilon=50.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    subscribed(cluster)
    # An error of a sensor is no reading beside the one that it has.
    broker.publish(*said.items(), ("shellies/shellyht-F3A1B2/sensor/temperature", "999.0"))
    # A broker may send what two filters match, Home Assistant's and ESPHome's, twice.
    wait_for("the readings", lambda: fate(cluster, "kept") >= 10)
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    result = cluster.json("analyzer", "estimate", "warm")
    assert [round(i["value"]) for i in result["items"]] == [1] * 9 and round(result["no_reading"][0]["value"]) == 0


def test_the_telegraf_recipes_name_what_there_is():
    """Telegraf is not in Debian: its files are read, and what they run and send is what is tested here."""
    taken, = re.findall(r"command = \[(.*?)\]", recipe("telegraf-results.conf"))
    words = json.loads(f"[{taken}]")
    assert words == ["tombola-analyzer", "results", "export", "--follow", "--format", "influx"]
    assert 'data_format = "influx"' in recipe("telegraf-results.conf")
    given = recipe("telegraf-readings.conf")
    assert "$merge([" in given and "tags, fields])" in given and "topic = 'telegraf/{{ .Tag \"host\" }}/{{ .PluginName }}'" in given
    with contextlib.suppress(ImportError):
        import tomllib
        for name in ("telegraf-results.conf", "telegraf-readings.conf"):
            tomllib.loads(recipe(name))
    stream = yaml.safe_load(recipe("home-assistant.yaml"))["mqtt_statestream"]
    assert stream["base_topic"] == "homeassistant"


# ---- Prometheus on three hosts ---------------------------------------------------------------------------------------

@promtool
def test_prometheus_accepts_the_files_for_three_hosts(tmp_path):
    for name in ("prometheus-agent.yml", "prometheus-central.yml"):
        shutil.copy(os.path.join(RECIPES, name), tmp_path)
    shutil.copy(os.path.join(DEPLOY, "alerts.yml"), tmp_path)
    for name, args in (("prometheus-agent.yml", ("--agent",)), ("prometheus-central.yml", ())):
        text = (tmp_path / name).read_text()
        for path in re.findall(r"\S*/etc/prometheus/(\S+)", text):
            (tmp_path / path).write_text("x\n")
        (tmp_path / name).write_text(text.replace("/etc/prometheus/", ""))
        run = subprocess.run(["promtool", "check", "config", *args, name], capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 0, run.stdout + run.stderr
