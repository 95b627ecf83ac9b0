"""Proofs of inclusion: honest shufflers answer for every message and are never convicted; one that drops accepted messages
leaves every client with evidence that a third person can check, and that nobody can forge."""
import os
import sqlite3
import subprocess
import time

import pytest

import params
import wire
from cluster import EXIT, program, wait_for
from evidence import cheated, conf, evidence, proofs, replacing, rounds, verify  # noqa: F401
from parties import Device
from wire import pb


# ---- honest ----------------------------------------------------------------------------------------------------------

def honest_round(cluster, **keys):
    rounds(cluster, **keys)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    sent = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--wait", "3m")
    assert sent.returncode == 0, sent.stderr
    assert analyzer.wait() == 0, analyzer.log()
    return shuffler


def test_every_watched_message_is_in_the_manifest_of_an_honest_shuffler(cluster):
    shuffler = honest_round(cluster)
    run, counts = proofs(cluster)
    assert run.returncode == 0, run.stderr
    assert counts == {"included": 32, "missing": 0, "unanswered": 0, "waiting": 0, "void": 0}
    assert not evidence(cluster)
    assert "32 in the manifest, 0 missing" in cluster.run("client", "status").stdout
    # Nothing is asked twice, and the shuffler has written nothing down of what was asked.
    again, counts = proofs(cluster)
    assert again.returncode == 0 and counts["included"] == 32
    log = shuffler.log()
    assert "proof" not in log.replace("proof_window", ""), log


def test_the_clients_of_a_daemon_ask_by_themselves(cluster):
    rounds(cluster)
    conf(cluster, "client", 'proof_within = "1s"; proofs = 70;')
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    client = cluster.start("client", "run")
    assert analyzer.wait() == 0, analyzer.log()
    # 60 devices in two requests of 32 hashes.
    wait_for("the proofs", lambda: client.log().count("messages are in the manifest") == 2)
    client.stop()
    assert "60 in the manifest, 0 missing, 0 unanswered, 0 waiting" in cluster.run("client", "status").stdout


def test_after_its_window_a_shuffler_has_erased_the_leaves(cluster):
    rounds(cluster)
    conf(cluster, "shuffler", 'proof_window = "2s";')
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = cluster.start("analyzer", "run", "--once")
    assert cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device").returncode == 0
    assert analyzer.wait() == 0, analyzer.log()
    wait_for("their erasure", lambda: not os.listdir(cluster.path("shuffler", "leaves")))
    run, counts = proofs(cluster)
    assert run.returncode == 0 and counts["unanswered"] == 32 and counts["missing"] == 0, run.stderr
    assert shuffler.alive()


def test_leaves_outlive_their_round_and_a_restart(cluster):
    shuffler = honest_round(cluster)
    shuffler.kill()
    assert cluster.stored() == 0 and os.listdir(cluster.path("shuffler", "leaves"))
    shuffler.start()
    cluster.wait_listening()
    run, counts = proofs(cluster)
    assert run.returncode == 0 and counts["included"] == 32, run.stderr


