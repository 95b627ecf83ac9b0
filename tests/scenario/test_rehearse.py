"""A plan is rehearsed before anybody signs it: what each party would do with it is said with file, line, key and both values, from
policies, pins and the length of lists alone; nothing is pinned, and nothing is spent."""
import json
import os
import re
import sqlite3

from cluster import EXIT, wait_for
from spread import Spread

N = 40


def deployed(cluster, n=N, listed=N, devices=N, client="", **keys):
    """A shuffler and a client with a list of devices; client: lines that its policy has beside the usual."""
    cluster.two_colours(n, **keys)
    cluster.configure(min_batch=n, devices=devices)
    change(cluster, "client.conf", "^input = .*$", 'input = { path = "readings.csv"; device_field = "device";'
           + (' devices = "devices.txt";' if listed else "") + " };")
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(listed)))
    with open(cluster.path("client-policy.conf"), "a") as f:
        f.write(client)


def change(cluster, name, pattern, by):
    with open(cluster.path(name)) as f:
        text, n = re.subn(pattern, by, f.read(), flags=re.M)
    assert n == 1, (name, pattern)
    cluster.write(name, text)


def begin(cluster, *parties, mutant=""):
    out = []
    for party in parties or ("shuffler", "client"):
        out.append(cluster.start(party, "run", mutant=mutant))
        if party == "shuffler":
            cluster.wait_listening()
    if "client" in (parties or ("client",)):
        wait_for("the client to connect", lambda: '"connected"' in out[-1].log())
    return out


def line_of(cluster, name, key):
    with open(cluster.path(name)) as f:
        return next(i for i, line in enumerate(f, 1) if line.startswith(f"{key} "))


def rehearse(cluster, *args):
    return cluster.run("analyzer", "plan", "rehearse", *args)


def document(cluster, code, *args):
    """The answer as JSON, and its one client if there is one."""
    run = rehearse(cluster, "--json", *args)
    assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
    return json.loads(run.stdout)


def nothing_is_spent(cluster):
    """No party has pinned anything: not in its database, not in the ledger."""
    assert not os.path.exists(cluster.path("analyzer", "ledger")) or cluster.json("analyzer", "ledger", "verify")["seq"] == 0
    assert cluster.json("shuffler", "status")["ledger_seq"] == 0
    with sqlite3.connect(f"file:{cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
        for table in ("pin", "plan"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_one_command_names_all_that_is_wrong_and_then_nothing(cluster):
    """A client's min_batch, the shuffler's max_share and a list that is too short, all wrong at once."""
    deployed(cluster, listed=30)
    change(cluster, "client-policy.conf", "^min_batch.*$", "min_batch = 10000;")
    change(cluster, "shuffler-policy.conf", "^max_share.*$", "max_share = 0.2;")
    shuffler, client = begin(cluster)
    run = rehearse(cluster)
    assert run.returncode == EXIT["config"] and "nothing is signed, nothing is spent" in run.stderr, run
    assert (f"client: client-policy.conf:{line_of(cluster, 'client-policy.conf', 'min_batch')}: policy: the round guarantees a batch "
            f"of {N} (min_reports of the plan), min_batch is 10000: lower it, or raise min_reports (round 1)") in run.stdout, run.stdout
    # floor(0.2 * 40) = 8 devices of one certificate; 22 of its 30 are left out.
    assert (f"plan.conf:5: round 1 (colour): min_reports is {N}, and 0 would take part; 30 devices are listed; max_share = 0.2 of the "
            f"shuffler's policy takes at most 8 devices of one certificate at target {N} and leaves out 22") in run.stdout, run.stdout
    nothing_is_spent(cluster)
    client.stop()
    change(cluster, "client-policy.conf", "^min_batch.*$", f"min_batch = {N};")
    begin(cluster, "client")
    found = document(cluster, EXIT["config"])
    entry, = found["entries"]
    assert (entry["listed"], entry["participants"], entry["at_most"], entry["over_share"], entry["reached"]) == (30, 8, 8, 22, "no")
    assert entry["taken"] and found["would_take"] == 1 and found["answered"] == 1, found
    shuffler.stop()
    change(cluster, "shuffler-policy.conf", "^max_share.*$", "max_share = 1.0;")
    begin(cluster, "shuffler")
    wait_for("the client to come back", lambda: document(cluster, EXIT["config"])["answered"])
    run = rehearse(cluster)
    assert f"min_reports is {N}, and 30 would take part" in run.stdout, run.stdout
    cluster.daemons[-2].stop()
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(N)))
    begin(cluster, "client")
    found = document(cluster, 0)
    assert found["faults"] == 0 and found["entries"][0]["reached"] == "yes" and found["clients"][0]["listed"] == N, found
    nothing_is_spent(cluster)
    # What was rehearsed is what happens.
    run = cluster.run("analyzer", "run", "--once")
    assert run.returncode == 0, run.stderr
    assert cluster.json("analyzer", "round", "show", "1")["result"]["participants"] == N


