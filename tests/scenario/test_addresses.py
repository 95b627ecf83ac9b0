"""A host with several addresses, of which one listens: daemons reach it, and name those that they tried when none does."""
import re
import socket
import ssl
import threading

import pytest

import certs
from broker import Broker
from cluster import free_port, wait_for
from test_mqtt import reading, subscribed, use_mqtt
from test_rounds import histogram, readings

LISTENS = "127.0.0.2"  # sorts after 127.0.0.1 (RFC 6724, rule 9: the longest prefix shared with the source)
HOSTS = f"127.0.0.1\tlocalhost\n{LISTENS}\tlocalhost\n::1     localhost ip6-localhost ip6-loopback\n"
N = 40


@pytest.fixture
def named(cluster):
    """The parties dial "localhost", which has three addresses."""
    cluster.configure(min_batch=N, devices=N)
    if not cluster.hosts(HOSTS):
        pytest.skip("this kernel gives us no mount namespace of our own")
    for party in ("client", "analyzer", "shuffler"):
        with open(cluster.path(f"{party}.conf")) as f:
            text = f.read()
        text = text.replace(f'shuffler = "127.0.0.1:{cluster.port}"', f'shuffler = "localhost:{cluster.port}"')
        cluster.write(f"{party}.conf", text.replace(f'listen = "127.0.0.1:{cluster.port}"',
                                                    f'listen = "{LISTENS}:{cluster.port}"'))
    return cluster


def test_a_round_by_the_address_that_listens(named):
    readings(named, N)
    named.plan([histogram(N, 3.0)], epsilon=20.0)
    shuffler = named.start("shuffler", "run")
    wait_for("the shuffler to listen", lambda: '"shuffler ready"' in shuffler.log())
    named.start("client", "run")
    run = named.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    assert named.json("analyzer", "round", "show", "1")["result"]["reports"] == N


def test_a_shuffler_that_is_nowhere_is_said_with_every_address(named):
    client = named.start("client", "run")
    wait_for("the reason", lambda: "no connection" in client.log())
    tried = re.search(rf"localhost:{named.port}: cannot connect: ([^\"]*)", client.log())[1].split("; ")
    assert sorted(t.split(": ")[0] for t in tried) == sorted(
        f"{a}:{named.port}" for a in ("127.0.0.1", LISTENS, "[::1]")), tried
    assert f"{LISTENS}:{named.port}: connection refused" in tried


def test_readings_by_the_address_where_the_broker_listens(named):
    folder = named.path("pki")
    ca = certs.authority(folder, "site", "site CA")
    cert, key = certs.issue(folder, "broker", "shuffler", ca)  # of localhost, and of no address but 127.0.0.1
    broker = Broker(named, f"cafile {folder}/site.crt", f"certfile {cert}", f"keyfile {key}", "allow_anonymous true",
                    start=False, host=LISTENS)
    use_mqtt(named, broker, host='"localhost"', tls='{ ca = "pki/site.crt"; }')
    client = named.start("client", "run")
    wait_for("the client to say it", lambda: "MQTT broker, retrying" in client.log())
    said = client.log()
    for address in ("127.0.0.1", LISTENS):
        # libmosquitto 2.0.21 keeps the reason to itself.
        assert re.search(f"{address}:{broker.port}: (Connection refused|cannot connect)", said), said
    assert f"[::1]:{broker.port}: " in said
    broker.start()
    subscribed(named)
    assert client.log().count("MQTT broker, retrying") == 1


@pytest.mark.parametrize("host,name", [("localhost", "localhost"), ("127.0.0.1", None)])
def test_the_broker_is_asked_for_by_its_name(cluster, host, name):
    """Server name indication (RFC 6066, 3): the name that was configured, and never an address."""
    cluster.configure()
    folder = cluster.path("pki")
    pair = certs.issue(folder, "broker", "shuffler", certs.authority(folder, "site", "site CA"))
    asked, tls = [], ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*pair)
    tls.sni_callback = lambda _, server_name, __: asked.append(server_name)
    broker = Broker(cluster, start=False)
    broker.port = free_port()
    use_mqtt(cluster, broker, host=f'"{host}"', tls='{ ca = "pki/site.crt"; }')

    def serve(listener):
        while True:
            try:
                raw, _ = listener.accept()
                tls.wrap_socket(raw, server_side=True).close()
            except OSError:
                return

    with socket.create_server(("127.0.0.1", broker.port)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        cluster.start("client", "run")
        wait_for("a handshake", lambda: asked)
    assert set(asked) == {name}
