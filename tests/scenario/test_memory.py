"""A hundred thousand devices through the real daemons: all counted once, in bounded memory, in bounded time."""
import os
import sys
import time

import pytest

import cluster as c
import wire

sys.path.insert(0, os.path.join(wire.ROOT, "tests", "bench"))
import million  # noqa: E402

pytestmark = pytest.mark.heavy

FEW, MANY, SECONDS = 1000, 100000, 60


def measured(made, reports):
    """Peak memory of a round of so many devices, each counted once."""
    made.two_colours(reports)
    watch, result = million.run_round(made, reports, SECONDS)
    assert million.check(watch, result, reports) == []
    return watch.peak


def test_memory_grows_so_slowly_that_a_million_devices_fit(cluster, tmp_path):
    (tmp_path / "few").mkdir()
    few = c.Cluster(tmp_path / "few")
    try:
        base = measured(few, FEW)
    finally:
        few.close()
    started = time.monotonic()
    peak = measured(cluster, MANY)
    assert time.monotonic() - started < SECONDS
    for party in ("shuffler", "analyzer"):
        each = max(0, peak[party] - base[party]) / (MANY - FEW)
        assert base[party] + 1e6 * each < million.MIB_LIMIT, (party, base[party], peak[party])