def test_proofs_agree_with_a_second_implementation(cluster):
    """Of what is in and of what is not, first and last included; requests of another length are refused."""
    rounds(cluster, n=37)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    d, data = device.round()
    sent = [(os.urandom(32), Device.seal(d, data, i % 2)) for i in range(37)]
    with pytest.raises(wire.Refused) as refused:
        device.manifest(d)
    assert refused.value.code == pb.ERROR_BUSY
    with pytest.raises(wire.Refused) as refused:
        device.prove(d, [])
    assert refused.value.code == pb.ERROR_BUSY
    device.submit(d, sent)

    def sealed():
        try:
            return device.manifest(d)
        except wire.Refused:
            return None

    signed = wait_for("the manifest", sealed)
    leaves = wire.Leaves([s for _, s in sent])
    assert pb.Manifest.FromString(signed.manifest).tree == leaves.root
    asked = [*leaves.hashes, b"\0" * 32, b"\xff" * 32, *(os.urandom(32) for _ in range(25))]
    for part in (asked[i:i + 32] for i in range(0, len(asked), 32)):
        assert device.prove(d, part) == [leaves.entry(h) for h in part]
    time.sleep(0.11)
    with pytest.raises(wire.Refused) as refused:
        device.link.ask("proof", get_proof=pb.GetProof(round_id=os.urandom(16), hashes=os.urandom(32 * 32)))
    assert refused.value.code == pb.ERROR_NOT_FOUND
    for length in (0, 31, 32 * 31, 32 * 33):
        with pytest.raises((wire.Refused, EOFError)) as refused:
            Device(cluster).link.ask("proof", get_proof=pb.GetProof(round_id=d.round_id, hashes=os.urandom(length)))
        assert not isinstance(refused.value, wire.Refused) or refused.value.code == pb.ERROR_BAD_MESSAGE


def test_proofs_are_given_at_a_pace_and_to_who_reads_them(cluster):
    """They cost more than they are asked with: a connection gets ten a second, and the others are served."""
    honest_round(cluster)
    device = Device(cluster)
    with sqlite3.connect(f"file:{cluster.path('client', 'client.db')}?mode=ro", uri=True) as db:
        (descriptor,), = db.execute("SELECT descriptor FROM proof")
    d = pb.Descriptor.FromString(descriptor)
    ask = dict(get_proof=pb.GetProof(round_id=d.round_id, hashes=os.urandom(32 * 32)))
    answers = {"proof": 0, "error": 0}
    for _ in range(50):
        device.link.send(**ask)
    for _ in range(50):
        frame = device.link.receive()
        answers[frame.WhichOneof("kind")] += 1
        assert frame.WhichOneof("kind") == "proof" or frame.error.code == pb.ERROR_BUSY
    assert 1 <= answers["proof"] <= 10, answers
    assert Device(cluster).prove(d, [os.urandom(32)])[0][0] == 2


# ---- dishonest -------------------------------------------------------------------------------------------------------

def test_who_drops_and_replaces_accepted_messages_is_convicted(cluster, replacing):
    cheated(cluster)
    run, counts = proofs(cluster)
    assert run.returncode == EXIT["protocol"] and "dropped messages that it had accepted" in run.stderr, run.stderr
    assert counts["missing"] == 30 and counts["included"] == 30 and counts["unanswered"] == 0
    files = evidence(cluster)
    assert len(files) == 30
    for path in files:
        assert os.stat(path).st_mode & 0o777 == 0o600
        said = verify(cluster, path)
        assert said.returncode == 0, said.stderr
        assert "signed that it accepted message" in said.stdout and "has no such message" in said.stdout
    # Every one of them opens another message, which was sent and is not in the manifest.
    missing = {pb.Evidence.FromString(open(f, "rb").read()).opening.hash for f in files}
    fake = replacing.rounds[replacing.order[0]]
    sent = {wire.sha256(s) for s in fake["taken"].values()}
    assert len(missing) == 30 and missing <= sent and not missing & set(fake["leaves"].hashes)
    # Of no other device or message is there a word in it: neither pseudonym nor sealed bytes nor salts.
    text = b"".join(open(f, "rb").read() for f in files)
    for names, sealed in replacing.received:
        assert not any(names[i:i + 32] in text for i in range(0, len(names), 32))
        assert not any(wire.sha256(sealed[i:i + 64]) in text for i in range(0, len(sealed), 64)
                       if wire.sha256(sealed[i:i + 64]) in fake["leaves"].hashes
                       and not neighbour(files, wire.sha256(sealed[i:i + 64])))


def neighbour(files, value):
    """Leaves beside a missing one are shown by its proof of absence, as hashes."""
    return any(value in pb.Evidence.FromString(open(f, "rb").read()).entry for f in files)


