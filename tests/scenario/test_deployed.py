"""deploy/README.md by hand: three hosts that only the guide's own commands set up, with the mistakes that people make on the way.
Each mistake is named before anything is spent, and mended without losing state."""
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess

import pytest

import cluster as c
import hosts
import wire

DEVICES = 500
NAME = "shuffler.example.org"
DEPLOY = os.path.join(wire.ROOT, "deploy")
PARTIES = ("shuffler", "analyzer", "client")

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The guide's step 1, of a build that is there."""
    prefix = str(tmp_path_factory.mktemp("installed"))
    subprocess.run(["cmake", "--install", c.BUILD, "--prefix", prefix], check=True, capture_output=True)
    return prefix


@pytest.fixture
def site(tmp_path, installed):
    why = hosts.may()
    if why:
        pytest.skip(why)
    made = {}
    try:
        for party in PARTIES:
            made[party] = hosts.Host(str(tmp_path), party, installed)
        hosts.cable(made["shuffler"], "10.77.1.1", made["client"], "10.77.1.2")
        hosts.cable(made["shuffler"], "10.77.2.1", made["analyzer"], "10.77.2.2")
        yield made
    finally:
        for host in made.values():
            host.close()


class Guide:
    """The commands of the section, found by how they begin."""

    def __init__(self):
        self.path = os.path.join(DEPLOY, "README.md")
        self.lines = hosts.guide(self.path, "Three hosts, by hand")
        self.used = set()

    def line(self, *words, party=None):
        """The one line with these words; for another party than the shuffler, which the guide's step 3 shows, with its name."""
        found = [s for s in self.lines if all(w in s for w in words)]
        assert len(found) == 1, (words, found)
        self.used.add(found[0])
        return found[0].replace("tombola-shuffler", f"tombola-{party}") if party else found[0]


def distribute(site, pki):
    """Step 2's table, and the files of step 3."""
    for party, host in site.items():
        os.makedirs(host.etc("tombola"), exist_ok=True)
        shutil.rmtree(host.etc("tombola/pki"), ignore_errors=True)
        shutil.copytree(os.path.join(pki, party), host.etc("tombola/pki"))


def configure(site):
    for name, party in (("client.conf", "client"), ("client-policy.conf", "client"), ("shuffler.conf", "shuffler"),
                        ("shuffler-policy.conf", "shuffler"), ("analyzer.conf", "analyzer"), ("plan.conf", "analyzer")):
        shutil.copy(os.path.join(DEPLOY, name), site[party].etc("tombola"))
    site["analyzer"].edit("plan.conf", min_reports=450, target=DEVICES, epsilon0=0.4, levels=3, window="5m", colluders=10, honest_fraction=0.95)
    site["client"].edit("client-policy.conf", colluders=10, min_batch=400)
    site["shuffler"].edit("shuffler-policy.conf", colluders=10, max_share=1.0)


def readings(host):
    """A reading of each device; how many of each state."""
    rng = random.Random(7)
    truth = {"idle": 0, "running": 0, "fault": 0}
    os.makedirs(os.path.join(host.dir, "lib", "tombola-readings"))
    with open(os.path.join(host.dir, "lib", "tombola-readings", "readings.csv"), "w") as f:
        out = csv.writer(f)
        out.writerow(["state", "temp_c"])
        for _ in range(DEVICES):
            state = rng.choice(list(truth))
            truth[state] += 1
            out.writerow([state, rng.randrange(-20, 120)])
    return truth


def says(daemon, *texts):
    """The daemon is up, and its log has these texts."""
    c.wait_for(f"{texts} in the log of {daemon.args[-1]}", lambda: all(t in daemon.log() for t in texts) or not daemon.alive())
    assert daemon.alive() and all(t in daemon.log() for t in texts), daemon.log()


def spent(site):
    """What each party says of the budget: epsilon, and the plans it has."""
    status = {p: json.loads(site[p].run(f"sudo -u tombola-{p} tombola-{p} status --json")) for p in ("shuffler", "client")}
    budget = json.loads(site["analyzer"].run("sudo -u tombola-analyzer tombola-analyzer budget --json"))
    return [status[p]["population_budget"]["pinned"] for p in status], [len(status[p]["plans"]) for p in status], budget


