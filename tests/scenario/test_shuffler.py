"""The real shuffler against analyzers and devices in Python: what it takes, what it refuses, what it releases."""
import os
import struct
import time

import pytest

import wire
from cluster import wait_for
from parties import Analyzer, Device
from wire import Refused, pb


def open_round(cluster, mutant="", policy=None, **kw):
    cluster.configure(**(policy or {}))
    shuffler = cluster.start("shuffler", "run", mutant=mutant)
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    d, data = analyzer.open_round(**kw)
    return shuffler, analyzer, d, data


def submissions(d, data, values):
    return [(os.urandom(32), Device.seal(d, data, v)) for v in values]


def test_every_accepted_report_is_released_exactly_once(cluster):
    n = 3000
    _, analyzer, d, data = open_round(cluster, policy={"devices": n}, bins=n, target=n, min_reports=n)
    device = Device(cluster)
    sent = submissions(d, data, range(n))
    for i in range(0, n, 500):
        assert device.submit(d, sent[i:i + 500]) == [pb.OUTCOME_ACCEPTED] * 500
    manifest, signed = analyzer.manifest(d)
    assert manifest.participants == n and manifest.messages == n
    analyzer_charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(analyzer_charge)
    out = analyzer.pull(d, manifest)
    assert sorted(analyzer.value(data, s) for s in out) == list(range(n))
    assert [s for _, s in sent] != out, "released in order of arrival"
    assert analyzer.pull(d, manifest) == out, "a second reading differs"
    analyzer.settle(d)
    with pytest.raises(Refused) as e:
        analyzer.pull(d, manifest)
    assert e.value.code in (pb.ERROR_NOT_FOUND, pb.ERROR_ROUND_CLOSED)
    analyzer.settle(d)
    assert not os.listdir(cluster.path("shuffler", "keys")), "a round key outlived its round"


def test_the_same_bytes_again_get_the_same_answer_and_other_bytes_a_conflict(cluster):
    _, _, d, data = open_round(cluster, target=5, min_reports=5)
    device = Device(cluster)
    (p, s), = submissions(d, data, [1])
    assert device.submit(d, [(p, s)]) == [pb.OUTCOME_ACCEPTED]
    assert device.submit(d, [(p, s)]) == [pb.OUTCOME_ACCEPTED]
    assert device.submit(d, [(p, Device.seal(d, data, 1))]) == [pb.OUTCOME_CONFLICT]
    # Twice in one frame, and both ways round.
    (q, t), = submissions(d, data, [2])
    u = Device.seal(d, data, 2)
    assert device.submit(d, [(q, t), (q, u), (q, t)]) == \
        [pb.OUTCOME_ACCEPTED, pb.OUTCOME_CONFLICT, pb.OUTCOME_ACCEPTED]


def test_participation_tags_are_what_keeps_a_device_to_one_report(cluster):
    _, _, d, data = open_round(cluster, mutant="shuffler.tags", target=5, min_reports=5)
    device = Device(cluster)
    (p, s), = submissions(d, data, [1])
    assert device.submit(d, [(p, s)]) == [pb.OUTCOME_ACCEPTED]
    assert device.submit(d, [(p, Device.seal(d, data, 1))]) == [pb.OUTCOME_ACCEPTED], \
        "without the check the second report should have passed: the check is not what refuses it"


def test_a_certificate_speaks_for_no_more_devices_than_it_says(cluster):
    _, _, d, data = open_round(cluster, policy={"devices": 3}, target=9, min_reports=9)
    device, sent = Device(cluster), submissions(d, data, range(4))
    with pytest.raises(Refused) as e:
        device.submit(d, sent)
    assert e.value.code == pb.ERROR_BAD_MESSAGE and "4 devices, the certificate speaks for 3" in e.value.text
    assert device.submit(d, sent[:2]) == [pb.OUTCOME_ACCEPTED] * 2
    assert device.submit(d, sent[1:]) == [pb.OUTCOME_ACCEPTED] * 2 + [pb.OUTCOME_OVER_LIMIT]


