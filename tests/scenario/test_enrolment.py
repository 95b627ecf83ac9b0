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
    revoked = tombola("pki", "revoke", cluster.path("pki"), cluster.path("inbox", "client.crt"))
    assert revoked.returncode == 0, revoked
    client.stop()
    assert "refused our certificate" not in client.log()
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
