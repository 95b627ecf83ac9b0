"""Bad input of every kind: one line that names the place, the right exit code, and nothing lost."""
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

import cluster as c
from cluster import EXIT, wait_for
from parties import Shuffler
from test_attacks import Descriptors
from test_rounds import histogram, readings, run_plan

DEVICES = 40
EXIT = {**EXIT, "create": 73, "io": 74}


@pytest.fixture(scope="module")
def after_a_round(tmp_path_factory):
    """A deployment that has run one round of two: there is something to lose."""
    made = c.Cluster(tmp_path_factory.mktemp("after"))
    made.configure(min_batch=10)
    readings(made, DEVICES)
    made.plan([histogram(DEVICES, 1.0), histogram(DEVICES, 1.0, query="second")], epsilon=5.0)
    run, shuffler, client = run_plan(made, "round", "run", "1")
    assert run.returncode == 0, run.stderr
    client.stop()
    shuffler.stop()
    made.known = known(made)
    assert made.known[0] and all(made.known), made.known
    yield made
    made.close()


@pytest.fixture
def world(after_a_round):
    """The same, put back after the test.  With the settings and keys put back, nothing that was known is lost."""
    made, aside = after_a_round, after_a_round.dir + "-aside"
    shutil.copytree(made.dir, aside)
    yield made
    made.close()
    made.daemons.clear()
    parties = {p: made.path(p) for p in WORK}
    if not os.path.exists(made.path("changes-on-purpose")):
        for party, folder in parties.items():
            shutil.rmtree(os.path.join(aside, party))
            shutil.copytree(folder, os.path.join(aside, party))
    shutil.rmtree(made.dir)
    shutil.move(aside, made.dir)
    assert known(made) == made.known


def known(made):
    """The analyzer's ledger and result, to the byte, and the client's ledger."""
    out = [made.json("client", "status")["ledger"]]
    for name in ("ledger", "results/round-0001.json"):
        with open(made.path("analyzer", name), "rb") as f:
            out.append(f.read())
    return out


WORK = {"shuffler": ("run",), "analyzer": ("round", "run", "2"),
        "client": ("send", "READINGS", "--device-field", "device", "--wait", "5s")}


def work(made, party, *args):
    args = [made.path("readings.csv") if a == "READINGS" else a for a in args or WORK[party]]
    return made.run(party, *args)


def edit(made, name, old, new):
    """Replace in a file; the number of the first changed line."""
    with open(made.path(name)) as f:
        text = f.read()
    assert old in text, (name, old)
    made.write(name, text.replace(old, new, 1))
    return text[:text.index(old)].count("\n") + 1


def faults(run):
    """What was said on either stream, but for the log."""
    return [x for x in (run.stdout + run.stderr).splitlines() if x and not x.startswith("{")]


def says(run, code, *words):
    """In one line, once."""
    assert run.returncode == EXIT[code], (run.returncode, run.stdout, run.stderr)
    assert sum(all(w in x for w in words) for x in faults(run)) == 1, (words, run.stdout, run.stderr)


# ---- configuration, policy, plan -------------------------------------------------------------------------------------

