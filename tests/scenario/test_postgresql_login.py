"""A database that refuses the shuffler's login: what an operator must mend ends the start, in whatever language the server says it,
and what may pass is waited for.  A database on another host without a standby is warned of."""
import os
import shutil
import socket
import struct
import subprocess
import threading

import pytest

import postgresql
from cluster import EXIT, wait_for

if not postgresql.programs():
    pytest.skip("no PostgreSQL server: deploy/setup.sh test", allow_module_level=True)


class Refusing(threading.Thread):
    """A server that speaks German and refuses every connection with this SQLSTATE."""

    def __init__(self, state, text):
        super().__init__(daemon=True)
        fields = (("S", "SCHWERWIEGEND"), ("V", "FATAL"), ("C", state), ("M", text), ("F", "auth.c"), ("L", "1"), ("R", "f"))
        body = b"".join(k.encode() + v.encode() + b"\0" for k, v in fields) + b"\0"
        self.reply = b"E" + struct.pack(">I", len(body) + 4) + body
        self.socket, self.asked = socket.create_server(("127.0.0.1", 0)), 0
        self.start()

    def run(self):
        while True:
            try:
                conn = self.socket.accept()[0]
            except OSError:
                return
            with conn:
                conn.recv(10000)
                self.asked += 1
                conn.sendall(self.reply)

    def string(self):
        return f"host=127.0.0.1 port={self.socket.getsockname()[1]} user=x dbname=x sslmode=disable"


def use(cluster, server):
    cluster.use(postgresql.shared())
    cluster.store = f'store = "postgresql"; database = "{server.string()}";\n'
    cluster.configure()


@pytest.mark.parametrize("state, text", [
    ("28P01", "Passwort-Authentifizierung fehlgeschlagen"),
    ("28000", "kein pg_hba.conf-Eintrag"),
    ("3D000", "Datenbank »x« existiert nicht"),
    ("42501", "keine Berechtigung für Datenbank »x«"),
])
def test_what_must_be_mended_ends_the_start_in_any_language(cluster, state, text):
    server = Refusing(state, text)
    use(cluster, server)
    run = cluster.run("shuffler", "run")
    assert run.returncode == EXIT["permission"] and run.stderr.count("\n") == 1 and text in run.stderr, run.stderr
    server.socket.close()


@pytest.mark.parametrize("state, text", [("53300", "zu viele Verbindungen"), ("57P03", "das Datenbanksystem startet")])
def test_what_may_pass_is_waited_for(cluster, state, text):
    server = Refusing(state, text)
    use(cluster, server)
    shuffler = cluster.start("shuffler", "run")
    wait_for("some attempts", lambda: server.asked >= 4 and text in shuffler.log())
    assert shuffler.alive() and shuffler.log().count("waiting for the database") == 1
    shuffler.kill()
    server.socket.close()


@pytest.mark.parametrize("address, warned", [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_database_elsewhere_without_a_standby_is_warned_of(cluster, address, warned):
    """0.0.0.0 leads to this host and is no address of it."""
    server = postgresql.Server()
    key, cert = os.path.join(server.data, "server.key"), os.path.join(server.data, "server.crt")
    subprocess.run([*server.as_user, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    os.chmod(key, 0o600)
    server.stop("fast")
    server.set(listen_addresses="127.0.0.1", ssl="on", ssl_cert_file=cert, ssl_key_file=key)
    server.start()
    cluster.use(server)
    root = shutil.copy(cert, cluster.path("root.crt"))
    cluster.store = (f'store = "postgresql"; database = "host=localhost hostaddr={address} port={server.port} '
                     f'user={cluster.database} dbname={cluster.database} sslmode=verify-full sslrootcert={root}";\n')
    cluster.configure()
    shuffler = cluster.start("shuffler", "run")
    wait_for("the shuffler", lambda: "shuffler ready" in shuffler.log())
    assert ("synchronous_standbys = 0" in shuffler.log()) == warned, shuffler.log()
    shuffler.stop()
    server.close()
