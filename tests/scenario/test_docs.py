"""tests/docs.py accepts the documents as they are, and names each kind of fault with its place.  What documents say
that commands print is what they print."""
import glob
import os
import re
import shutil
import subprocess

import pytest

import wire
from cluster import program
from documents import read

CHECK = os.path.join(wire.ROOT, "tests", "docs.py")
WITH_PROGRAMS = {**os.environ, "PATH": f"{os.path.dirname(program('tombola'))}:{os.environ['PATH']}"}


def check(source):
    return subprocess.run([CHECK, str(source)], capture_output=True, text=True)


def test_the_documents_and_what_cites_them_agree():
    run = check(wire.ROOT)
    assert run.returncode == 0 and not run.stderr, run.stderr


@pytest.fixture
def tree(tmp_path):
    """A document, one that cites it, and a file of code that does."""
    shutil.copytree(os.path.join(wire.ROOT, "doc", "pictures"), tmp_path / "doc" / "pictures")
    (tmp_path / "tests").mkdir()
    (tmp_path / "doc" / "README.md").write_text("# Map\n\n## 4. What, where\n\n### 4.2 One `round`\n")
    (tmp_path / "doc" / "other.md").write_text("See [it](README.md#4-what-where), [this](README.md#42-one-round).\n")
    (tmp_path / "a.c").write_text('/* doc/README.md, "One\n * `round`"; doc/README.md, 4.2.5; doc/README.md. */\n')
    assert check(tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize("path,text,fault", [
    ("doc/other.md", "\n[a](no.md)\n", "doc/other.md:2: link to no.md: no such file"),
    ("doc/other.md", "[a](README.md#4-what)\n", "doc/other.md:1: link to README.md#4-what: no such heading"),
    ("doc/other.md", "`tests/unit/test_no.c`\n", "doc/other.md:1: tests/unit/test_no.c: no such file"),
    ("doc/other.md", "`u/no`\n", "doc/other.md:1: `u/no`: no such test"),
    ("doc/other.md", "\n`sh_no.c`\n", "doc/other.md:2: sh_no.c: no such file"),
    ("doc/other.md", "`sh_no_such()`\n", "doc/other.md:1: sh_no_such: no such name in the code"),
    ("doc/other.md", "`other` (`a.c`)\n", "doc/other.md:1: other is not in a.c"),
    ("doc/other.md", "\n`tombola-analyzer round run 1`\n", "doc/other.md:2: starts an analyzer, and does not say `plan sign`"),
    ("a.c", "/* a.c\n * sh_no.h */\n", "a.c:2: sh_no.h: no such file"),
    ("a.c", "/* doc/no.md */\n", "a.c:1: doc/no.md: no such document"),
    ("a.c", '\n/* doc/README.md,\n * "Two" */\n', 'a.c:2: doc/README.md: no heading "Two"'),
    ("a.c", "/* doc/README.md, 4.3 */\n", "a.c:1: doc/README.md: no section 4.3"),
    ("doc/pictures/round.txt", "title x\nsize 9 9\n", "doc/pictures/round.svg is not what round.txt says"),
])
def test_a_fault_is_named(tree, path, text, fault):
    (tree / path).write_text(text)
    run = check(tree)
    assert run.returncode == 1 and fault in run.stderr, run.stderr


def test_the_plan_of_the_readme_costs_what_documents_say(tmp_path):
    plan, = re.findall(r'^```conf\n(name = "shuttle-demo";\n.*?)^```', read("README.md"), re.M | re.S)
    (tmp_path / "plan.conf").write_text(plan)
    run = subprocess.run([program("tombola"), "plan", "cost", str(tmp_path / "plan.conf")],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    said = re.findall(r"^    [12]  \w.* 64 .*$", read("doc/protocols/README.md") + read("doc/protocols/numbers.md"), re.M)
    assert len(said) == 2 and all(line in run.stdout.splitlines() for line in said), run.stdout


def test_more_participants_cost_what_the_table_says():
    text = read("doc/protocols/README.md")
    (n, epsilon), = re.findall(r"^\| n \|(.*) \|\n\|[-|]+\n\| epsilon at delta 1e-6 \|(.*) \|$", text, re.M)
    command, = re.findall(r"^tombola-accountant epsilon .*,n=", text, re.M)
    for people, said in zip(n.split("|"), epsilon.split("|"), strict=True):
        run = subprocess.run(command + people.strip().replace(",", ""), shell=True, capture_output=True, text=True, env=WITH_PROGRAMS)
        upper = float(re.match(r"epsilon at most (\S+)", run.stdout)[1])
        assert upper <= float(said) < upper + 1e-4, (people, said, run.stdout)


def test_every_round_that_a_document_shows_is_valid(tmp_path):
    shown = {}
    for path in glob.glob(os.path.join(wire.ROOT, "doc", "**", "*.md"), recursive=True):
        for rounds in re.findall(r"^```conf\n(\{ query = [^`]*)^```", read(path), re.M):
            shown[path] = f'name = "shown"; population = "all"; budget = {{ epsilon = 100; delta = 1e-6; }};\nrounds = (\n{rounds});\n'
            (tmp_path / "plan.conf").write_text(shown[path])
            run = subprocess.run([program("tombola"), "plan", "check", str(tmp_path / "plan.conf")], capture_output=True, text=True)
            assert run.returncode == 0, (path, run.stdout, run.stderr)
    assert len(shown) >= 6


@pytest.mark.heavy
def test_the_demo_charges_what_the_readme_says():
    """The charges of the README's demo, of which only the accountant runs here."""
    said = re.findall(r"^ +\d+  (\S+) +(\S+) +[\d,-]+  +(\S+)  (\S+)  (\S+)$", read("README.md"), re.M)
    run = subprocess.run([program("tombola"), "plan", "cost", os.path.join(wire.ROOT, "deploy/demo/shuttle-plan.conf")],
                         capture_output=True, text=True)
    rows = re.findall(r"^ +\d+  (\S+) +\S+ +epsilon0 (\w+(?:\.\d+)?)\b.* (\S+)  (\S+)  (\S+)$", run.stdout, re.M)
    assert len(said) == 6 and said == rows, (said, rows)


def test_plan_optimise_prints_what_the_page_says(tmp_path):
    text = read("deploy/plan.conf").replace("budget = { delta", "budget = { epsilon = 1.0, delta", 1)
    for number, weight in (("4.0", 2), ("3.0", 1)):
        text = text.replace(f"epsilon0 = {number}\n", f'epsilon0 = "weight {weight}"\n', 1)
    (tmp_path / "wanted.conf").write_text(text)
    run = subprocess.run([program("tombola"), "plan", "optimise", str(tmp_path / "wanted.conf")], capture_output=True,
                         text=True)
    said, = re.findall(r"^\$ tombola plan optimise wanted.conf > plan.conf\n(.*?)^```", read("doc/protocols/README.md"),
                       re.M | re.S)
    assert run.returncode == 0 and run.stderr == said and "6.245 /* weight 2 */" in run.stdout, run
