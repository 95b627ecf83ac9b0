"""Certificates are renewed by the commands of doc/operations.md, as they stand there, under daemons that go on."""
import os
import re
import shutil
import signal
import ssl
import subprocess

import pytest

import certs
import faults
import wire
from cluster import EXIT, program, wait_for
from parties import Analyzer, Device
from relay import Relay, end
from test_tls import cut, prepare

RENEW = "\n### Certificates\n", "\n### A TLS key that got out\n"
REPLACE = RENEW[1], "\n### A signing key\n"


def commands(part=RENEW):
    """The code of the guide's part, a line each."""
    begin, end = part
    with open(os.path.join(wire.ROOT, "doc", "operations.md")) as f:
        text = f.read().split(begin, 1)[1].split(end, 1)[0]
    return [line for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]


def on_this_machine(cluster, line, daemon):
    """The same command, with this deployment's folders and process, and no other users."""
    for a, b in ((r"sudo -u \S+ ", ""), (r"\bsudo ", ""), (r"-o \S+ ", ""), (r"/etc/tombola/pki/", "installed/"),
                 (r"shuffler\.example\.org", "localhost,127.0.0.1"),
                 (r"^systemctl reload \S+", f"kill -HUP {daemon}"),
                 (r"^(tombola-(\S+)) (check)", r"\1 --config \2.conf \3"),
                 (r"^tombola", os.path.join(os.path.dirname(program("tombola")), "tombola"))):
        line = re.sub(a, b, line)
    return line


def follow(cluster, party, daemon, part=RENEW):
    """Run all of them, in order, for one party.  The exit codes and what they said."""
    out = {}
    for line in commands(part):
        line = line.replace("shuffler", party)
        run = subprocess.run(on_this_machine(cluster, line, daemon), shell=True, cwd=cluster.dir, text=True,
                             capture_output=True)
        out[re.sub(r"^sudo (-u \S+ )?", "", line)] = run
    return out


def the(verb, out):
    """What the command of this verb said."""
    run, = (run for line, run in out.items() if f"tombola {verb} " in line)
    return run


def install(cluster, pair, party):
    """The party runs on this certificate and key, in a folder of their own."""
    os.makedirs(cluster.path("installed"), exist_ok=True)
    for f, end in zip(pair, ("crt", "key")):
        shutil.copy(f, cluster.path("installed", f"{party}.{end}"))
    with open(cluster.path(f"{party}.conf")) as f:
        text = f.read()
    cluster.write(f"{party}.conf", text.replace(f"pki/{party}/{party}.crt", f"installed/{party}.crt")
                  .replace(f"pki/{party}/{party}.key", f"installed/{party}.key"))


def ends(cluster, party, cas, days):
    """Give the party a certificate that ends so many days from now; where the CAs are, they have a copy."""
    ca = cas["clients" if party == "client" else "services"]
    made = certs.issue(cluster.path("made"), party, party, ca=ca, days=days)
    install(cluster, made, party)
    shutil.copy(made[0], cluster.path("pki", party))


def served_by(cluster):
    """The certificate that the shuffler shows to a newcomer."""
    link = wire.Link.dial(cluster.port, cluster.tls("client"))
    der = link.sock.getpeercert(binary_form=True)
    link.close()
    return der


def file_of(cluster, party):
    with open(cluster.path("installed", f"{party}.crt")) as f:
        return ssl.PEM_cert_to_DER_cert(f.read())


def check(cluster, party, *args):
    run = cluster.run(party, "check", *args)
    return run.returncode, run.stdout


def key_of(cluster, party):
    """The key file: its bytes, and whether it is the same file."""
    path = cluster.path("installed", f"{party}.key")
    with open(path, "rb") as f:
        st = os.fstat(f.fileno())
        return f.read(), st.st_ino, st.st_mtime_ns, st.st_mode


def shown(path):
    """What `pki show` says, a name each."""
    run = subprocess.run([program("tombola"), "pki", "show", path], capture_output=True, text=True)
    assert run.returncode == 0, run
    return dict(re.split("  +", line, maxsplit=1) for line in run.stdout.splitlines())


