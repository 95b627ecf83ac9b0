"""What the daemons tell monitoring is true, is what doc/metrics.md says, and is what Prometheus and Nagios read."""
import collections
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
import yaml

import certs
import cluster as c
import wire
from parties import Analyzer, Device
from wire import pb

PARTIES = ("shuffler", "analyzer", "client")
DEPLOY = os.path.join(wire.ROOT, "deploy")
promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (deploy/setup.sh test installs it)")


def tool(*args, text=None):
    run = subprocess.run(["promtool", *args], input=text, capture_output=True, text=True, cwd=wire.ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    assert not run.stderr.strip() or "SUCCESS" in run.stdout + run.stderr, run.stderr


def get(cluster, party, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http[party]}{path}", timeout=180) as r:
        return r.headers, r.read().decode()


MQTT = "tombola_client_mqtt_"
LINE = re.compile(r'(\w+)(?:\{(\w+)="([^"]*)"(?:,.*)?\})? (\S+)')


def read(text):
    """{name or (name, label's value): value} of every sample that is none of a histogram's buckets."""
    out = {}
    for line in text.splitlines():
        if line.startswith("#") or "_bucket{" in line:
            continue
        name, _, label, value = LINE.fullmatch(line).groups()
        out[(name, label) if label is not None else name] = float(value)
    return out


def values(cluster, party):
    try:
        return read(get(cluster, party)[1])
    except urllib.error.URLError:  # not up yet
        return collections.defaultdict(float)


def described(text):
    """{name: (type, label, its values)} as a daemon prints it, each with a sentence."""
    out, name = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, said = line[7:].split(" ", 1)
            assert re.fullmatch(r"[A-Z0-9].{10,}\.", said), line
            out[name] = ["", "", []]
        elif line.startswith("# TYPE "):
            assert line.split()[2] == name
            out[name][0] = line.split()[3]
        elif out[name][0] != "histogram":
            for label, value in re.findall(r'(\w+)="([^"]*)"', line):
                if name.endswith("_info"):
                    out[name][2].append(label)
                else:
                    out[name][1] = label
                    out[name][2].append(value)
    return {n: tuple(v) for n, v in out.items()}


def documented():
    """{name: (type, label, its values)}, of every list of doc/metrics.md.  What a metric says is in its HELP alone."""
    out = {}
    with open(os.path.join(wire.ROOT, "doc", "metrics.md"), encoding="utf-8") as f:
        lists = re.findall(r"^- [^:\n]+: (`tombola_.*\n(?:  .*\n)*)", f.read(), re.M)
    for what in (w for item in lists for w in " ".join(item.split()).rstrip(".").split("; ")):
        name, _, labels = what.partition(" by ")
        name = name.strip("`")
        assert name not in out, name
        # The page says by which names one knows the kinds.
        kind = ("counter" if name.endswith("_total") else
                "histogram" if "_duration_" in name or name == "tombola_shuffler_commit_reports" else "gauge")
        label, of, values = labels.rpartition(":")
        out[name] = (kind, label.strip("` ") if of else "", [v.strip("` ") for v in values.split(",") if v.strip()])
    return out


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """A round that was taken and one that the budget refused, and all three daemons still up.

    One for all tests here; those that change it come last.
    """
    n = 300
    cluster = c.Cluster(tmp_path_factory.mktemp("deployment"))
    cluster.configure(min_batch=100, devices=n, delta=1e-4)  # room for other plans in the policies
    with open(cluster.path("client.conf"), "a") as f:
        # A further connection may end before it has read what was sent, and then the two ends never count the same.
        f.write("show_readings = true; connections = 1;\n")
    cluster.write("readings.csv", "device,colour\n" + "".join(f"secret-{i},c{i % 2}\n" for i in range(n - 1)) + "x,\n")
    round_of = {"type": "histogram", "protocol": "grr", "field": "colour", "min_reports": n, "target": n,
                "values": ["c0", "c1"], "window": "1h"}
    cluster.plan([{"query": "colour", "epsilon0": 2.0, **round_of}, {"query": "again", "epsilon0": 9.0, **round_of}],
                 epsilon=2.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    cluster.start("analyzer", "run")

    def through():
        return values(cluster, "analyzer")[("tombola_analyzer_phase", "idle")] == 1 \
            and values(cluster, "client")[("tombola_client_rounds_total", "done")] == 1
    c.wait_for("the plan to be through", through)
    yield cluster
    cluster.close()


def at_rest(cluster):
    """The values of all three parties at a time when no frame is on its way.

    Each party is asked on its own, and a client asks for its proofs whenever it likes; so a frame may be counted
    by its sender alone.  Frames that one sends another reads: the analyzer and the clients talk to the shuffler alone.
    """
    def agreed():
        s, a, k = (values(cluster, p) for p in PARTIES)
        both = all(s[f"tombola_frames_{here}{unit}_total"]
                   == a[f"tombola_frames_{there}{unit}_total"] + k[f"tombola_frames_{there}{unit}_total"]
                   for here, there in (("received", "sent"), ("sent", "received")) for unit in ("", "_bytes"))
        return (s, a, k) if both and s[("tombola_shuffler_peers", "analyzer")] == 0 else None
    return c.wait_for("the parties to count the same frames, and the analyzer to have left", agreed)


def figures(deployment, metrics):
    """Every party shows its budget by the same words and counts it alike, in JSON, text, metrics and `check`.

    The plan's one entry was answered, each party takes all of it, and by the same assumptions, so each has used what the
    plan states of that entry.  The limits are each party's own: 50, and 2 at the analyzer."""
    entry, = deployment.json("analyzer", "plan", "show")["entries"]
    slice_epsilon, slice_delta = 2.0, 1e-6
    for party, limit, delta in (("analyzer", 2.0, 1e-6), ("shuffler", 50.0, 1e-4), ("client", 50.0, 1e-4)):
        f = deployment.json(party, "budget" if party == "analyzer" else "status")["population_budget"]
        assert (f["limit"], f["delta"], f["pinned"], f["pinned_delta"]) == (limit, delta, slice_epsilon, slice_delta), party
        assert (f["free"], f["free_delta"]) == (limit - slice_epsilon, pytest.approx(delta - slice_delta)), party
        assert f["used"] == pytest.approx(entry["epsilon_total"], rel=1e-12) and f["ratio"] == f["used"] / limit, party
        v = metrics[party]
        assert [v["tombola_budget_" + name] for name in ("epsilon_limit", "delta", "epsilon_pinned", "epsilon_used", "used_ratio")] \
            == [f[key] for key in ("limit", "delta", "pinned", "used", "ratio")], party
        assert v["tombola_budget_free_ratio"] == 1 - max(slice_epsilon / limit, slice_delta / delta), party
        said = deployment.run(party, "budget" if party == "analyzer" else "status").stdout
        lines = {line.split()[0]: " ".join(line.split()[1:]) for line in said.splitlines() if line.split()}
        up = math.ceil(f["used"] * 1e4 - 1e-9) / 1e4
        assert lines["budget"] == f"epsilon {limit:.4f} at delta {delta:g}, for life", said
        assert lines["pinned"] == f"epsilon {slice_epsilon:.4f} at delta {slice_delta:g} by 1 plan", said
        assert re.fullmatch(rf"epsilon {up:.4f}, [\d.]+ % of the budget", lines["used"]), said
        assert lines["free"].startswith(f"epsilon {limit - slice_epsilon:.4f} at delta "), said
        assert ("so none fits" in lines["free"]) == (party == "analyzer"), said


def test_what_the_daemons_say_is_true(deployment):
    n = 300
    s, a, k = at_rest(deployment)
    budget = deployment.json("analyzer", "budget")
    assert [s[("tombola_shuffler_rounds_total", e)] for e in ("opened", "sealed", "void", "lost", "released", "erased")] \
        == [1, 1, 0, 0, 1, 1]
    assert s[("tombola_shuffler_reports_total", "accepted")] == n == s["tombola_shuffler_messages_total"]
    assert all(s[("tombola_shuffler_reports_total", o)] == 0 for o in ("duplicate", "conflict", "closed", "over_limit"))
    assert s["tombola_shuffler_commit_reports_sum"] == n and s["tombola_shuffler_commit_duration_seconds_count"] >= 1
    assert s["tombola_shuffler_seal_duration_seconds_count"] == 1 and s["tombola_shuffler_waiting_bytes"] == 0
    assert "tombola_shuffler_round_participants" not in s and s["tombola_shuffler_round_number"] == 1
    assert s[("tombola_shuffler_peers", "client")] == 1 and s[("tombola_shuffler_peers", "analyzer")] == 0
    assert a[("tombola_analyzer_rounds", "settled")] == 1 == a[("tombola_analyzer_rounds", "refused")]
    assert a["tombola_analyzer_participants_total"] == n == a[("tombola_analyzer_messages_total", "counted")]
    assert a["tombola_analyzer_judge_duration_seconds_count"] == 2  # the plan, and the round that it accepts
    assert a["tombola_budget_epsilon_pinned"] == budget["population_budget"]["pinned"] == k["tombola_budget_epsilon_pinned"]
    assert a["tombola_budget_used_ratio"] == budget["share_spent"] > k["tombola_budget_used_ratio"] > 0
    figures(deployment, {"shuffler": s, "analyzer": a, "client": k})
    assert a["tombola_budget_epsilon_limit"] == 2 and s["tombola_budget_epsilon_limit"] == 50
    assert a["tombola_ledger_records"] == budget["ledger_seq"] and s["tombola_ledger_records"] <= budget["ledger_seq"]
    assert k[("tombola_client_reports_total", "accepted")] == n == k["tombola_client_messages_total"]
    assert k[("tombola_client_readings_total", "read")] == n and k[("tombola_client_readings_total", "bad")] \
        + k[("tombola_client_readings_total", "out_of_domain")] == 1 == k[("tombola_client_readings_total", "none")]
    assert k["tombola_client_last_round_number"] == 1 and k["tombola_client_store_duration_seconds_count"] >= 1
    now = time.time()
    for party, v in (("shuffler", s), ("analyzer", a), ("client", k)):
        assert v["tombola_ready"] == v["tombola_ledger_ok"] == 1 and now - 60 < v["tombola_start_time_seconds"] < now
        cert = os.path.join(deployment.pki, party, f"{party}.crt")
        end = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-dateopt", "iso_8601", "-in", cert],
                             capture_output=True, text=True, check=True).stdout
        said = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(v["tombola_certificate_expiry_timestamp_seconds"]))
        assert said in end
    for stamp in (s["tombola_shuffler_last_sealed_timestamp_seconds"], k["tombola_client_last_done_timestamp_seconds"],
                  a["tombola_analyzer_last_charged_timestamp_seconds"]):
        assert now - 60 < stamp <= now + 1


