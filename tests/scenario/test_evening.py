"""The evening of somebody who follows deploy/README.md with the sample policies: 3,000 devices behind one gateway.  Nothing is signed
by accident, one command names all that is wrong, and what it advises, done literally, is enough: the first round has 3,000 reports."""
import json
import os
import random
import re
import shutil

import pytest

import cluster as c
from test_deployed import NAME, PARTIES, Guide, distribute, installed, says, site, spent  # noqa: F401: fixtures

DEVICES = 3000
SAMPLES = (("client.conf", "client"), ("client-policy.conf", "client"), ("shuffler.conf", "shuffler"),
           ("shuffler-policy.conf", "shuffler"), ("analyzer.conf", "analyzer"), ("plan.conf", "analyzer"))

pytestmark = pytest.mark.heavy


def line_of(host, name, key):
    with open(host.etc(os.path.join("tombola", name))) as f:
        return next(i for i, line in enumerate(f, 1) if line.startswith(f"{key} "))


def put(host, name, line, key, value):
    """Set a key that stands in this line."""
    path = host.etc(os.path.join("tombola", name))
    with open(path) as f:
        lines = f.readlines()
    changed = re.sub(rf"\b{key} = [^;,\s]+", f"{key} = {value}", lines[line - 1])
    assert changed != lines[line - 1], (name, line, key)
    lines[line - 1] = changed
    with open(path, "w") as f:
        f.writelines(lines)


# What a line of a rehearsal advises: key and value.
ADVICE = {r"guarantees a batch of (\d+) .*, min_batch is \d+: lower it": "min_batch",
          r"; colluders is \d+, the plan's (\d+)": "colluders",
          r"max_share is [\d.]+, .*: raise it to ([\d.]+)": "max_share"}


def follow(site, printed):  # noqa: F811
    """Do what each line says, at its place; the keys."""
    done = []
    for whose, name, line, text in re.findall(r"^(shuffler|client): ([a-z-]+\.conf):(\d+): (.*)$", printed, re.M):
        for pattern, key in ADVICE.items():
            if found := re.search(pattern, text):
                put(site[whose], name, int(line), key, found[1])
                done.append((whose, key))
    return sorted(done)


def test_the_evening_with_the_sample_policies(site, tmp_path, installed):  # noqa: F811
    guide, away = Guide(), str(tmp_path / "away")
    shuffler, analyzer, client = (site[p] for p in PARTIES)
    os.makedirs(away)
    run = {party: guide.line(f"tombola-{party} run") for party in PARTIES}
    check = {party: guide.line("check-config", party=party) for party in PARTIES}
    sign = guide.line("tombola-analyzer plan sign") + " --yes"

    # Steps 1 to 4, and nothing changed but what the guide's table needs; the plan says what this person has.
    command = f"PATH={installed}/bin:$PATH; cd {away} && {guide.line('pki init')}"
    assert os.system(command + " >/dev/null") == 0
    for party, host in site.items():
        host.run(guide.line("useradd", party=party))
    distribute(site, os.path.join(away, "pki"))
    for name, party in SAMPLES:
        shutil.copy(os.path.join(os.path.dirname(guide.path), name), site[party].etc("tombola"))
    shuffler.edit("shuffler.conf", listen="0.0.0.0:7443")
    analyzer.edit("plan.conf", min_reports=2500, target=DEVICES, window="5m", epsilon0=2.0)
    client.knows("10.77.1.1", NAME)
    analyzer.knows("10.77.2.1", NAME)
    rng = random.Random(7)
    os.makedirs(os.path.join(client.dir, "lib", "tombola-readings"))
    with open(os.path.join(client.dir, "lib", "tombola-readings", "readings.csv"), "w") as f:
        f.write("state,temp_c\n" + "".join(f"{rng.choice(['idle', 'running', 'fault'])},{rng.randrange(-20, 120)}\n"
                                           for _ in range(DEVICES)))
    for party, host in site.items():
        host.run(guide.line("chown -R", party=party))
        host.run(guide.line("install -d", party=party))
    # The sample's colluders are more than min_reports: the rounds cost what they would without a shuffler, and each command says why
    # and what to do.
    for verb in ("check-config", "run", "plan check", "plan rehearse", "plan sign --yes"):
        done = analyzer.try_(f"sudo -u tombola-analyzer tombola-analyzer {verb}")
        assert done.returncode in (c.EXIT["budget"], c.EXIT["config"]), done
        assert re.search(r"it takes a slice of epsilon 4 .* of the population's 1 at .*; colluders leave nobody of round 'state' to hide "
                         r"among: lower colluders, or raise min_reports$", done.stderr + done.stdout, re.M), done
    put(analyzer, "plan.conf", line_of(analyzer, "plan.conf", "colluders"), "colluders", 10)
    for party, host in site.items():
        host.run(check[party])
    d = {party: host.start(run[party]) for party, host in site.items()}
    says(d["client"], '"msg":"connected"')
    says(d["analyzer"], "the plan is not signed, and nothing of the budget is spent")

    # The sample plan takes what it uses, and the population has a budget beside it: nothing is warned of.
    assert "warning" not in analyzer.try_(sign).stdout

    # One command names all that is wrong: who, file, line, key, both values, and what to write there.
    done = analyzer.try_(sign)
    assert done.returncode == c.EXIT["config"] and "nothing is signed, nothing is spent" in done.stderr, done
    places = {("shuffler", key): line_of(shuffler, "shuffler-policy.conf", key) for key in ("min_batch", "colluders", "max_share")}
    places |= {("client", key): line_of(client, "client-policy.conf", key) for key in ("min_batch", "colluders")}
    for (whose, key), line in places.items():
        assert re.search(rf"^{whose}: {whose}-policy.conf:{line}: .*\b{key} is \S+.*$", done.stdout, re.M), (whose, key, done.stdout)
    assert spent(site)[:2] == ([0, 0], [0, 0])
    assert follow(site, done.stdout) == sorted(places), done.stdout
    for party in ("shuffler", "client", "analyzer"):
        d[party].stop()
        site[party].run(check[party])
        d[party] = site[party].start(run[party])
    says(d["client"], '"msg":"connected"')

    done = analyzer.try_(sign)
    assert done.returncode == 0 and "signed: plan pumps-2026" in done.stdout, done
    says(d["analyzer"], "the plan is through")
    rounds = json.loads(analyzer.run("sudo -u tombola-analyzer tombola-analyzer round list --json"))["rounds"]
    assert [r["stage"] for r in rounds] == ["settled", "settled"], rounds
    result = json.loads(analyzer.run("sudo -u tombola-analyzer tombola-analyzer round show 1 --json"))["result"]
    assert result["participants"] == result["reports"] == DEVICES and not result.get("left_out"), result
    epsilon, plans, budget = spent(site)
    figure = budget["population_budget"]
    assert plans == [1, 1] and epsilon == [figure["pinned"]] * 2, (epsilon, figure)
    # Nothing is lost: the slice is what the rounds use, to the fourth digit, and the rest is there for other plans.
    assert 0 <= figure["pinned"] - figure["used"] <= 1e-4, figure
    assert figure["free"] == pytest.approx(1 - figure["pinned"], abs=1e-9), figure
    for daemon in d.values():
        daemon.stop()