def test_below_the_minimum_the_round_is_void_and_destroyed(cluster):
    shuffler, analyzer, d, data = open_round(cluster, target=9, min_reports=3, window_ms=6000)
    Device(cluster).submit(d, submissions(d, data, range(2)))
    manifest, signed = analyzer.manifest(d)
    assert manifest.void and manifest.participants == 2 and not manifest.buckets
    assert not os.listdir(cluster.path("shuffler", "keys"))
    with pytest.raises(Refused):
        charge = analyzer.charge(d, data, signed.manifest)
        analyzer.extend()
        analyzer.release(charge)


def test_after_the_seal_nothing_more_is_taken(cluster):
    _, analyzer, d, data = open_round(cluster, target=2, min_reports=2)
    device = Device(cluster)
    device.submit(d, submissions(d, data, range(2)))
    analyzer.manifest(d)
    try:
        assert device.submit(d, submissions(d, data, [3])) == [pb.OUTCOME_CLOSED]
    except Refused as e:
        assert e.code == pb.ERROR_ROUND_CLOSED


@pytest.mark.parametrize("what", ["no charge", "signature", "manifest", "ledger head", "record"])
def test_released_only_against_a_signed_charge_that_extends_the_ledger(cluster, what):
    _, analyzer, d, data = open_round(cluster, target=2, min_reports=2)
    Device(cluster).submit(d, submissions(d, data, range(2)))
    manifest, signed = analyzer.manifest(d)
    with pytest.raises(Refused) as e:
        if what == "no charge":
            analyzer.pull(d, manifest)
        elif what == "signature":
            charge = analyzer.charge(d, data, signed.manifest)
            analyzer.extend()
            analyzer.release(charge, signature=b"\1" * 64)
        elif what == "manifest":
            charge = analyzer.charge(d, data, signed.manifest, manifest_hash=b"\2" * 32)
            analyzer.extend()
            analyzer.release(charge)
        elif what == "ledger head":
            charge = analyzer.charge(d, data, signed.manifest, ledger_head=b"\3" * 32)
            analyzer.extend()
            analyzer.release(charge)
        else:
            charge = pb.Charge(version=1, round_id=d.round_id, descriptor_hash=wire.sha256(data),
                               manifest_hash=wire.sha256(signed.manifest), ledger_seq=analyzer.chain.seq,
                               ledger_head=analyzer.chain.head).SerializeToString()
            analyzer.release(charge)
    assert e.value.code in (pb.ERROR_SIGNATURE, pb.ERROR_LEDGER, pb.ERROR_CONFLICT, pb.ERROR_ROUND_CLOSED,
                            pb.ERROR_POLICY_REFUSED, pb.ERROR_BAD_MESSAGE, pb.ERROR_NOT_FOUND), e.value


def test_an_unsigned_charge_passes_once_the_check_is_removed(cluster):
    _, analyzer, d, data = open_round(cluster, mutant="shuffler.charge,round.charge.signature", target=2, min_reports=2)
    Device(cluster).submit(d, submissions(d, data, range(2)))
    _, signed = analyzer.manifest(d)
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge, signature=b"\1" * 64)


def test_an_older_ledger_is_refused(cluster):
    _, analyzer, d, data = open_round(cluster, target=2, min_reports=2)
    # Back to a copy of before the round, and on from there: signed, and another ledger.
    body = pb.Record(seq=2, kind=pb.RECORD_VOID, round_id=b"\0" * 16, reason="few").SerializeToString()
    with pytest.raises(Refused) as e:
        analyzer.show(2, [body], wire.sha256(analyzer.chain.heads[1], body))
    assert e.value.code == pb.ERROR_LEDGER and "older copy" in e.value.text


