"""A hundred thousand devices through the real daemons: all counted once, in bounded memory, in bounded processor time."""
import os
import sys

import pytest

import cluster as c
import wire
from views import processor

sys.path.insert(0, os.path.join(wire.ROOT, "tests", "bench"))
import million  # noqa: E402

pytestmark = pytest.mark.heavy

FEW, MANY = 1000, 100000
SECONDS = 30  # of processors; it takes 4, and a machine that others use takes longer by the clock


def measured(made, reports):
    """Peak memory of a round of so many devices, each counted once."""
    made.two_colours(reports)
    watch, result = million.run_round(made, reports, 600)
    assert million.check(watch, result, reports) == []
    return watch.peak


def test_memory_grows_so_slowly_that_a_million_devices_fit(cluster, tmp_path):
    (tmp_path / "few").mkdir()
    few = c.Cluster(tmp_path / "few")
    try:
        base = measured(few, FEW)
    finally:
        few.close()
    before = processor()
    peak = measured(cluster, MANY)
    assert processor() - before < SECONDS
    for party in ("shuffler", "analyzer"):
        each = max(0, peak[party] - base[party]) / (MANY - FEW)
        assert base[party] + 1e6 * each < million.MIB_LIMIT, (party, base[party], peak[party])