def test_a_client_that_does_not_rehearse_says_so(cluster):
    deployed(cluster, client="rehearse = false;\n")
    _, client = begin(cluster)
    found = document(cluster, EXIT["config"])
    assert (found["declined"], found["answered"], found["clients"][0]["state"]) == (1, 0, "declines"), found
    assert "rehearse = false" in client.log()
    assert rehearse(cluster).stdout.endswith("no client answered: who is not connected now is not counted\n")


def test_a_client_without_a_list_says_so_and_reads_nothing(cluster):
    """Its file of readings says who takes part: it is not opened."""
    deployed(cluster, listed=0)
    os.unlink(cluster.path("readings.csv"))
    begin(cluster)
    found = document(cluster, 0)
    entry, = found["entries"]
    assert (entry["participants"], entry["at_most"], entry["reached"]) == (0, N, "perhaps") and found["clients"][0]["listed"] == 0
    assert "no list" in rehearse(cluster).stdout


def test_devices_beyond_the_certificate_do_not_count(cluster):
    deployed(cluster, devices=25)
    begin(cluster)
    entry, = document(cluster, EXIT["config"])["entries"]
    assert (entry["listed"], entry["participants"], entry["over_certificate"], entry["over_share"]) == (N, 25, N - 25, 0), entry


def test_the_shuffler_says_what_it_would_not_take(cluster):
    """Its policy believes fewer participants honest than the plan: found only by composing."""
    deployed(cluster, min_reports=5000, target=5000)
    change(cluster, "shuffler-policy.conf", "^honest_fraction.*$", "honest_fraction = 0.001;")
    change(cluster, "plan.conf", "^budget.*$", 'budget = { epsilon = 1.0; delta = 1e-06; unit = "device"; };')
    begin(cluster)
    run = rehearse(cluster)
    assert run.returncode == EXIT["config"], run
    assert ("shuffler: shuffler-policy.conf:6: budget: by the shuffler's count it does not fit the slice of epsilon 1 at delta "
            "1e-06; honest_fraction is 0.001, the plan's 1 (round 1)") in run.stdout, run.stdout
    nothing_is_spent(cluster)


def test_clients_behind_an_intake_are_asked_too(cluster):
    deployed(cluster)
    spread = Spread(cluster, intakes=1)
    head = spread.head()
    spread.start()
    begin(cluster, "client")
    found = document(cluster, 0)
    assert found["answered"] == 1 and found["entries"][0]["participants"] == N, found
    head.stop()


def test_what_is_pinned_already_is_told_from_the_pin(cluster):
    deployed(cluster)
    begin(cluster)
    assert cluster.run("analyzer", "run", "--once").returncode == 0
    found = document(cluster, 0)
    assert found["would_take"] == 1 and found["clients"][0]["would_answer"] == 1, found


def test_without_a_shuffler_there_is_no_rehearsal(cluster):
    deployed(cluster)
    run = rehearse(cluster)
    assert run.returncode == EXIT["unavailable"] and "refused" in run.stderr, run.stderr
    for wait in ("0", "31", "x", ""):
        assert rehearse(cluster, "--wait", wait).returncode == EXIT["usage"], wait
