"""What stays behind: readings in no file and no log, nothing at rest that joins devices to messages, keys that are gone when
their round is, and nothing released before its time."""
import base64
import hashlib
import hmac
import json
import os
import random
import resource
import signal
import struct
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import params
import vectors
import wire
from broker import Broker
from chance import near
from cluster import wait_for
from parties import Analyzer, Device
from test_mqtt import subscribed, use_mqtt
from test_shuffler import open_round, submissions
from test_structured import batch
from wire import pb

# ---- readings ---------------------------------------------------------------------------------------------------------

NUMBER, TEXT, NAME = 17.318273645, "zq7-canary-of-a-text", "canary-device"


def spellings():
    """How a reading or a device's name might stand somewhere."""
    out = {repr(NUMBER).encode(), b"%.9g" % NUMBER, struct.pack("<d", NUMBER), struct.pack(">d", NUMBER),
           struct.pack("<f", NUMBER)}
    for text in (TEXT, NAME):
        raw = text.encode()
        out |= {raw, raw.hex().encode(), raw.hex().upper().encode(), text.encode("utf-16-le"), base64.b64encode(raw)[:-4]}
    return out


def files_with(folder, needles, but=()):
    """Of all files below the folder, those that hold one of these."""
    found = []
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if os.path.basename(path) in but or not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                data = f.read()
            found += [(path, needle) for needle in needles if needle in data]
    return found


def canaries(cluster, n):
    """n devices, all with the reading that can be told from any other."""
    with open(cluster.path("readings.ndjson"), "w") as f:
        f.writelines(json.dumps({"device": f"{NAME}-{i}", "celsius": NUMBER, "site": TEXT, "v": [NUMBER / 40] * 6}) + "\n"
                     for i in range(n))
    with open(cluster.path("client.conf")) as f:
        conf = f.read()
    cluster.write("client.conf", conf.replace("readings.csv", "readings.ndjson"))


def dumps_core(process):
    """Does it leave a core file when it is killed by a fault?"""
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    process.send_signal(signal.SIGABRT)
    how = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    process.wait(180)
    return how.si_code == os.CLD_DUMPED


def test_a_reading_is_in_no_file_and_no_log(cluster):
    n = 30
    cluster.configure(min_batch=10, devices=n, max_epsilon0="inf")
    canaries(cluster, n)
    plan = [batch(n, query="celsius", type="mean", protocol="levels", field="celsius", range=[0.0, 40.0], epsilon0=3.0),
            batch(n, query="site", type="prefixes", field="site", bits=8, epsilon0=3.0),
            batch(n, query="v", type="vector", protocol="words", field="v", dimension=6, range=[0.0, 1.0], slots=3,
                  size=2, epsilon0=3.0)]
    cluster.plan(plan, epsilon=45.0)
    daemons = [cluster.start("shuffler", "run", "-vv")]
    cluster.wait_listening()
    daemons.append(cluster.start("client", "run", "-vv"))
    # One after the other, so that files are looked at while all of it is under way and open.
    for number in range(1, len(plan) + 1):
        run = cluster.run("analyzer", "round", "run", str(number), "-vv")
        assert run.returncode == 0, run.stderr
        assert not any(s.decode("latin-1") in run.stderr + run.stdout for s in spellings())
        assert files_with(cluster.dir, spellings(), but=("readings.ndjson",)) == []
    assert [dumps_core(d.process) for d in daemons] == [False, False]
    assert files_with(cluster.dir, spellings(), but=("readings.ndjson",)) == []
    assert files_with(cluster.dir, spellings()), "the test would find it"


def test_a_reading_by_mqtt_is_in_no_file_and_no_log(cluster, tmp_path_factory):
    n = 5
    cluster.configure(min_batch=2, devices=n)
    broker = Broker(cluster)
    # The list of devices is the operator's, and elsewhere.
    names = tmp_path_factory.mktemp("operator") / "devices"
    names.write_text("".join(f"{NAME}-{i}\n" for i in range(n)))
    use_mqtt(cluster, broker, devices=f'"{names}"', gather='"2s"')
    cluster.plan([batch(n, query="celsius", type="mean", protocol="levels", field="celsius", range=[0.0, 40.0],
                        epsilon0=3.0)], epsilon=45.0)
    shuffler = cluster.start("shuffler", "run", "-vv")
    cluster.wait_listening()
    client = cluster.start("client", "run", "-vv")
    subscribed(cluster)
    analyzer = cluster.start("analyzer", "run", "--once", "-vv")
    wait_for("the round", lambda: "round open" in shuffler.log())
    broker.publish(*((f"sensors/{NAME}-{i}/reading", json.dumps({"celsius": NUMBER, "site": TEXT})) for i in range(n)))
    assert analyzer.wait() == 0, analyzer.log()
    assert files_with(cluster.dir, spellings()) == []
    assert not dumps_core(client.process)
    assert files_with(cluster.dir, spellings()) == []