@promtool
def test_prometheus_accepts_every_line(deployment):
    for party in PARTIES:
        headers, text = get(deployment, party)
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
        tool("check", "metrics", text=text)
        run = deployment.run(party, "check", "--format", "prometheus")
        assert run.returncode == 0, run.stderr
        tool("check", "metrics", text=run.stdout)


def test_the_manual_names_every_metric_and_no_other(deployment):
    told = {}
    for party in PARTIES:
        headers, text = get(deployment, party)
        assert "secret-" not in text and "colour" not in text and "meters" not in text
        for name, row in described(text).items():
            # What all daemons share is the same everywhere, and the rest belongs to one.
            assert told.setdefault(name, row) == row
            assert name.startswith(f"tombola_{party}_") or not re.match(r"tombola_(shuffler|analyzer|client)_", name)
    checked = {}
    for party in ("client", "shuffler", "analyzer"):
        said = deployment.run(party, "check", "--format", "prometheus").stdout
        for name, (kind, label, of) in described(said).items():
            checked.setdefault(name, (kind, "role", ["client", "shuffler", "analyzer"]))
            assert set(of) <= {party}
    # Those of MQTT are there with MQTT: test_mqtt.py.
    assert {**told, **checked} == {n: row for n, row in documented().items() if not n.startswith((MQTT, "tombola_intake_"))}


