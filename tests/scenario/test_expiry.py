"""Files with a date: what ends is said before and after, by check, check-config, metrics and both sides of a refusal."""
import datetime
import os
import urllib.error
import urllib.request

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

import certs
from cluster import EXIT, wait_for

NOW = datetime.datetime.utcnow()
PARTIES = ("client", "shuffler", "analyzer")


def ready(cluster):
    cluster.two_colours(4)
    for party in ("client", "analyzer"):
        with open(cluster.path(party + ".conf")) as f:
            text = f.read()
        assert "services_crl" not in text
        cluster.write(party + ".conf", text.replace("tls = {", f'tls = {{ services_crl = "pki/{party}/services-ca.crl"; ', 1))


def list_of(cluster, ca, days):
    """A list of this CA that is updated next in so many days; PEM."""
    cert, key = certs.load_authority(cluster.path("pki", "ca-" + ca))
    end = NOW + days * certs.DAY
    made = (x509.CertificateRevocationListBuilder().issuer_name(cert.subject)
            .last_update(min(NOW, end) - certs.DAY).next_update(end).sign(key, hashes.SHA256()))
    return made.public_bytes(serialization.Encoding.PEM), int(end.replace(tzinfo=datetime.timezone.utc).timestamp())


def not_ready(cluster, party):
    """Why the running party is not ready; None: it is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http[party]}/readyz", timeout=20):
            return None
    except urllib.error.HTTPError as no:
        assert no.code == 503
        return no.read().decode()


@pytest.mark.parametrize("party", PARTIES)
def test_a_list_ends_like_a_certificate(cluster, party):
    ready(cluster)
    ca = "clients" if party == "shuffler" else "services"
    path = cluster.path("pki", party, f"{ca}-ca.crl")
    for days, code, word in ((3, 1, "_crl 2 d left"), (-2, 2, f"{path}: the revocation list of")):
        pem, end = list_of(cluster, ca, days)
        certs.write(path, pem)
        check = cluster.run(party, "check", "--warn-spent", "101")
        assert check.returncode == 2 and word in check.stdout, check.stdout  # no daemon answers
        config = cluster.run(party, "check-config")
        assert config.returncode == (0 if days > 0 else EXIT["permission"]), config.stderr
        daemon = cluster.start(party, "run")
        metric = "\ntombola_trust_expiry_timestamp_seconds "

        def page():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http[party]}/metrics", timeout=20) as f:
                    return f.read().decode()
            except OSError:
                assert daemon.alive(), daemon.log()
                return ""

        text = wait_for("the metrics", page)
        assert float(text.split(metric)[1].split("\n")[0]) == end
        assert ("expired at" in daemon.log()) == (days < 0)
        # What /readyz and the metric say is what check says.
        why = not_ready(cluster, party)
        assert (why is not None and "expired at" in why) == (days < 0), why
        assert float(text.split("\ntombola_ready ")[1].split("\n")[0]) == (why is None)
        daemon.stop()
    assert f"{path}: the revocation list of" in config.stderr and "expired at" in config.stderr
    # A newer list beside it is the one that counts.
    pem, _ = list_of(cluster, ca, 30)
    with open(path, "ab") as f:
        f.write(pem)
    assert cluster.run(party, "check-config").returncode == 0


def test_both_sides_say_what_expired(cluster):
    ready(cluster)
    pem, _ = list_of(cluster, "clients", -2)
    certs.write(cluster.path("pki", "shuffler", "clients-ca.crl"), pem)
    shuffler = cluster.start("shuffler", "run")
    wait_for("the shuffler", lambda: "shuffler ready" in shuffler.log())
    client = cluster.start("client", "run")
    wait_for("the shuffler's word", lambda: "the revocation list of" in shuffler.log() and "refused" in shuffler.log())
    wait_for("the client's word", lambda: "so a revocation list or CA there has expired" in client.log())
    assert "but it is valid until" in client.log()


@pytest.mark.parametrize("which", ["certificate", "intermediate", "ca"])
def test_all_that_has_a_date_is_looked_at(cluster, which):
    ready(cluster)
    folder = cluster.path("pki", "client")
    ca = certs.load_authority(cluster.path("pki", "ca-clients"))
    if which == "ca":
        path = os.path.join(folder, "services-ca.crt")
        cert, key = certs.load_authority(cluster.path("pki", "ca-services"))
        old = (x509.CertificateBuilder().subject_name(cert.subject).issuer_name(cert.subject).public_key(cert.public_key())
               .serial_number(7).not_valid_before(NOW - 9 * certs.DAY).not_valid_after(NOW - certs.DAY)
               .add_extension(x509.BasicConstraints(True, 0), True).sign(key, hashes.SHA256()))
        certs.write(path, old.public_bytes(serialization.Encoding.PEM))
    else:
        path = os.path.join(folder, "client.crt")
        certs.issue(folder, "client", "client", ca, days=(-9, -1 if which == "certificate" else 90))
        if which == "intermediate":
            certs.issue(folder, "old", "client", ca, days=(-9, -1))
            with open(os.path.join(folder, "old.crt"), "rb") as old, open(path, "ab") as f:
                f.write(old.read())
    run = cluster.run("client", "check-config")
    assert run.returncode == EXIT["permission"] and f"{path}: " in run.stderr and "expired at" in run.stderr, run.stderr


def test_without_the_check_an_expired_list_is_valid(cluster):
    ready(cluster)
    pem, _ = list_of(cluster, "clients", -2)
    certs.write(cluster.path("pki", "shuffler", "clients-ca.crl"), pem)
    assert cluster.run("shuffler", "check-config", mutant="pki.dates").returncode == 0


# ---- what was exchanged ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("party", PARTIES)
def test_exchanged_cas_are_found(cluster, party):
    ready(cluster)
    with open(cluster.path("pki", "ca-clients", "ca.crt"), "rb") as f:
        certs.write(cluster.path("pki", party, "services-ca.crt"), f.read())
    run = cluster.run(party, "check-config")
    assert run.returncode != 0 and "services-ca.crt: this CA" in run.stderr, run.stderr


@pytest.mark.parametrize("party,pin,says", [
    ("client", "shuffler-sign.pub", "this is the key of analyzer_key, too"),
    ("shuffler", "analyzer-sign.pub", "this is the shuffler's own key"),
    ("analyzer", "shuffler-sign.pub", "this is the analyzer's own key"),
])
def test_a_pin_is_the_others_key(cluster, party, pin, says):
    ready(cluster)
    own = "analyzer" if party != "shuffler" else "shuffler"
    with open(cluster.path("pki", "ca-services", f"{own}-sign.pub"), "rb") as f:
        certs.write(cluster.path("pki", party, pin), f.read())
    run = cluster.run(party, "check-config")
    assert run.returncode == EXIT["config"] and says in run.stderr, run.stderr


@pytest.mark.parametrize("party", ["shuffler", "analyzer"])
def test_status_without_a_daemon_says_so(cluster, party):
    ready(cluster)
    run = cluster.run(party, "status") if party == "shuffler" else cluster.run(party, "check")
    assert "the daemon does not run: start it" in run.stderr + run.stdout, run.stderr + run.stdout
