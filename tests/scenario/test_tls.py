"""Who may connect: every bad certificate is refused by name and reason on both sides, before and after SIGHUP."""
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

import certs
import wire
from certs import authority, issue, load_authority
from cluster import EXIT, program, wait_for
from parties import Analyzer, Device
from wire import Refused, pb

SEND = ("--device-field", "device", "--wait", "3m")


def prepare(cluster):
    """Configurations, readings and a plan for four devices; both deployments' CAs, and somebody else's."""
    cluster.configure(min_batch=4)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i}\n" for i in range(4)))
    cluster.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 2.0,
                   "min_reports": 4, "target": 4, "values": [f"c{i}" for i in range(4)], "window": "30s"}],
                 epsilon=5.0)
    os.mkdir(cluster.path("made"))
    return {"clients": load_authority(cluster.path("pki", "ca-clients")),
            "services": load_authority(cluster.path("pki", "ca-services")),
            "other": authority(cluster.path("made"))}


def use(cluster, party, pair):
    """Give a party another certificate and key; the analyzer is told to give up soon."""
    with open(cluster.path(f"{party}.conf")) as f:
        text = f.read()
    text = re.sub(r'cert = "[^"]*"; key = "[^"]*"', f'cert = "{pair[0]}"; key = "{pair[1]}"', text)
    if party == "analyzer" and "reconnect_min" not in text:
        text += 'reconnect_min = "10ms"; reconnect_max = "20ms";\n'
    cluster.write(f"{party}.conf", text)


def dial(cluster, party):
    """The party's try, to its end."""
    if party == "client":
        return cluster.run("client", "send", cluster.path("readings.csv"), *SEND)
    return cluster.run("analyzer", "round", "run", "1")


def served(cluster, after=0):
    """The shuffler still serves an honest device: it answers that there is no round."""
    with pytest.raises(Refused) as e:
        Device(cluster).link.ask("round", get_round=pb.GetRound(population="test", after=after, wait_ms=0))
    assert e.value.code == pb.ERROR_NOT_FOUND


# ---- the real shuffler, a peer it must refuse ----------------------------------------------------------------------

ALERT = {"ca": "unknown CA, or not the CA for its role", "role": "its role is not accepted", "expired": "expired",
         "bad": "not yet valid"}

PEERS = {
    # name: (how it is issued, by whom, what the shuffler says, what the peer is told)
    "wrong CA": (dict(), "other", 'unknown CA "some other CA"', "ca"),
    "self-signed": (dict(), None, "self-signed", "ca"),
    "expired": (dict(days=(-9, -1)), "own", "it expired at 20", "expired"),
    "not yet valid": (dict(days=(1, 9)), "own", "not yet valid, only from 20", "bad"),
    "no role": (dict(role=None), "own", "names no tombola:role", "role"),
    "wrong purpose": (dict(usage=certs.USAGE["shuffler"]), "own", "purpose", "role"),
    "role shuffler": (dict(role="shuffler", usage=certs.USAGE["client"]), "own",
                      "its role is shuffler, wanted client or analyzer", "role"),
}


