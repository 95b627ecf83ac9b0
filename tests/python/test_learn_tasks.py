"""learn.sh's trainings: whose rows are whose, and that settings are chosen without a device and without a test row."""
import io
import types

import numpy
import pytest

from tombola_learn import Fault, choose, datasets, table, tasks

ARGS = {"programs": "nowhere", "data": "nowhere"}


@pytest.fixture
def costs(monkeypatch):
    """A stand-in for `tombola plan cost`: every round fits, and its deviation is small."""
    def cost(_, path):
        with open(path, encoding="utf-8") as f:
            queries = [line.split('"')[1] for line in f if "{ query" in line]
        return {"epsilon_total": 0.5, "rounds": [{"query": q, "fits": True, "expected_error": 1e-3} for q in queries]}
    monkeypatch.setattr(choose, "cost_of", cost)


class Untouchable:
    """Rows of which nobody may know more than how many they are."""

    def __len__(self):
        return 5000

    def __getattr__(self, name):
        raise AssertionError(f"a device's or a test's row was read: {name}")

    __array__ = __getitem__ = __iter__ = lambda *_, **__: pytest.fail("a device's or a test's row was read")


def rows(name):
    """Public rows of random content: of 9 sensors, or pictures of the right size."""
    drawn = numpy.random.default_rng(3)
    y = drawn.integers(0, 7, 120)
    if name.startswith("shuttle"):
        return (drawn.normal(0, 1, (120, 9)) + y[:, None]).astype(numpy.float32), y
    side = (64,) if name == "digits" else (28, 28)
    return drawn.integers(0, 17 if name == "digits" else 256, (120, *side)).astype(numpy.uint8), y


@pytest.mark.parametrize("name", tasks.MADE)
def test_settings_are_chosen_on_public_rows_alone(monkeypatch, costs, name):
    hidden = Untouchable()
    monkeypatch.setattr(choose, "rows_of", lambda *_: ((hidden, hidden), rows(name), (hidden, hidden)))
    monkeypatch.setattr(choose, "SEEDS", 1)
    out = io.StringIO()
    choose.choose(types.SimpleNamespace(task=name, setting=["epsilon0=0.5,0.75"], **ARGS), out)
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["epsilon0=0.5", "epsilon0=0.75"]
    assert all("epsilon 0.5000" in line and float(line.split()[1]) > 0 for line in lines), lines


@pytest.mark.parametrize("setting", ["step", "step=", "step=much", "nonsense=1", "kind=x"])
def test_a_setting_that_the_task_has_not_is_refused(monkeypatch, costs, setting):
    monkeypatch.setattr(choose, "rows_of", lambda *_: (rows("digits"),) * 3)
    with pytest.raises(Fault, match=setting.partition("=")[0]):
        choose.choose(types.SimpleNamespace(task="digits", setting=[setting], **ARGS), io.StringIO())


def test_no_row_is_a_devices_and_public_or_of_the_test(tmp_path):
    """Each row of the file is in one part: rows are told by a number that only they have."""
    with open(tmp_path / "shuttle.csv", "w") as f:
        f.write("V1,V2,V3,V4,V5,V6,V7,V8,V9,Class\n" + "".join(f"{i},0,0,0,0,0,0,0,0,{datasets.SHUTTLE_CLASSES[i % 7]}\n"
                                                             for i in range(58000)))
    parts = tasks.rows_of("shuttle-bayes", str(tmp_path))
    numbers = [x[:, 0].astype(int) for x, _ in parts]
    assert [len(n) for n in numbers] == [44000, 2400, 11600]
    assert sorted(numpy.concatenate(numbers)) == list(range(58000))
    assert all((y == n % 7).all() for n, (_, y) in zip(numbers, parts))


def test_the_table_says_what_shuffler_and_analyzer_could_tell_together():
    row = {"task": "t", "what": "w", "goal": "g", "reached": {"accuracy": 0.5}, "local": {"accuracy": 0.4},
           "central": {"accuracy": 0.6}, "exact": {"accuracy": 0.7}, "epsilon": 0.9, "messages": 60, "device_epsilon0": 218.4,
           "round_epsilon0": 10.9, "seconds": 12.0}
    out = io.StringIO()
    table.print_table([row, {**row, "task": "capped", "device_epsilon0": 8.0, "round_epsilon0": 8.0}], out)
    said = out.getvalue()
    assert "60 messages have a local epsilon0 of 218 together, 11 in one round: no protection" in said, said
    assert "at most 2,981 times as likely with other data; weak" in said, said
