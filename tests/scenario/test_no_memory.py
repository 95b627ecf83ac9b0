"""A daemon refused memory at one of its allocations, in whichever library: the round ends as it should all the same.

A sample of what tests/faults/memory.py does at many more.  AddressSanitizer has its own malloc: on the optimised build.
"""
import random

import pytest

import starving

pytestmark = pytest.mark.heavy

EACH = {("plain", "once"): 10, ("plain", "short"): 4, ("plain", "long"): 4, ("watched", "once"): 8, ("watched", "short"): 4,
        ("tags", "once"): 3, ("blanket", "once"): 3, ("void", "once"): 1}


@pytest.mark.parametrize("kind", starving.ROUNDS)
@pytest.mark.parametrize("victim", starving.faults.DAEMONS)
def test_a_round_ends_as_it_should_whatever_memory_is_refused(tmp_path, victim, kind):
    rng = random.Random(f"{victim} {kind}")
    stage = starving.Stage(str(tmp_path / "stage"), kind)
    stacks = stage.whole(victim)
    assert len(stacks) > 10000, len(stacks)
    chosen = {fault: starving.places(stacks, n, rng) for (of, fault), n in EACH.items() if of == kind}
    met = [stage.play(victim, fault, k) for fault, at in chosen.items() for k in at]
    # A round takes other ways from time to time, and then a late call is not reached.
    assert sum(met) >= len(met) * 0.6, met
