"""Settings that are wrong on purpose, one at a time, and the command that names each with its place, its value and what to do: what
one file says by check-config, `plan check` or `encode --dry-run`, what two hosts disagree in by a rehearsal or `check`."""
import os
import re
import shutil
import subprocess

import pytest

import cluster as c
from test_all_faults import ROW
from test_clock import clock

N = 5
LIST = ('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
CHECK, DRY = ("client", "check-config"), ("client", "encode", "--dry-run", "--plan")


def change(cluster, name, right, put):
    with open(cluster.path(name)) as f:
        text = f.read()
    assert right in text, (name, right)
    cluster.write(name, text.replace(right, put, 1))


def prepare(cluster):
    cluster.configure(devices=N)
    cluster.plan([{**ROW, "target": N}])
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(N)))
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i % 2}\n" for i in range(N)))


def says(run, code, *words):
    """One line has all of the words, and no other command is needed to understand it."""
    lines = (run.stdout + run.stderr).splitlines()
    assert run.returncode == code and any(all(w in line for w in words) for line in lines), run


# The file that is wrong, what stands there, what is put there; the command, its exit code, and the words of one line.
ONE_FILE = {
    "white space in the list": (("devices.txt", "d1\n", "d1  \n"), CHECK, "config",
                                ["client.conf:9: input.devices: ", "devices.txt:2: ", "white space", "correct this line"]),
    "a device twice": (("devices.txt", "d2\n", "d1\n"), CHECK, "config",
                       ["client.conf:9: input.devices: ", "devices.txt:3: the device of line 2 again", "delete one"]),
    "names in other letters": (("devices.txt", "d0\nd1\nd2\nd3\nd4\n", "D0\nD1\nD2\nD3\nD4\n"), DRY, "data",
                               ["no device of ", "devices.txt has a row in ", "readings.csv, whose 5 rows are of other devices", "line 1"]),
    "a list with a heading": (("devices.txt", "d0\nd1\nd2\nd3\nd4\n", "device,room\nd0,hall\nd1,hall\nd2,hall\n"), DRY, "data",
                              ["what to do: write the names of ", "devices.txt as the readings do", "without a heading"]),
    "a decimal comma in a policy": (("client-policy.conf", "max_epsilon = 50.0", "max_epsilon = 0,5"), CHECK, "config",
                                    ["client-policy.conf:2: ", "'max_epsilon'", "a point, not a comma"]),
    "a decimal comma in a plan": (("plan.conf", "epsilon0 = 1.0", "epsilon0 = 1,0"), ("analyzer", "check-config"), "config",
                                  ["plan.conf:5: ", "a point, not a comma"]),
    "a typo in a policy's key": (("client-policy.conf", "min_batch", "min_bach"), CHECK, "config",
                                 ["client-policy.conf:4: unknown key 'min_bach'", "'min_batch'?"]),
    "percent for a share": (("shuffler-policy.conf", "max_share = 1.0", "max_share = 20"), ("shuffler", "check-config"), "config",
                            ["shuffler-policy.conf:8: ", "'max_share'", "1e-06 to 1"]),
    "seconds without a unit": (("plan.conf", '"3s"', '"180"'), ("analyzer", "check-config"), "config",
                               ["plan.conf:5: ", "'window'", '"15m"']),
    "a policy of another folder": (("client.conf", '"client-policy.conf"', '"etc/client-policy.conf"'), CHECK, "config",
                                   ["client.conf:4: policy: ", "etc/client-policy.conf: no such file", "relative paths"]),
    "the shuffler's, likewise": (("shuffler.conf", '"shuffler-policy.conf"', '"../shuffler-policy.conf"'),
                                 ("shuffler", "check-config"), "config",
                                 ["shuffler.conf:3: policy: ", "shuffler-policy.conf: no such file", "relative paths"]),
    "a plan of another folder": (("analyzer.conf", '"plan.conf"', '"../plan.conf"'), ("analyzer", "check-config"), "noinput",
                                 ["analyzer.conf:3: plan: ", "plan.conf: no such file", "relative paths"]),
    "a window longer than every": (("plan.conf", '"3s"', '"3s"; every = "1s"; count = 3'), ("analyzer", "check-config"), "config",
                                   ["plan.conf:5: ", "'every'", "'window'"]),
    "a budget below the plan's slice": (("analyzer.conf", "http = ", "budget = { epsilon = 0.5; delta = 1e-6; };\nhttp = "),
                                        ("analyzer", "check-config"), "budget",
                                        ["analyzer.conf:7: ", "a slice of epsilon 1 ", "population's 0.5 "]),
    "a format that the file has not": (("client.conf", 'device_field = "device";', 'device_field = "device"; format = "ndjson";'), DRY,
                                       "data", ["readings.csv:1: ", "no JSON", "what is the file's format?"]),
    "an IPv6 address without brackets": (("client.conf", 'shuffler = "127.0.0.1', 'shuffler = "::1'), CHECK, "config",
                                         ["client.conf:1: ", "[IPV6]:PORT"]),
}


