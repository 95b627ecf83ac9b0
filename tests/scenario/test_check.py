"""check and check-config speak alike for all three daemons, and call nothing valid that could not start."""
import contextlib
import json
import os
import pty
import re
import subprocess

import pytest

import cluster as c

PARTIES = ("client", "shuffler", "analyzer")


@pytest.fixture
def deployment(tmp_path):
    made = c.Cluster(tmp_path)
    made.configure()
    made.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0,
                "min_reports": 4, "target": 4, "values": ["a", "b"], "window": "30s"}])
    return made


def change(deployment, party, pattern, by):
    with open(deployment.path(f"{party}.conf"), encoding="utf-8") as f:
        text = f.read()
    changed = re.sub(pattern, by, text, count=1)
    assert changed != text
    deployment.write(f"{party}.conf", changed)


@pytest.mark.parametrize("party", PARTIES)
def test_a_daemon_that_is_not_there_is_critical(deployment, party):
    run = deployment.run(party, "check")
    assert run.returncode == 2 and run.stdout.startswith("CRITICAL "), (run.stdout, run.stderr)
    assert "certificate 89 d left" in run.stdout and "daemon does not answer" in run.stdout
    run = deployment.run(party, "check", "--json")
    said = json.loads(run.stdout)
    assert run.returncode == 2 and said["schema"] == "tombola.check/1" and said["status"] == "CRITICAL"


@pytest.mark.parametrize("party", PARTIES)
@pytest.mark.parametrize("option,value", [("--warn-spent", "x"), ("--crit-spent", "5%%"), ("--warn-cert", "-1"),
                                          ("--warn-cert", "")])
def test_a_threshold_that_is_none_is_refused(deployment, party, option, value):
    run = deployment.run(party, "check", option, value)
    assert run.returncode == c.EXIT["usage"] and option in run.stderr, (run.stdout, run.stderr)


@pytest.mark.parametrize("party", PARTIES)
@pytest.mark.parametrize("pattern,by,said", [
    (r'\bkey = "[^"]*"', 'key = "nothing.key"', "nothing.key"),
    (r'cert = "[^"]*"', 'cert = "nothing.crt"', "nothing.crt"),
    (r'(shuffler|analyzer)_key = "[^"]*"', r'\1_key = "nothing.pub"', "nothing.pub"),
    (r'http = "[^"]*"', 'http = "192.0.2.1:80"', "is not a loopback address"),
    (r'(shuffler|listen) = "[^"]*"', r'\1 = "nowhere"', "is not HOST:PORT"),
])
def test_what_a_configuration_names_is_looked_at(deployment, party, pattern, by, said):
    assert deployment.run(party, "check-config").returncode == 0
    change(deployment, party, pattern, by)
    run = deployment.run(party, "check-config")
    assert run.returncode == c.EXIT["config"] and run.stdout == "", (run.stdout, run.stderr)
    # One fault, one line, with its place.
    assert re.fullmatch(rf"{re.escape(os.fspath(deployment.path(party + '.conf')))}:\d+: .*{said}.*\n", run.stderr)


def at_terminal(deployment, *args):
    """Exit code and what a person would read."""
    ours, theirs = pty.openpty()
    try:
        run = subprocess.run([c.program("tombola-client"), "--config", deployment.path("client.conf"), *args], stdout=theirs,
                             stderr=subprocess.PIPE, text=True)
    finally:
        os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # its end
        while part := os.read(ours, 65536):
            said += part
    os.close(ours)
    return run.returncode, said.decode().replace("\r\n", "\n"), run.stderr


@pytest.mark.parametrize("listed", [False, True])
def test_a_person_is_told_that_no_round_could_read_the_readings(deployment, listed):
    """And nobody else: a journal, or whether a unit starts, may not say what a producer has written."""
    then = "the listed devices take part as if without readings" if listed else "no device takes part"
    with open(deployment.path("client.conf")) as f:
        conf = f.read()
    if listed:
        conf = conf.replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    deployment.write("client.conf", conf)
    deployment.write("devices.txt", "d0\n")
    path = deployment.path("readings.csv")
    for text, says in ((None, f"{path}: No such file or directory; until it is there, {then}\n"),
                       ("meter,colour\nd0,red\n", f"{path}:1: no column 'device'"), ('{"device": "d0"}\n', "this is JSON and no CSV"),
                       ("device,colour\nd0,red\n", ""), ("device,colour\n", "")):
        if text is not None:
            deployment.write("readings.csv", text)
        elif os.path.exists(path):
            os.unlink(path)
        code, said, error = at_terminal(deployment, "check-config")
        assert code == 0 and error == "", (text, said, error)
        notes = [line for line in said.splitlines() if line.endswith(then)]
        assert len(notes) == bool(says) and says.strip() in said, (text, said)
        quiet = deployment.run("client", "check-config")
        assert quiet.returncode == 0 and then not in quiet.stdout, quiet.stdout