# ---- the shuffler's disk ----------------------------------------------------------------------------------------------

TAG_ROW = 0xffffffff


def key_of(key, round_id, use):
    return HKDF(hashes.SHA256(), 32, round_id, use).derive(key)


def unboxed(key, round_id, bucket, number, body):
    return AESGCM(key).decrypt(body[:12], body[12:], round_id + struct.pack("<IQ", bucket, number))


class Thief:
    """Has the shuffler's disk and, though it lies elsewhere, the round's key; knows all devices and their certificate."""

    def __init__(self, cluster, d, length):
        name = d.round_id.hex()
        with open(cluster.path("shuffler", "keys", name + ".key"), "rb") as f:
            key = f.read()
        box, self.tag_key = (key_of(key, d.round_id, use) for use in (b"box", b"tag"))
        self.blocks = []  # (bucket, messages in their order)
        for bucket, number, body in cluster.round_rows(name, "bucket, id, body", "block"):
            plain = unboxed(box, d.round_id, bucket, number, body)
            self.blocks.append((bucket, [plain[i:i + length] for i in range(0, len(plain), length)]))
        self.tags = []  # of each commit, in the order of the row
        for number, body in cluster.round_rows(name, "id, body", "tags"):
            plain = unboxed(box, d.round_id, TAG_ROW, number, body)
            n = struct.unpack("<I", plain[:4])[0]
            self.tags.append([plain[8 + 32 * i:24 + 32 * i] for i in range(n)])
        with open(os.path.join(cluster.pki, "client", "client.crt"), "rb") as f:
            public = x509.load_pem_x509_certificate(f.read()).public_key()
        self.key_hash = hashlib.sha256(public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).digest()

    def tag(self, pseudonym):
        return hmac.new(self.tag_key, b"d" + self.key_hash + pseudonym, hashlib.sha256).digest()[:16]


def commits(cluster, mutant, count, size, kind):
    """A round whose every Submit is a commit of its own: what the thief has, and the Submits."""
    cluster.configure(devices=count * size, max_epsilon0="inf")
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write('limits = { commit_wait = "0s"; commit_messages = 1; };\n')
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = Analyzer(cluster, epsilon_limit=100.0).dial()
    change = {}
    if kind == "tags":
        change = dict(query=pb.Query(name="v", kind=pb.QUERY_VECTOR, field="x", low=0.0, high=1.0, dimension=6),
                      randomizer=params.message(
                          params.of("ss-double", slots=[params.slot(count=1, groups=6, bins=2, keep=vectors.down(0.73))]),
                          tags=6, tag_messages=2 * size))
    d = analyzer.descriptor(epsilon0=1.0, min_reports=2, target=count * size + 1, shuffler_dummies=0)
    for k, v in change.items():
        getattr(d, k).CopyFrom(v)
    data = analyzer.reserve(d)
    analyzer.extend()
    analyzer.announce(data)
    device, sent = Device(cluster), []
    for _ in range(count):
        part = [(os.urandom(32), (struct.pack("<H", random.randrange(6)) if kind == "tags" else b"") + os.urandom(64))
                for _ in range(size)]
        assert set(device.submit(d, part)) == {pb.OUTCOME_ACCEPTED}
        sent.append(part)
    shuffler.kill()  # while it runs its files are locked
    return Thief(cluster, d, 66 if kind == "tags" else 64), sent


def matched(thief, sent):
    """(tags, pairs right, pairs of neighbours in a block in the order of arrival, all such pairs): the thief puts the tags
    of each commit beside its messages in the order in which both lie on the disk."""
    arrival = {s: i for i, (_, s) in enumerate(x for part in sent for x in part)}
    device = {thief.tag(p): i for i, (p, _) in enumerate(x for part in sent for x in part)}
    commit_of = {i: c for c, part in enumerate(sent) for i in range(c * len(part), (c + 1) * len(part))}
    lying, right, tags = [arrival[m] for _, block in thief.blocks for m in block], 0, 0
    for row in thief.tags:
        owners = [device[t] for t in row]
        own = [i for i in lying if commit_of[i] == commit_of[owners[0]]]
        right += sum(a == b for a, b in zip(owners, own))
        tags += len(row)
    pairs = [(arrival[a], arrival[b]) for _, block in thief.blocks for a, b in zip(block, block[1:])]
    return tags, right, sum(a < b for a, b in pairs), len(pairs)