def test_the_guide_renews_without_a_key():
    said = commands()
    assert len(said) == 5 and any("pki renew" in x for x in said), said
    assert not any(".key" in x or "pki issue" in x for x in said), said


def test_a_shuffler_is_renewed_under_its_connections(cluster):
    cas = prepare(cluster)
    ends(cluster, "shuffler", cas, (-80, 2))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    device, analyzer = Device(cluster), Analyzer(cluster).dial()
    old = served_by(cluster)
    assert old == file_of(cluster, "shuffler")
    code, text = check(cluster, "shuffler")
    assert code == 1 and "certificate 1 d left" in text, text

    # Put in place and not taken up, since its key is another: said, and by the daemon's own word.
    new = certs.issue(cluster.path("made"), "later", "shuffler", ca=cas["services"], days=(-1, 60))
    install(cluster, (new[0], cluster.path("made", "shuffler.key")), "shuffler")
    code, text = check(cluster, "shuffler")
    assert code == 1 and "certificate 59 d left" in text and "daemon uses another certificate" in text, text
    assert served_by(cluster) == old
    install(cluster, (cluster.path("made", "shuffler.crt"), cluster.path("made", "shuffler.key")), "shuffler")
    key = key_of(cluster, "shuffler")

    out = follow(cluster, "shuffler", shuffler.process.pid)
    *before, last = out.values()
    assert all(run.returncode == 0 for run in before), {k: (v.returncode, v.stderr) for k, v in out.items()}
    assert [run.stdout for run in before][0].endswith("renew\n")
    wait_for("the new certificate", lambda: served_by(cluster) == file_of(cluster, "shuffler") != old)
    code, text = check(cluster, "shuffler")
    assert code == 0 and "certificate 89 d left" in text and "another" not in text, text
    assert key_of(cluster, "shuffler") == key
    # Who was connected is: a round opens for both.
    d, data = analyzer.open_round(target=4, min_reports=4)
    assert device.round(after=0)[1] == data
    assert "needs-renewal" in next(iter(out)) and last.stdout, out
    run = subprocess.run([program("tombola"), "pki", "needs-renewal", cluster.path("installed", "shuffler.crt")],
                         capture_output=True, text=True)
    assert run.returncode == 1 and "no need" in run.stdout, run
    # Another time, and the name of the last one: refused, nothing is written over.
    run = the("pki renew", follow(cluster, "shuffler", shuffler.process.pid))
    assert run.returncode == EXIT["create"] and "exist" in run.stderr, run


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_an_expired_peer_is_refused_and_comes_back_renewed(cluster, party):
    cas = prepare(cluster)
    ends(cluster, party, cas, (-91, -1))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    if party == "analyzer":
        with open(cluster.path("analyzer.conf"), "a") as f:
            f.write('reconnect_min = "10ms"; reconnect_max = "100ms";\n')
    daemon = cluster.start(party, "run")
    wait_for("the refusal, there", lambda: "it expired at" in shuffler.log())
    wait_for("the refusal, here", lambda: "refused our certificate: expired" in daemon.log())
    code, text = check(cluster, party)
    assert code == 2 and "certificate expired" in text, text
    assert '"msg":"connected' not in daemon.log()

    key, old = key_of(cluster, party), shown(cluster.path("installed", f"{party}.crt"))
    out = follow(cluster, party, daemon.process.pid)
    assert [run.returncode for run in list(out.values())[:-1]] == [0] * 4, out
    wait_for("the connection, with the same process", lambda: '"msg":"connected' in daemon.log())
    assert daemon.alive()
    wait_for("health", lambda: check(cluster, party)[0] == 0)
    new = shown(cluster.path("installed", f"{party}.crt"))
    assert {name for name in new if new[name] != old[name]} == {"not before", "not after", "SHA-256"}, (old, new)
    assert key_of(cluster, party) == key
    daemon.stop()
    # The old pair is still no good to anybody.
    ends(cluster, party, cas, (-91, -1))
    link = None
    try:
        link = wire.Link.dial(cluster.port, wire.tls_context(
            False, cluster.path("installed", f"{party}.crt"), cluster.path("installed", f"{party}.key"),
            cluster.path("pki", "client", "services-ca.crt")))
    except (ssl.SSLError, EOFError, OSError):
        pass
    if link is not None:
        cut(link)


