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
                          "-servername", "localhost", *args], input=stdin, capture_output=True, timeout=30)
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
