"""Worlds that differ in one device's reading, in a round whose values are computed: what the shuffler sees is the same."""
import os

import pytest

import cluster as c
from test_payload import N, withheld  # noqa: F401  a fixture

# What stands in the file of device 7, in place of "7,b".
READINGS = {"another": "23,a", "missing": ",b", "no number": "x,b", "not finite": "nan,b", "beyond float32": "3.5e38,b",
            "no class": "7,c", "nothing": ",", "short": "7"}


@pytest.mark.parametrize("what", READINGS)
def test_what_is_computed_shows_in_nothing(withheld, what):  # noqa: F811
    worlds, right = withheld
    path = worlds.cluster.path("readings.csv")
    with open(path) as f:
        before = f.read()
    assert before.count("\nd7,7,b\n") == 1
    try:
        worlds.cluster.write("readings.csv", before.replace("\nd7,7,b\n", f"\nd7,{READINGS[what]}\n"))
        other = worlds.of_way("right")
    finally:
        worlds.cluster.write("readings.csv", before)
    assert other.shuffler["slots"] == right.shuffler["slots"] == [1] * len(right.shuffler["slots"])
    assert other.shuffler["frames"] == right.shuffler["frames"]
    assert len(other.sealed) == len(right.sealed) == N and set(other.sealed) == set(right.sealed)
    assert {len(s) for v in (right, other) for messages in v.sealed.values() for s in messages} == \
        {len(s) for messages in right.sealed.values() for s in messages}
    if c.seeded():
        # With the same random numbers its own message is another one, and nobody else's.
        assert sum(right.sealed[p] != other.sealed[p] for p in right.sealed) == 1
    assert other.host["files"] == right.host["files"], os.listdir(worlds.cluster.path("client"))