@pytest.mark.parametrize("kind", ["plain", "tags"])
def test_a_thief_of_the_disk_with_the_key_matches_no_better_than_chance(cluster, kind):
    count, size = 15, 240  # 1/15! is 8e-13: the chance that random rows lie in order
    thief, sent = commits(cluster, "", count, size, kind)
    tags, right, ordered, pairs = matched(thief, sent)
    assert tags == count * size and len(thief.tags) == count
    assert sorted(m for _, block in thief.blocks for m in block) == sorted(s for part in sent for _, s in part)
    # One of each commit is right by chance, of variance one; of neighbours in a random order half are ordered, of variance
    # 1/12 each.
    assert near(right, count, count, step=1), right
    assert pairs > 1000 and near(ordered, pairs / 2, pairs / 12), (ordered, pairs)
    # Nor does the place of a commit's rows tell when it was.
    first = [next(c for c, part in enumerate(sent) if row[0] in {thief.tag(p) for p, _ in part}) for row in thief.tags]
    assert first != sorted(first)


def test_without_the_permutation_the_order_of_arrival_lies_on_the_disk(cluster):
    _, _, ordered, pairs = matched(*commits(cluster, "shuffler.permute", 2, 600, "plain"))
    assert ordered == pairs > 300


# ---- keys ---------------------------------------------------------------------------------------------------------------

def test_of_a_settled_round_no_key_is_left_on_the_disk(cluster):
    """The file of each key has another name all along, so that what was written over it can be seen."""
    n = 10
    cluster.two_colours(n)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    folders = [cluster.path(p, "keys") for p in ("shuffler", "analyzer")]
    wait_for("the keys", lambda: all(os.path.isdir(f) and os.listdir(f) for f in folders) and
             "round open" in cluster.daemons[0].log())
    os.mkdir(cluster.path("kept"))
    keys = []
    for party, folder in zip(("shuffler", "analyzer"), folders):
        name, = (f for f in os.listdir(folder) if not f.endswith(".stored"))
        kept = cluster.path("kept", party)
        os.link(os.path.join(folder, name), kept)
        with open(kept, "rb") as f:
            keys.append(f.read())
    assert all(len(k) == 32 for k in keys), [len(k) for k in keys]
    assert len(files_with(cluster.dir, keys)) == 4
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
    assert run.returncode == 0, run.stderr
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("the shuffler's key to go", lambda: not os.listdir(folders[0]))
    assert os.path.getsize(cluster.path("kept", "shuffler")) in (0, 32)
    assert files_with(cluster.dir, keys) == []


# ---- time ---------------------------------------------------------------------------------------------------------------

def test_before_a_round_is_sealed_the_analyzer_learns_nothing_of_it(cluster):
    """The answers are the same whether nobody or all but one have sent."""
    _, analyzer, d, data = open_round(cluster, target=9, min_reports=9)
    charge = pb.Charge(version=1, round_id=d.round_id, descriptor_hash=wire.sha256(data), manifest_hash=b"\1" * 32,
                       ledger_seq=analyzer.chain.seq, ledger_head=analyzer.chain.head).SerializeToString()
    questions = {"manifest": dict(await_manifest=pb.AwaitManifest(round_id=d.round_id, wait_ms=0)),
                 "segment": dict(pull=pb.Pull(round_id=d.round_id)),
                 "witness": dict(get_witness=pb.GetWitness(population="test")),
                 "announced": dict(announce=pb.Announce(descriptor=data, signature=wire.sign(analyzer.key, "descriptor", data))),
                 "released": dict(release=pb.Release(charge=charge, signature=wire.sign(analyzer.key, "charge", charge)))}

    def answers():
        out = {}
        for kind, question in questions.items():
            analyzer.link.send(**question)
            frame = analyzer.link.receive()
            assert (frame.WhichOneof("kind") == "error") == (kind not in ("witness", "announced")), frame
            out[kind] = frame.SerializeToString()
        return out

    before = answers()
    device = Device(cluster)
    device.submit(d, submissions(d, data, range(8)))
    assert answers() == before
    began = time.monotonic()
    analyzer.link.send(await_manifest=pb.AwaitManifest(round_id=d.round_id, wait_ms=700))
    assert analyzer.link.receive().error.code == pb.ERROR_BUSY and time.monotonic() - began > 0.6
    device.submit(d, submissions(d, data, [8]))
    manifest, _ = analyzer.manifest(d)
    assert manifest.participants == 9