def descriptor_case(name):
    """A descriptor that an honest shuffler refuses, with the code and the check that refuses it."""
    return {
        "lowered minimum": (dict(min_reports=1, target=2), pb.ERROR_BATCH_TOO_SMALL, "policy.min_batch"),
        "epsilon0 above policy": (dict(epsilon0=6.0), pb.ERROR_POLICY_REFUSED,
                                  "policy.epsilon0,shuffler.plan.slice"),
        "over budget": (dict(epsilon0=3.0), pb.ERROR_BUDGET_EXHAUSTED, "shuffler.plan.slice"),
    }[name]


@pytest.mark.parametrize("name", ["lowered minimum", "epsilon0 above policy", "over budget"])
@pytest.mark.parametrize("removed", [False, True])
def test_a_descriptor_against_policy_or_budget(cluster, name, removed):
    change, code, check = descriptor_case(name)
    cluster.configure(min_batch=2, max_epsilon0=5.0, epsilon=2.0)
    cluster.start("shuffler", "run", mutant=check if removed else "")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    if removed:
        analyzer.open_round(**change)
    else:
        with pytest.raises(Refused) as e:
            analyzer.open_round(**change)
        assert e.value.code == code, e.value


@pytest.mark.parametrize("removed", [False, True])
def test_two_descriptors_for_one_sequence_number(cluster, removed):
    _, analyzer, d, data = open_round(cluster, mutant="shuffler.sequence" if removed else "", window_ms=1500,
                                      policy={"min_batch": 2})
    wait_for("the round to be sealed", lambda: analyzer.manifest(d)[0].void)
    analyzer.void(d)
    analyzer.settle(d)
    analyzer.sequence, analyzer.previous = 0, b""
    if removed:
        # Behind the check stands a constraint of the store, which stops the daemon.
        with pytest.raises(EOFError):
            analyzer.open_round()
    else:
        with pytest.raises(Refused) as e:
            analyzer.open_round()
        assert e.value.code == pb.ERROR_LEDGER and "sequence number 1 where 2 is next" in e.value.text


