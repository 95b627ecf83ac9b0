"""Certificates, revocation lists and lists of devices that are replaced under daemons: taken up without a signal, once they
are whole, under connections that stay."""
import os
import shutil
import subprocess

import pytest

import certs
import wire
from cluster import program, wait_for
from parties import Analyzer, Device
from test_renewal import check, file_of, install, served_by
from test_tls import cut, prepare, reached, tombola

KEPT, TAKEN = "a changed file is not taken up; the old ones stay", "changed certificates are taken up"
LIST = "the changed list of devices is taken up"


def kept(daemon):
    return [line for line in daemon.log().splitlines() if KEPT in line]


def put(path, data):
    """A file, by rename, as tools for renewal do."""
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.chmod(path + ".new", 0o600)
    os.rename(path + ".new", path)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def warned(daemon, n, *words):
    """The n-th warning has come, is one line, and has these words."""
    wait_for(f"warning {n}", lambda: len(kept(daemon)) >= n)
    assert len(kept(daemon)) == n and '"warn"' in kept(daemon)[-1], kept(daemon)
    assert all(word in kept(daemon)[-1] for word in words), kept(daemon)


def taken(daemon, n, what=TAKEN):
    wait_for(f"{what}, for the time {n}", lambda: daemon.log().count(what) >= n)
    assert daemon.log().count(what) == n, daemon.log()


