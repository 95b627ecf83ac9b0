"""What decides about privacy belongs to the daemon's user or to root, and nobody else may write to it or above it."""
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

from cluster import EXIT, program, wait_for

FILES = {
    "client": ["client.conf", "client-policy.conf", "devices.txt", *(f"pki/client/{f}" for f in (
        "analyzer-sign.pub", "shuffler-sign.pub", "services-ca.crt", "services-ca.crl", "client.crt", "client.key"))],
    "shuffler": ["shuffler.conf", "shuffler-policy.conf", *(f"pki/shuffler/{f}" for f in (
        "analyzer-sign.pub", "clients-ca.crt", "clients-ca.crl", "services-ca.crt", "shuffler-sign.key"))],
    "analyzer": ["analyzer.conf", "plan.conf", "hook", *(f"pki/analyzer/{f}" for f in (
        "shuffler-sign.pub", "services-ca.crt", "services-ca.crl", "analyzer-sign.key"))],
}
READY = {"shuffler": "shuffler ready", "client": "no connection", "analyzer": "no connection"}


def replace(cluster, name, old, new):
    with open(cluster.path(name)) as f:
        text = f.read()
    assert old in text, text
    cluster.write(name, text.replace(old, new))


def deployment(cluster):
    cluster.two_colours(4)
    cluster.write("devices.txt", "d0\nd1\nd2\nd3\n")
    cluster.write("hook", "#!/bin/sh\n")
    os.chmod(cluster.path("hook"), 0o755)
    replace(cluster, "client.conf", 'device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    with open(cluster.path("analyzer.conf"), "a") as f:
        f.write(f'on_settled = {{ command = ["{cluster.path("hook")}"]; }};\n')
    for party, crl in (("client", "services_crl"), ("analyzer", "services_crl"), ("shuffler", "clients_crl")):
        ca = "clients-ca" if party == "shuffler" else "services-ca"
        with open(cluster.path(party + ".conf")) as f:
            named = crl in f.read()
        if not named:
            replace(cluster, party + ".conf", "tls = {", f'tls = {{ {crl} = "pki/{party}/{ca}.crl"; ')


def started(cluster, party, **how):
    daemon = cluster.start(party, "run", **how)
    wait_for("the daemon", lambda: READY[party] in daemon.log() or not daemon.alive())
    assert daemon.alive(), daemon.log()
    return daemon


def refusals(cluster, party, path):
    """The lines that name the path, of check-config and of run."""
    lines = []
    for verb in ("check-config", "run"):
        run = cluster.run(party, verb)
        assert run.returncode in (EXIT["config"], EXIT["permission"]), (run.returncode, run.stderr)
        said = [line for line in run.stderr.splitlines() if f"{path}: " in line]
        assert len(said) == 1, run.stderr
        lines += said
    return lines


@pytest.mark.parametrize("party", FILES)
def test_what_decides_about_privacy_is_ours_alone(cluster, party):
    deployment(cluster)
    assert cluster.run(party, "check-config").returncode == 0, cluster.run(party, "check-config").stderr
    for name in FILES[party]:
        path = cluster.path(name)
        mode = os.stat(path).st_mode & 0o777
        says = "a secret that others may use (mode 0666): chmod 600 it" if name.endswith(".key") else \
            "others may write to this file (mode 0666): chmod go-w it"
        if name == "hook":  # which the daemon does not run
            os.chmod(path, 0o666)
            run = cluster.run(party, "check-config")
            assert run.returncode == EXIT["permission"] and f"{path}: {says}" in run.stderr, run.stderr
            run = cluster.run(party, "results", "hook", "--cursor", cluster.path("cursor"), "--once")
            assert run.returncode == EXIT["permission"] and f"{path}: {says}" in run.stderr, (run.returncode, run.stderr)
            os.chmod(path, mode)
            continue
        os.chmod(path, 0o666)
        assert all(f"{path}: {says}" in line for line in refusals(cluster, party, path))
        os.chmod(path, mode)
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            assert all("belongs to user 65534, not to us (user 0) or root" in line
                       for line in refusals(cluster, party, path))
            os.chown(path, 0, 0)
    # A folder above, and one in the state.
    for folder in (f"pki/{party}", "pki", ""):
        path = cluster.path(folder).rstrip("/")
        mode = os.stat(path).st_mode & 0o777
        os.chmod(path, 0o777)
        run = cluster.run(party, "run")
        assert run.returncode == EXIT["permission"], (run.returncode, run.stderr)
        assert f"{path}: others may write to this folder (mode 0777): chmod go-w it" in run.stderr
        os.chmod(path, 0o1777)  # as /tmp
        assert cluster.run(party, "check-config").returncode == 0
        os.chmod(path, mode)
    os.mkdir(cluster.path(party, "keys"))
    os.chmod(cluster.path(party, "keys"), 0o777)
    assert len(refusals(cluster, party, cluster.path(party, "keys"))) == 2
    os.chmod(cluster.path(party, "keys"), 0o700)
    # Readings are data.
    if party == "client" and os.geteuid() == 0:
        os.chmod(cluster.path("readings.csv"), 0o666)
        os.chown(cluster.path("readings.csv"), 65534, 65534)
    started(cluster, party)


def test_without_the_check_a_policy_of_anybody_is_taken(cluster):
    deployment(cluster)
    os.chmod(cluster.path("shuffler-policy.conf"), 0o666)
    started(cluster, "shuffler", mutant="file.others_write")


@pytest.mark.parametrize("party", FILES)
def test_a_reload_judges_them_again(cluster, party):
    deployment(cluster)
    daemon = started(cluster, party)
    path = cluster.path("pki", party, "services-ca.crt")
    os.chmod(path, 0o666)
    daemon.process.send_signal(signal.SIGHUP)
    wait_for("the refusal", lambda: f"{path}: others may write to this file (mode 0666)" in daemon.log())
    assert daemon.alive()


# Debian gives each user a group, and then a umask of 002 is harmless.  `daemon` is such a user everywhere.
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_an_ordinary_user_whose_umask_is_002():
    folder = tempfile.mkdtemp()
    try:
        os.chown(folder, 1, 1)
        os.chmod(folder, 0o775)
        bins = os.path.join(folder, "bin")
        os.mkdir(bins)
        for name in ("tombola", "tombola-client", "tombola-shuffler", "tombola-analyzer"):
            shutil.copy(program(name), bins)

        def user(*args, **more):
            return subprocess.run(["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "--no-new-privs", "sh", "-c",
                                   'umask 002; exec "$@"', "sh", *args], cwd=folder, capture_output=True, text=True,
                                  timeout=120, check=False, **more)

        run = user("bin/tombola", "demo", "--dir", "one", env={"PATH": "/usr/bin:/bin"})
        assert run.returncode == 0, run.stdout + run.stderr
        # Files that an editor made, in a checkout that the user's own group may write to.
        for name in ("plan.conf", "analyzer.conf"):
            os.chmod(os.path.join(folder, "one", name), 0o664)
        os.chmod(os.path.join(folder, "one"), 0o775)
        run = user("bin/tombola-analyzer", "--config", "one/analyzer.conf", "check-config")
        assert run.returncode == 0, run.stderr
        # The group of somebody else is not.
        os.chown(os.path.join(folder, "one", "plan.conf"), 1, 2)
        run = user("bin/tombola-analyzer", "--config", "one/analyzer.conf", "check-config")
        assert run.returncode == EXIT["permission"], run.stderr
        assert "plan.conf: others may write to this file (mode 0664): chmod g-w it" in run.stderr
    finally:
        shutil.rmtree(folder)
