"""Hostile devices beside honest ones, through the real daemons: for every family a result's interval for the honest devices
holds their answer, which the interval without liars does not, and liars who break the form of a round are seen."""
import json
import os

import pytest

import params
import records
import wire
from cluster import EXIT
from parties import Device
from wire import pb

HONEST, LIARS = 390, 10
COLOURS = [f"c{i}" for i in range(4)]
HISTOGRAM = {"type": "histogram", "values": COLOURS, "epsilon0": 5.0}
WATTS = {"type": "sum", "protocol": "digits", "range": [0.0, 2000.0], "levels": 256, "epsilon0": 5.0}
VECTOR = {"type": "vector", "dimension": 4, "range": [0.0, 40.0], "epsilon0": 6.0}
STRANGE = (1 << 40) + 5  # a symbol of no round

# Name -> what is asked, what every honest device reads, what a liar sends by the round's parameters and the number of a device's
# messages, how many liars are seen, the item that is attacked, and the honest answer for it.
ATTACKS = {
    "a wrong reading": (HISTOGRAM | {"protocol": "grr"}, "c1", lambda p, each: [wire.record(3)], 0, "c3", 0),
    "all of a device's messages for one item": (HISTOGRAM | {"protocol": "mixbins", "dummies": 3}, "c1",
                                                lambda p, each: [wire.record(3)] * each, 0, "c3", 0),
    "messages that take from an item": (HISTOGRAM | {"protocol": "grr"}, "c1", lambda p, each: [wire.record(0)], 0, "c0", 0),
    "all ones": (HISTOGRAM | {"protocol": "rappor"}, "c1", lambda p, each: [records.bits(p.bins, range(p.bins))], 0, "c3", 0),
    "a constant hash": (HISTOGRAM | {"protocol": "olh"}, "c1", lambda p, each: [records.HEAD + bytes(24)], 0, "c3", 0),
    "one column": (HISTOGRAM | {"protocol": "hadamard"}, "c1", lambda p, each: [records.HEAD + bytes(8)], 0, "c3", 0),
    "the highest level": ({"type": "mean", "protocol": "levels", "range": [0.0, 40.0], "levels": 9, "epsilon0": 6.0}, 10.0,
                          lambda p, each: [wire.record(8)], 0, "v", 10.0),
    "ones in every slot": (WATTS, 100.0, lambda p, each: [wire.record(1, i) for i in range(8)], 0, "v", 100.0 * HONEST),
    "a stuffed slot": (WATTS, 100.0, lambda p, each: [wire.record(1, 0)] * 8, LIARS, "v", 100.0 * HONEST),
    "one coordinate": (VECTOR | {"protocol": "harmony"}, [10.0] * 4, lambda p, each: [wire.record(1)] * each, 0, "v[0]", 10.0),
    "messages that nobody can read": (HISTOGRAM | {"protocol": "grr"}, "c1", lambda p, each: [wire.record(STRANGE)], LIARS, "c1", HONEST),
}


def play(cluster, asked, reads, sends, colluders=LIARS, mutant=""):
    """A round of honest devices, which a real client has, and of liars: its result."""
    cluster.configure(min_batch=2, max_epsilon0="inf", devices=HONEST + LIARS)
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.plan([{"query": "v", "field": "v", "min_reports": HONEST, "target": HONEST + LIARS, "window": "2m", **asked}],
                 epsilon=45.0, colluders=colluders)
    analyzer = cluster.start("analyzer", "run", "--once", mutant=mutant)
    device = Device(cluster)
    d, data = device.round(seconds=60)
    cluster.write("readings.ndjson", "".join(json.dumps({"device": f"d{i}", "v": reads}) + "\n" for i in range(HONEST)))
    run = cluster.run("client", "send", cluster.path("readings.ndjson"), "--device-field", "device", "--wait", "2m")
    assert run.returncode == 0, run.stderr
    sent = sends(params.read(d.randomizer), d.messages_per_client)
    assert len(sent) == d.messages_per_client
    sealed = [b"".join(wire.Hpke.seal(d.hpke_key, wire.hpke_info(data), wire.hpke_aad(data), r.ljust(d.record_length, b"\0"))
                       for r in sent) for _ in range(LIARS)]
    assert set(device.submit(d, [(os.urandom(32), s) for s in sealed])) == {pb.OUTCOME_ACCEPTED}
    assert analyzer.wait() == 0, analyzer.log()
    result = cluster.json("analyzer", "round", "show", "1")["result"]
    assert result["participants"] == HONEST + LIARS
    return result