CONF = [
    # party, file, what is replaced, by what, what the line must say
    *[(p, f"{p}.conf", "state_dir =", "state_dri =", "unknown key 'state_dri' (did you mean 'state_dir'?)")
      for p in WORK],
    *[(p, f"{p}.conf", f'state_dir = "{p}"', "state_dir = 3", "string expected for 'state_dir'") for p in WORK],
    *[(p, f"{p}.conf", "tls = {", "tls = ", "syntax error") for p in WORK],
    *[(p, f"{p}.conf", 'state_dir = ', 'state_dir = "x"; state_dir = ', "duplicate") for p in WORK],
    *[(p, f"{p}-policy.conf", *change) for p in ("shuffler", "client") for change in (
        ("max_epsilon =", "max_epsilno =", "unknown key 'max_epsilno' (did you mean 'max_epsilon'?)"),
        ("min_batch = 10", "min_batch = -1", "value out of range for 'min_batch'"),
        ("min_batch = 10", "min_batch = 1.5", "'min_batch'"),
        ("delta = 1e-06", "delta = 2.0", "value out of range for 'delta'"),
        ("max_epsilon0 = 50.0", 'max_epsilon0 = "none"', "expected for 'max_epsilon0'"))],
    *[("analyzer", "plan.conf", *change) for change in (
        ("epsilon0", "epsilon_0", "unknown key 'epsilon_0' in 'rounds.[1]' (did you mean 'epsilon0'?)"),
        ("epsilon0 = 1.0", "epsilon0 = -1.0", "value out of range for 'epsilon0' in 'rounds.[1]'"),
        ('"grr"', '"rappro"', "unknown protocol 'rappro' (did you mean 'rappor'?)"),
        ('"c3"', '"c2"', "category 'c2' twice"),
        ('"histogram"', '"histogarm"', "\"places\" (did you mean \"histogram\"?)"),
        ('"histogram"', '"histo"', "'type' must be \"histogram\", \"mean\", \"quantiles\", \"sum\", "),
        (f"min_reports = {DEVICES}", "min_reports = 0", "value out of range for 'min_reports' in 'rounds.[1]'"),
        (f"target = {DEVICES}", "target = 3", "target"),
        ("delta = ", "dleta = ", "unknown key 'dleta' in 'budget' (did you mean 'delta'?)"),
        ("rounds = (", "rounds = [", "syntax error"))],
]


@pytest.mark.parametrize("verb", ["check-config", "work"])
@pytest.mark.parametrize("party,name,old,new,said", CONF)
def test_a_bad_setting(world, party, name, old, new, said, verb):
    number = edit(world, name, old, new)
    run = work(world, party, *(() if verb == "work" else (verb,)))
    if "syntax" in said:
        # Where the parser notices, which may be a line later.
        assert run.returncode == EXIT["config"]
        at = [int(m[1]) for m in re.finditer(rf"{re.escape(world.path(name))}:(\d+): {said}", run.stdout + run.stderr)]
        assert at and number <= at[0] <= number + 1
    else:
        says(run, "config", f"{world.path(name)}:{number}: ", said)


@pytest.mark.parametrize("change", [c for c in CONF if c[1] == "plan.conf"])
def test_the_tool_finds_the_same_in_a_plan(world, change):
    edit(world, *change[1:4])
    for verb in ("check", "digest", "cost"):
        run = subprocess.run([c.program("tombola"), "plan", verb, world.path("plan.conf")], capture_output=True, text=True)
        says(run, "config", world.path("plan.conf") + ":", change[4])


@pytest.mark.parametrize("party", WORK)
def test_every_fault_of_a_configuration_is_said(world, party):
    first = edit(world, f"{party}.conf", "state_dir = ", "state_dri = ")
    second = edit(world, f"{party}.conf", 'http = "', "http = 5; # ")
    run = work(world, party, "check-config")
    says(run, "config", f"{party}.conf:{first}: ", "state_dri")
    says(run, "config", f"{party}.conf:{second}: ", "http")
    says(run, "config", f"{party}.conf: missing required key 'state_dir'")


@pytest.mark.parametrize("party,name", [("shuffler", "shuffler.conf"), ("shuffler", "shuffler-policy.conf"),
                                        ("client", "client.conf"), ("client", "client-policy.conf"),
                                        ("analyzer", "analyzer.conf"), ("analyzer", "plan.conf")])
@pytest.mark.parametrize("how", ["missing", "folder"])
def test_a_configuration_that_is_not_there(world, party, name, how):
    os.unlink(world.path(name))
    if how == "folder":
        os.mkdir(world.path(name))
    for run in (work(world, party), work(world, party, "check-config")):
        assert run.returncode in (EXIT["noinput"], EXIT["config"]), run
        assert world.path(name) in run.stderr, run.stderr


# ---- certificates and keys -------------------------------------------------------------------------------------------

FILES = [(p, f) for p, fs in {
    "shuffler": ["shuffler.crt", "shuffler.key", "services-ca.crt", "clients-ca.crt", "services-ca.crl",
                 "clients-ca.crl", "shuffler-sign.key", "analyzer-sign.pub"],
    "analyzer": ["analyzer.crt", "analyzer.key", "services-ca.crt", "analyzer-sign.key", "shuffler-sign.pub"],
    "client": ["client.crt", "client.key", "services-ca.crt", "analyzer-sign.pub", "shuffler-sign.pub"]}.items()
    for f in fs]