def test_a_client_is_renewed_in_the_middle_of_a_round(cluster):
    """Reports are taken whose receipts are lost, and come again under the new certificate: the same devices, by its key."""
    play = faults.Round()
    play.prepare(cluster)
    with open(cluster.path("client-policy.conf")) as f:
        text = f.read()
    # Room for other plans, or the budget would be used up when the one round is answered.
    cluster.write("client-policy.conf", text.replace("delta = 1e-06", "delta = 1e-4"))
    with open(cluster.path("client.conf"), "a") as f:
        f.write('connections = 1; frame_devices = 1; spread = "6s";\n')
    install(cluster, [cluster.path("pki", "client", f"client.{end}") for end in ("crt", "key")], "client")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    relay = Relay(cluster, "client")
    try:
        client = cluster.start("client", "run")
        wait_for("the client", lambda: '"connected"' in client.log())
        analyzer = cluster.start("analyzer", "run", "--once")
        wait_for("sealed reports", lambda: cluster.json("client", "status")["stored"] > 0)
        relay.hold_back()
        wait_for("a receipt that is held back", lambda: relay.held > 0)
        key, old = key_of(cluster, "client"), file_of(cluster, "client")
        out = follow(cluster, "client", client.process.pid)
        assert the("pki renew", out).returncode == 0, out
        wait_for("the old connection to end", lambda: "certificates reloaded" in client.log() and relay.lost > 0)
        assert file_of(cluster, "client") != old and key_of(cluster, "client") == key
        assert analyzer.wait() == 0, analyzer.log()
        wait_for("the client to be through",
                 lambda: any(x["kind"] == "over" for x in cluster.json("client", "status")["ledger"]))
        code, text = check(cluster, "client", "--crit-spent", "101")  # the one entry is answered
        assert code <= 1 and "another" not in text, text
        assert client.log().count('"connected"') == 2 and '"conflicts"' not in client.log()
        play.check(cluster, cluster.json("client", "status"))
        assert shuffler.alive() and client.alive()
    finally:
        relay.close()


ROUND = '"msg":"round done"'
WAITS = "certificates of another key are taken up when the round is over"


def another_key_in_a_round(cluster, play, asked=False, mutant="", restart=False):
    """Reports are taken whose receipts are lost, and come again when the client's files have another key."""
    play.prepare(cluster)
    with open(cluster.path("client-policy.conf")) as f:
        text = f.read()
    cluster.write("client-policy.conf", text.replace("delta = 1e-06", "delta = 1e-4"))
    with open(cluster.path("client.conf"), "a") as f:
        f.write('connections = 1; frame_devices = 1; spread = "6s";\n')
    install(cluster, [cluster.path("pki", "client", f"client.{end}") for end in ("crt", "key")], "client")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    relay = Relay(cluster, "client")
    try:
        client = cluster.start("client", "run", mutant=mutant)
        wait_for("the client", lambda: '"connected"' in client.log())
        analyzer = cluster.start("analyzer", "run", "--once")
        wait_for("sealed reports", lambda: cluster.json("client", "status")["stored"] > 0)
        relay.hold_back()
        wait_for("a receipt that is held back", lambda: relay.held > 0)
        if restart:
            client.stop()
        run = subprocess.run([program("tombola"), "pki", "issue", cluster.pki, "client", "--role", "client", "--devices",
                              "1000", "--out", cluster.path("fresh")], capture_output=True, text=True)
        assert run.returncode == 0, run
        install(cluster, [cluster.path("fresh", f"client.{end}") for end in ("crt", "key")], "client")
        if restart:
            client = cluster.start("client", "run", mutant=mutant)
            wait_for("the end of the round", lambda: ROUND in client.log())
            if mutant:
                assert analyzer.wait() == 0, analyzer.log()
            return client.log()
        if asked:
            client.process.send_signal(signal.SIGHUP)
        wait_for("the client to see them", lambda: WAITS in client.log() or client.log().count('"connected"') > 1)
        for near in list(relay.near):
            end(near)
        assert analyzer.wait() == 0, analyzer.log()
        wait_for("a connection by the new key", lambda: client.log().count('"connected"') == 3)
    finally:
        relay.close()
    return client.log()


