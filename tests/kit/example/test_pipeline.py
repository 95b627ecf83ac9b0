"""An example: the statistics of a pipeline, through the real daemons.  /usr/share/doc/tombola-testing/testing-kit.md explains it.

    pytest test_pipeline.py                                                    # the package tombola-testing is installed
    PYTHONPATH=tests/kit pytest -p tombola_testing --tombola-build build/mutant tests/kit/example    # or in Tombola's tree
"""
PLAN = """name = "pipeline";
population = "pumps";
budget = { epsilon = 2.0; delta = 1e-6; };
rounds = (
  { query = "colour"; type = "histogram"; protocol = "grr"; field = "colour"; epsilon0 = 3.0;
    values = [ "red", "green" ]; min_reports = %(n)d; target = %(n)d; window = "1m"; }
);
"""
N, RED = 600, 400


def readings():
    """What a pipeline of yours would make: here, 400 red ones and 200 green ones."""
    return [{"device": f"d{i}", "colour": "red" if i < RED else "green"} for i in range(N)]


def test_the_count_is_about_right(tombola):
    outcome = tombola.run(PLAN % {"n": N}, readings(), device_field="device")
    # Six standard deviations: wrong once in 500 million runs, and in a test build in none or in all.
    item = outcome.item("colour", "red")
    assert abs(item["value"] - RED) < 6 * item["variance"] ** 0.5
    assert outcome.result("colour")["participants"] == N and outcome.epsilon <= 2.0


def test_the_same_numbers_every_time(tombola):
    if tombola.seeded:
        first, again, other = (tombola.run(PLAN % {"n": N}, readings(), device_field="device", seed=s) for s in (7, 7, 8))
        assert first.value("colour", "red") == again.value("colour", "red") != other.value("colour", "red")


def test_a_line_that_breaks_counts_nobody_twice(tombola):
    outcome = tombola.run(PLAN % {"n": N}, readings(), device_field="device", faults=["--reset", "after:4000", "--times", 1])
    assert outcome.faults["reset_after"] == 1 and outcome.result("colour")["participants"] == N


def test_too_few_devices_give_no_answer(tombola):
    outcome = tombola.run(PLAN.replace("1m", "2s") % {"n": N + 1}, readings(), device_field="device", expect=75)
    assert not outcome.results and [e["event"] for e in outcome.events][1:3] == ["opened", "void"]


def test_a_reading_of_the_wrong_form_is_named(tombola):
    rows = [["device", "color"], *([r["device"], r["colour"]] for r in readings())]
    outcome = tombola.run(PLAN % {"n": N}, rows, device_field="device", expect=65)
    assert "no column 'colour'" in outcome.complaints[0]["reason"]
