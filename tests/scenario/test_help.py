"""What the programs say of themselves is true: --help, --version, and the sample configurations, key by key."""
import json
import os
import re
import subprocess

import pytest

import cluster as c
import wire

PROGRAMS = ("tombola", "tombola-client", "tombola-shuffler", "tombola-analyzer", "tombola-accountant")
VERBED = PROGRAMS[:4]
EVERY = ("--config", "--verbose", "--quiet", "--log-format", "--color", "--json", "--help", "--version")


def say(program, *args):
    return subprocess.run([c.program(program), *args], capture_output=True, text=True, timeout=180)


def verbs(program):
    """The verbs that --help lists: one or two words, then what they take; the accountant's stand in two columns."""
    text = say(program, "--help").stdout
    if program == "tombola-accountant":
        part = text.split("\n\n")[2]
        return sorted((v,) for v in re.findall(r"  ([a-z]+) {2,}(?=[a-z])", part))
    part = text[text.index("Verbs:\n"):text.index("Options of every verb:")]
    found = re.findall(r"^  ([a-z][a-z-]*(?: [a-z][a-z-]*)?) ", part, re.M)
    return sorted({tuple(v.split()) for v in found})


def options(text):
    return set(re.findall(r"--[a-z][a-z-]*", text))


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_and_version_of_a_program(program):
    for flag in ("--help", "-h"):
        run = say(program, flag)
        assert run.returncode == 0 and not run.stderr and len(run.stdout) > 200, run
    for flag in ("--version", "-V"):
        run = say(program, flag)
        assert run.returncode == 0 and re.fullmatch(rf"{program} \d+\.\d+\.\d+\n", run.stdout), run
    if program in VERBED:
        # The tool has no configuration.
        assert options(say(program, "--help").stdout) >= set(EVERY) - ({"--config"} if program == "tombola" else set())
        for code in (0, 1, 3, 64, 65, 66, 69, 70, 73, 74, 75, 76, 77, 78):
            assert re.search(rf"\b{code} [a-zA-Z]", say(program, "--help").stdout), f"exit code {code} is not explained"


@pytest.mark.parametrize("program,expected", [
    ("tombola-client", {"run", "send", "encode", "check", "check-config", "config-sample"}),
    ("tombola-shuffler", {"run", "status", "check", "check-config", "config-sample"}),
    ("tombola-analyzer", {"run", "status", "round list", "round run", "round show", "estimate", "budget", "ledger verify",
                          "ledger export", "check", "check-config", "config-sample"}),
    ("tombola", {"demo", "pki init", "pki issue", "pki renew", "pki show", "pki needs-renewal", "pki revoke", "plan check",
                 "plan digest", "plan cost", "plan optimise", "plan protocols", "version"}),
])
def test_the_verbs_are_there(program, expected):
    assert {" ".join(v) for v in verbs(program)} >= expected


def test_the_protocols_listed_are_those_of_the_documentation():
    run = say("tombola", "plan", "protocols", "--json")
    assert run.returncode == 0, run.stderr
    listed = {p["name"]: p["answers"] for p in json.loads(run.stdout)["protocols"]}
    with open(os.path.join(wire.ROOT, "doc", "protocols", "README.md"), encoding="utf-8") as f:
        table = f.read().split("\n## The rows\n")[1].split("\n## ")[0]
    kinds = ("histogram", "mean", "quantiles", "sum", "vector", "ranges", "marginals", "prefixes", "sets", "places")
    documented = {name: ", ".join(kind for kind in kinds if re.search(rf"\b{kind}\b", answers))
                  for name, answers in re.findall(r"^\| \[`([a-z-]+)`\]\([^)]*\) \| ([^|]*) \|", table, re.M)}
    assert listed == documented
    text = say("tombola", "plan", "protocols").stdout
    assert all(re.search(rf"^{name} ", text, re.M) for name in documented)


@pytest.mark.parametrize("program,verb", [(p, v) for p in VERBED for v in verbs(p)])
def test_help_of_a_verb_mentions_each_of_its_options(program, verb):
    run = say(program, *verb, "--help")
    assert run.returncode == 0 and not run.stderr, run
    assert run.stdout.startswith(f"Usage: {program} {' '.join(verb)}"), run.stdout
    # --usage is made by argp from the table that parses; --help is ours.
    usage = say(program, *verb, "--usage")
    assert usage.returncode == 0, usage
    assert options(run.stdout) >= options(usage.stdout) - {"--usage"}
    for option in options(usage.stdout):
        assert re.search(rf"^ .*{option}\b.*[a-z]", run.stdout, re.M) or option == "--usage", option
    assert say(program, *verb, "--version").stdout == say(program, "--version").stdout