@pytest.mark.parametrize("party,name", FILES)
@pytest.mark.parametrize("how", ["missing", "garbage", "another kind"])
def test_a_bad_certificate_or_key_file(world, party, name, how):
    path = os.path.join(world.pki, party, name)
    mode = os.stat(path).st_mode & 0o777
    os.unlink(path)
    if how != "missing":
        # A key where a certificate belongs, and the reverse.
        other = os.path.join(world.pki, party, f"{party}.crt" if name.endswith((".key", ".pub")) else f"{party}.key")
        with open(other) as f:
            text = "-----BEGIN NOTHING-----\n" if how == "garbage" else f.read()
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, mode), "w") as f:
            f.write(text)
    run = work(world, party)
    allowed = ("noinput", "config") if how == "missing" else ("permission", "data", "config")
    assert run.returncode in [EXIT[a] for a in allowed], (run.returncode, run.stderr)
    assert path in faults(run)[-1], run.stderr


@pytest.mark.parametrize("party,name", [f for f in FILES if f[1].endswith(".key")])
def test_a_key_that_others_may_read(world, party, name):
    path = os.path.join(world.pki, party, name)
    os.chmod(path, 0o640)
    says(work(world, party), "permission", path, "chmod 600")


# ---- state and ports -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("party", WORK)
def test_a_state_folder_that_cannot_be(world, party):
    for folder in ("plan.conf/inside", "/proc/nowhere"):
        edit(world, f"{party}.conf", "state_dir = ", f'state_dir = "{folder}"; # ')
        run = work(world, party)
        assert run.returncode in (EXIT["create"], EXIT["noinput"]), (run.returncode, run.stderr)
        assert folder in faults(run)[-1], run.stderr
        edit(world, f"{party}.conf", f'state_dir = "{folder}"; # ', "state_dir = ")


@pytest.mark.parametrize("party,name,how", [
    *[pytest.param("shuffler", "state.db", how, marks=pytest.mark.files("u/sh_postgresql damages rows"))
      for how in ("garbage", "flipped", "cut")],
    *[("client", "client.db", how) for how in ("garbage", "flipped", "cut")],
    # A ledger cut short loses its last record, torn: test_rounds.py has the shuffler refuse it.
    ("analyzer", "ledger", "garbage"), ("analyzer", "ledger", "flipped")])
def test_damaged_state_is_named(world, party, name, how):
    world.write("changes-on-purpose", "")
    path = world.path(party, name)
    with open(path, "rb") as f:
        good = f.read()
    half = len(good) // 2
    half += next(i for i, byte in enumerate(good[half:]) if byte)  # a page's free space says nothing
    bad = {"garbage": b"not this\n" * 50, "flipped": good[:half] + bytes([good[half] ^ 4]) + good[half + 1:],
           "cut": good[:half]}[how]
    with open(path, "wb") as f:
        f.write(bad)
    says(work(world, party), "data", path)
    with open(path, "rb") as f:
        assert party != "analyzer" and how != "garbage" or f.read() == bad, "the evidence was changed"


def test_a_port_in_use(world):
    with socket.create_server(("127.0.0.1", world.port)):
        says(work(world, "shuffler"), "unavailable", f"127.0.0.1:{world.port}", "in use")
    for party in WORK:
        with socket.create_server(("127.0.0.1", world.http[party])):
            says(work(world, party, "run"), "unavailable", f"127.0.0.1:{world.http[party]}", "in use")


@pytest.mark.parametrize("party", WORK)
def test_health_is_for_this_machine_only(world, party):
    edit(world, f"{party}.conf", 'http = "127.0.0.1:', 'http = "0.0.0.0:')
    says(work(world, party, "run"), "config", "0.0.0.0:", "loopback")