def test_rounds_under_way_show_counts_of_what_is_durable(cluster):
    cluster.configure()
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    analyzer.open_round(min_reports=3, target=5)
    device = Device(cluster)
    d, data = device.round()
    one, two, three = (os.urandom(32) for _ in range(3))
    first = Device.seal(d, data, 0)
    assert device.submit(d, [(one, first), (two, Device.seal(d, data, 1))]) == [pb.OUTCOME_ACCEPTED] * 2
    assert device.submit(d, [(one, first), (one, Device.seal(d, data, 1))]) \
        == [pb.OUTCOME_ACCEPTED, pb.OUTCOME_CONFLICT]
    with pytest.raises(wire.Refused):
        device.submit(d, [(three, b"short")])
    v = values(cluster, "shuffler")
    assert v["tombola_shuffler_round_participants"] == 2 == v[("tombola_shuffler_reports_total", "accepted")]
    assert v["tombola_shuffler_round_min_participants"] == 3 and v["tombola_shuffler_round_target_participants"] == 5
    assert v[("tombola_shuffler_reports_total", "duplicate")] == 1 == v[("tombola_shuffler_reports_total", "conflict")]
    assert v[("tombola_shuffler_rounds_under_way", "collecting")] == 1
    assert v["tombola_shuffler_round_deadline_timestamp_seconds"] == d.deadline_ms / 1000
    assert v[("tombola_shuffler_requests_refused_total", "bad_message")] == 1
    assert v[("tombola_shuffler_peers", "analyzer")] == 1 == v[("tombola_shuffler_peers", "client")]
    with pytest.raises(wire.Refused):
        analyzer.link.ask("witness", extend_ledger=pb.ExtendLedger(population="test", first=9, records=[b"x"]))
    assert values(cluster, "shuffler")[("tombola_shuffler_requests_refused_total", "ledger")] == 1
    # Three more fill the round, the fourth is too late; then it is sealed and no round collects.
    more = [(os.urandom(32), Device.seal(d, data, 0)) for _ in range(4)]
    assert device.submit(d, more) == [pb.OUTCOME_ACCEPTED] * 3 + [pb.OUTCOME_CLOSED]
    v = c.wait_for("the round to be sealed", lambda: (
        v := values(cluster, "shuffler"))[("tombola_shuffler_rounds_under_way", "sealed")] == 1 and v)
    assert v[("tombola_shuffler_reports_total", "accepted")] == 5
    assert v[("tombola_shuffler_reports_total", "closed")] == 1
    assert "tombola_shuffler_round_participants" not in v