def test_root_without_sudo_has_the_guides_commands():
    if os.geteuid() != 0:
        pytest.skip("another user's command needs root")
    line, = [s for s in Guide().lines if s.startswith("command -v sudo")]
    shell = line.replace("command -v sudo >/dev/null ||", "") + "\nsudo id -u -n\nsudo -u nobody id -u -n"
    run = subprocess.run(["/bin/sh", "-c", shell], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True)
    assert run.stdout == "root\nnobody\n", run


def test_the_guide_with_every_mistake(site, tmp_path, installed):
    guide, away = Guide(), str(tmp_path / "away")
    shuffler, analyzer, client = (site[p] for p in PARTIES)
    os.makedirs(away)

    def at_the_ca(command):
        done = subprocess.run(command, shell=True, cwd=away, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{installed}/bin:{os.environ['PATH']}"})
        assert done.returncode == 0, done.stderr

    def refused(host, command, code, *texts):
        """It ends with this code and one line that names the place."""
        done = host.try_(command)
        assert done.returncode == c.EXIT[code] and done.stderr.count("\n") == 1, done
        assert all(t in done.stderr for t in texts), done.stderr

    run = {party: guide.line(f"tombola-{party} run") for party in PARTIES}
    check = {party: guide.line("check-config", party=party) for party in PARTIES}

    # Steps 2 and 3; the shuffler's name is mistyped, the client's state folder is forgotten, then another's.
    at_the_ca(guide.line("pki init").replace(NAME, "shufler.example.org"))
    for party, host in site.items():
        host.run(guide.line("useradd", party=party))
    distribute(site, os.path.join(away, "pki"))
    configure(site)
    truth = readings(client)
    # The keys were copied as root, into a folder of root's: every file is named, and what to do.
    done = client.try_(check["client"])
    keys = [line for line in done.stderr.splitlines() if "/pki/" in line]
    assert done.returncode == c.EXIT["permission"] and len(keys) == 6 and all("chown" in line for line in keys), done
    for party, host in site.items():
        host.run(guide.line("chown -R", party=party))
    refused(client, run["client"], "create", "/var/lib/tombola-client")
    client.run("install -d -m 700 /var/lib/tombola-client")
    refused(client, run["client"], "io", "/var/lib/tombola-client")
    client.run("rmdir /var/lib/tombola-client")
    for party, host in site.items():
        host.run(guide.line("install -d", party=party))
        host.run(check[party])
    # A key that others may read, and one that the daemon may not.
    client.run("chmod 644 /etc/tombola/pki/client.key")
    refused(client, check["client"], "permission", "client.conf:", "/etc/tombola/pki/client.key", "chmod 600")
    client.run("chmod 600 /etc/tombola/pki/client.key && chown root /etc/tombola/pki/client.key")
    refused(client, check["client"], "permission", "client.conf:", "/etc/tombola/pki/client.key")
    client.run("chown tombola-client /etc/tombola/pki/client.key")
    # The configuration's population is not the policy's.
    client.edit("client.conf", population="pump")
    refused(client, check["client"], "config", "client-policy.conf:", "population", "pump")
    client.edit("client.conf", population="pumps")

    # Step 4; nobody knows the name, then the shuffler listens on loopback, then its certificate has the mistyped name.
    d = {party: host.start(run[party]) for party, host in site.items()}

    def asked(*texts):
        """The client says so, and the analyzer, which dials nobody before its plan is signed, when somebody asks."""
        says(d["client"], *texts)
        run = analyzer.try_("sudo -u tombola-analyzer tombola-analyzer plan check")
        assert run.returncode != 0 and all(t in run.stderr for t in texts), run
    asked("cannot look up the host", NAME)
    client.knows("10.77.1.1", NAME)
    analyzer.knows("10.77.2.1", NAME)
    asked("connection refused", "10.77.")
    d["shuffler"].stop()
    shuffler.edit("shuffler.conf", listen="0.0.0.0:7443")
    d["shuffler"] = shuffler.start(run["shuffler"])
    asked("it is not for host", NAME)
    says(d["shuffler"], "the peer refused our certificate")
    at_the_ca(f"tombola pki issue pki shuffler --role shuffler --hosts {NAME} --out new")
    for name in ("shuffler.key", "shuffler.crt"):
        shutil.copy(os.path.join(away, "new", name), shuffler.etc("tombola/pki"))
    shuffler.run("chown tombola-shuffler /etc/tombola/pki/shuffler.key")
    d["shuffler"].process.send_signal(signal.SIGHUP)

    # The crowds of the samples, 50000 at the shuffler and 10000 at the client, against 450 in the plan.
    says(d["client"], '"msg":"connected"')

    # A second client whose key stays where it is made, and a folder of such.
    at_the_ca(guide.line("tombola pki request"))
    at_the_ca(guide.line("tombola pki sign", "gateway-2.csr"))
    os.mkdir(os.path.join(away, "requests"))
    for name in ("gateway-3", "gateway-4"):
        at_the_ca(f"cd requests && tombola pki request {name} --role client")
    at_the_ca(guide.line("tombola pki sign", "requests/"))
    for path in ("gateway-2/gateway-2.crt", "signed/gateway-3.crt", "signed/gateway-4.crt"):
        assert os.path.exists(os.path.join(away, path)), os.listdir(os.path.join(away, "signed"))
    says(d["analyzer"], "the plan is not signed, and nothing of the budget is spent")
    plan_check = analyzer.try_("sudo -u tombola-analyzer tombola-analyzer plan check")
    assert plan_check.returncode == c.EXIT["config"] and plan_check.stdout.count("min_batch = 50000") == 2, plan_check
    assert spent(site)[:2] == ([0, 0], [0, 0])
    d["client"].stop()
    client.edit("client-policy.conf", min_batch=10000)
    d["client"] = client.start(run["client"])
    d["shuffler"].stop()
    shuffler.edit("shuffler-policy.conf", min_batch=400)
    d["shuffler"] = shuffler.start(run["shuffler"])
    c.wait_for("the shuffler", lambda: analyzer.try_("sudo -u tombola-analyzer tombola-analyzer plan check").returncode == 0)
    signed = guide.line("tombola-analyzer plan sign")
    assert analyzer.try_(signed + " < /dev/null").returncode == c.EXIT["usage"]
    # One command names what is still wrong, and nothing is spent; whoever signs all the same gets a void round.
    c.wait_for("the rehearsal to reach the client", lambda: "min_batch is 10000" in analyzer.try_(signed + " --yes").stdout)
    assert analyzer.try_(signed + " --yes").returncode == c.EXIT["config"]
    analyzer.run(signed + " --yes --anyway")
    says(d["shuffler"], "round open")
    says(d["client"], "the round guarantees a batch of 450", "min_batch is 10000")
    assert spent(site)[0][1] == 0
    d["client"].stop()
    client.edit("client-policy.conf", min_batch=400)
    d["client"] = client.start(run["client"])

    # Step 6: both rounds were answered by everybody, once, and all three say the same of the budget.
    says(d["analyzer"], "the plan is through")
    listed = analyzer.run(guide.line("round list"))
    assert [line.split()[1:4] for line in listed.splitlines() if line.strip()[:1] in "12" and line.strip()] == [
        ["state", "0.40", str(DEVICES)], ["temperature", "0.40", str(DEVICES)]], listed
    assert "idle" in analyzer.run(guide.line("estimate QUERY").replace("QUERY", "state"))
    result = json.loads(analyzer.run("sudo -u tombola-analyzer tombola-analyzer round show 1 --json"))["result"]
    assert result["participants"] == result["reports"] == DEVICES
    for item in result["items"]:
        # Seven standard errors: by chance once in 1e11.
        assert abs(item["value"] - truth[item["label"]]) < 7 * item["variance"] ** 0.5, result
    printed = re.search(r"^pinned +epsilon ([\d.]+) at delta 1e-07", analyzer.run(guide.line("tombola-analyzer budget")), re.M)
    c.wait_for("the client's word", lambda: "round done\",\"round\":2" in d["client"].log())
    epsilon, plans, budget = spent(site)
    assert epsilon == [budget["population_budget"]["pinned"]] * 2 and plans == [1, 1], (epsilon, plans, budget)
    # The slice is what two rounds cost, which is less than what they would without a shuffler.
    assert budget["population_budget"]["pinned"] <= float(printed[1]) < 2 * 0.4, (printed, budget)
    for daemon in d.values():
        daemon.stop()
    # The guide has no command that was not tried, but for those that build.
    assert {s for s in guide.lines if s not in guide.used} == {s for s in guide.lines if s.startswith(("deploy/", "cmake ", "command -v sudo"))}