def test_two_daemons_never_share_a_state_folder(world):
    world.write("changes-on-purpose", "")  # they run the second round
    first = {"shuffler": world.start("shuffler", "run")}
    world.wait_listening()
    first.update({p: world.start(p, "run") for p in ("client", "analyzer")})
    for party in WORK:
        wait_for("the lock", lambda p=party: '"msg":' in first[p].log())
        pid = first[party].process.pid
        for args in ((), ("run",)):
            says(work(world, party, *args), "later", world.path(party), str(pid))
        assert first[party].alive()


@pytest.mark.parametrize("party", ["client", "analyzer"])
def test_nobody_at_the_other_end(world, party):
    if party == "analyzer":
        world.write("changes-on-purpose", "")  # the round's budget stays reserved
        edit(world, "analyzer.conf", "shuffler = ", 'give_up = "1s"; shuffler = ')
    run = work(world, party, *(() if party == "analyzer" else ("send", "READINGS", "--wait", "1s")))
    says(run, "unavailable", f":{world.port}", "refused")


# ---- the command line ------------------------------------------------------------------------------------------------

DAEMONS = ("tombola-client", "tombola-shuffler", "tombola-analyzer")
LINES = [
    *[(p, *case) for p in (*DAEMONS, "tombola") for case in (
        (["frob"], "unknown verb 'frob'"),
        (["--frob"], "'--frob'"),
        ([], "Usage:"),
        (["--log-format", "xml", "check"], "'xml'"),
        (["--color", "pink", "check"], "'pink'"),
        (["--config"], "'--config'"))],
    *[(p, *case) for p in DAEMONS for case in (
        (["runn"], "did you mean 'run'"), (["run", "--frob"], "'--frob'"), (["run", "more"], "'more'"))],
    ("tombola-client", ["send"], "FILE"), ("tombola-client", ["encode", "x.csv"], "--dry-run"),
    ("tombola-client", ["send", "x.csv", "--limit", "many"], "'many'"),
    ("tombola-client", ["send", "readings.csv", "--wait", "soon"], "'soon'"),
    ("tombola-client", ["send", "x.csv", "--format", "xls"], "'xls'"),
    ("tombola-analyzer", ["round", "run", "x"], "'x'"), ("tombola-analyzer", ["round"], "'round'"),
    ("tombola-analyzer", ["round", "run", "99"], "99"), ("tombola-analyzer", ["estimate"], "QUERY"),
    ("tombola", ["pki"], "second word"), ("tombola", ["pki", "frob"], "'pki frob'"), ("tombola", ["plan", "check"], "FILE"),
    ("tombola", ["pki", "issue", "x", "y"], "--role"), ("tombola", ["pki", "issue", "x", "y", "--role", "boss"], "--role"),
    ("tombola", ["pki", "issue", "x", "y", "--role", "client", "--days", "0"], "days"),
    ("tombola", ["pki", "needs-renewal", "x", "--within", "soon"], "'soon'"),
    ("tombola-accountant", ["frob"], "'frob'"), ("tombola-accountant", ["--frob"], "'--frob'"),
    ("tombola-accountant", [], "for the verbs"), ("tombola-accountant", ["epsilon", "--delta", "0.1"], "--round"),
    ("tombola-accountant", ["epsilon", "--delta", "2", "--round", "grr:k=4,eps0=1,n=100"], "delta"),
]
SPECS = [("grr:k=4,epsO=1,n=100", "no such key 'epsO'"), ("frob:n=100", "no such protocol 'frob'"),
         ("grr:k=4,eps0=1", "n= is missing"), ("grr:k=4,eps0=1,n=-5", "n="), ("grr:k=4,eps0=1,eps0=2,n=100", "eps0"),
         ("grr", "n="), ("", "")]


@pytest.mark.parametrize("program,args,said", LINES, ids=lambda x: x if isinstance(x, str) else " ".join(x))
def test_a_bad_command_line(world, program, args, said):
    party = program.removeprefix("tombola-")
    conf = ["--config", world.path(f"{party}.conf")] if program in DAEMONS and "--config" not in args and args else []
    run = subprocess.run([c.program(program), *conf, *args], capture_output=True, text=True, timeout=180, cwd=world.dir)
    assert not run.stdout
    says(run, "usage", said)


