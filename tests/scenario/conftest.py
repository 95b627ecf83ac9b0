import pytest

import cluster as c


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