def test_without_the_check_dropped_messages_count_as_included(cluster, replacing):
    cheated(cluster)
    run, counts = proofs(cluster, mutant="client.proof")
    assert run.returncode == 0 and counts["missing"] == 0 and not evidence(cluster)


@pytest.mark.parametrize("how", ["claimed", "silent", "short"])
def test_who_answers_nothing_or_nonsense_is_shown_as_unanswered(cluster, replacing, how):
    replacing.how = how
    cheated(cluster, how)
    run, counts = proofs(cluster)
    assert run.returncode == 0, run.stderr
    assert counts["missing"] == 0 and counts["unanswered"] == 60 and counts["included"] == 0, counts
    assert "gives no proofs" in run.stderr or "proof" in run.stderr


def test_no_bit_of_evidence_can_be_changed(cluster, replacing):
    cheated(cluster)
    assert proofs(cluster)[1]["missing"] == 30
    path = evidence(cluster)[0]
    good = open(path, "rb").read()
    assert verify(cluster, path).returncode == 0
    forged = cluster.path("forged")
    at = sorted({*range(0, len(good), max(1, len(good) // 40)), len(good) - 1})  # all of them: test_cl_evidence
    for i in at:
        with open(forged, "wb") as f:
            f.write(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:])
        said = verify(cluster, forged)
        assert said.returncode in (EXIT["data"], EXIT["permission"]) and not said.stdout, (i, said.returncode, said.stdout)
    with open(forged, "wb") as f:
        f.write(good[:-1])
    assert verify(cluster, forged).returncode in (EXIT["data"], EXIT["permission"])
    # Another shuffler did not sign it.
    other = cluster.path("other.pub")
    with open(other, "wb") as f:
        key = wire.Ed25519PrivateKey.generate().public_key()
        f.write(key.public_bytes(wire.serialization.Encoding.PEM, wire.serialization.PublicFormat.SubjectPublicKeyInfo))
    said = subprocess.run([program("tombola"), "evidence", "verify", path, "--shuffler-key", other],
                          capture_output=True, text=True)
    assert said.returncode == EXIT["permission"] and not said.stdout


def test_an_honest_shuffler_cannot_be_convicted_by_recombined_parts(cluster):
    """What a client that was served honestly may try: the parts of evidence are true, together they are not."""
    rounds(cluster, n=12)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("analyzer", "run", "--once")
    device = Device(cluster)
    d, data = device.round()
    names = b"".join(os.urandom(32) for _ in range(12))
    sealed = b"".join(Device.seal(d, data, i % 2) for i in range(12))
    submit = pb.Submit(round_id=d.round_id, pseudonyms=names, sealed=sealed, salts=os.urandom(32 * 12))
    r = device.link.ask("receipt", submit=submit)
    late = pb.Submit(round_id=d.round_id, pseudonyms=os.urandom(32), sealed=Device.seal(d, data, 0), salts=os.urandom(32))
    refused = device.link.ask("receipt", submit=late)
    assert list(refused.outcomes) == [pb.OUTCOME_CLOSED]
    signed = wait_for("the manifest", lambda: manifest_or_none(device, d))
    messages = [sealed[i:i + 64] for i in range(0, len(sealed), 64)]
    leaves = wire.Leaves(messages)
    whole, closed = wire.Receipt(submit, r.outcomes, 1), wire.Receipt(late, b"\3", 1)
    hole = late.sealed

    def tried(opening, entry, manifest=signed, mutant=""):
        made = pb.Evidence(version=1, descriptor=data, manifest=manifest, opening=opening, entry=entry)
        with open(cluster.path("made"), "wb") as f:
            f.write(made.SerializeToString())
        return verify(cluster, cluster.path("made"), mutant=mutant)

    own = whole.opening(3, 0, r.signature)
    # Accepted and in: nothing.  Not accepted and not in: nothing, unless its outcome goes unread.
    assert tried(own, leaves.entry(own.hash)).returncode == EXIT["data"]
    said = tried(closed.opening(0, 0, refused.signature), leaves.entry(wire.sha256(hole)))
    assert said.returncode == EXIT["permission"], said.stderr
    # An accepted message with the proof of another one's absence, or of neighbours that are none.
    apart = wire.sha256(hole)
    said = tried(own, leaves.entry(apart))
    assert said.returncode == EXIT["permission"] and not said.stdout
    assert tried(own, leaves.entry(apart), mutant="evidence.entry").returncode == 0
    forged = pb.Opening.FromString(own.SerializeToString())
    forged.hash = apart
    said = tried(forged, leaves.entry(apart))
    assert said.returncode == EXIT["permission"] and not said.stdout
    assert tried(forged, leaves.entry(apart), mutant="round.receipt.signature").returncode == 0
    # A manifest of one's own.
    m = pb.Manifest.FromString(signed.manifest)
    m.tree = wire.Leaves([hole] * 12).root
    body = m.SerializeToString()
    unsigned = pb.SignedManifest(manifest=body, signature=wire.sign(wire.Ed25519PrivateKey.generate(), "manifest", body))
    alone = pb.Evidence(version=1, manifest=signed, other=unsigned)
    for made, mutant, code in ((alone, "", EXIT["permission"]), (alone, "evidence.manifest.signature", 0),
                               (pb.Evidence(version=1, manifest=signed, other=signed), "", EXIT["data"]),
                               (pb.Evidence(version=1, manifest=signed, other=signed), "evidence.two.differ", 0),
                               (pb.Evidence(version=1, manifest=signed), "", EXIT["data"]),
                               (pb.Evidence(version=2, manifest=signed, other=signed), "", EXIT["data"])):
        with open(cluster.path("made"), "wb") as f:
            f.write(made.SerializeToString())
        said = verify(cluster, cluster.path("made"), mutant=mutant)
        assert said.returncode == code, (said.stderr, mutant)


def manifest_or_none(device, d):
    try:
        return device.manifest(d)
    except wire.Refused:
        return None


def test_a_round_that_evens_out_tags_convicts_nobody(cluster):
    """It drops what was accepted, as prescribed: nothing is watched, and evidence made by hand is refused."""
    from test_dishonest import real, message
    analyzer, device, d, data = real(cluster, "tags", padded=30)
    names = b"".join(os.urandom(32) for _ in range(40))
    sealed = b"".join(message(d, data, 0, 0, 0) + message(d, data, params.read(d.randomizer).slots[0].groups, 1, 0) for _ in range(40))
    submit = pb.Submit(round_id=d.round_id, pseudonyms=names, sealed=sealed, salts=os.urandom(32 * 40))
    r = device.link.ask("receipt", submit=submit)
    assert set(r.outcomes) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    signed = device.manifest(d)
    receipt = wire.Receipt(submit, r.outcomes, 2, 2)
    size = d.record_length + 48 + 2
    parts = [sealed[i + 2:i + size] for i in range(0, len(sealed), size)]
    entries = [e for i in range(0, 80, 32) for e in device.prove(d, [wire.sha256(m) for m in parts[i:i + 32]])]
    assert {e[0] for e in entries} <= {1, 2}
    dropped = [i for i, e in enumerate(entries) if e[0] == 2]
    assert len(dropped) == 20  # 40 came of each of two tags, of which 30 stay
    i = dropped[0]
    made = pb.Evidence(version=1, descriptor=data, manifest=signed, opening=receipt.opening(i // 2, i % 2, r.signature),
                       entry=entries[i])
    with open(cluster.path("made"), "wb") as f:
        f.write(made.SerializeToString())
    said = verify(cluster, cluster.path("made"))
    assert said.returncode == EXIT["data"] and "evens out" in said.stderr, said.stderr
    assert verify(cluster, cluster.path("made"), mutant="evidence.evened").returncode == 0