@pytest.mark.parametrize("spec,said", SPECS)
def test_a_bad_round_for_the_accountant(spec, said):
    run = subprocess.run([c.program("tombola-accountant"), "epsilon", "--delta", "1e-6", "--round", spec],
                         capture_output=True, text=True, timeout=180)
    says(run, "data", f"--round {spec}: ", said)


@pytest.mark.parametrize("variable,value", [("TOMBOLA_LOG_LEVEL", "loud"), ("TOMBOLA_LOG_FORMAT", "xml"),
                                            ("TOMBOLA_COLOR", "pink"), ("TOMBOLA_X25519", "abacus")])
def test_a_bad_environment(world, variable, value):
    for program in DAEMONS:
        run = subprocess.run([c.program(program), "config-sample"], capture_output=True, text=True,
                             env={**os.environ, variable: value})
        says(run, "usage", variable, value)


@pytest.mark.parametrize("program,args", [
    ("tombola", ["plan", "check", "none.conf"]), ("tombola", ["pki", "show", "none.crt"]),
    ("tombola-client", ["send", "none.csv"]), ("tombola-client", ["encode", "--dry-run", "none.csv"])])
def test_no_such_input(world, program, args):
    conf = ["--config", world.path("client.conf")] if program == "tombola-client" else []
    run = subprocess.run([c.program(program), *conf, *args], capture_output=True, text=True, timeout=180, cwd=world.dir)
    says(run, "noinput", "none.")


# ---- readings --------------------------------------------------------------------------------------------------------

GOOD = {"csv": ("device,colour\na,c0\n", "c,c1\n"),
        "ndjson": ('{"device":"a","colour":"c0"}\n', '{"device":"c","colour":"c1"}\n')}
ROWS = {
    # A row, what is said of it on demand, and whether its device can be told.
    ("csv", "short row"): ("b\n", "1 columns, the header has 2", True),
    ("csv", "long row"): ("b,c1,x\n", "3 columns, the header has 2", True),
    ("csv", "unknown value"): ("b,purple\n", "none of the query's categories", True),
    ("csv", "no device"): (",c1\n", "device field is empty", False),
    ("csv", "long device"): ("x" * 201 + ",c1\n", "longer than 200 bytes", False),
    ("csv", "stray quote"): ('b,c"1\n', "stray quote", True),
    ("csv", "open quote"): ('b,"c1\n', "not closed in its line", True),
    ("csv", "NUL"): ("b,c\0001\n", "NUL byte", True),
    ("csv", "long line"): ("b," + "x" * 4200000 + "\n", "a line longer than 262182 bytes", True),
    ("ndjson", "no JSON"): ("{oops\n", "not valid JSON at column", False),
    ("ndjson", "no object"): ("[1]\n", "not a JSON object", False),
    ("ndjson", "key twice"): ('{"device":"b","colour":"c0","colour":"c1"}\n', "key given twice", True),
    ("ndjson", "no field"): ('{"device":"b"}\n', "no field 'colour'", True),
    ("ndjson", "nested"): ('{"device":"b","colour":{"x":1}}\n', "no string, number or boolean", True),
    ("ndjson", "more behind"): ('{"device":"b","colour":"c1"} x\n', "not valid JSON at column", True),
    ("ndjson", "long line"): ('{"device":"b","colour":"' + "x" * 4200000 + '"}\n', "a line longer than 262182 bytes", True),
    ("ndjson", "not UTF-8"): ('{"device":"b","colour":"\xff"}\n', "no valid string", True),
}


@pytest.fixture
def offered(cluster):
    """A Python shuffler with an open round of two, for the real client."""
    cluster.configure(min_batch=1, max_epsilon0=5.0, epsilon=2.0)
    fake = Shuffler(cluster)
    d, _ = Descriptors(cluster).offer(fake, target=2, min_reports=1)
    yield cluster, fake, d
    fake.close()


def send(made, name, data, *args):
    with open(made.path(name), "wb") as f:
        f.write(data.encode("latin-1"))
    return made.run("client", "send", made.path(name), "--device-field", "device", "--wait", "3m", *args)


