"""Through intakes, too: whom a round left out is counted, and certificates and lists of devices are taken up while they run."""
import pytest

import postgresql
import wire
from cluster import wait_for
from spread import Spread
from test_left_out import lines, policy_of
from test_metrics import values
from test_replaced import LIST, TAKEN, put, read, taken, warned
from test_tls import tombola

if not postgresql.programs():
    pytest.skip("no PostgreSQL server: deploy/setup.sh test", allow_module_level=True)


pytestmark = pytest.mark.heavy


def served_by(cluster, port):
    link = wire.Link.dial(port, cluster.tls("client"))
    der = link.sock.getpeercert(binary_form=True)
    link.close()
    return der


def test_devices_left_out_are_counted_and_files_are_taken_up_behind_an_intake(cluster):
    """Of 30 devices behind one certificate max_share takes six; then the intake has another certificate, the list ten devices more."""
    n = 30
    cluster.configure(min_batch=6, devices=50)
    policy_of(cluster, "shuffler", max_share=0.2)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i % 2}\n" for i in range(n + 10)))
    devices = cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(n)))
    text = read(cluster.path("client.conf")).decode()
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    row = {"type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0, "min_reports": 6, "target": n,
           "values": ["c0", "c1"], "window": "3s"}
    cluster.plan([{"query": "before", **row}, {"query": "after", **row}], epsilon=20.0)
    spread = Spread(cluster, intakes=1)
    head = spread.head()
    spread.start()
    intake = spread.daemons[0]
    client = cluster.start("client", "run")
    wait_for("the client", lambda: '"msg":"connected' in client.log())

    def left_out(number, devices):
        run = cluster.run("analyzer", "round", "run", str(number))
        assert run.returncode == 0, run.stderr
        result = cluster.json("analyzer", "round", "show", str(number))["result"]
        assert result["participants"] == 6
        assert [(l["why"], l["by"], l["devices"]) for l in result["left_out"]] == [("max_share", "shuffler", devices)], result
        return devices

    total = left_out(1, n - 6)
    wait_for("the client to be through", lambda: lines(client, "round done"))
    assert lines(client, "round done")[0]["over_limit"] == n - 6
    assert values(cluster, "shuffler")[("tombola_shuffler_left_out_total", "max_share")] == total

    # The intake's certificate is renewed for its key; half of it is no certificate.
    path, old = cluster.path("pki", "intake0", "intake0.crt"), served_by(cluster, spread.ports[0])
    tombola("pki", "renew", cluster.pki, path, "--out", cluster.path("renewed.crt"))
    renewed = read(cluster.path("renewed.crt"))
    put(path, renewed[:len(renewed) // 2])
    warned(intake, 1, path)
    assert served_by(cluster, spread.ports[0]) == old
    put(path, renewed)
    taken(intake, 1)
    wait_for("the renewed certificate", lambda: served_by(cluster, spread.ports[0]) != old)
    put(devices, "".join(f"d{i}\n" for i in range(n + 10)).encode())
    taken(client, 1, LIST)

    spread.wait_ready(0)
    total += left_out(2, n + 10 - 6)
    assert values(cluster, "shuffler")[("tombola_shuffler_left_out_total", "max_share")] == total
    assert head.alive() and intake.alive() and client.alive() and TAKEN not in head.log()