@pytest.mark.parametrize("asked", [False, True], ids=["files", "sighup"])
def test_another_key_waits_for_the_end_of_a_round(cluster, asked):
    play = faults.Round()
    log = another_key_in_a_round(cluster, play, asked)
    play.check(cluster, cluster.json("client", "status"))
    assert log.index(WAITS) < log.index('"accepted":6') < log.index("changed certificates are taken up"), log
    assert log.count(WAITS) == 1 and '"conflicts"' not in log, log


def test_without_the_wait_a_report_counts_twice(cluster):
    """The charge is that of six participants, and four have hidden in the crowd."""
    another_key_in_a_round(cluster, faults.Round(), mutant="client.key.waits")
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == 6 > result["reports"] and result["duplicates"] > 0, result


def test_what_was_sent_is_not_sent_under_another_key(cluster):
    log = another_key_in_a_round(cluster, faults.Round(), restart=True)
    assert "what is stored is not sent" in log and "another key than when its reports were sealed" in log, log
    over, = [x for x in cluster.json("client", "status")["ledger"] if x["kind"] == "over"]
    assert int(over["note"].split()[0]) < 6, over


def test_without_the_key_of_a_charge_a_report_counts_twice(cluster):
    another_key_in_a_round(cluster, faults.Round(), restart=True, mutant="client.key.stored")
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == 6 > result["reports"] and result["duplicates"] > 0, result


@pytest.mark.parametrize("removed", [False, True])
def test_a_client_restored_after_its_key_changed_answers_nothing(cluster, removed):
    """Its certificate stands nowhere, and its gateway.key at the round that the restored ledger lacks."""
    cluster.two_colours(30)
    for party in ("shuffler", "client"):
        with open(cluster.path(f"{party}-policy.conf")) as f:
            text = f.read()
        cluster.write(f"{party}-policy.conf", re.sub("min_batch = .*", "min_batch = 3;", text))
    cluster.start("shuffler", "run", mutant="shuffler.standing.gateway" if removed else "")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()

    def take_part():
        d, _ = analyzer.open_round(min_reports=3, target=30, window_ms=60000)
        return d, cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device")

    def accepted():
        d, run = take_part()
        assert run.returncode == 0, run
        analyzer.manifest(d)
    accepted()
    shutil.copytree(cluster.path("client"), cluster.path("backup"))
    accepted()
    shutil.rmtree(cluster.path("client"))
    shutil.copytree(cluster.path("backup"), cluster.path("client"))
    run = subprocess.run([program("tombola"), "pki", "issue", cluster.pki, "client", "--role", "client", "--devices", "1000", "--out",
                          cluster.path("fresh")], capture_output=True, text=True)
    assert run.returncode == 0, run
    install(cluster, [cluster.path("fresh", f"client.{end}") for end in ("crt", "key")], "client")
    _, run = take_part()
    if removed:
        assert run.returncode == 0, run  # devices answer, and what round 2 cost is in no ledger
    else:
        assert run.returncode == EXIT["budget"] and "the shuffler has a report of round 2 that this ledger does not know" in run.stderr, run


def test_a_key_that_got_out_is_replaced_and_taken_back(cluster):
    cluster.configure()
    install(cluster, [cluster.path("pki", "shuffler", f"shuffler.{end}") for end in ("crt", "key")], "shuffler")
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0,
                   "min_reports": 4, "target": 4, "values": ["a", "b"], "window": "30s"}])
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    old, key = served_by(cluster), key_of(cluster, "shuffler")[0]
    out = follow(cluster, "shuffler", shuffler.process.pid, REPLACE)
    assert len(out) == 5 and all(run.returncode == 0 for run in out.values()), out
    wait_for("the new certificate", lambda: served_by(cluster) == file_of(cluster, "shuffler") != old)
    assert key_of(cluster, "shuffler")[0] != key
    # What was taken back is not made anew.
    run = the("pki renew", follow(cluster, "shuffler", shuffler.process.pid))
    assert run.returncode == EXIT["permission"] and "revoked" in run.stderr, run
