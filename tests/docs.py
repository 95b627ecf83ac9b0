#!/usr/bin/python3
"""docs.py [SOURCE] - what the documents and the code say of each other is there.

- Links between documents, and to headings in them, resolve.
- A document that code or another document cites is there, and so is the heading, or the number of a section, that the
  citation names: `doc/accounting.md, 4.2`, `doc/accounting.md, "Filters"`.
- Tests and folders that documents name are there.
- Files and functions of the code that documents name are there, and a function that stands before a file in brackets is in it:
  `sh_core_open` (`sh_core.c`).  So are files that comments name.
- A block of commands in the README and the guides is run by tests/scenario/test_blocks.py, which names the page, or a comment
  before it says who runs it, `<!-- run by FILE -->`, or why nobody does, `<!-- not run: REASON -->`; these are counted.
- A document that starts an analyzer names `plan sign`, without which the analyzer waits.
- Pictures are what their text says (doc/pictures/draw.py).
"""
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
TOP = ("accountant", "analyzer", "client", "cmake", "common", "deploy", "doc", "proto", "shuffler", "tests")
CODE = (".c", ".h", ".py", ".sh", ".proto", ".txt", ".cmake", ".conf", ".yml", ".in", ".js", ".html", ".css")

# Prefixes of names in the code (CONTRIBUTING.md, "Habits"); pt_x stands for any row.
OURS = r"(?!pt_x\b)(?:cm|cf|cr|db|nt|mq|lk|pr|qy|py|co|es|pt|rd|pl|acct|cmd|cl|sh|an)_\w*[a-z0-9]"
STANDS_FOR_ANY = r"pt_x\w*\.c"

# Blocks that nobody runs: they build, change a host, or read what the reader alone has.
NOT_RUN = 34
BLOCKS = "tests/scenario/test_blocks.py"
# Languages of blocks that are no commands, and of those that doctest runs.
NO_COMMANDS = ("text", "json", "conf", "pycon")

faults = []


