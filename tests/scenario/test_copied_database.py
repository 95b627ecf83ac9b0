"""An intake that is led to a copy of its server: on the build with removable checks, which also shows what the check prevents."""
import pytest

import postgresql
from cluster import EXIT, wait_for
from test_data_databases import servers, two  # noqa: F401 (a fixture)
from test_intakes import Gateway


@pytest.mark.parametrize("removed", ["", "shuffler.epoch"])
def test_an_intake_that_reads_a_copy_of_a_server_takes_nothing(cluster, servers, removed):
    """The copy, a standby that was promoted while its server goes on, has the same id and lacks what was stored since.  Without the
    check the intake takes the same devices again, and each counts twice."""
    spread, kept = two(cluster, servers)
    gateway = Gateway(cluster, spread.ports[1])
    d, data = gateway.round()
    copy = postgresql.Server(primary=servers[1])
    try:
        copy.promote()
        gateway.until_accepted(spread.ports[1], d, data, 0, 20)
        gateway.link.close()
        with open(cluster.path("intake0.conf")) as f:
            text = f.read()
        cluster.write("intake0.conf", text.replace(servers[1].where(), copy.where()))
        spread.daemons[0].stop()
        spread.start_one(0, env={"TOMBOLA_MUTANT": removed})
        first = spread.daemons[0]
        if not removed:
            wait_for("the intake to end", lambda: not first.alive())
            assert first.process.returncode == EXIT["io"] and "not the server that the head writes to" in first.log(), first.log()
            assert copy.folder in first.log()
            return
        spread.ready(0)
        gateway.until_accepted(spread.ports[0], d, data, 0, 20)
        assert [spread.stored(i) for i in range(2)] == [20, 20] and kept.head.alive()
    finally:
        copy.close()