@pytest.mark.parametrize("what", ONE_FILE)
def test_one_file(cluster, what):
    (name, right, put), (party, *verb), code, words = ONE_FILE[what]
    prepare(cluster)
    change(cluster, "client.conf", *LIST)
    judged = [*verb, cluster.path("plan.conf")] if "--plan" in verb else verb
    assert cluster.run(party, *judged).returncode == 0
    change(cluster, name, right, put)
    says(cluster.run(party, *judged), c.EXIT[code], *words)


def test_a_list_with_crlf_or_a_byte_order_mark_is_a_list(cluster):
    prepare(cluster)
    change(cluster, "client.conf", *LIST)
    for text in ("\ufeff" + "".join(f"d{i}\n" for i in range(N)), "".join(f"d{i}\r\n" for i in range(N)), "d0\n\nd1\nd2\nd3\nd4\n\n"):
        with open(cluster.path("devices.txt"), "w", newline="") as f:
            f.write(text)
        run = cluster.run(*DRY, cluster.path("plan.conf"))
        assert run.returncode == 0 and " 5      5        0     0 " in run.stdout, run


def test_a_key_that_its_group_may_read(cluster):
    prepare(cluster)
    os.chmod(cluster.path("pki", "client", "client.key"), 0o640)
    says(cluster.run(*CHECK), c.EXIT["permission"], "client.conf:", "tls.key: ", "client.key", "mode 0640", "chmod 600")


def asked(cluster):
    """The three daemons' files, with an analyzer that signs nothing by itself."""
    prepare(cluster)
    change(cluster, "client.conf", *LIST)
    change(cluster, "analyzer.conf", 'sign = "at-start";', 'give_up = "3s";')


def tool(*args):
    return subprocess.run([c.program("tombola"), *args], capture_output=True, text=True)


def test_a_start_in_the_past(cluster):
    """Its rounds would never open, and what they take of the budget would be lost."""
    asked(cluster)
    change(cluster, "plan.conf", '"3s"', '"3s"; every = "1h"; count = 2; start = "2020-12-01T06:00:00Z"')
    change(cluster, "plan.conf", "epsilon = 1.0", "epsilon = 4.0")
    words = ("plan.conf:5: round 1 (colour): start = 2020-12-01T06:00:00Z is past: 2 of 2 rounds are over", "move start")
    says(tool("plan", "check", cluster.path("plan.conf")), 0, *words)
    for verb in ("check", "rehearse", ("sign", "--yes"), ("sign", "--yes", "--anyway")):
        says(cluster.run("analyzer", "plan", *([verb] if isinstance(verb, str) else verb)), c.EXIT["config"], *words)
    assert not os.path.exists(cluster.path("analyzer", "plan.signed"))


def test_colluders_that_are_everybody(cluster):
    asked(cluster)
    change(cluster, "plan.conf", 'population = "test";', 'population = "test"; colluders = 3;')
    change(cluster, "plan.conf", "epsilon = 1.0", "epsilon = 0.5")
    words = ("plan.conf:5: round 1 (colour): honest_fraction = 1 and colluders = 3 leave nobody of min_reports = 3", "lower colluders")
    says(tool("plan", "check", cluster.path("plan.conf")), c.EXIT["budget"], *words)
    for verb in ("check", "rehearse", "sign"):
        says(cluster.run("analyzer", "plan", verb, "--yes") if verb == "sign" else cluster.run("analyzer", "plan", verb),
             c.EXIT["budget"], *words)


