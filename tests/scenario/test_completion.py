"""What `completion bash` prints completes every verb and option that --help shows, run by bash itself."""
import re
import shutil
import subprocess

import pytest

import cluster as c
import test_help as h

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")

# One bash a program answers all questions: words to the cursor on a line each, then their completions on one.
ASK = """
eval "$1"
while IFS=$'\\t' read -r -a COMP_WORDS; do
	[ "${COMP_WORDS[-1]}" != EMPTY ] || COMP_WORDS[-1]=""
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	"$2"
	echo "${COMPREPLY[*]}"
done
"""


def complete(program, questions, cwd=None, called=None):
    """The sets of completions of several lines, each a list of words whose last is being typed.  called: how the program is
    named on the line."""
    script = h.say(program, "completion", "bash")
    assert script.returncode == 0 and not script.stderr, script
    lines = "".join("\t".join([called or program, *[w or "EMPTY" for w in q]]) + "\n" for q in questions)
    run = subprocess.run(["bash", "-c", ASK, "ask", script.stdout, "_" + program.replace("-", "_")], input=lines,
                         capture_output=True, text=True, timeout=180, cwd=cwd)
    assert run.returncode == 0 and not run.stderr, run
    answers = [set(line.split()) for line in run.stdout.splitlines()]
    assert len(answers) == len(questions)
    return answers


@pytest.mark.parametrize("program", h.PROGRAMS)
def test_every_verb_completes_and_nothing_else(program):
    said = h.verbs(program)
    assert len(said) > 5
    firsts = {v[0] for v in said}
    assert complete(program, [[""]])[0] == firsts
    assert complete(program, [[v[0][:-1]] for v in said]) == [{w for w in firsts if w.startswith(v[0][:-1])}
                                                              for v in said]
    for first in {v[0] for v in said if len(v) == 2}:
        assert complete(program, [[first, ""]])[0] == {v[1] for v in said if v[0] == first and len(v) == 2}


@pytest.mark.parametrize("program", h.PROGRAMS)
def test_every_option_of_every_verb_completes_and_nothing_else(program):
    said = h.verbs(program)
    for verb, got in zip(said, complete(program, [[*v, "--"] for v in said])):
        helped = h.options("\n".join(line for line in h.say(program, *verb, "--help").stdout.splitlines()
                                     if re.match(r"^  +(-|tombola)", line)))
        shown = got - {"--usage"}
        if program == "tombola-accountant":
            # Its help leaves out what an example line shows.
            assert shown >= helped - {"--dry-run"} and shown - {"--json", "--help", "--version"} <= helped, verb
        else:
            assert shown == helped, verb
    # What stands before the verb does not hide it, a value included.
    before = ["--json"] if program == "tombola-accountant" else ["-v", "--log-format", "json"]
    assert complete(program, [[*before, *said[0], "--"]]) == complete(program, [[*said[0], "--"]])


def test_values_of_options_and_arguments_complete(tmp_path):
    (tmp_path / "readings.csv").write_text("")
    got = complete("tombola-client", [
        ["--log-format", ""], ["--color", "=", "al"], ["send", "--format", ""], ["send", "--format", "n"],
        ["send", "rea"], ["--config", "rea"], ["encode", "--save", "rea"], ["send", "--limit", ""],
        ["config-sample", ""], ["completion", ""]], cwd=tmp_path)
    assert got == [{"text", "json", "auto"}, {"always"}, {"csv", "ndjson", "npy"}, {"ndjson", "npy"}, {"readings.csv"},
                   {"readings.csv"}, {"readings.csv"}, set(), {"policy"}, {"bash", "zsh"}]
    methods = set(re.findall(r"^  (\S+)", h.say("tombola-accountant", "names").stdout.split("ethods")[-1], re.M))
    got = complete("tombola-accountant", [["curve", "--format", ""], ["epsilon", "--bound", "p"], ["audit", "rea"],
                                          ["epsilon", "--method", ""]], cwd=tmp_path)
    assert got[:3] == [{"csv", "table", "json", "trade-off"}, {"proved", "published"}, {"readings.csv"}]
    assert "pld" in got[3] and got[3] <= methods | {"pld"}


@pytest.mark.parametrize("program", h.PROGRAMS)
def test_a_shell_that_is_not_known_is_a_usage_error(program):
    for args in (("fish",), ()):
        run = h.say(program, "completion", *args)
        assert run.returncode == 64 and not run.stdout and "bash" in run.stderr, run
    script = h.say(program, "completion", "zsh").stdout
    assert script.startswith("autoload -U +X compinit bashcompinit") and "complete -F" in script


def test_estimate_completes_the_queries_of_the_plan(cluster):
    cluster.configure()
    cluster.plan([{"query": q, "type": "histogram", "field": "c", "values": ["a", "b"], "epsilon0": 1.0, "min_reports": 1000,
                   "window": "1m"} for q in ("state", "temperature")], epsilon=5.0)
    conf, program = cluster.path("analyzer.conf"), "tombola-analyzer"
    got = complete(program, [["--config", conf, "estimate", ""], ["-c", conf, "estimate", "te"]], called=c.program(program))
    assert got == [{"state", "temperature"}, {"temperature"}]
