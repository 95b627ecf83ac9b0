"""Lengths tell nothing: over the whole input domain all sealed messages and all frames of a round are of one size."""
import pytest

from cluster import wait_for
from parties import Shuffler

EDGES = ["", "x", "of some sixty bytes, so that its length would show if anything", "\u00e4\u00f6\u00fc", "0", "c,0",
         'quo"ted', "null"]
NUMBERS = ["0", "40", "20", "-0.0", "1e-300", "39.99999999999999", "-1e300", "1e300", "41", "12345678901234567890"]

ROUNDS = {
    # protocol: (plan keys, values of its domain and those clamped to it, messages a device)
    "grr": (dict(type="histogram", epsilon0=1.0, values=EDGES[1:]), EDGES[1:], 1),
    "grr of two": (dict(type="histogram", protocol="grr", epsilon0=4.0, values=["no", "a very long yes " * 3]),
                   ["no", "a very long yes " * 3], 1),
    "levels": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "bins": (dict(type="histogram", epsilon0="inf", dummies=3, values=EDGES[1:]), EDGES[1:], 4),
    "mixbins": (dict(type="histogram", epsilon0=3.0, dummies=2, values=EDGES[1:]), EDGES[1:], 3),
    "rappor": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "oue": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:] + [f"and {i}" for i in range(90)]), EDGES[1:], 1),
    "subset": (dict(type="histogram", epsilon0=1.0, values=EDGES[1:]), EDGES[1:], 1),
    "olh": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "hadamard": (dict(type="histogram", epsilon0=3.0, values=EDGES[1:]), EDGES[1:], 1),
    "hashed": (dict(type="histogram", epsilon0="inf", dummies=3, values=EDGES[1:]), EDGES[1:], 4),
    "balcer-cheu": (dict(type="histogram", epsilon0="inf", dummies=1, values=EDGES[1:]), EDGES[1:], len(EDGES)),
    "cheu": (dict(type="histogram", epsilon0=3.0, dummies=2, values=EDGES[1:] + [f"and {i}" for i in range(90)]),
             EDGES[1:], 3),
    "duchi": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0]), NUMBERS, 1),
    "laplace-levels": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "staircase": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
    "piecewise": (dict(type="mean", epsilon0=2.0, range=[0.0, 40.0], levels=9), NUMBERS, 1),
}
DEVICES = 5


def quoted(value):
    return '"' + value.replace('"', '""') + '"'


class Sized(Shuffler):
    """Notes the size of every frame that a client sends."""

    def __init__(self, cluster):
        self.sizes = []
        super().__init__(cluster)

    def on_submit(self, link, m):
        self.sizes.append((len(m.pseudonyms) // 32, m.ByteSize()))
        super().on_submit(link, m)


@pytest.fixture
def fake(cluster):
    cluster.configure(min_batch=2, max_epsilon0="inf")
    made = Sized(cluster)
    yield made
    made.close()


def open_round(cluster, fake, protocol, keys):
    """A descriptor of the real analyzer, served until the test ends."""
    cluster.plan([{"query": "q", "field": "value", "protocol": protocol.split()[0], **keys, "min_reports": 1000000,
                   "target": 1000000, "window": "1h"}], epsilon=10.0)
    cluster.start("analyzer", "round", "run", "1")
    wait_for("the round", lambda: fake.order)
    return fake.rounds[fake.order[0]]["d"]


def send(cluster, value, devices=DEVICES):
    """The same devices with this value, as a client that has never sent before."""
    cluster.reset_client()
    cluster.write("readings.csv", "device,value\n" + "".join(f"{i},{quoted(value)}\n" for i in range(devices)))
    run = cluster.run("client", "send", cluster.path("readings.csv"), "--device-field", "device", "--strict", "--wait",
                      "10s")
    assert run.returncode == 0, (value, run.stdout, run.stderr)


@pytest.mark.parametrize("name", ROUNDS)
def test_all_messages_and_frames_of_a_round_have_one_length(cluster, fake, name):
    keys, values, messages = ROUNDS[name]
    d = open_round(cluster, fake, name, keys)
    assert d.messages_per_client == messages
    sealed_length = d.record_length + 48  # an encapsulated key of 32 and a tag of 16 (RFC 9180)
    for value in values:
        before = len(fake.received)
        send(cluster, value)
        for names, sealed in fake.received[before:]:
            assert len(sealed) == len(names) // 32 * messages * sealed_length, value
    sent = sum(n for n, _ in fake.sizes)
    assert sent == DEVICES * len(values)
    assert len({size for n, size in fake.sizes if n == DEVICES}) == 1, fake.sizes
    assert all(n == DEVICES for n, _ in fake.sizes)
    # No two messages are the same, and none repeats an encapsulated key: the length is all they share.
    out = [s[i:i + sealed_length] for _, s in fake.received for i in range(0, len(s), sealed_length)]
    assert len({m[:32] for m in out}) == len(out) == sent * messages


def test_a_frame_s_size_depends_on_its_number_of_devices_alone(cluster, fake):
    keys, values, messages = ROUNDS["grr"]
    open_round(cluster, fake, "grr", keys)
    for devices in (1, 2, 7):
        for value in (min(values, key=len), max(values, key=len)):
            send(cluster, value, devices)
    by_count = {}
    for n, size in fake.sizes:
        by_count.setdefault(n, set()).add(size)
    assert set(by_count) == {1, 2, 7} and all(len(s) == 1 for s in by_count.values()), by_count
    # Each device adds its pseudonym and its messages, and what a length prefix grows by.
    each = 32 + messages * 64
    assert 0 <= max(by_count[7]) - max(by_count[1]) - 6 * each <= 4, by_count


def test_the_dry_run_shows_the_same_lengths(cluster, fake):
    keys, values, _ = ROUNDS["grr"]
    open_round(cluster, fake, "grr", keys)
    for value in values:
        cluster.write("readings.csv", f"device,value\n1,{quoted(value)}\n")
        shown, = cluster.json("client", "encode", "--dry-run", cluster.path("readings.csv"), "--device-field",
                              "device")["devices"]
        assert shown["value"] == value
        assert (shown["messages"], shown["sealed_bytes"], len(shown["records"][0]["hex"])) == (1, 64, 32), shown
    assert not fake.received, "a dry run sent something"