def test_devices_beyond_the_certificates_number_are_counted(cluster):
    cluster.configure(devices=2)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    Analyzer(cluster).dial().open_round(min_reports=2, target=5)
    device = Device(cluster)
    d, data = device.round()
    sent = [(os.urandom(32), Device.seal(d, data, 0)) for _ in range(4)]
    assert device.submit(d, sent[:2]) == [pb.OUTCOME_ACCEPTED] * 2
    assert device.submit(d, sent[2:]) == [pb.OUTCOME_OVER_LIMIT] * 2
    v = values(cluster, "shuffler")
    assert v[("tombola_shuffler_reports_total", "over_limit")] == 2 == v["tombola_shuffler_round_participants"]


def test_a_round_that_is_void_waits_and_its_slice_stays_spent(cluster):
    cluster.configure(devices=3)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},a\n" for i in range(3)))
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0,
                   "min_reports": 4, "target": 4, "values": ["a", "b"], "window": "8s"}], epsilon=2.0, tries=2)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    cluster.start("analyzer", "run")
    during = c.wait_for("the round to be waited for", lambda: (
        v := values(cluster, "analyzer"))[("tombola_analyzer_phase", "waiting")] == 1 and v)
    assert during["tombola_budget_epsilon_pinned"] == 2.0 and during[("tombola_analyzer_rounds", "reserved")] == 1
    assert during["tombola_analyzer_round_number"] == 1 and during["tombola_analyzer_round_min_participants"] == 4
    assert during["tombola_analyzer_round_deadline_timestamp_seconds"] > time.time() - 1
    after = c.wait_for("the round to be void", lambda: (
        v := values(cluster, "analyzer"))[("tombola_analyzer_phase", "idle")] == 1 and v)
    assert after[("tombola_analyzer_rounds", "void")] == 1 and after["tombola_budget_epsilon_pinned"] == 2.0
    assert "tombola_analyzer_round_number" not in after and after["tombola_analyzer_participants_total"] == 0
    shuffler = values(cluster, "shuffler")
    assert shuffler[("tombola_shuffler_rounds_total", "void")] == 2
    assert shuffler[("tombola_shuffler_reports_total", "accepted")] == 6
    # A client never counts on a round having been destroyed.
    assert values(cluster, "client")["tombola_budget_epsilon_pinned"] > 0