QUESTION = {"--delta", "--epsilon", "--round", "--method", "--bound", "--json", "--help", "--version"}


@pytest.mark.parametrize("verb,expected", [
    ("epsilon", QUESTION), ("delta", QUESTION), ("rounds", QUESTION), ("calibrate", QUESTION),
    ("compare", QUESTION - {"--method", "--bound"}),
    ("curve", QUESTION - {"--epsilon"} | {"--over", "--from", "--to", "--points", "--delta-min", "--delta-max",
                                          "--format", "--output"}),
    ("audit", {"--json"}), ("names", {"--json"}), ("describe", {"--round", "--json"})])
def test_help_of_the_accountant(verb, expected):
    run = say("tombola-accountant", verb, "--help")
    assert run.returncode == 0 and not run.stderr
    assert run.stdout.startswith(f"Usage: tombola-accountant {verb}")
    assert options(run.stdout) >= expected | {"--help", "--version"}
    assert verb in say("tombola-accountant", "--help").stdout


# ---- the sample configurations ---------------------------------------------------------------------------------------

# What a key without a default is given here.
VALUES = {"epsilon": "1.0", "max_epsilon0": "5.0", "max_epsilon": "1.0", "delta": "1e-6", "min_batch": "10",
          "honest_fraction": "1.0", "colluders": "0", "max_share": "1.0", "format": '"csv"',
          "population": '"test"', "device_field": '"device"', "path": '"readings.csv"', "plan": '"plan.conf"',
          "analyzer_key": '"PKI/analyzer-sign.pub"', "shuffler_key": '"PKI/shuffler-sign.pub"',
          "services_ca": '"PKI/services-ca.crt"', "clients_ca": '"PKI/clients-ca.crt"', "crl": '"PKI/services-ca.crl"',
          "services_crl": '"PKI/services-ca.crl"', "clients_crl": '"PKI/clients-ca.crl"', "shuffler": '"localhost:7443"',
          "signing_key": '"PKI/PARTY-sign.key"', "cert": '"PKI/PARTY.crt"', "key": '"PKI/PARTY.key"',
          "state_dir": '"PARTY"', "policy": '"PARTY-policy.conf"', "name": '"test"', "queries": '[ "colour" ]',
          "fields": '[ "colour" ]', "protocols": '[ "grr" ]', "topics": '[ "sensors/+/reading" ]', "field": '"colour"',
          "client_id": '"gateway"', "username": '"gateway"', "password_file": '"password"',
          "ca": '"PKI/services-ca.crt"', "devices": '"devices.txt"', "command": '[ "/bin/cat" ]',
          "database": '"host=/nowhere dbname=tombola"', "data_databases": '[ "host=/nowhere dbname=more" ]',
          "intake_role": '"intakes"', "labels": '"labels.npy"', "maps": '[ "moments" ]',
          "accept_without": '[ "machine" ]', "device_kib": "64", "max_age": '"1h"', "comment": '"#"'}
# The same key in another file.
OWN = {("client-policy.conf", "plan"): '"sha256:%064d"' % 0}
# Keys that exclude each other: what is changed so that the others are accepted, None for left out.
EITHER = {"client.conf": ({"topics": None, "labels": None}, {"topics": None, "format": '"npy"', "comment": None},
                          {"path": None, "payload": '"text"', "labels": None}),
          "shuffler.conf": ({"database": None, "data_databases": None, "intake_role": None}, {"store": '"postgresql"', "intake_role": None},
                            {"store": '"postgresql"', "intakes": "true"})}

SAMPLES = {"client.conf": ("client", ()), "client-policy.conf": ("client", ("policy",)),
           "shuffler.conf": ("shuffler", ()), "shuffler-policy.conf": ("shuffler", ("policy",)),
           "analyzer.conf": ("analyzer", ())}
SETTING = re.compile(r"^(\t*)(?:# )?([A-Za-z_0-9]+) = (.*?);?$")