def files():
    """Paths of all files that git knows or would take, from the top."""
    run = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if run.returncode == 0:
        return [f for f in run.stdout.splitlines() if os.path.isfile(os.path.join(SOURCE, f))]
    found = []  # not a clone
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = [d for d in folders if d not in ("build", ".git", "demo-run")]
        found += [os.path.relpath(os.path.join(folder, name), SOURCE) for name in names]
    return found


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def prose(text):
    """Without what stands between fences."""
    return re.sub(r"^( *)```.*?^ *```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)


def headings(text):
    return [m[1].strip() for m in re.finditer(r"^#+ (.*)$", prose(text), re.M)]


def anchors(text):
    """The names that a link may go to, as GitHub makes them."""
    names = set()
    for heading in headings(text):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = base = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        n = 0
        while name in names:
            n += 1
            name = f"{base}-{n}"
        names.add(name)
    return names


def fault(path, at, text, what):
    faults.append(f"{path}:{text.count(chr(10), 0, at) + 1}: {what}")


def check_links(path, text, documents):
    text = prose(text)
    for m in re.finditer(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = m[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(SOURCE, to)):
            fault(path, m.start(), text, f"link to {m[1]}: no such file")
        elif anchor and (to not in documents or anchor not in anchors(documents[to])):
            fault(path, m.start(), text, f"link to {m[1]}: no such heading")


def check_citations(path, text, documents):
    """doc/NAME.md, perhaps with a heading in quotes or the number of a section; lines of a comment may break it."""
    between = r"[\s/*#]*"
    cited = rf"(?<![\w/])((?:doc|deploy)/[\w/.-]*\.md)(?:(?:,{between}|[\s/*#]+)\"([^\"]+)\"|,{between}(?:section )?(\d+(?:\.\d+)*))?"
    for m in re.finditer(cited, text):
        document = documents.get(m[1])
        if document is None:
            fault(path, m.start(), text, f"{m[1]}: no such document")
            continue
        if m[2]:
            wanted = re.sub(rf"\s*\n{between}", " ", m[2])
            if not any(wanted.lower() in h.lower() for h in headings(document)):
                fault(path, m.start(), text, f'{m[1]}: no heading "{wanted}"')
        if m[3]:
            # 4.2.5 is the fifth of what section 4.2 numbers.
            wanted = ".".join(m[3].split(".")[:2])
            if not any(re.match(rf"{re.escape(wanted)}\.? ", h) for h in headings(document)):
                fault(path, m.start(), text, f"{m[1]}: no section {wanted}")


def check_names(path, text, names):
    """`tests/unit/test_x.c`, `u/x` and `s/x` in a document."""
    for m in re.finditer(r"`((?:\w+)/[\w./-]+)`", prose(text)):
        where = m[1].rstrip("/")
        if re.search(r"_$|/[A-Z]+$", where):
            continue  # the beginning of names, or a name that stands for others
        if where.split("/")[0] in TOP and not os.path.exists(os.path.join(SOURCE, where)):
            fault(path, m.start(), text, f"{m[1]}: no such file")
    for m in re.finditer(r"`([us])/(\w+)`", text):
        wanted = [f"test_{m[2]}.py"] if m[1] == "s" else [f"test_{m[2]}.c"]
        if not names.intersection(wanted):
            fault(path, m.start(), text, f"{m[0]}: no such test")


def check_signing(path, text):
    """An analyzer waits until its plan is signed: whoever reads how one is started reads that."""
    starts = re.search(r"tombola-analyzer\b[^`\n]* (round )?run\b|enable --now tombola-analyzer", text)
    if starts and "plan sign" not in text:
        fault(path, starts.start(), text, "starts an analyzer, and does not say `plan sign`")


def check_blocks(path, text, run):
    """Returns how many blocks nobody runs; `run` is the text of the test that runs whole pages."""
    not_run = 0
    for m in re.finditer(r"(?:^ *<!-- (not run|run by) ?:? ?([^>]*?) -->\n)?^ *```(\w*)\n.*?^ *```$", text, re.M | re.S):
        if m[1] == "run by" and (not os.path.exists(os.path.join(SOURCE, m[2])) or os.path.basename(path) not in read(m[2])):
            fault(path, m.start(), text, f"{m[2]} does not run this page")
        elif not m[1] and m[3] not in NO_COMMANDS and f'"{path}"' not in run:
            fault(path, m.start(), text, f"a block that {BLOCKS} does not run, and that does not say who does or why nobody")
        not_run += m[1] == "not run"
    return not_run


class Code:
    """Names of the code: of its files, and in them."""

    def __init__(self, every):
        self.files = {os.path.basename(f) for f in every}
        self.text = {f: read(f) for f in every if f.endswith((".c", ".h"))}
        self.words = {f: set(re.findall(r"\w+", text)) for f, text in self.text.items()}
        self.all = set().union(*self.words.values()) if self.words else set()
        self.all.update(*(re.findall(r"\w+", read(f)) for f in every if os.path.basename(f) == "CMakeLists.txt"))
        self.foreign = {m for text in self.text.values() for m in re.findall(r"^# *include <([\w.]+)>", text, re.M)}

    def check_files(self, path, text, at, named):
        for m in re.finditer(r"(?<![\w/.*-])\w+\.[ch]\b", named):
            if m[0] not in self.files and m[0] not in self.foreign and not re.fullmatch(STANDS_FOR_ANY, m[0]):
                fault(path, at + m.start(), text, f"{m[0]}: no such file")

    def check_document(self, path, text):
        text = prose(text)
        for m in re.finditer(r"`([^`\n]+)`", text):
            self.check_files(path, text, m.start(), m[0])
            for name in re.findall(rf"(?<![\w/.-]){OURS}\b(?![.-])", m[1]):
                if name not in self.all:
                    fault(path, m.start(), text, f"{name}: no such name in the code")
        for m in re.finditer(r"`(\w+)`\s+\(`(\w+\.[ch])`", text):
            where = [f for f in self.words if os.path.basename(f) == m[2]]
            if where and not any(m[1] in self.words[f] for f in where):
                fault(path, m.start(), text, f"{m[1]} is not in {m[2]}")

    def check_comments(self, path):
        text = self.text[path]
        for m in re.finditer(r"/\*.*?\*/", text, re.S):
            self.check_files(path, text, m.start(), m[0])


def check_rows(documents):
    """Every row of the protocol table stands in the table of doc/protocols/README.md, by its name."""
    path = "doc/protocols/README.md"
    if path not in documents:
        return  # a part of the tree
    table = set(re.findall(r"^\| \[`([\w-]+)`\]", documents[path], re.M))
    for row in re.findall(r"\brow\((\w+)\)", read("common/protocols/pt_rows.h")):
        name = {"laplace": "laplace-levels"}.get(row, row.replace("_", "-"))
        if name not in table:
            faults.append(f"{path}: the row {name} of pt_rows.h is not in the table")


def main():
    every = files()
    documents = {f: read(f) for f in every if f.endswith(".md")}
    assert "doc/README.md" in documents, f"no documents below {SOURCE}"
    names = {os.path.basename(f) for f in every if f.startswith("tests/")}
    code = Code(every)
    for path in code.text:
        code.check_comments(path)
    for path in every:
        if path.endswith(".md"):
            code.check_document(path, documents[path])
            check_links(path, documents[path], documents)
            check_names(path, documents[path], names)
            check_signing(path, documents[path])
            check_citations(path, prose(documents[path]), documents)
        elif path.endswith(CODE) and os.path.basename(path) not in ("docs.py", "test_docs.py"):
            check_citations(path, read(path), documents)
    check_rows(documents)
    if BLOCKS in every:
        not_run = sum(check_blocks(p, documents[p], read(BLOCKS)) for p in documents if re.match(r"doc/|(deploy/)?README.md|CONTRIB", p))
        if not_run != NOT_RUN:
            faults.append(f"tests/docs.py: {not_run} blocks are not run, and {NOT_RUN} were known: run them, or correct NOT_RUN")
    for line in faults:
        print(line, file=sys.stderr)
    run = subprocess.run([sys.executable, os.path.join(SOURCE, "doc/pictures/draw.py"), "--check"])
    return 1 if faults or run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