def test_connections_that_are_refused_are_counted_by_why(cluster, tmp_path):
    cluster.configure()
    cluster.start("shuffler", "run")
    cluster.wait_listening()

    def refused():
        v = values(cluster, "shuffler")
        return {r: v[("tombola_connections_refused_total", r)] for r in ("certificate", "protocol", "network")}
    before = c.wait_for("the probe to be counted", lambda: refused()["network"] and refused())
    with socket.create_connection(("127.0.0.1", cluster.port)) as s:
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert s.recv(100) is not None
    c.wait_for("no TLS to be counted", lambda: refused()["protocol"] == before["protocol"] + 1)
    key, cert = certs.authority(str(tmp_path), "other")
    certs.issue(str(tmp_path), "stranger", "client", ca=(key, cert))
    other = wire.tls_context(False, str(tmp_path / "stranger.crt"), str(tmp_path / "stranger.key"),
                             [os.path.join(cluster.pki, "client", "services-ca.crt")])
    with pytest.raises((OSError, EOFError)):
        wire.Link.dial(cluster.port, other)
    c.wait_for("a stranger to be counted", lambda: refused()["certificate"] == before["certificate"] + 1)
    assert values(cluster, "shuffler")["tombola_connections_total"] == 0


# ---- check ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("party", PARTIES)
def test_each_format_of_check_says_the_same(deployment, party):
    text = deployment.run(party, "check")
    assert text.returncode == 0 and text.stdout.startswith("OK ") and "daemon ready" in text.stdout
    said = json.loads(deployment.run(party, "check", "--format", "json").stdout)
    assert text.stdout == f"OK {said['text']}\n" and said["role"] == party
    assert json.loads(deployment.run(party, "check", "--json").stdout)["status"] == "OK" == said["status"]
    nagios = deployment.run(party, "check", "--format", "nagios", "--warn-spent", "1", "--crit-round", "1h").stdout
    head, performance = nagios.strip().split(" | ")
    assert head.startswith(f"TOMBOLA {party.upper()} WARNING - ") and "% used" in head
    label = re.compile(r"'(\w+)'=([\d.]+)(s|%|);([\d.:]*);([\d.:]*);?(\d*)")
    got = {label.fullmatch(p)[1]: float(label.fullmatch(p)[2]) for p in performance.split(" ")}
    # Never less than is spent, and no more than the next ten thousandth of a percent.
    assert said["budget_used"] * 100 <= got["budget_used"] < said["budget_used"] * 100 + 1.1e-4
    assert abs(said["certificate_left_s"] - got["certificate_left"]) < 60
    assert got["ledger_records"] == said["ledger_records"] > 0
    prometheus = read(deployment.run(party, "check", "--format", "prometheus").stdout)
    assert prometheus[("tombola_check_status", party)] == 0
    assert prometheus[("tombola_check_budget_used_ratio", party)] == said["budget_used"] \
        == values(deployment, party)["tombola_budget_used_ratio"]


def test_the_analyzers_status_is_what_the_daemon_says(deployment):
    said = deployment.json("analyzer", "status")
    assert said["schema"] == "tombola.status/1" and said["plan"] == "test" and said["round"] is None
    run = deployment.run("analyzer", "status")
    assert run.returncode == 0, run.stderr
    lines = dict(line.split(None, 1) for line in run.stdout.splitlines())
    assert lines["state"] == said["state"]["text"] and lines["plan"] == "test"
    assert lines["ledger"] == f"{said['ledger']['seq']} records" and lines["certificate"] == "89 d left"
    assert lines["shuffler"] == "not connected" and "round" not in lines  # the plan is through
    with open(deployment.path("analyzer.conf"), encoding="utf-8") as f:
        text = f.read()
    for http in ("", f"127.0.0.1:{c.free_port()}"):
        deployment.write("silent.conf", re.sub(r'http = "[^"]*"', f'http = "{http}"', text))
        run = deployment.run("analyzer", "status", "--config", deployment.path("silent.conf"))
        assert run.returncode == c.EXIT["unavailable"] and run.stdout == "" and run.stderr.count("\n") == 1


