"""Enrolment by request: keys made where they stay, certified by the CA's host, at work in a round."""
import json
import os
import shutil
import subprocess

from cluster import EXIT, program, wait_for
from test_tls import hup

N = 4


def tombola(*args, cwd=None):
    return subprocess.run([program("tombola"), *args], capture_output=True, text=True, cwd=cwd, timeout=300)


def enrol(cluster, party, *options):
    """The party makes its key in its own folder; only the request leaves it, and only the certificate comes back."""
    there, here = cluster.path("pki", party), cluster.path("inbox")
    for end in ("crt", "key"):
        os.remove(os.path.join(there, f"{party}.{end}"))
    sign = os.path.join(there, f"{party}-sign.key")
    before = os.path.exists(sign) and open(sign, "rb").read()
    made = tombola("pki", "request", party, "--role", party, "--out", there)
    assert made.returncode == 0, made
    # A signing key that is there is the one that others know.
    assert not before or open(sign, "rb").read() == before
    os.makedirs(here, exist_ok=True)
    shutil.move(os.path.join(there, f"{party}.csr"), here)
    signed = tombola("pki", "sign", cluster.path("pki"), os.path.join(here, f"{party}.csr"), "--role", party, *options)
    assert signed.returncode == 0, signed
    assert not any(name.endswith(".key") for name in os.listdir(here))
    shutil.copy(os.path.join(here, f"{party}.crt"), there)


def test_all_three_enrol_by_request_and_run_a_round(cluster):
    cluster.two_colours(N)
    enrol(cluster, "client", "--devices", str(N))
    enrol(cluster, "shuffler", "--hosts", "localhost,127.0.0.1")
    enrol(cluster, "analyzer")
    shuffler = cluster.start("shuffler", "run")
    client = cluster.start("client", "run")
    done = cluster.run("analyzer", "run", "--once")
    assert done.returncode == 0, done.stderr
    assert cluster.json("analyzer", "estimate", "colour")["participants"] == N

    # A certificate that came by request is taken back as any other is.
    client.stop()
    assert "refused our certificate" not in client.log()
    revoked = tombola("pki", "revoke", cluster.path("pki"), cluster.path("inbox", "client.crt"))
    assert revoked.returncode == 0, revoked
    hup(shuffler)
    client = cluster.start("client", "run")
    wait_for("the refusal", lambda: "refused our certificate: revoked" in client.log())


def test_the_signer_says_for_how_many_a_client_speaks(cluster):
    """The number is the signer's: a request that asks for more gets none, and the certificate says what is given."""
    cluster.two_colours(N)
    there = cluster.path("pki", "client")
    os.remove(os.path.join(there, "client.crt"))
    subprocess.run(["openssl", "req", "-new", "-key", os.path.join(there, "client.key"), "-subj", "/CN=client", "-addext",
                    "subjectAltName=URI:tombola:devices:4", "-out", os.path.join(there, "asks.csr")], check=True,
                   capture_output=True)
    run = tombola("pki", "sign", cluster.path("pki"), os.path.join(there, "asks.csr"), "--role", "client")
    assert run.returncode == EXIT["permission"]
    assert "it asks for 4 devices, and --devices says 1" in run.stderr and run.stderr.count("\n") == 1, run
    # That key was certified when the deployment was made: it is the same participant under whatever name.
    run = tombola("pki", "sign", cluster.path("pki"), os.path.join(there, "asks.csr"), "--role", "client", "--devices", "4")
    assert run.returncode == EXIT["permission"] and "its key has a certificate already: " in run.stderr, run
    assert not os.path.exists(os.path.join(there, "asks.crt"))


def test_a_folder_of_many_is_signed_in_one_go(cluster):
    asked, given, names = cluster.path("asked"), cluster.path("given"), [f"gw-{i:02}" for i in range(40)]
    for name in names:
        assert tombola("pki", "request", name, "--role", "client", "--out", asked).returncode == 0
    os.symlink(os.path.join(asked, "gw-00.csr"), os.path.join(asked, "gw-link.csr"))
    run = tombola("pki", "sign", cluster.path("pki"), asked, "--role", "client", "--devices", "9", "--out", given)
    assert run.returncode == EXIT["permission"] and run.stdout.endswith("40 signed, 1 refused\n"), run
    assert run.stderr.count("\n") == 1 and "gw-link.csr: a symbolic link" in run.stderr
    assert [n[:-4] for n in sorted(os.listdir(given)) if n.startswith("gw-")] == names
    shown = json.loads(tombola("pki", "show", "--json", os.path.join(given, "gw-07.crt")).stdout)
    assert (shown["name"], shown["role"], shown["devices"]) == ("gw-07", "client", 9)


def shown(path):
    run = tombola("pki", "show", path, "--json")
    assert run.returncode == 0, run
    return json.loads(run.stdout)


def test_a_folder_of_clients_is_renewed_for_more_devices(cluster):
    """The same keys and names, another number of devices; what cannot be renewed is said, a line each, and stops nothing."""
    pki, folder, out = cluster.pki, cluster.path("fleet"), cluster.path("renewed")
    for i in range(3):
        made = tombola("pki", "issue", pki, f"gw-{i}", "--role", "client", "--devices", "500", "--out", folder)
        assert made.returncode == 0, made
    before = {i: shown(os.path.join(folder, f"gw-{i}.crt")) for i in range(3)}
    revoked = tombola("pki", "revoke", pki, os.path.join(folder, "gw-1.crt"))
    assert revoked.returncode == 0, revoked
    with open(os.path.join(folder, "notes.crt"), "w") as f:
        f.write("no certificate\n")
    run = tombola("pki", "renew", pki, folder, "--devices", "600", "--days", "30", "--out", out)
    assert run.returncode == EXIT["permission"], run
    assert "2 renewed, 2 refused" in run.stdout and "600 devices" in run.stdout, run.stdout
    said = run.stderr.splitlines()
    assert len(said) == 2 and "gw-1.crt" in said[0] and "revoked" in said[0] and "notes.crt" in said[1], said
    assert sorted(os.listdir(out)) == ["gw-0.crt", "gw-2.crt"]  # services-ca.crt, beside them, is a CA's
    for i in (0, 2):
        after = shown(os.path.join(out, f"gw-{i}.crt"))
        assert (before[i]["devices"], after["devices"]) == (500, 600)
        assert all(after[key] == before[i][key] for key in ("key_sha256", "name", "role", "hosts")), after
    # Again: nothing is written over.
    run = tombola("pki", "renew", pki, folder, "--devices", "700", "--out", out)
    assert "0 renewed, 4 refused" in run.stdout and shown(os.path.join(out, "gw-0.crt"))["devices"] == 600, run
    run = tombola("pki", "renew", pki, os.path.join(pki, "shuffler", "shuffler.crt"), "--devices", "2")
    assert run.returncode == EXIT["usage"] and "only a client" in run.stderr, run