def sample(name):
    """(lines of the sample with every key set, [(line number, key)])."""
    party, args = SAMPLES[name]
    run = say(f"tombola-{party}", "config-sample", *args)
    assert run.returncode == 0, run.stderr
    lines, keys = [], []
    for line in run.stdout.splitlines():
        found = SETTING.match(line)
        if not found:
            lines.append(line)
            continue
        tabs, key, value = found.groups()
        keys.append((len(lines) + 1, key))
        if value == "{":
            lines.append(line)
            continue
        if line.lstrip().startswith("#"):
            assert key in VALUES, f"{name}: no value for {key}"
            value = OWN.get((name, key), VALUES[key]).replace("PKI", f"pki/{party}").replace("PARTY", party)
        lines.append(f"{tabs}{key} = {value};")
    assert len(keys) > 4, run.stdout
    return lines, keys


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    made = c.Cluster(tmp_path_factory.mktemp("samples"))
    made.configure()
    made.plan([{"query": "colour", "type": "histogram", "protocol": "grr", "field": "colour", "epsilon0": 1.0,
                "min_reports": 4, "target": 4, "values": ["a", "b"], "window": "30s"}])
    made.write("devices.txt", "pump-17\n")
    os.chmod(made.write("password", "open sesame\n"), 0o600)
    return made


@pytest.fixture
def put_back(deployment):
    yield deployment
    deployment.configure()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_documented_key_is_accepted(put_back, name):
    lines, keys = sample(name)
    for change in EITHER.get(name, ({},)):
        assert set(change) <= {k for _, k in keys}
        changed = [re.sub(rf"^\t*({'|'.join(change)}) = .*", lambda m: f"{m[1]} = {change[m[1]]};" if change[m[1]] else "",
                          x) if change else x for x in lines]
        put_back.write(name, "\n".join(changed) + "\n")
        run = put_back.run(SAMPLES[name][0], "check-config")
        assert run.returncode == 0, (run.stdout, run.stderr)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_sample_as_it_is_lacks_only_what_it_says_is_required(put_back, name):
    party, args = SAMPLES[name]
    text = say(f"tombola-{party}", "config-sample", *args).stdout
    put_back.write(name, text)
    run = put_back.run(party, "check-config")
    assert run.returncode == c.EXIT["config"], (run.stdout, run.stderr)
    missing = set(re.findall(r"missing required key '([a-z_0-9]+)'", run.stdout + run.stderr))
    said = text.splitlines()
    # Not what an item of a list requires that the sample leaves out.
    required = {SETTING.match(said[i + 1])[2] for i, line in enumerate(said) if line.endswith("; required")
                and not line.startswith("#\t") and "= {" not in said[i + 1]}
    assert missing and missing == required, (missing, required)
    assert "unknown key" not in run.stdout + run.stderr


# ---- what is shipped -------------------------------------------------------------------------------------------------

def shipped():
    out = []
    for folder in ("deploy", "deploy/demo", "deploy/compose"):
        for name in sorted(os.listdir(os.path.join(wire.ROOT, folder))):
            # test_mqtt.py starts a broker with mosquitto.conf; pg_hba.conf and its like are PostgreSQL's.
            if name.endswith(".conf") and not name.startswith(("mosquitto", "pg_", "postgresql")):
                out.append(os.path.join(folder, name))
    return out


@pytest.mark.parametrize("path", shipped())
def test_shipped_files_have_no_fault_but_what_is_not_installed_here(tmp_path, path):
    name, full = os.path.basename(path), os.path.join(wire.ROOT, path)
    if "plan" in name:
        run = say("tombola", "plan", "check", full)
        assert run.returncode == 0, run.stderr
        return
    who = re.match("[a-z]+", name)[0]  # client1.conf is a client's
    party = "shuffler" if who in ("head", "intake") else who
    if "policy" in name:
        conf = tmp_path / "a.conf"
        conf.write_text(f'policy = "{full}";\n')
        run = say(f"tombola-{party}", "--config", str(conf), "check-config")
    else:
        run = say(f"tombola-{party}", "--config", full, "check-config", *["intake"] * (who == "intake"))
    of_this = [x for x in (run.stdout + run.stderr).splitlines() if x.startswith(full) and
               re.search("unknown key|missing required|expected|out of range|syntax|duplicate", x)]
    assert not of_this, of_this