@pytest.mark.parametrize("ext,name", ROWS)
def test_a_bad_row_costs_its_device_the_reading_and_nothing_else(offered, ext, name):
    made, fake, d = offered
    row, said, told = ROWS[ext, name]
    text, place = GOOD[ext][0] + row + GOOD[ext][1], f"r.{ext}:{3 if ext == 'csv' else 2}: "
    # Where nothing is sent, it can be asked for.
    with open(made.path(f"r.{ext}"), "wb") as f:
        f.write(text.encode("latin-1"))
    dry = ("encode", "--dry-run", made.path(f"r.{ext}"), "--device-field", "device", "--wait", "3m")
    says(made.run("client", *dry, "--strict"), "data", place, said)
    run = made.run("client", *dry)
    assert run.returncode == 0 and place in run.stdout and said in run.stdout, run
    assert not fake.received and not os.path.exists(made.path("client", "client.db"))
    # The device takes part without a reading, when the file can be told to list it.
    run = send(made, f"r.{ext}", text)
    assert run.returncode == 0, run.stderr
    assert len(fake.rounds[d.round_id]["taken"]) == 2 + told
    assert place not in run.stdout + run.stderr and said not in run.stdout + run.stderr, "output tells of readings"
    assert all(x not in run.stdout + run.stderr for x in ("purple", "oops", "xxx")), "a value was shown"


@pytest.mark.parametrize("ext,name", [("csv", "unknown value"), ("ndjson", "no field")])
def test_what_became_of_readings_is_shown_on_demand_only(offered, ext, name):
    made, _, _ = offered
    row, said, _ = ROWS[ext, name]
    run = send(made, f"r.{ext}", GOOD[ext][0] + row + GOOD[ext][1], "--show-readings")
    assert run.returncode == 0 and "1 of 3 rows unusable" in run.stdout and said in run.stdout, run
    assert "1 devices without a reading" in run.stdout


def test_one_devices_reading_cannot_end_the_round_of_the_others(offered):
    made, fake, _ = offered
    assert "--strict" not in made.run("client", "send", "--help").stdout
    says(send(made, "r.csv", GOOD["csv"][0], "--strict"), "usage", "unrecognized option '--strict'")
    assert not fake.received


@pytest.mark.parametrize("ext,text,place,said", [
    ("csv", "", "r.csv: ", "empty"), ("csv", "device,colour\n", "r.csv: ", "no row names a device"),
    ("csv", "device,color\na,c0\n", "r.csv:1: ", "no column 'colour'"),
    ("csv", "dev,colour\na,c0\n", "r.csv:1: ", "no column 'device'"),
    ("csv", "device,colour,colour\na,c0,c0\n", "r.csv:1: ", "a column twice"),
    ("csv", 'device,"colour\na,c0\n', "r.csv:1: ", "not closed"),
    ("ndjson", "", "r.ndjson: ", "no row names a device"), ("xls", "device,colour\na,c0\n", "r.xls", "--format"),
])
def test_readings_that_cannot_be_read_at_all(offered, ext, text, place, said):
    made, fake, _ = offered
    run = send(made, f"r.{ext}", text)
    says(run, "usage" if ext == "xls" else "data", place, said)
    assert not fake.received
    assert ext == "xls" or not made.charged()


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_what_never_ends_is_no_input_of_rounds(offered, path):
    """Nor does it keep the client from ending."""
    made, fake, _ = offered
    os.mkfifo(made.path("pipe"))
    edit(made, "client.conf", 'path = "readings.csv"', f'path = "{path}"; format = "csv"')
    client = made.start("client", "run")
    wait_for("the round to be passed over", lambda: "not a regular file" in client.log())
    said, = [json.loads(line) for line in client.log().splitlines() if "not a regular file" in line]
    assert said["msg"] == "round passed over" and said["code"] == EXIT["data"] and path in said["reason"]
    client.stop()
    assert not fake.received and not made.charged()