# ---- What two hosts disagree in ----

def begin(cluster, **env):
    cluster.start("shuffler", "run", env=env.get("shuffler"))
    cluster.wait_listening()
    return cluster.start("client", "run", env=env.get("client"))


def rehearsed(cluster, code, *words):
    """A rehearsal says it once the client is there."""
    seen = []

    def found():
        seen[:] = [cluster.run("analyzer", "plan", "rehearse")]
        return any(all(w in line for w in words) for line in (seen[0].stdout + seen[0].stderr).splitlines())
    c.wait_for(words, found)
    assert seen[0].returncode == c.EXIT[code], seen


def checked(cluster, *words):
    """The client's `check` warns, with these words."""
    c.wait_for(words, lambda: all(w in cluster.run("client", "check").stdout for w in words))
    assert cluster.run("client", "check").returncode == 1


def test_another_population_in_the_plan(cluster):
    asked(cluster)
    change(cluster, "plan.conf", 'population = "test"', 'population = "tset"')
    begin(cluster)
    for verb in ("check", "rehearse"):
        says(cluster.run("analyzer", "plan", verb), c.EXIT["config"], "plan.conf: population ", '"tset" is not served here, "test" is')


def test_another_population_in_the_shufflers_policy(cluster):
    asked(cluster)
    change(cluster, "shuffler-policy.conf", 'population = "test"', 'population = "tset"')
    begin(cluster)
    says(cluster.run("analyzer", "plan", "rehearse"), c.EXIT["config"], "plan.conf: population ", '"test" is not served here, "tset" is')


def test_another_population_in_the_clients_files(cluster):
    asked(cluster)
    for name in ("client.conf", "client-policy.conf"):
        change(cluster, name, 'population = "test"', 'population = "tset"')
    client = begin(cluster)
    checked(cluster, 'the shuffler refuses: ', 'population "tset" is not served here, "test" is')
    assert '"tset\\" is not served here' in client.log()


@pytest.mark.parametrize("party", ["client", "shuffler"])
def test_a_clock_that_is_an_hour_wrong(cluster, party):
    asked(cluster)
    begin(cluster, **{party: clock(cluster, party, 3600)})
    rehearsed(cluster, "config", f"{party}: ", f"the {party}'s clock is 3", "ahead of the analyzer's", "NTP")


def other_pki(cluster):
    folder = cluster.path("other")
    run = tool("pki", "init", folder, "--hosts", "localhost,127.0.0.1", "--devices", str(N))
    assert run.returncode == 0, run.stderr
    return folder


def test_the_pinned_key_of_another_deployment(cluster):
    asked(cluster)
    shutil.copy(os.path.join(other_pki(cluster), "client", "analyzer-sign.pub"), cluster.path("pki", "client"))
    client = begin(cluster)
    rehearsed(cluster, "config", "client: no answer", "`analyzer_key` of its client.conf")
    assert "a rehearsal is not answered (check `analyzer_key` of client.conf)" in client.log()


def test_the_ca_of_another_deployment(cluster):
    asked(cluster)
    shutil.copy(os.path.join(other_pki(cluster), "client", "services-ca.crt"), cluster.path("pki", "client"))
    begin(cluster)
    checked(cluster, 'not connected to the shuffler: certificate "shuffler" refused: unknown CA "tombola services CA"')


def test_ipv6_here_and_ipv4_there(cluster):
    asked(cluster)
    with open(cluster.path("shuffler.conf")) as f:
        text = f.read()
    port = re.search(r'listen = "127.0.0.1:(\d+)"', text)[1]
    cluster.write("shuffler.conf", text.replace(f"127.0.0.1:{port}", f"[::1]:{port}", 1))
    cluster.start("shuffler", "run")
    cluster.start("client", "run")
    checked(cluster, "not connected to the shuffler: ", f"127.0.0.1:{port}", "refused")
    says(cluster.run("analyzer", "plan", "check"), c.EXIT["unavailable"], f"127.0.0.1:{port}", "refused")
