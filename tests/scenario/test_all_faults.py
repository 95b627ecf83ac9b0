"""Eighteen settings that are wrong at once: check-config of each daemon names every one in one pass, with file, line, key and
what to do."""
import contextlib
import os
import pty
import subprocess

from cluster import EXIT, program

ROW = {"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0, "min_reports": 3, "target": 5,
       "values": ["c0", "c1"], "window": "3s"}
# File, what stands there, what is written in its place, and the words of the line that says so: the key, both values or both
# files, and the remedy.
FAULTS = {
    "client": [
        ("client.conf", 'http = "127', 'htpp = "127', ["unknown key 'htpp'", "did you mean 'http'"]),
        ("client.conf", 'prepare = "50ms"', 'prepare = "50"', ["'prepare'", '"250ms"']),
        ("client.conf", "pki/client/analyzer-sign.pub", "pki/client/shuffler-sign.pub",
         ["analyzer_key: ", "shuffler-sign.pub: by its name this is the key of the shuffler", "analyzer-sign.pub belongs here"]),
        ("client.conf", "pki/client/client.key", "pki/shuffler/shuffler.key",
         ["tls.key: ", "shuffler.key: this key does not belong to certificate", "client.crt", "both of one pair"]),
        ("client.conf", "pki/client/services-ca.crt", "pki/ca-clients/ca.crt",
         ["tls.services_ca: ", "ca-clients/ca.crt", "tls.cert", "bring services-ca.crt"]),
        ("client-policy.conf", 'population = "test"', 'population = "tset"', ["population is not 'test'", "client.conf", "'tset'"]),
        ("client.conf", 'device_field = "device"', 'device_field = "device"; devices = "devices.txt"',
         ["input.devices: ", "devices.txt lists 9 devices", "client.crt speaks for 5", "pki renew --devices"]),
    ],
    "shuffler": [
        ("shuffler.conf", "pki/shuffler/services-ca.crt", "pki/shuffler/clients-ca.crt",
         ["tls.services_ca: ", "clients-ca.crt", "tls.cert", "clients_ca did: exchange the two"]),
        ("shuffler.conf", "pki/shuffler/analyzer-sign.pub", "pki/ca-services/shuffler-sign.pub",
         ["analyzer_key: ", "the shuffler's own key, not the analyzer's", "bring analyzer-sign.pub"]),
        ("shuffler.conf", "pki/shuffler/clients-ca.crl", "pki/ca-clients/ca.crt",
         ["tls.clients_crl: ", "ca.crt: not a file of PEM revocation lists"]),
        ("shuffler.conf", 'listen = "127.0.0.1:', 'listen = "127.0.0.1 ', ["listen: ", "127.0.0.1 ", "HOST:PORT"]),
        ("shuffler-policy.conf", "max_share = 1.0", "max_share = 2.0", ["'max_share'", "1e-06 to 1"]),
    ],
    "analyzer": [
        ("analyzer.conf", "pki/analyzer/analyzer.crt", "pki/client/client.crt",
         ["tls.cert: ", "client.crt: a certificate of role client; must be analyzer", "pki issue --role analyzer"]),
        ("analyzer.conf", "pki/analyzer/shuffler-sign.pub", "pki/analyzer/shuffler.pub", ["shuffler_key: ", "shuffler.pub", "no such file"]),
        ("analyzer.conf", "pki/analyzer/services-ca.crt", "pki/analyzer/services.crt",
         ["tls.services_ca: ", "services.crt", "No such file"]),
        ("plan.conf", '"histogram"', '"histogramm"', ["'type'", 'did you mean "histogram"']),
    ],
}


def wrong(cluster, party):
    """The settings' places: file:line of each, once all are wrong."""
    for name, right, put, _ in FAULTS[party]:
        with open(cluster.path(name)) as f:
            text = f.read()
        assert right in text, (name, right)
        cluster.write(name, text.replace(right, put, 1))
    if party == "shuffler":  # the CAs are exchanged
        with open(cluster.path("shuffler.conf")) as f:
            text = f.read()
        cluster.write("shuffler.conf", text.replace('clients_ca = "pki/shuffler/clients-ca.crt"',
                                                    'clients_ca = "pki/shuffler/services-ca.crt"'))
    out = []
    for name, _, put, words in FAULTS[party]:
        with open(cluster.path(name)) as f:
            line, = [i for i, x in enumerate(f, 1) if put in x and not (put.endswith("ca.crt") and "cert =" in x)][:1]
        out.append((f"{cluster.path(name)}:{line}: ", words))
    return out


def at_terminal(cluster, *args):
    ours, theirs = pty.openpty()
    try:
        run = subprocess.run([program("tombola-client"), "--config", cluster.path("client.conf"), *args], stdout=theirs,
                             stderr=subprocess.PIPE, text=True)
    finally:
        os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # its end
        while part := os.read(ours, 65536):
            said += part
    os.close(ours)
    return run, said.decode()


def prepare(cluster):
    cluster.configure(devices=5)
    cluster.plan([ROW])
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(9)))
    cluster.write("readings.csv", "meter,colour\nm1,c0\n")


def test_eighteen_at_once(cluster):
    prepare(cluster)
    seen = 0
    for party in FAULTS:
        assert cluster.run(party, "check-config").returncode == 0
        places = wrong(cluster, party)
        run = cluster.run(party, "check-config")
        assert run.returncode == EXIT["config"], run
        for place, words in places:
            lines = [x for x in run.stderr.splitlines() if x.startswith(place) and all(word in x for word in words)]
            assert len(lines) == 1, (place, words, run.stderr)
            seen += 1
    # Two more are told to a person alone, beside the faults: what is in a file of readings may depend on them.
    conf = cluster.path("client.conf")
    run, said = at_terminal(cluster, "check-config")
    assert run.returncode == EXIT["config"] and f"{conf}:9: input.device_field: " in said, (run, said)
    assert "readings.csv:1: no column 'device'" in said and "correct one" in said, said
    os.unlink(cluster.path("readings.csv"))
    run, said = at_terminal(cluster, "check-config")
    assert f"{conf}:9: input.path: {cluster.path('readings.csv')}: No such file" in said and "until it is there" in said, said
    assert seen + 2 == 18
    quiet = cluster.run("client", "check-config")
    assert "input.path" not in quiet.stdout + quiet.stderr, quiet


def test_one_ca_for_both(cluster):
    """Whoever has the analyzer's CA could enrol clients."""
    prepare(cluster)
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    cluster.write("shuffler.conf", text.replace('clients_ca = "pki/shuffler/clients-ca.crt"',
                                                'clients_ca = "pki/shuffler/services-ca.crt"'))
    run = cluster.run("shuffler", "check-config")
    assert run.returncode == EXIT["permission"] and "tls.clients_ca: " in run.stderr, run
    assert "it is the services' CA, not the clients': bring clients-ca.crt" in run.stderr, run


def test_a_list_that_outgrew_its_certificate_stops_nothing(cluster):
    prepare(cluster)
    wrong_list = FAULTS["client"][-1]
    with open(cluster.path("client.conf")) as f:
        text = f.read()
    cluster.write("client.conf", text.replace(wrong_list[1], wrong_list[2]))
    run = cluster.run("client", "check-config")
    assert run.returncode == 0 and "lists 9 devices" in run.stderr and "speaks for 5" in run.stderr, run
    for i in range(5, 9):
        text = "".join(f"d{j}\n" for j in range(i))
        cluster.write("devices.txt", text)
        run = cluster.run("client", "check-config")
        assert ("lists" in run.stderr) == (i > 5), run
