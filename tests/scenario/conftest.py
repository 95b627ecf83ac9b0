import pytest

import cluster as c

# Above ten seconds each on an idle machine: they begin first, so that none is waited for alone at the end.
LONG = ("test_intakes.py::test_rounds_survive", "test_maps.py",
        "test_view_rows.py", "test_program.py", "test_postgresql.py::test_a_server_that", "test_clock_steps.py", "test_view_attacks.py",
        "test_view_training.py", "test_intake_rights.py", "test_shuffler_plans.py::test_a_standing", "test_payload.py", "test_payload_room.py",
        "test_views.py::test_a_file", "test_dashboard.py", "test_intake_frames.py", "test_heads.py::test_both", "test_rounds.py", "test_metrics.py",
        "test_clock.py", "test_dishonest.py::test_a_class", "test_real", "test_classes.py", "test_noise.py", "test_structured.py")


def pytest_collection_modifyitems(items):
    for item in items:
        files = item.get_closest_marker("files")
        if files and c.Cluster.server_wanted():
            item.add_marker(pytest.mark.skip(reason=f"of SQLite's files: {files.args[0]}"))
    items.sort(key=lambda item: next((i for i, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One test in hand and one to come for each worker: by halves of what is left, as is usual, the last tests of all would
    often stand behind long ones."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScheduling

    class OneByOne(LoadScheduling):
        def _send_tests(self, node, num):
            super()._send_tests(node, max(0, min(num, 2 - len(self.node2pending[node]))))

    return OneByOne(config, log)


@pytest.fixture
def cluster(tmp_path):
    made = c.Cluster(tmp_path)
    yield made
    made.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """On a failure, show the end of each daemon's log."""
    report = (yield).get_result()
    made = item.funcargs.get("cluster")
    if report.failed and made is not None:
        for d in made.daemons:
            report.sections.append((d.log_path, d.log()[-4000:]))