def test_a_flipped_descriptor_byte_is_refused_by_the_shuffler(cluster):
    cluster.configure()
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster).dial()
    d = analyzer.descriptor()
    data = analyzer.reserve(d)
    signature = wire.sign(analyzer.key, "descriptor", data)
    analyzer.extend()
    for at in range(0, len(data), max(1, len(data) // 40)):
        bad = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        with pytest.raises(Refused) as e:
            analyzer.announce(bad, signature)
        assert e.value.code in (pb.ERROR_SIGNATURE, pb.ERROR_BAD_MESSAGE), e.value
    analyzer.announce(data, signature)


def test_bad_frames_cost_the_peer_its_connection_and_nothing_else(cluster):
    shuffler, _, d, data = open_round(cluster, target=50, min_reports=50)
    for raw in (b"\xff\xff\xff\xff", struct.pack(">I", 5) + b"\xff" * 5, struct.pack(">I", 3) + b"\x2a\x7f\x00"):
        link = wire.Link.dial(cluster.port, cluster.tls("client"))
        link.sock.sendall(raw)
        with pytest.raises((Refused, EOFError, OSError)):
            link.expect("round")
            link.expect("round")
    device = Device(cluster)
    n = len(d.SerializeToString())
    for names, sealed in ((b"", b""), (b"\1" * 31, b"\1" * 64), (b"\1" * 32, b"\1" * 63), (b"\1" * 64, b"\1" * 64),
                          (b"\1" * 32, b"\1" * 128)):
        with pytest.raises((Refused, EOFError)) as e:
            Device(cluster).link.ask("receipt", submit=pb.Submit(round_id=d.round_id, pseudonyms=names,
                                                                 sealed=sealed, salts=names))
        assert not isinstance(e.value, Refused) or e.value.code == pb.ERROR_BAD_MESSAGE
    with pytest.raises(Refused) as e:
        device.link.ask("announced", announce=pb.Announce(descriptor=data, signature=b"\0" * 64))
    assert e.value.code == pb.ERROR_BAD_ROLE
    assert Device(cluster).submit(d, submissions(d, data, [1])) == [pb.OUTCOME_ACCEPTED]
    assert shuffler.alive() and n


def slow_commits(cluster, seconds, devices):
    """A round whose commits wait so long for company."""
    cluster.configure(devices=devices)
    with open(cluster.path("shuffler.conf"), "a") as f:
        f.write(f'limits = {{ commit_wait = "{seconds}s"; commit_messages = 1000000; }};\n')
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    return Analyzer(cluster).dial().open_round(target=100000, min_reports=10)


def test_a_client_that_repeats_itself_is_read_only_as_fast_as_it_is_answered(cluster):
    """Repeats are answered after the commit they rest on and take no room of their own in it: nothing else
    would bound the answers that wait."""
    n = 4096
    d, _ = slow_commits(cluster, 9, n)
    frame = dict(round_id=d.round_id, pseudonyms=os.urandom(32 * n), sealed=os.urandom(64 * n),
                 salts=os.urandom(32 * n))
    device = Device(cluster)
    device.link.sock.settimeout(5)
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        for _ in range(200):
            device.link.send(submit=pb.Submit(**frame))
            device.link.sock.settimeout(max(0.1, start + 5 - time.monotonic()))


def test_answers_that_were_held_back_all_come(cluster):
    d, data = slow_commits(cluster, 1, 10)
    (p, s), = submissions(d, data, [1])
    device = Device(cluster)
    for _ in range(300):
        device.link.send(submit=pb.Submit(round_id=d.round_id, pseudonyms=p, sealed=s, salts=p))
    for _ in range(300):
        assert list(device.link.expect("receipt").outcomes) == [pb.OUTCOME_ACCEPTED]


def test_a_client_cannot_fill_the_log(cluster):
    shuffler, *_ = open_round(cluster, target=5, min_reports=5)
    device = Device(cluster)
    for i in range(100):
        with pytest.raises(Refused):
            device.link.ask("round", get_round=pb.GetRound(population=f"p{i}"))
    assert 1 <= shuffler.log().count('"refused"') <= 20


def test_all_accepted_reports_survive_kills_of_the_shuffler(cluster):
    import random
    n, each, rng = 2400, 40, random.Random(5)
    shuffler, analyzer, d, data = open_round(cluster, policy={"devices": n}, bins=n, target=n, min_reports=n,
                                           window_ms=3600000)
    sent = submissions(d, data, range(n))
    acknowledged, kills, i = set(), 0, 0
    device = Device(cluster)
    while i < n:
        part = sent[i:i + each]
        body = dict(round_id=d.round_id, pseudonyms=b"".join(p for p, _ in part),
                    sealed=b"".join(s for _, s in part), salts=os.urandom(32 * len(part)))
        if rng.random() < 0.35:
            # Killed with the frame in flight, before, during or after its commit.
            device.link.send(submit=pb.Submit(**body))
            time.sleep(rng.random() * 0.01)
            shuffler.kill()
            kills += 1
            shuffler.start()
            cluster.wait_listening()
            device = Device(cluster)
        assert device.submit(d, part) == [pb.OUTCOME_ACCEPTED] * len(part)
        acknowledged.update(range(i, i + len(part)))
        i += each
    assert kills >= 15
    analyzer.dial()
    manifest, signed = analyzer.manifest(d)
    charge = analyzer.charge(d, data, signed.manifest)
    shuffler.kill()
    shuffler.start()
    cluster.wait_listening()
    analyzer.dial()
    analyzer.extend()
    analyzer.release(charge)
    first = analyzer.pull(d, manifest)
    shuffler.kill()
    shuffler.start()
    cluster.wait_listening()
    analyzer.dial()
    assert analyzer.pull(d, manifest) == first, "the order changed over a restart"
    assert sorted(analyzer.value(data, s) for s in first) == sorted(acknowledged)
