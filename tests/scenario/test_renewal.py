"""Certificates are renewed by the commands of doc/operations.md, as they stand there, under daemons that go on."""
import os
import re
import shutil
import signal
import ssl
import subprocess

import pytest

import certs
import wire
from cluster import program, wait_for
from parties import Analyzer, Device
from test_tls import cut, prepare
from wire import Refused, pb

PARTIES = ("shuffler", "client", "analyzer")


def commands():
    """The code of the guide's section on certificates, a line each."""
    with open(os.path.join(wire.ROOT, "doc", "operations.md")) as f:
        text = f.read().split("\n**Certificates** ", 1)[1].split("\n**A TLS key that got out**", 1)[0]
    return [line for block in re.findall(r"^```\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]


def on_this_machine(cluster, line, daemon):
    """The same command, with this deployment's folders and process, and no other users."""
    for a, b in ((r"sudo -u \S+ ", ""), (r"\bsudo ", ""), (r"-o \S+ ", ""), (r"/etc/tombola/pki/", "installed/"),
                 (r"shuffler\.example\.org", "localhost,127.0.0.1"), (r"--devices 60000", "--devices 1000"),
                 (r"^systemctl reload \S+", f"kill -HUP {daemon}"),
                 (r"^(tombola-(\S+)) (check)", r"\1 --config \2.conf \3"),
                 (r"^tombola", os.path.join(os.path.dirname(program("tombola")), "tombola"))):
        line = re.sub(a, b, line)
    return line


def renew(cluster, party, daemon):
    """Run all of them, in order, for one party.  The exit codes and what they said."""
    out = {}
    for line in commands():
        if "pki issue" in line and f"--role {party} " not in line:
            continue
        if "pki issue" not in line:
            line = line.replace("shuffler", party)
        run = subprocess.run(on_this_machine(cluster, line, daemon), shell=True, cwd=cluster.dir, text=True,
                             capture_output=True)
        out[re.sub(r"^sudo (-u \S+ )?", "", line)] = run
    return out


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
    """Give the party a certificate that ends so many days from now."""
    ca = cas["clients" if party == "client" else "services"]
    install(cluster, certs.issue(cluster.path("made"), party, party, ca=ca, days=days), party)


def served_by(cluster):
    """The certificate that the shuffler shows to a newcomer."""
    link = wire.Link.dial(cluster.port, cluster.tls("client"))
    shown = link.sock.getpeercert(binary_form=True)
    link.close()
    return shown


def file_of(cluster, party):
    with open(cluster.path("installed", f"{party}.crt")) as f:
        return ssl.PEM_cert_to_DER_cert(f.read())


def check(cluster, party):
    run = cluster.run(party, "check")
    return run.returncode, run.stdout


def test_the_guide_has_a_command_for_each_party():
    said = commands()
    assert len(said) == 8, said
    for party in PARTIES:
        assert len([x for x in said if f"--role {party} " in x]) == 1, said


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

    # Put in place and not read: said, and by the daemon's own word.
    new = certs.issue(cluster.path("made"), "later", "shuffler", ca=cas["services"], days=(-1, 60))
    install(cluster, new, "shuffler")
    code, text = check(cluster, "shuffler")
    assert code == 1 and "certificate 59 d left" in text and "daemon uses another certificate" in text, text
    assert served_by(cluster) == old
    install(cluster, (cluster.path("made", "shuffler.crt"), cluster.path("made", "shuffler.key")), "shuffler")

    out = renew(cluster, "shuffler", shuffler.process.pid)
    *before, last = out.values()
    assert all(run.returncode == 0 for run in before), {k: (v.returncode, v.stderr) for k, v in out.items()}
    assert [run.stdout for run in before][0].endswith("renew\n")
    wait_for("the new certificate", lambda: served_by(cluster) == file_of(cluster, "shuffler") != old)
    code, text = check(cluster, "shuffler")
    assert code == 0 and "certificate 89 d left" in text and "another" not in text, text
    # Who was connected is: a round opens for both.
    d, data = analyzer.open_round(target=4, min_batch=4)
    assert device.round(after=0)[1] == data
    assert "needs-renewal" in next(iter(out)) and last.stdout, out
    run = subprocess.run([program("tombola"), "pki", "needs-renewal", cluster.path("installed", "shuffler.crt")],
                         capture_output=True, text=True)
    assert run.returncode == 1 and "no need" in run.stdout, run
    # Another time, and the folder of the last one: refused, nothing is written over.
    again = renew(cluster, "shuffler", shuffler.process.pid)
    issue = next(run for line, run in again.items() if "pki issue" in line)
    assert issue.returncode != 0 and "exist" in issue.stderr, issue


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

    out = renew(cluster, party, daemon.process.pid)
    assert [run.returncode for run in list(out.values())[:-1]] == [0] * 5, out
    wait_for("the connection, with the same process", lambda: '"msg":"connected' in daemon.log())
    assert daemon.alive()
    wait_for("health", lambda: check(cluster, party)[0] == 0)
    if party == "client":
        shown = subprocess.run([program("tombola"), "pki", "show", cluster.path("installed", "client.crt")],
                               capture_output=True, text=True).stdout
        assert re.search(r"^devices +1000$", shown, re.M), shown
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
