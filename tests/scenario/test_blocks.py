"""Every block of the README and of the guides is run, in order, by somebody who has run ./demo.sh and nothing else.  A block that
cannot be run says so in a comment before it, and is counted (tests/docs.py)."""
import contextlib
import os
import random
import re
import socket
import subprocess

import pytest

import cluster as c
import documents
import wire

# Pages that a scenario of their own runs whole.
WHOLE = {"doc/story.md": "test_story.py", "doc/fleets.md": "test_fleets.py"}
# Pages whose commands are run here.
HERE = ["README.md", "doc/accountant.md", "doc/accounting.md", "doc/analyses.md", "doc/binary.md", "doc/imitation.md",
        "doc/protocols/shared.md", "doc/testing-kit.md"]


def to_run(path):
    return [b for b in documents.blocks(documents.read(path)) if not b.language and not b.mark]


def test_every_page_has_its_commands_and_its_scenario():
    """That each other block says who runs it is for tests/docs.py."""
    assert all(to_run(path) for path in [*HERE, *WHOLE])
    assert all(path in documents.read(os.path.join("tests", "scenario", by)) for path, by in WHOLE.items())


def four_ports():
    """A port that is free, as are the three after it, below those that the kernel gives away."""
    while True:
        first = random.randrange(20000, 30000)
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + 4):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
                return first
            except OSError:
                continue


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The tree as ./demo.sh leaves it: the programs are those that are tested, and there is no network."""
    top = tmp_path_factory.mktemp("tree")
    for name in os.listdir(wire.ROOT):
        if name not in ("build", "demo-run", ".git"):
            os.symlink(os.path.join(wire.ROOT, name), top / name)
    (top / "build" / "release").mkdir(parents=True)
    os.symlink(os.path.dirname(c.program("tombola")), top / "build" / "release" / "bin")
    (top / "stand-ins").mkdir()
    for name, code in (("cmake", 0), ("apt-get", 100)):
        (top / "stand-ins" / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (top / "stand-ins" / name).chmod(0o755)
    path = f"{top / 'stand-ins'}:{os.environ['PATH']}"
    run = subprocess.run(["./demo.sh", "--end"], cwd=top, capture_output=True, text=True,
                         env={**os.environ, "PATH": path, "TOMBOLA_DEMO_PORT": str(four_ports())})
    assert run.returncode == 0, (run.stdout, run.stderr)
    return top, run.stdout


@pytest.mark.heavy
def test_the_demo_says_what_happens_and_ends_with_the_refusal(tree):
    said = tree[1]
    order = ["What will happen: 1,461 devices", "round  query", "what leaves a device: twenty", "the estimates beside the truth",
             "what epsilon means: odds", "the refusal: what nobody was asked", "round 6 (weather-again) refused"]
    assert [said.index(o) for o in order] == sorted(said.index(o) for o in order)
    # Twenty devices; a mark where what is sent is not what is held.  At epsilon0 1 of six symbols 65 % are changed.
    shown = re.findall(r"^(\S+) {2,}(\S.*?)(?: \*)? {2,}(\S.*?)( \*)?$", said.split("epsilon0 1\n")[1].split("\n* changed")[0], re.M)
    assert len(shown) == 20 and all((held != sent) == bool(mark) for held, _, sent, mark in shown), shown
    changed = sum(bool(s[3]) for s in shown)
    assert changed >= 1 and f"and {changed} of 20." in said, "none of 20: once in 10^9"
    # e^0.6026 is 1.827, and 1.827 of 2.827 is 65 %; e^0.8335 is 2.301, and 2.301 of 3.301 is 70 %.
    assert "1.83 to 1 (e^0.6026), so that 50 % become 65 %" in said and "2.30 to 1 (e^0.8335), so that 50 % become 70 %" in said


def same(shown, printed):
    """Equal, but for estimates, which differ by chance."""
    a, b = documents.estimate(shown), documents.estimate(printed)
    return shown == printed or bool(a and b) and a[0] == b[0] and abs(a[1] - b[1]) < 5 * (a[2] + b[2])


@pytest.mark.heavy
@pytest.mark.parametrize("path", HERE)
def test_blocks_run_in_order_and_print_what_is_shown(tree, path, request):
    port, other = c.free_port(), c.free_port()
    reader = documents.Reader(tree[0], path=[str(tree[0] / "stand-ins")])
    request.addfinalizer(reader.close)
    for block in to_run(path):
        for command, shown in block.examples():
            code, printed = reader.types(command.replace("7443", str(port)).replace("7500", str(other)), shown or "")
            assert shown is not None or code == 0, f"{path}:{block.line}\n{command}\n{printed}"
            wrong = documents.differs(shown, printed, same) if shown is not None else None
            assert wrong is None, f"{path}:{block.line}: $ {command}\n{printed}\n\nis shown otherwise: {wrong}"
