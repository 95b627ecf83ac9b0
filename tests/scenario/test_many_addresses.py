"""A client that has several addresses of its shuffler: it finds one that answers, and goes on with another when that ends."""
import re
import socket
import threading

from cluster import EXIT, free_port, wait_for
from relay import Relay
from test_clock_steps import N, counts_once
from test_rounds import histogram, readings


def dials(cluster, *ports, then=""):
    """The client's configuration with these ports as the shuffler's addresses."""
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    listed = ", ".join(f'"127.0.0.1:{p}"' for p in ports)
    cluster.write("client.conf", re.sub("shuffler = .*;", f"shuffler = [ {listed} ];", text, count=1) + then)


def chosen(client):
    """The ports of the connections that were made, in order."""
    return [int(p) for p in re.findall(r'"connected","shuffler":"127.0.0.1:(\d+)"', client.log())]


def test_the_first_address_is_dead_and_the_second_answers(cluster):
    cluster.configure(min_batch=N, devices=N)
    readings(cluster, N)
    cluster.plan([histogram(N, 3.0)], epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    dead = free_port()
    dials(cluster, dead, cluster.port)
    run = cluster.run("client", "check-config")
    assert run.returncode == 0 and f"127.0.0.1:{dead}, 127.0.0.1:{cluster.port}" in run.stdout, run
    for starts in range(1, 61):  # the order is random: 60 starts begin with the same address with a chance of 2^-59
        client = cluster.start("client", "run")
        wait_for("a connection", lambda: len(chosen(client)) == starts)
        if f"127.0.0.1:{dead}: cannot connect: connection refused" in client.log():
            break
        client.stop()
    assert client.alive(), client.log()
    assert set(chosen(client)) == {cluster.port}
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    counts_once(cluster)


def test_an_address_dies_in_the_middle_of_a_round(cluster):
    """What was sent over it is sent again over the other; every report is counted once."""
    cluster.configure(min_batch=N, devices=N)
    readings(cluster, N)
    cluster.plan([histogram(N, 3.0)], epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    relays = {r.listener.getsockname()[1]: r for r in (Relay(cluster, "client"), Relay(cluster, "client"))}
    dials(cluster, *relays, then='connections = 1; frame_devices = 1; spread = "6s";\n')
    try:
        client = cluster.start("client", "run")
        wait_for("a connection", lambda: chosen(client))
        first, = chosen(client)
        analyzer = cluster.start("analyzer", "run", "--once")
        wait_for("sealed reports", lambda: cluster.json("client", "status")["stored"] > 0)
        relays[first].hold_back()
        wait_for("a receipt that is held back", lambda: relays[first].held > 0)
        relays[first].die()
        assert analyzer.wait() == 0, analyzer.log()
        wait_for("the client to be through",
                 lambda: any(x["kind"] == "over" for x in cluster.json("client", "status")["ledger"]))
        counts_once(cluster)
        other, = set(relays) - {first}
        assert chosen(client) == [first, other] and relays[other].made == 1, client.log()
    finally:
        for r in relays.values():
            r.close()


def test_errors_and_check_config_name_every_address(cluster):
    cluster.configure(devices=N)
    readings(cluster, N)
    ports = [free_port(), free_port(), free_port()]
    dials(cluster, *ports)
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--wait", "2s")
    assert run.returncode == EXIT["unavailable"], run
    for p in ports:
        assert f"127.0.0.1:{p}: cannot connect: connection refused" in run.stderr, run.stderr
    dials(cluster, ports[0], "nonsense", ports[0], "99999")
    run = cluster.run("client", "check-config")
    assert run.returncode == EXIT["config"]
    assert f"shuffler: '127.0.0.1:{ports[0]}' stands twice" in run.stderr
    assert "'127.0.0.1:nonsense': the port is not" in run.stderr and "'127.0.0.1:99999': the port is not" in run.stderr
    dials(cluster)
    run = cluster.run("client", "check-config")
    assert run.returncode == EXIT["config"] and "number of items out of range for 'shuffler' (1 to 8)" in run.stderr, run.stderr


def test_an_address_with_another_role_is_passed_over(cluster):
    """One that will always refuse ends a verb only when every address does."""
    cluster.configure(min_batch=N, devices=N)
    readings(cluster, N)
    cluster.plan([histogram(N, 3.0)], epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("analyzer", "run", "--once")  # its round waits for reports
    encode = ("encode", "--dry-run", cluster.path("readings.csv"), "--device-field", "device")
    met, tls = [], cluster.tls("client", server=True)

    def serve(listener):
        while True:
            try:
                raw, _ = listener.accept()
                met.append(raw)
                tls.wrap_socket(raw, server_side=True).recv(1)
            except OSError:
                if listener.fileno() < 0:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        stranger = listener.getsockname()[1]
        dials(cluster, stranger, cluster.port)
        while not met:
            run = cluster.run("client", *encode)
            assert run.returncode == 0, run.stderr
        assert run.returncode == 0, run.stderr
        dials(cluster, stranger)
        run = cluster.run("client", *encode)
        assert run.returncode == EXIT["permission"], run