@pytest.mark.parametrize("party", PARTIES)
def test_check_ends_with_the_state(deployment, party):
    def code(*args):
        return deployment.run(party, "check", *args).returncode
    assert code("--warn-spent", "0.01%") == 1 and code("--crit-spent", "0.01") == 2
    assert code("--warn-cert", "90d") == 1 and code("--warn-cert", "89") == 0
    for fmt in ("text", "json", "nagios", "prometheus"):
        run = deployment.run(party, "check", "--format", fmt, "--warn-cert", "90d")
        assert run.returncode == 1, run.stdout
    for wrong in (("--format", "xml"), ("--warn-round", "26"), ("--json", "--format", "text")):
        assert code(*wrong) == c.EXIT["usage"]
    # Rounds: the analyzer's plan is through, so nothing is late there.
    late = deployment.run(party, "check", "--warn-round", "0.01s")
    assert (late.returncode, "last round" in late.stdout) == ((0, False) if party == "analyzer" else (1, True))
    assert code("--crit-round", "0.01s") == (0 if party == "analyzer" else 2)
    bad = deployment.write("nonsense.conf", "nonsense = ;\n")
    run = deployment.run(party, "check", "--format", "nagios", "--config", bad)
    assert run.returncode == 3 and run.stdout.startswith(f"TOMBOLA {party.upper()} UNKNOWN - "), run.stdout


# ---- who may ask ----------------------------------------------------------------------------------------------------


def named(cluster, host):
    """A request for the shuffler's metrics by this name."""
    return urllib.request.Request(f"http://127.0.0.1:{cluster.http['shuffler']}/metrics", headers={"Host": host})


def test_an_address_for_others_must_be_asked_for(cluster):
    cluster.configure()
    for party in PARTIES:
        with open(cluster.path(f"{party}.conf"), encoding="utf-8") as f:
            text = f.read()
        if party == "analyzer":
            cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour",
                           "epsilon0": 1.0, "min_reports": 4, "target": 4, "values": ["a", "b"], "window": "1h"}])
        text = text.replace(f"127.0.0.1:{cluster.http[party]}", f"0.0.0.0:{cluster.http[party]}")
        cluster.write(f"{party}.conf", text)
        run = cluster.run(party, "check-config")
        assert run.returncode == c.EXIT["config"] and "http_anywhere" in run.stderr
        cluster.write(f"{party}.conf", text + "http_anywhere = true;\n")
        assert cluster.run(party, "check-config").returncode == 0
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    with urllib.request.urlopen(named(cluster, "shuffler:9465"), timeout=180) as r:
        assert "tombola_ready 1" in r.read().decode()
    assert cluster.run("shuffler", "check").returncode == 0


@pytest.mark.parametrize("mutant", ["", "net.http.host"])
def test_a_page_of_another_name_cannot_read_the_answers(cluster, mutant):
    cluster.configure()
    cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    try:
        with urllib.request.urlopen(named(cluster, "evil.example"), timeout=180) as r:
            code = r.status
    except urllib.error.HTTPError as e:
        code = e.code
    assert code == (200 if mutant else 421)


# ---- Prometheus -----------------------------------------------------------------------------------------------------


def rules():
    with open(os.path.join(DEPLOY, "alerts.yml"), encoding="utf-8") as f:
        group, = yaml.safe_load(f)["groups"]
    return group["rules"]


@promtool
def test_the_rules_are_accepted_and_pass_their_tests():
    tool("check", "rules", "--lint-fatal", os.path.join(DEPLOY, "alerts.yml"))
    tool("check", "config", os.path.join(DEPLOY, "prometheus.yml"))
    tool("test", "rules", os.path.join(wire.ROOT, "tests", "alerts.yml"))


