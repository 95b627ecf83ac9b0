"""doc/story.md: its commands, typed one after the other, print what it shows."""
import math

import pytest

import cluster as c
import documents

STORY = documents.read("doc/story.md")
HOURS = 24


@pytest.fixture
def reader(tmp_path):
    port = c.free_port()

    def alter(name, text):
        """Other ports than the story's, which another test may have."""
        text = text.replace("7443", str(port))
        return text + 'http = ""\n' if "state_dir" in text else text

    made = documents.Reader(tmp_path, alter=alter)
    yield made
    made.close()


def truth(readings):
    """How many households have their peak in each hour, and how many meters have no reading."""
    hours = [line.split(",")[1] for line in readings.splitlines()[1:]]
    return {f"{h:02}": hours.count(f"{h:02}") for h in range(HOURS)} | {"devices": hours.count("")}


@pytest.mark.heavy
def test_every_command_prints_what_the_story_shows(reader, tmp_path):
    true, compared = {}, set()

    def same(shown, printed):
        said, is_ = documents.estimate(shown), documents.estimate(printed)
        if not said or not is_ or said[0] != is_[0]:
            return shown == printed
        what, value, half = said
        assert abs(value - true[what]) <= half, f"the story's own interval misses: {shown}"
        compared.add(what)
        # All intervals hold in 95 of 100 rounds, so half of one is three standard errors, and four halves are never missed.
        return abs(is_[1] - true[what]) < 4 * half and abs(is_[2] - half) < 5

    for command, shown in documents.examples(STORY):
        code, printed = reader.types(command, shown)
        assert (code == 0) != ("tombola-analyzer: plan peaks-2027 refused" in shown), (command, code, printed)
        wrong = documents.differs(shown, printed, same)
        assert wrong is None, f"$ {command}\n{printed}\n\nis shown otherwise: {wrong}"
        if command.endswith("> readings.csv"):
            true = truth((tmp_path / "readings.csv").read_text())
            assert true["07"] == 7500 and true["19"] == 6000 and true["devices"] == 500
    assert {"07", "19", "devices"} <= compared


def test_what_the_story_says_of_its_epsilons():
    epsilon, epsilon0 = 0.52, 6
    assert f"e^{epsilon} = {math.exp(epsilon):.2f} times" in STORY
    assert f"to at most {100 / (1 + math.exp(-epsilon)):.0f} %" in STORY.replace("\n  ", " ")
    said = [100 * math.exp(e) / (math.exp(e) + HOURS) for e in (epsilon0, epsilon0 + 1)]  # one more symbol: none
    assert "{:.0f} of 100 answers will be true (of 7.0 it was {:.0f})".format(*said) in STORY
    assert f"e^{epsilon0} = {math.exp(epsilon0):.0f}" in STORY and f"`epsilon0 = 4` it is {math.exp(4):.0f}" in STORY