def item_of(result, label):
    items = [it for it in result["items"] if it["label"] == label]
    return items[0] if items else result["items"][0]


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_honest_answer_is_in_the_interval_for_liars(cluster, attack):
    asked, reads, sends, seen, label, truth = ATTACKS[attack]
    result = play(cluster, asked, reads, sends)
    assert result["liars"] == {"m": LIARS, "from": "plan", "seen": seen}
    item = item_of(result, label)
    slack = item["upper"] - item["lower"]  # four standard deviations more, since chance is not what is tried
    assert item["honest_lower"] - slack <= truth <= item["honest_upper"] + slack, item
    assert item["honest_joint_lower"] <= item["honest_lower"] < item["lower"] + slack
    assert item["honest_upper"] <= item["honest_joint_upper"]
    # Messages that nobody can read move nothing, and then nothing else is the liars'.
    assert item["liar_up"] >= 0 and item["liar_down"] >= 0
    assert (item["liar_up"] + item["liar_down"] > 0) == (result["bad"] == 0)


def test_more_liars_than_the_plan_allows_for_are_counted(cluster):
    """The slots' totals prove ten liars: the intervals are for these, and people are told."""
    asked, reads, sends, seen, label, truth = ATTACKS["a stuffed slot"]
    result = play(cluster, asked, reads, sends, colluders=LIARS // 2)
    item, = result["items"]
    assert result["liars"] == {"m": LIARS // 2, "from": "plan", "seen": LIARS}
    assert not item["lower"] <= truth <= item["upper"] and item["honest_lower"] <= truth <= item["honest_upper"], item
    table = cluster.run("analyzer", "estimate", "v").stdout
    assert "honest, if 10 lie" in table.splitlines()[0], table
    assert "  at least 10 devices lied: " in table and "  that is more than the 5 that the plan allows for; the intervals are for 10\n" in table
    # Another number is assumed for the asking, and the stored result stays.
    more = cluster.json("analyzer", "estimate", "v", "--liars", "5%", "--above", "1000")
    assert more["liars"] == {"m": 20, "from": "asked", "seen": 10, "above": 1000.0}
    assert more["items"][0]["honest_lower"] < item["honest_lower"] and more["items"][0]["honest_upper"] > item["honest_upper"]
    holds = more["items"][0]["holds_to"]
    for liars, above in ((holds, True), (holds + 1, False)):
        it, = cluster.json("analyzer", "estimate", "v", "--liars", str(liars))["items"]
        assert (it["honest_joint_lower"] > 1000) == above, (liars, it)
    assert cluster.json("analyzer", "estimate", "v") == result
    for argument, words in (("400", "--liars 400: all 400 devices would be liars"), ("100%", "all 400 devices would be liars"),
                            ("some", "--liars takes a number of devices, as 10, or a share of them, as 1%, not 'some'"),
                            ("-1", "--liars takes"), ("1.5", "--liars takes"), ("nan", "--liars takes")):
        run = cluster.run("analyzer", "estimate", "v", "--liars", argument)
        assert run.returncode == EXIT["usage"] and words in run.stderr, run.stderr


def test_without_the_check_liars_who_are_seen_are_not_counted(cluster):
    """What the check above is worth: for the plan's number alone there are no intervals."""
    asked, reads, sends, *_ = ATTACKS["a stuffed slot"]
    result = play(cluster, asked, reads, sends, colluders=LIARS // 2, mutant="analyzer.liars.slots")
    assert result["liars"]["seen"] == LIARS and "at least 10 devices lied, and 5 are assumed" in result["liars"]["fault"]
    assert "honest_lower" not in result["items"][0]


def test_without_liars_a_result_is_as_it_was(cluster):
    asked, reads, sends, *_ = ATTACKS["a wrong reading"]
    result = play(cluster, asked, reads, sends, colluders=0)
    assert result["liars"] == {"m": 0, "from": "plan", "seen": 0}
    assert not any(key.startswith(("honest", "liar")) for it in result["items"] + result["no_reading"] for key in it)
    table = cluster.run("analyzer", "estimate", "v").stdout
    assert table.splitlines()[0].split()[-2:] == ["interval", "(joint)"] and "honest" not in table and "holds" not in table
    # One holds c1 at least, as long as few enough lie.
    assert 0 < item_of(result, "c1")["holds_to"] < HONEST + LIARS and item_of(result, "c0")["holds_to"] < LIARS
