"""check and check-config speak alike for all three daemons, and call nothing valid that could not start."""
import json
import os
import re

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
