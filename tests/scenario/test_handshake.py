"""What a handshake leaves behind, may be repeated, and may carry: no sessions, no second one, no chain without end."""
import os
import socket
import subprocess

import pytest

import wire
from cluster import wait_for
from test_tls import prepare, served
from wire import Refused, pb


def s_client(cluster, *args, stdin=b""):
    """OpenSSL's own client with a good certificate, and what it says."""
    folder = cluster.path("pki", "client")
    run = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{cluster.port}", "-cert", f"{folder}/client.crt",
                          "-key", f"{folder}/client.key", "-CAfile", f"{folder}/services-ca.crt", "-alpn", "tombola/1",
                          "-servername", "localhost", *args], input=stdin, capture_output=True, timeout=180)
    return (run.stdout + run.stderr).decode(errors="replace")


def test_there_is_nothing_to_resume_and_nothing_early(cluster):
    """No ticket comes, so no session that began before a revocation goes on after it; nor can data come early."""
    prepare(cluster)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    folder = cluster.path("pki", "client")
    ctx = wire.tls_context(False, f"{folder}/client.crt", f"{folder}/client.key", f"{folder}/services-ca.crt")
    first = wire.Link.dial(cluster.port, ctx)
    with pytest.raises(Refused):
        first.ask("round", get_round=pb.GetRound(population="test", after=0, wait_ms=0))
    session = first.sock.session
    assert session is not None and not session.has_ticket
    raw = socket.create_connection(("127.0.0.1", cluster.port), 20)
    again = ctx.wrap_socket(raw, server_hostname="localhost", session=session)
    assert not again.session_reused
    said = s_client(cluster, "-sess_out", cluster.path("session"))
    assert "Verify return code: 0" in said and "New Session Ticket" not in said and not os.path.exists(
        cluster.path("session")), said
    served(cluster)


HYBRID, X25519 = 0x11EC, 0x001D  # IANA's numbers of TLS groups


def has_hybrid(cluster):
    """OpenSSL of this machine knows X25519MLKEM768 (from 3.5 on)."""
    return "Call to SSL_CONF_cmd" not in s_client(cluster, "-groups", "X25519MLKEM768")


def key_shares(hello):
    """The groups of a ClientHello's key shares (RFC 8446, 4.1.2 and 4.2.8), in order."""
    def take(n):
        nonlocal hello
        head, hello = hello[:n], hello[n:]
        return head
    take(5 + 4 + 2 + 32)  # headers of the record and of the message, version, random
    take(take(1)[0])
    take(int.from_bytes(take(2), "big"))
    take(take(1)[0])
    take(2)
    while hello:
        kind, body = int.from_bytes(take(2), "big"), take(int.from_bytes(take(2), "big"))
        if kind == 51:
            shares, at = [], 2
            while at < len(body):
                shares.append(int.from_bytes(body[at:at + 2], "big"))
                at += 4 + int.from_bytes(body[at + 2:at + 4], "big")
            return shares
    return []


def test_the_key_exchange_is_hybrid_where_openssl_has_it(cluster):
    prepare(cluster)
    hybrid = has_hybrid(cluster)
    best = "X25519MLKEM768" if hybrid else "X25519"
    # What both daemons send first: a share of each group, so that an answer never begins with another try.
    with socket.create_server(("127.0.0.1", cluster.port)) as listener:
        for party in ("client", "analyzer"):
            daemon = cluster.start(party, "run")
            raw, _ = listener.accept()
            raw.settimeout(180)
            hello = raw.recv(5, socket.MSG_WAITALL)
            hello += raw.recv(int.from_bytes(hello[3:], "big"), socket.MSG_WAITALL)
            assert key_shares(hello) == ([HYBRID, X25519] if hybrid else [X25519]), party
            raw.close()
            daemon.kill()
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    for party in ("client", "analyzer"):
        daemon = cluster.start(party, "run")
        wait_for("the group", lambda d=daemon: f'"tls_group":"{best}"'.lower() in d.log().lower())
        daemon.stop()
    # A peer of either kind is served, at the first try; one with neither group is not.
    for groups, good in (("X25519", True), ("P-256:X25519", True), ("P-256", False)) + ((best, True),) * hybrid:
        said = s_client(cluster, "-groups", groups, "-msg")
        assert ("New, TLSv1.3, Cipher is" in said) == good, (groups, said)
        if groups == best:
            assert said.count("ServerHello") == 1, said


def test_a_second_handshake_within_a_connection_is_refused(cluster):
    """TLS 1.3 knows no renegotiation, and a change of keys is the peer's right: neither costs anyone else anything."""
    prepare(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    said = s_client(cluster, stdin=b"R\n")
    assert "TLSv1.3" in said, said
    s_client(cluster, stdin=b"K\nk\nK\n" * 50)
    assert shuffler.alive()
    served(cluster)


def test_a_certificate_chain_that_is_too_long_is_refused(cluster):
    """A thousand certificates: more than a handshake takes, and no daemon keeps them."""
    prepare(cluster)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    pair = (cluster.path("pki", "client", "client.crt"), cluster.path("pki", "client", "client.key"))
    with open(pair[0]) as f:
        own = f.read()
    with open(cluster.path("made", "ca.crt")) as f:
        other = f.read()
    chain = cluster.write("chain.crt", own + other * 1000)
    ctx = wire.tls_context(False, chain, pair[1], cluster.path("pki", "client", "services-ca.crt"))
    with pytest.raises((OSError, EOFError)):
        wire.Link.dial(cluster.port, ctx)
    wait_for("the shuffler's line", lambda: "connection refused" in shuffler.log())
    served(cluster)
