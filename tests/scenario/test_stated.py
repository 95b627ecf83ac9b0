"""What parties refuse before they trust it: beliefs that nobody stated, keys to which nothing can be sealed, files of other
users, Host headers that are none."""
import os
import re
import socket
import time

import pytest

import cluster as c
import wire
from cluster import wait_for
from parties import Analyzer
from test_quota import started
from wire import Refused, pb


# ---- what a policy has to state --------------------------------------------------------------------------------------

KEYS = {"honest_fraction": "share of a round's participants that you believe honest, 1.0: all",
        "colluders": "participants that may collude with the analyzer, 0: none",
        "max_share": "share of a round's target that the devices of one certificate may be, 1.0: all of it"}


@pytest.mark.parametrize("party,keys", [("shuffler", list(KEYS)), ("client", list(KEYS)[:2])])
def test_nobody_starts_without_saying_what_it_believes(cluster, party, keys):
    cluster.configure()
    with open(cluster.path(f"{party}-policy.conf")) as f:
        whole = f.read()
    for key in keys:
        cluster.write(f"{party}-policy.conf", re.sub(rf"^{key} = .*\n", "", whole, flags=re.M))
        for verb in ("check-config", "run"):
            run = cluster.run(party, verb)
            said = [line for line in (run.stdout + run.stderr).splitlines() if "missing required key" in line]
            assert run.returncode == c.EXIT["config"] and len(said) == 1, (run.stdout, run.stderr)
            assert f"'{key}': {KEYS[key]}" in said[0] and f"{party}-policy.conf" in said[0]
    cluster.write(f"{party}-policy.conf", whole)
    assert cluster.run(party, "check-config").returncode == 0


class Sliced(Analyzer):
    """One whose plans take a small slice, whatever their rounds cost."""

    def slice_of(self, d):
        return 0.5


@pytest.mark.parametrize("mutant", ["", "shuffler.honest"])
def test_the_shuffler_counts_those_whom_it_believes_whatever_the_descriptor_says(cluster, mutant):
    """A round among 1000, of whom the descriptor says all are honest; the shuffler believes that of 20, among whom
    it does not fit the plan's slice."""
    cluster.configure()
    with open(cluster.path("shuffler-policy.conf")) as f:
        text = f.read()
    cluster.write("shuffler-policy.conf", text.replace("colluders = 0", "colluders = 980"))
    cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = Sliced(cluster).dial()
    if mutant:
        analyzer.open_round(target=1000, min_reports=1000, epsilon0=1.0)
        return
    with pytest.raises(Refused) as e:
        analyzer.open_round(target=1000, min_reports=1000, epsilon0=1.0)
    assert e.value.code == pb.ERROR_POLICY_REFUSED and "believed honest" in e.value.text


# ---- keys that hide nothing ------------------------------------------------------------------------------------------

LOW = [bytes(32), b"\1" + bytes(31), bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
       b"\xed" + b"\xff" * 30 + b"\x7f", b"\xee" + b"\xff" * 31]


class Voiding(Analyzer):
    """One that can end a round that came to nothing, and go on."""

    def try_round(self, **kw):
        self.last = self.descriptor(**kw)
        data = self.reserve(self.last)
        self.extend()
        self.sequence, self.previous = self.last.sequence, wire.sha256(data)
        self.announce(data)

    def void(self):
        self.chain.add(kind=pb.RECORD_VOID, time_ms=3, round_id=self.last.round_id, reason="refused")
        self.extend()


def test_a_key_of_low_order_is_refused_by_the_shuffler(cluster):
    started(cluster)
    analyzer = Voiding(cluster).dial()
    for key in LOW:
        with pytest.raises(Refused) as e:
            analyzer.try_round(hpke_key=key)
        assert e.value.code == pb.ERROR_POLICY_REFUSED and "low order" in e.value.text
        analyzer.void()
    analyzer.open_round()


@pytest.mark.parametrize("mutant", ["", "policy.key"])
def test_a_key_of_low_order_is_refused_by_the_client_once_and_for_good(cluster, mutant):
    started(cluster, mutant="policy.key", devices=2)
    cluster.write("readings.csv", "device,colour\n" + "".join(f"d{i},c{i}\n" for i in range(2)))
    analyzer = Voiding(cluster).dial()
    analyzer.try_round(hpke_key=LOW[1])
    client = cluster.start("client", "run", mutant=mutant)
    said = "nothing can be sealed" if not mutant else "low order"
    wait_for("the refusal", lambda: said in client.log())
    if mutant:
        wait_for("the same again", lambda: client.log().count(said) > 1)
        return
    # It is done with this round: it takes part in the next.
    analyzer.void()
    d, _ = analyzer.open_round(target=2, min_reports=2)
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == 2 and client.log().count(said) == 1


# ---- whose files they are --------------------------------------------------------------------------------------------

@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("party", ["shuffler", "analyzer", "client"])
def test_keys_and_state_of_another_user_are_refused(cluster, party):
    cluster.two_colours(4)
    key = os.path.join(cluster.pki, party, f"{party}.key")
    secrets = [key] + ([key.replace(".key", "-sign.key")] if party != "client" else [])
    for path in secrets:
        os.chown(path, 4711, -1)
        for verb in ("check-config", "run"):
            run = cluster.run(party, verb)
            assert f"{path}: belongs to user 4711, not to us (user 0) or root: chown it" in run.stdout + run.stderr
            assert run.returncode in (c.EXIT["config"], c.EXIT["permission"]), run.returncode
        os.chown(path, 0, -1)
    for spoil, undo, says in ((lambda p: os.chown(p, 4711, -1), lambda p: os.chown(p, 0, -1), "belongs to user 4711"),
                              (lambda p: os.chmod(p, 0o770), lambda p: os.chmod(p, 0o700), "others may write to")):
        spoil(cluster.path(party))
        run = cluster.run(party, "run")
        assert run.returncode == c.EXIT["permission"], (run.returncode, run.stderr)
        said = [line for line in run.stderr.splitlines() if says in line]
        assert len(said) == 1 and cluster.path(party) in said[0], run.stderr
        undo(cluster.path(party))
    os.chown(key, 4711, -1)
    daemon = cluster.start(party, "run", mutant="file.owner")
    time.sleep(0.5)
    assert daemon.alive(), "without the check it should have started: the check is not what refuses it"


# ---- Host headers ----------------------------------------------------------------------------------------------------

def status_of(port, *lines):
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall("\r\n".join(["GET /healthz HTTP/1.1", *lines, "Connection: close", "", ""]).encode())
        return int(s.recv(4096).split()[1])


@pytest.mark.parametrize("mutant", ["", "net.http.host"])
def test_a_host_header_is_a_host_and_there_is_one(cluster, mutant):
    started(cluster, mutant=mutant)
    port = cluster.http["shuffler"]
    for good in ("localhost", f"127.0.0.1:{port}", f"[::1]:{port}", "[::1]"):
        assert status_of(port, f"Host: {good}") == 200
    bad = [(f"Host: {h}",) for h in ("[::1]evil.example", "[::1]:80evil.example", "[::1", "[localhost]", "localhost:80x",
                                     "evil.example")]
    bad += [("Host: localhost", "Host: evil.example"), ("Host: evil.example", "Host: localhost"),
            ("Host: localhost", "host: localhost")]
    for lines in bad:
        assert status_of(port, *lines) == (200 if mutant else 421), lines