def test_every_rule_is_tested_and_in_the_manual():
    with open(os.path.join(wire.ROOT, "tests", "alerts.yml"), encoding="utf-8") as f:
        tests = [case for t in yaml.safe_load(f)["tests"] for case in t["alert_rule_test"]]
    with open(os.path.join(wire.ROOT, "doc", "metrics.md"), encoding="utf-8") as f:
        manual = {name: m[1] for m in re.finditer(r"^- (critical|warning): (.*\n(?:  .*\n)*)", f.read(), re.M)
                  for name in re.findall(r"`(Tombola\w+)`", m[2])}
    assert manual == {r["alert"]: r["labels"]["severity"] for r in rules()}
    for rule in rules():
        cases = [bool(t["exp_alerts"]) for t in tests if t["alertname"] == rule["alert"]]
        assert True in cases and False in cases, rule["alert"]


def test_the_rules_ask_for_metrics_that_are_there():
    known = documented()
    for rule in rules():
        for name in re.findall(r"\btombola_\w+", rule["expr"]):
            base = name.removesuffix("_bucket")
            assert base in known, f"{rule['alert']}: {name}"
        for name, label, value in re.findall(r'(tombola_\w+)\{(\w+)="([^"]*)"\}', rule["expr"]):
            assert label == "job" or (known[name][1] == label and value in known[name][2]), rule["alert"]
    with open(os.path.join(DEPLOY, "prometheus.yml"), encoding="utf-8") as f:
        scraped = yaml.safe_load(f)["scrape_configs"]
    jobs = {j["job_name"]: j["static_configs"][0]["targets"] for j in scraped if "static_configs" in j}
    assert jobs == {"tombola-analyzer": ["analyzer:9464"], "tombola-shuffler": ["shuffler:9465"],
                    "tombola-client": ["client:9466"]}
    intakes, = (j["dns_sd_configs"][0] for j in scraped if j["job_name"] == "tombola-intake")
    assert intakes == {"names": ["intake1", "intake2"], "type": "A", "port": 9468}


# ---- what changes the deployment -------------------------------------------------------------------------------------


def test_a_ledger_that_is_taken_away_is_seen(deployment):
    state = "in-service" if deployment.server else "state.db"  # with a database, what tells the next start that there was a state
    for party, name in (("analyzer", "ledger"), ("shuffler", state), ("client", "client.db")):
        path = os.path.join(deployment.path(party), name)
        assert values(deployment, party)["tombola_ledger_ok"] == 1
        os.rename(path, path + ".away")
        assert values(deployment, party)["tombola_ledger_ok"] == 0
        shutil.copy(path + ".away", path)
        assert values(deployment, party)["tombola_ledger_ok"] == 0
        os.rename(path + ".away", path)
        assert values(deployment, party)["tombola_ledger_ok"] == 1


def test_reloads_are_counted_and_bring_the_new_certificates_end(deployment):
    for daemon, party in zip(deployment.daemons, ("shuffler", "client", "analyzer")):
        before = values(deployment, party)["tombola_certificate_expiry_timestamp_seconds"]
        folder = os.path.join(deployment.pki, party)
        for kind in ("crt", "key"):
            os.unlink(os.path.join(folder, f"{party}.{kind}"))
        daemon.process.send_signal(signal.SIGHUP)
        c.wait_for("the reload to fail", lambda p=party: values(deployment, p)[
            ("tombola_certificate_reloads_total", "failed")] >= 1)
        assert values(deployment, party)["tombola_certificate_expiry_timestamp_seconds"] == before
        run = subprocess.run([c.program("tombola"), "pki", "issue", deployment.pki, party, "--role", party, "--days",
                              "30", "--out", folder], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        daemon.process.send_signal(signal.SIGHUP)
        c.wait_for("the reload", lambda p=party: values(deployment, p)[
            ("tombola_certificate_reloads_total", "ok")] >= 1)
        assert values(deployment, party)["tombola_certificate_expiry_timestamp_seconds"] < before - 50 * 86400


def test_a_damaged_ledger_is_critical(deployment):
    deployment.daemons[2].stop()
    path = os.path.join(deployment.path("analyzer"), "ledger")
    with open(path, "r+b") as f:
        f.seek(60)
        f.write(b"\xff\xff\xff")
    run = deployment.run("analyzer", "check", "--format", "nagios")
    assert run.returncode == 2 and "ledger" in run.stdout and "damaged" in run.stdout, run.stdout
