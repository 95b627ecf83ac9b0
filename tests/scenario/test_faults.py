"""A daemon killed, or refused by its disk, at changes of its storage: the round ends as it should all the same.

A sample of what tests/faults/storage.py does at every change.
"""
import random

import pytest

import faults

EACH = {"plain": 3, "void": 1, "blanket": 2, "tags": 2}  # of the kinds of fault, one call each


@pytest.mark.parametrize("kind", faults.ROUNDS)
@pytest.mark.parametrize("victim", faults.DAEMONS)
def test_a_round_ends_as_it_should_whatever_its_storage_does(tmp_path, victim, kind):
    rng = random.Random(f"{victim} {kind}")
    stage = faults.Stage(str(tmp_path / "stage"), kind)
    calls = stage.whole(victim)
    assert len(calls) > 20, calls
    for fault in rng.sample(faults.KINDS, EACH[kind]):
        at = rng.choice(faults.places(calls, fault))
        assert stage.play(victim, fault, at), f"{fault} at call {at} was not met"


@pytest.mark.parametrize("victim", faults.DAEMONS)
def test_a_round_ends_as_it_should_whoever_dies_together(tmp_path, victim):
    rng = random.Random(victim)
    stage = faults.Stage(str(tmp_path / "stage"), "plain")
    calls = len(stage.whole(victim))
    for turn in range(3):  # with one, the other, both of the others
        at = 3 * rng.randrange(1, calls // 3) + turn
        assert stage.play(victim, "together", at), f"call {at} was not met"
