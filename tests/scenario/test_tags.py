"""Tags: messages that the shuffler drops and makes up, killed while it does; and tags that a round has not."""
import math
import re
import struct

import pytest

import params
import vectors
import wire
from parties import Analyzer, Device
from test_structured import audited, batch, within
from test_vectors import arrays
from wire import pb

D = 6
POLICY = """population = "test";
max_epsilon = 50.0;
delta = 1e-6;
min_batch = 2;
max_epsilon0 = "inf";
honest_fraction = 1.0;
colluders = 0;
accept_shuffler_dummies = true;
"""


def held(i):
    return [((i + 1) * (c + 3) % 7) / 6 for c in range(D)]


def evened(cluster, n, padded):
    """A round in which each device sends two coordinates of six."""
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=n, client_policy=POLICY)
    arrays(cluster, x=[held(i) for i in range(n)])
    cluster.plan([{"query": "v", "type": "vector", "protocol": "ss-double", "field": "x", "dimension": D,
                   "range": [0.0, 1.0], "epsilon0": 4.0, "slots": 2, "padded": padded, **batch(n)}], epsilon=40.0)


def check(cluster, n, padded):
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == result["reports"] == n and result["bad"] == result["duplicates"] == 0
    assert result["messages"] == result["opened"] == D * padded == D * result["tag_messages"]
    assert "shuffler_dummies" not in result
    for c, item in enumerate(result["items"]):
        assert within(item, sum(held(i)[c] for i in range(n)) / n), item
    audited(cluster)


@pytest.mark.parametrize("padded", [60, 2000])
def test_as_many_of_each_tag_as_prescribed_whatever_kills_the_shuffler(cluster, padded):
    n = 300  # about 100 of each tag
    evened(cluster, n, padded)
    cluster.relayed()
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    client = cluster.start("client", "run")
    analyzer = cluster.start("analyzer", "run", "--once")

    cluster.killed_at(shuffler, *((250000, 500000) if padded == 2000 else (40000,)))
    assert analyzer.wait() == 0, analyzer.log()
    check(cluster, n, padded)
    client.stop()


def test_tags_are_checked_counted_and_taken_off(cluster):
    cluster.configure(devices=10, max_epsilon0="inf")
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    analyzer = Analyzer(cluster, epsilon_limit=100.0).dial()
    r = params.of("ss-double", slots=[params.slot(count=1, groups=D, bins=2, keep=vectors.down(math.e / (math.e + 1)))])
    desc = analyzer.descriptor(epsilon0=1.0, min_reports=2, target=2, messages_per_client=1)
    desc.query.CopyFrom(pb.Query(name="v", kind=pb.QUERY_VECTOR, field="x", low=0.0, high=1.0, dimension=D))
    desc.randomizer.CopyFrom(params.message(r, tags=D, tag_messages=10))
    data = analyzer.reserve(desc)
    analyzer.extend()
    analyzer.announce(data)
    # What the shuffler will read of a device is shown with what the analyzer will.
    arrays(cluster, x=[held(0)])
    dry = cluster.run("client", "encode", "--dry-run", cluster.path("readings.ndjson"), "--device-field", "device")
    tag = re.search(r"\(tag (\d)\)", dry.stdout).group(1)
    assert int(tag) < D and "1 x 66" in dry.stdout, dry.stdout
    device = Device(cluster)
    d, got = device.round()
    assert got == data

    def message(tag, symbol):
        return struct.pack("<H", tag) + wire.Hpke.seal(d.hpke_key, wire.hpke_info(data), wire.hpke_aad(data),
                                                       vectors.pack(0, symbol))

    names = [bytes([i]) * 32 for i in range(3)]
    for bad in (D, 0xffff):
        with pytest.raises(wire.Refused) as refused:
            device.submit(d, [(names[0], message(0, 0)), (names[1], message(bad, 0))])
        assert refused.value.code == pb.ERROR_BAD_MESSAGE
    with pytest.raises(wire.Refused) as refused:
        device.submit(d, [(names[0], message(0, 0)[2:])])
    assert refused.value.code == pb.ERROR_BAD_MESSAGE
    # Nothing of the Submits was taken, and the link is open still.
    first = message(5, 11)
    assert device.submit(d, [(names[0], first), (names[1], message(0, 1))]) == [pb.OUTCOME_ACCEPTED] * 2
    assert device.submit(d, [(names[0], first)]) == [pb.OUTCOME_ACCEPTED]
    assert device.submit(d, [(names[0], b"\0\0" + first[2:])]) == [pb.OUTCOME_CONFLICT]
    manifest, signed = analyzer.manifest(d)
    assert (manifest.participants, manifest.messages, manifest.dummies) == (2, 10 * D, 0)
    assert not manifest.void and manifest.lacking == 0
    analyzer.extend()
    charge = analyzer.charge(d, data, signed.manifest)
    analyzer.extend()
    analyzer.release(charge)
    sealed = analyzer.pull(d, manifest)
    assert len(sealed) == len(set(sealed)) == 10 * D and {len(s) for s in sealed} == {64}
    assert {first[2:]} <= set(sealed)
    symbols = [analyzer.value(data, s) for s in sealed]
    # Ten of each coordinate, its two symbols about equally often: a dummy is uniform.
    assert [sum(s // 2 == c for s in symbols) for c in range(D)] == [10] * D
    assert 10 <= sum(s % 2 for s in symbols) <= 50
    analyzer.settle(d)
    shuffler.stop()