@pytest.mark.parametrize("party", ["client", "analyzer"])
@pytest.mark.parametrize("name", PEERS)
def test_the_shuffler_refuses_a_bad_certificate(cluster, party, name):
    how, by, said, told = PEERS[name]
    cas = prepare(cluster)
    ca = cas.get({"own": "clients" if party == "client" else "services"}.get(by, by))
    use(cluster, party, issue(cluster.path("made"), "bad", **{"role": party, **how}, ca=ca, cn="bad one"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    refused(cluster, shuffler, party, said, told)


def refused(cluster, shuffler, party, said, told):
    before = len(shuffler.log())
    run = dial(cluster, party)
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    last = run.stderr.rstrip().splitlines()[-1]
    assert "refused our certificate" in last and ALERT[told] in last, last
    assert '"msg":"connected' not in run.stderr, "connected before the first answer"
    line = wait_for("the shuffler's line", lambda: [x for x in shuffler.log()[before:].splitlines()
                                                    if "connection refused" in x and "certificate" in x])[0]
    assert said in line.replace("\\", ""), line
    served(cluster)


@pytest.mark.parametrize("party,role,ca,said", [
    ("client", "analyzer", "clients", 'CA "tombola clients CA" may not vouch for role analyzer'),
    ("client", "shuffler", "clients", "its role is shuffler"),
    ("analyzer", "client", "services", 'CA "tombola services CA" may not vouch for role client'),
])
def test_a_ca_vouches_for_its_own_roles_only(cluster, party, role, ca, said):
    cas = prepare(cluster)
    use(cluster, party, issue(cluster.path("made"), "bad", role, ca=cas[ca], usage=certs.USAGE["client"]))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    refused(cluster, shuffler, party, said, "role" if role == "shuffler" else "ca")


def test_without_the_check_a_clients_ca_makes_an_analyzer(cluster):
    """What the check above is worth: whoever enrols clients could open rounds."""
    cas = prepare(cluster)
    pair = issue(cluster.path("made"), "bad", "analyzer", ca=cas["clients"])
    cluster.start("shuffler", "run", mutant="net.anchor")
    cluster.wait_listening()
    ctx = wire.tls_context(False, *pair, cluster.path("pki", "client", "services-ca.crt"))
    wire.Link.dial(cluster.port, ctx).ask("witness", get_witness=pb.GetWitness(population="test"))


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_a_role_cannot_do_the_others_work(cluster, party):
    """A client's certificate presented by an analyzer, and the reverse: a good chain, the wrong requests."""
    prepare(cluster)
    other = "client" if party == "analyzer" else "analyzer"
    use(cluster, party, (f"pki/{other}/{other}.crt", f"pki/{other}/{other}.key"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    run = dial(cluster, party)
    assert run.returncode in (EXIT["protocol"], EXIT["permission"]), (run.returncode, run.stderr)
    assert "role" in run.stderr.splitlines()[-1].lower(), run.stderr
    line = wait_for("the shuffler's line", lambda: [x for x in shuffler.log().splitlines() if other in x
                                                    and "role" in x.lower() and '"info"' not in x])
    assert line
    served(cluster)


@pytest.mark.parametrize("name,change,said,told", [
    ("TLS 1.2", dict(version=ssl.TLSVersion.TLSv1_2), "does not speak TLS 1.3", "PROTOCOL_VERSION"),
    ("no certificate", dict(cert=None), "sent no certificate", "CERTIFICATE_REQUIRED"),
    ("wrong ALPN", dict(alpn="h2"), "does not speak tombola/1 (ALPN)", "no application protocol"),
    ("no ALPN", dict(alpn=None), "does not speak tombola/1 (no ALPN)", "no application protocol"),
])
def test_the_shuffler_refuses_other_ways_of_speaking(cluster, name, change, said, told):
    prepare(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    folder = cluster.path("pki", "client")
    kw = {"cert": f"{folder}/client.crt", **change}
    ctx = wire.tls_context(False, kw.pop("cert"), f"{folder}/client.key", f"{folder}/services-ca.crt", **kw)
    with pytest.raises(ssl.SSLError) as e:
        wire.Link.dial(cluster.port, ctx)
    assert told.lower() in str(e.value).lower()
    wait_for("the shuffler's line", lambda: said in shuffler.log())
    served(cluster)


def test_neither_plaintext_nor_a_peer_that_leaves_harms_anyone(cluster):
    prepare(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    with socket.create_connection(("127.0.0.1", cluster.port)) as s:
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        s.settimeout(180)
        assert b"HTTP" not in s.recv(4096)
    wait_for("the shuffler's line", lambda: shuffler.log().count("connection refused") >= 2)
    served(cluster)


# ---- the real client and analyzer, a shuffler they must refuse ------------------------------------------------------

class Server:
    """Accepts TLS with the given context and notes what came of it."""

    def __init__(self, port, ctx):
        self.ctx, self.came = ctx, []
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            raw.settimeout(180)
            try:
                link = self.ctx.wrap_socket(raw, server_side=True)
                self.came.append(link.recv(1))
            except OSError as e:  # SSLError too
                self.came.append(str(e))
            raw.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


SERVERS = {
    # name: (how it is issued, by whom, TLS, what the dialling side says, what the server is told, exit code)
    "wrong CA": (dict(), "other", {}, 'unknown CA "some other CA"', "unknown ca", "permission"),
    "self-signed": (dict(), None, {}, "self-signed, by no CA we know", "unknown ca", "permission"),
    "expired": (dict(days=(-9, -1)), "services", {}, "it expired at 20", "expired", "permission"),
    "not yet valid": (dict(days=(1, 9)), "services", {}, "not yet valid, only from 20", "bad certificate",
                      "permission"),
    "role analyzer": (dict(role="analyzer", usage=certs.USAGE["shuffler"]), "services", {},
                      "its role is analyzer, wanted shuffler", "unsupported certificate", "permission"),
    "purpose of a client": (dict(usage=certs.USAGE["client"]), "services", {}, "purpose",
                            "unsupported certificate", "permission"),
    "from the clients' CA": (dict(), "clients", {}, 'unknown CA "tombola clients CA"', "unknown ca", "permission"),
    "another host": (dict(hosts=False), "services", {}, "not for host", "bad certificate", "permission"),
    "TLS 1.2": (dict(), "services", dict(version=ssl.TLSVersion.TLSv1_2), "protocol version", "protocol", "protocol"),
    "wrong ALPN": (dict(), "services", dict(alpn="h2"), "does not speak tombola/1 (ALPN)", "handshake failure",
                   "protocol"),
}


@pytest.mark.parametrize("party", ["client", "analyzer"])
@pytest.mark.parametrize("name", SERVERS)
def test_a_bad_shuffler_is_refused(cluster, party, name):
    how, by, tls, said, told, code = SERVERS[name]
    cas = prepare(cluster)
    pair = issue(cluster.path("made"), "bad", **{"role": "shuffler", **how}, ca=cas.get(by))
    use(cluster, party, (f"pki/{party}/{party}.crt", f"pki/{party}/{party}.key"))
    own = cluster.path("pki", "shuffler")
    server = Server(cluster.port, wire.tls_context(True, *pair, [f"{own}/services-ca.crt", f"{own}/clients-ca.crt"],
                                                   **tls))
    try:
        run = dial(cluster, party)
    finally:
        server.close()
    assert run.returncode == EXIT[code], (run.returncode, run.stderr)
    assert said in run.stderr.rstrip().splitlines()[-1], run.stderr
    assert '"msg":"connected' not in run.stderr
    assert server.came and all(isinstance(c, str) and told in c.lower().replace("_", " ") for c in server.came)


# ---- SIGHUP ----------------------------------------------------------------------------------------------------------

def hup(daemon, needle='"certificates reloaded"'):
    seen = daemon.log().count(needle)
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(f"{needle} in {daemon.log_path}", lambda: daemon.log().count(needle) > seen)


def tombola(*args):
    run = subprocess.run([program("tombola"), *args], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def cut(link):
    """The connection ends before it answers."""
    with pytest.raises((EOFError, OSError)):
        link.ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=0))


def reached(cluster, pair):
    return wire.Link.dial(cluster.port, wire.tls_context(False, *pair, cluster.path("pki", "client",
                                                                                    "services-ca.crt")))


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_a_revoked_certificate_is_refused_after_sighup(cluster, party):
    prepare(cluster)
    tombola("pki", "issue", cluster.pki, "second", "--role", party, "--out", cluster.path("made"))
    second = (cluster.path("made", "second.crt"), cluster.path("made", "second.key"))
    renewed = (cluster.path("made", "renewed.crt"), second[1])
    tombola("pki", "renew", cluster.pki, second[0], "--out", renewed[0])
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    doomed, too = reached(cluster, second), reached(cluster, renewed)
    other, bystander = Device(cluster), Analyzer(cluster).dial()
    tombola("pki", "revoke", cluster.pki, second[0])
    hup(shuffler)
    cut(doomed)
    cut(too)
    with pytest.raises(Refused):
        other.round(wait_ms=0)
    bystander.extend()
    lines = wait_for("the reason", lambda: [x for x in shuffler.log().splitlines() if '"warn"' in x
                                            and "revoked" in x])
    assert "second" in lines[0]
    use(cluster, party, renewed)
    run = dial(cluster, party)
    assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
    assert "refused our certificate: revoked" in run.stderr.splitlines()[-1], run.stderr
    served(cluster)


def test_without_the_list_it_is_the_check_that_refuses(cluster):
    prepare(cluster)
    tombola("pki", "revoke", cluster.pki, cluster.path("pki", "client", "client.crt"))
    cluster.start("shuffler", "run", mutant="net.revoked")
    cluster.wait_listening()
    served(cluster)


def replace_clients_ca(cluster):
    """The clients' CA file now holds another CA; a pair that it issued."""
    new = authority(cluster.path("made"), "new", "the new clients CA")
    shutil.copy(cluster.path("made", "new.crt"), cluster.path("pki", "shuffler", "clients-ca.crt"))
    return issue(cluster.path("made"), "newcomer", "client", ca=new)


def without_client_list(cluster):
    """The list of the old CA would say nothing about the new one."""
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    cluster.write("shuffler.conf", re.sub(r'clients_crl = "[^"]*";', "", text))


def test_after_sighup_the_old_ca_is_out_and_the_new_one_is_in(cluster):
    prepare(cluster)
    without_client_list(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    old, analyzer = Device(cluster), Analyzer(cluster).dial()
    newcomer = replace_clients_ca(cluster)
    with pytest.raises(ssl.SSLError):
        reached(cluster, newcomer)  # not before it is told
    hup(shuffler)
    cut(old.link)
    wait_for("the reason", lambda: any('"warn"' in x and "unknown CA" in x and "tombola clients CA" in x
                                       for x in shuffler.log().splitlines()))
    run = dial(cluster, "client")
    assert run.returncode == EXIT["permission"] and ALERT["ca"] in run.stderr, run.stderr
    with pytest.raises(Refused) as e:
        reached(cluster, newcomer).ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=0))
    assert e.value.code == pb.ERROR_NOT_FOUND
    analyzer.extend()  # vouched for by the other CA: its connection stands


def test_an_open_connection_of_the_old_ca_is_what_the_check_closes(cluster):
    prepare(cluster)
    without_client_list(cluster)
    shuffler = cluster.start("shuffler", "run", mutant="net.reload")
    cluster.wait_listening()
    old = Device(cluster)
    replace_clients_ca(cluster)
    hup(shuffler)
    with pytest.raises(Refused) as e:
        old.round(wait_ms=0)
    assert e.value.code == pb.ERROR_NOT_FOUND


@pytest.mark.parametrize("fault", ["missing", "garbage", "key of another", "key others may read", "empty CA"])
def test_a_bad_file_at_sighup_keeps_the_old_certificates(cluster, fault):
    prepare(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    device = Device(cluster)
    own = cluster.path("pki", "shuffler")
    name = {"missing": "clients-ca.crt", "garbage": "clients-ca.crl", "key of another": "shuffler.key",
            "key others may read": "shuffler.key", "empty CA": "services-ca.crt"}[fault]
    path = os.path.join(own, name)
    if fault == "missing":
        os.unlink(path)
    elif fault == "key of another":
        shutil.copy(cluster.path("pki", "analyzer", "analyzer.key"), path)
    elif fault == "key others may read":
        os.chmod(path, 0o644)
    else:
        cluster.write(os.path.join("pki", "shuffler", name), "-----BEGIN NOTHING-----\n")
    hup(shuffler, "not reloaded")
    line = [x for x in shuffler.log().splitlines() if "not reloaded" in x][-1]
    assert name in line or (fault == "key of another" and "shuffler.crt" in line), line
    with pytest.raises(Refused):
        device.round(wait_ms=0)
    served(cluster)


def ready(cluster, party):
    """What /readyz says: connected or not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http[party]}/readyz", timeout=180) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_a_dialling_party_drops_a_shuffler_whose_ca_it_no_longer_trusts(cluster, party):
    prepare(cluster)
    use(cluster, party, (f"pki/{party}/{party}.crt", f"pki/{party}/{party}.key"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    daemon = cluster.start(party, "run")
    wait_for("the first connection", lambda: '"msg":"connected' in daemon.log())
    trusted = cluster.path("pki", party, "services-ca.crt")
    with open(trusted, "rb") as f:
        good = f.read()
    shutil.copy(cluster.path("made", "ca.crt"), trusted)
    hup(daemon)
    wait_for("the refusal", lambda: 'unknown CA' in daemon.log() and "tombola services CA" in daemon.log())
    wait_for("the shuffler's line", lambda: "unknown ca" in shuffler.log().lower())
    assert not ready(cluster, party)
    with open(trusted, "wb") as f:
        f.write(good)
    daemon.process.send_signal(signal.SIGHUP)
    wait_for("the connection after the CA is back", lambda: ready(cluster, party))
    daemon.stop()


# ---- "connected" ------------------------------------------------------------------------------------------------------

def test_nobody_says_connected_before_the_first_answer(cluster):
    """The handshake goes well; then the shuffler says nothing, and then hangs up."""
    prepare(cluster)
    listener = socket.create_server(("127.0.0.1", cluster.port))
    ctx = cluster.tls("shuffler", server=True)
    daemons = {p: cluster.start(p, "run") for p in ("client", "analyzer")}
    said_hello = []
    for _ in daemons:
        raw, _ = listener.accept()
        raw.settimeout(180)
        link = wire.Link(ctx.wrap_socket(raw, server_side=True), hello=False)
        link.expect("hello")  # the whole handshake is behind it, and its first frame is here
        said_hello.append(link)
    for d in daemons.values():
        assert '"msg":"connected' not in d.log()
    for link in said_hello:
        link.close()
    for d in daemons.values():
        wait_for("the loss", lambda d=d: "no connection" in d.log())
        assert '"msg":"connected' not in d.log()
    listener.close()