def test_a_shuffler_takes_up_what_is_whole_while_a_round_is_open(cluster):
    prepare(cluster)
    install(cluster, [cluster.path("pki", "shuffler", f"shuffler.{end}") for end in ("crt", "key")], "shuffler")
    cert, key = cluster.path("installed", "shuffler.crt"), cluster.path("installed", "shuffler.key")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    device, analyzer = Device(cluster), Analyzer(cluster).dial()
    d, data = analyzer.open_round(target=4, min_reports=4)
    assert device.round()[1] == data
    old = served_by(cluster)

    # Renewed for the same key, but half of it is written.
    tombola("pki", "renew", cluster.pki, cert, "--out", cluster.path("renewed.crt"))
    renewed = read(cluster.path("renewed.crt"))
    with open(cert, "wb") as f:
        f.write(renewed[:len(renewed) // 2])
    warned(shuffler, 1, cert)
    assert served_by(cluster) == old
    with open(cert, "ab") as f:
        f.write(renewed[len(renewed) // 2:])
    taken(shuffler, 1)
    assert served_by(cluster) == file_of(cluster, "shuffler") != old

    # Another key, whose certificate comes later.
    tombola("pki", "issue", cluster.pki, "shuffler", "--role", "shuffler", "--hosts", "localhost,127.0.0.1", "--out",
            cluster.path("fresh"))
    old = served_by(cluster)
    put(key, read(cluster.path("fresh", "shuffler.key")))
    warned(shuffler, 2, key, "does not belong")
    code, text = check(cluster, "shuffler")
    assert code == 0 and served_by(cluster) == old, text
    put(cert, read(cluster.path("fresh", "shuffler.crt")))
    taken(shuffler, 2)
    assert served_by(cluster) == file_of(cluster, "shuffler") != old

    # What stood stays, and the round goes on by it.
    name = os.urandom(32)
    assert device.submit(d, [(name, device.seal(d, data, 1))]) == [wire.pb.OUTCOME_ACCEPTED]
    analyzer.extend()
    assert "certificates reloaded" not in shuffler.log()


def test_a_mount_of_kubernetes_is_swapped(cluster):
    """shuffler.crt -> ..data/shuffler.crt, and ..data is exchanged: no file of the folder itself changes."""
    cas = prepare(cluster)
    mount = cluster.path("installed")
    os.mkdir(mount)
    for version in ("..1", "..2"):
        os.mkdir(os.path.join(mount, version))
        made = certs.issue(cluster.path("made"), "shuffler", "shuffler", ca=cas["services"], days=(-1, 60))
        for f, end in zip(made, ("crt", "key")):
            shutil.copy(f, os.path.join(mount, version, f"shuffler.{end}"))
    os.symlink("..1", os.path.join(mount, "..data"))
    for end in ("crt", "key"):
        os.symlink(f"..data/shuffler.{end}", os.path.join(mount, f"shuffler.{end}"))
    text = read(cluster.path("shuffler.conf")).decode()
    cluster.write("shuffler.conf", text.replace("pki/shuffler/shuffler.crt", "installed/shuffler.crt")
                  .replace("pki/shuffler/shuffler.key", "installed/shuffler.key"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    old = served_by(cluster)
    os.symlink("..2", os.path.join(mount, "..data_tmp"))
    os.rename(os.path.join(mount, "..data_tmp"), os.path.join(mount, "..data"))
    taken(shuffler, 1)
    assert served_by(cluster) == file_of(cluster, "shuffler") != old
    assert kept(shuffler) == []


def test_a_revocation_list_that_is_replaced_ends_whom_it_names(cluster):
    prepare(cluster)
    tombola("pki", "issue", cluster.pki, "second", "--role", "client", "--out", cluster.path("made"))
    second = (cluster.path("made", "second.crt"), cluster.path("made", "second.key"))
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    doomed, device = reached(cluster, second), Device(cluster)
    path = cluster.path("pki", "shuffler", "clients-ca.crl")
    before = read(path)
    with open(path, "wb") as f:
        f.write(before[:-40])
    warned(shuffler, 1, path)
    put(path, before)
    taken(shuffler, 1)
    tombola("pki", "revoke", cluster.pki, second[0])
    taken(shuffler, 2)
    cut(doomed)
    with pytest.raises(wire.Refused) as e:
        device.round(wait_ms=0)
    assert e.value.code == wire.pb.ERROR_NOT_FOUND


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_a_party_that_dials_keeps_its_connection(cluster, party):
    prepare(cluster)
    install(cluster, [cluster.path("pki", party, f"{party}.{end}") for end in ("crt", "key")], party)
    cert, key = cluster.path("installed", f"{party}.crt"), cluster.path("installed", f"{party}.key")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    daemon = cluster.start(party, "run")
    wait_for("the connection", lambda: '"msg":"connected' in daemon.log())
    tombola("pki", "renew", cluster.pki, cert, "--out", cluster.path("renewed.crt"))
    put(cert, read(cluster.path("renewed.crt"))[:300])
    warned(daemon, 1, cert)
    put(cert, read(cluster.path("renewed.crt")))
    taken(daemon, 1)
    wait_for("health", lambda: "another certificate" not in check(cluster, party)[1])
    assert daemon.log().count('"msg":"connected') == 1, daemon.log()
    # Another CA of the services, which is not the shuffler's: the connection ends.
    trusted = cluster.path("pki", party, "services-ca.crt")
    before = read(trusted)
    put(trusted, read(cluster.path("made", "ca.crt")))
    wait_for("the refusal", lambda: "unknown CA" in daemon.log())
    put(trusted, before)
    wait_for("the connection again", lambda: daemon.log().count('"msg":"connected') == 2)
    assert daemon.alive() and shuffler.alive() and key


def test_a_client_with_another_key_is_another_party_at_once(cluster):
    prepare(cluster)
    install(cluster, [cluster.path("pki", "client", f"client.{end}") for end in ("crt", "key")], "client")
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    daemon = cluster.start("client", "run")
    wait_for("the connection", lambda: '"msg":"connected' in daemon.log())
    run = subprocess.run([program("tombola"), "pki", "issue", cluster.pki, "client", "--role", "client", "--devices", "1000",
                          "--out", cluster.path("fresh")], capture_output=True, text=True)
    assert run.returncode == 0, run
    put(cluster.path("installed", "client.key"), read(cluster.path("fresh", "client.key")))
    warned(daemon, 1, cluster.path("installed", "client.key"), "does not belong")
    put(cluster.path("installed", "client.crt"), read(cluster.path("fresh", "client.crt")))
    taken(daemon, 1)
    wait_for("a connection by the new key", lambda: daemon.log().count('"msg":"connected') == 2)


def test_a_list_of_devices_is_taken_up_between_rounds(cluster):
    """Six devices, then eight: the second round, of the same plan, has eight."""
    cluster.configure(min_batch=6, devices=8)
    readings = "device,colour\n" + "".join(f"d{i},c{i % 2}\n" for i in range(8))
    cluster.write("readings.csv", readings)
    devices = cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(6)))
    text = read(cluster.path("client.conf")).decode()
    cluster.write("client.conf", text.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";'))
    row = {"type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0, "min_reports": 6, "target": 8,
           "values": ["c0", "c1"], "window": "3s"}
    cluster.plan([{"query": "before", **row}, {"query": "after", **row}], epsilon=20.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    wait_for("the client", lambda: '"msg":"connected' in client.log())

    def participants(n):
        run = cluster.run("analyzer", "round", "run", str(n))
        assert run.returncode == 0, run.stderr
        return cluster.json("analyzer", "round", "show", str(n))["result"]["participants"]

    assert participants(1) == 6
    with open(devices, "a") as f:
        f.write("d6\nd6\n")
    warned(client, 1, f"{devices}:8", "again")
    put(devices, "".join(f"d{i}\n" for i in range(8)).encode())
    taken(client, 1, LIST)
    assert '"devices":8' in client.log()
    assert participants(2) == 8
    assert TAKEN not in client.log() and client.log().count('"msg":"connected') == 1