@pytest.mark.parametrize("ext", GOOD)
def test_stdin_is_named_too(offered, ext):
    made, _, _ = offered
    text = GOOD[ext][0] + ROWS[("csv", "short row") if ext == "csv" else ("ndjson", "no field")][0] + GOOD[ext][1]
    run = made.run("client", "send", "-", "--format", ext, "--device-field", "device", "--wait", "3m", "--show-readings",
                   stdin=text)
    assert run.returncode == 0, run.stderr
    assert f"stdin:{3 if ext == 'csv' else 2}: " in run.stdout
    assert made.charged()


VECTORS = {
    # good rows, and bad ones with what is said of them
    "csv": ("device,v\n", ['a,"0 0.5 1"\n', 'b,"1;0, 0.5"\n', 'c,"9 0 0"\n'],
            [('d,"0 1"\n', "fewer than 3 numbers"), ('e,"0 1 0 1"\n', "not exactly 3 numbers"),
             ('f,"0 nan 1"\n', "no finite number"), ('g,"0 secret 1"\n', "no finite number"), ("h,\n", "fewer than 3")]),
    "ndjson": ("", ['{"device":"a","v":[0,0.5,1]}\n', '{"device":"b","v":"1 0 0.5"}\n', '{"device":"c","v":[9,0,0]}\n'],
               [('{"device":"d","v":[0,1]}\n', "fewer than 3 numbers"), ('{"device":"e","v":[0,1,0,1]}\n', "not exactly 3"),
                ('{"device":"f","v":[0,null,1]}\n', "array of numbers"), ('{"device":"g","v":["secret",0,1]}\n', "array of"),
                ('{"device":"h"}\n', "no field 'v'")])}


@pytest.mark.parametrize("ext", VECTORS)
def test_vectors_that_are_none_take_part_without_a_reading_and_are_never_shown(cluster, ext):
    head, good, bad = VECTORS[ext]
    cluster.configure(min_batch=2, devices=10)
    cluster.plan([{"query": "v", "type": "vector", "field": "v", "dimension": 3, "range": [0.0, 1.0], "epsilon0": 8.0,
                   "min_reports": 2, "target": 8, "window": "2m"}], epsilon=40.0)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    path = cluster.write(f"r.{ext}", head + good[0] + "".join(row for row, _ in bad) + "".join(good[1:]))
    for row, said in bad:
        only = cluster.write(f"one.{ext}", head + row)
        run = cluster.run("client", "encode", "--dry-run", only, "--device-field", "device", "--strict")
        says(run, "data", f"one.{ext}:{2 if head else 1}: ", said)
    dry = cluster.run("client", "encode", "--dry-run", path, "--device-field", "device")
    assert dry.returncode == 0 and "(vector of v)" in dry.stdout, dry
    for shown in ("0, 0.5, 1", "1, 0, 0.5", "1, 0, 0"):
        assert f"\n{shown} " in dry.stdout, dry.stdout
    run = cluster.run("client", "send", path, "--device-field", "device", "--wait", "3m", "--show-readings")
    assert run.returncode == 0, run.stderr
    assert "5 of 8 rows unusable" in run.stdout and "1 values clamped" in run.stdout, run.stdout
    assert analyzer.wait() == 0, analyzer.log()
    assert cluster.json("analyzer", "estimate", "v")["reports"] == 8
    for text in (dry.stdout + dry.stderr, run.stdout + run.stderr):
        assert "secret" not in text


def test_a_byte_order_mark_begins_a_configuration(cluster):
    cluster.two_colours(4)
    for name in ("analyzer.conf", "plan.conf", "client-policy.conf"):
        with open(cluster.path(name), encoding="utf-8") as f:
            text = f.read()
        with open(cluster.path(name), "w", encoding="utf-8-sig") as f:
            f.write(text)
    for party in ("analyzer", "client"):
        run = cluster.run(party, "check-config")
        assert run.returncode == 0, run.stderr
    with open(cluster.path("more.conf"), "w", encoding="utf-8-sig") as f:
        f.write("# nothing\n")
    with open(cluster.path("client.conf"), "a", encoding="utf-8") as f:
        f.write('@include "more.conf"\n')
    run = cluster.run("client", "check-config")
    assert run.returncode != 0 and "more.conf: begins with a byte order mark: save it without one" in run.stderr, run.stderr
