#!/usr/bin/python3
"""layout.py [SOURCE] - files and functions are short, comments end where their text does, and what a header offers is used.

- A file has at most 620 lines.
- A function has at most 60 lines, its signature included.  Functions of tests in Python have no limit: a scenario is one
  story.
- No line of C holds the end of a comment alone.
- A function that a header of the product declares is called by the product, and from another file, if only of the tests.  The
  accountant's installed headers are left out, since others call them.
- A folder of the product has at most 46 files of C.
- Few files of the product are without a header of their name, rows and verbs aside; their first line names the header that
  declares them.
- Each target of tests/fuzz has its corpus in one archive, tests/fuzz/corpus/NAME.tar, and nothing else lies there.
"""
import ast
import collections
import os
import re
import sys

SOURCE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
PRODUCT = ("accountant", "analyzer", "client", "common", "deploy", "proto", "shuffler")
FILE, FUNCTION, FOLDER = 620, 60, 46
# Folders that still have more than FOLDER files, and how many.
LARGER = {}
# Files without a header of their name.  The first line of each names the header that declares it.
HEADERLESS = 53
ROWS = re.compile(r"common/protocols/(rows|compat|paper)/|accountant/(method/|spec/acct_named_)|\w+/command/|deploy/tool/")
# Comments, strings and characters.
NOT_CODE = re.compile(r"""/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)
# What tests alone call: values without a payload, a table's rows by number, one message where the product has many, the port and
# the way that were chosen.
FOR_TESTS = {"cl_encode", "co_map_at", "cr_hpke_open", "cr_hpke_seal", "cr_x25519_use", "nt_http_port", "pr_arena_used"}


def files():
    """Paths of all sources, from the top."""
    for top in (*PRODUCT, "tests"):
        for folder, folders, names in os.walk(os.path.join(SOURCE, top)):
            folders[:] = [d for d in folders if d not in ("build", "__pycache__")]
            for name in names:
                if name.endswith((".c", ".h", ".py")):
                    yield os.path.relpath(os.path.join(folder, name), SOURCE)


def functions_of_c(lines):
    """(first line, number of lines, name): the formatter puts the braces of a function, and of nothing else, into the
    first column."""
    for i, line in enumerate(lines):
        if line != "{":
            continue
        first = i
        while first > 0 and lines[first - 1] and not re.search(r"[;}]$|\*/$|^#", lines[first - 1]):
            first -= 1
        end = lines.index("}", i)
        yield first + 1, end - first + 1, re.search(r"(\w+)\(", " ".join(lines[first:i]))[1]


def functions_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def faults_of(path, text):
    lines = text.splitlines()
    python, test = path.endswith(".py"), path.startswith("tests" + os.sep)
    if len(lines) > FILE:
        yield f"{path}: {len(lines)} lines, {FILE} are the limit"
    if not (python and test):
        for at, n, name in functions_of_python(text) if python else functions_of_c(lines):
            if n > FUNCTION:
                yield f"{path}:{at}: {name} has {n} lines, {FUNCTION} are the limit"
    if not python:
        for at, line in enumerate(lines, 1):
            if line.strip() == "*/":
                yield f"{path}:{at}: the end of a comment alone in its line"


def unused_functions(sources):
    """A function has its declaration, its definition, and nothing else."""
    with open(os.path.join(SOURCE, "accountant", "library", "CMakeLists.txt"), encoding="utf-8") as f:
        installed = set(re.findall(r"\w+\.h\b", f.read()))
    code = {p: NOT_CODE.sub("", t) for p, t in sources.items() if p.endswith((".c", ".h"))}
    words = {p: collections.Counter(re.findall(r"\w+", t)) for p, t in code.items()}
    product = {p: t for p, t in code.items() if not p.startswith("tests" + os.sep)}
    times = collections.Counter()
    for p in product:
        times.update(words[p])
    places = collections.Counter(word for p in code for word in words[p])
    for path, text in product.items():
        if path.endswith(".h") and os.path.basename(path) not in installed:
            for declared in re.findall(r"^(?!typedef)[a-zA-Z][^;{}=]*?\b(\w+)\([^;{}]*\)[^;{}()]*;", text, flags=re.M):
                if times[declared] <= 2 and declared not in FOR_TESTS:
                    yield f"{path}: {declared} is called by nothing of the product"
                elif places[declared] == 2 and words[path][declared] == 1:
                    yield f"{path}: {declared} is called by its own file alone: it is static"


def folders(sources):
    sizes = collections.Counter(os.path.dirname(p) for p in sources if p.endswith((".c", ".h")))
    for folder, size in sorted(sizes.items()):
        if size > LARGER.get(folder, FOLDER):
            yield f"{folder}: {size} files of C, {LARGER.get(folder, FOLDER)} are the limit"
    for folder in sorted(LARGER):
        if sizes[folder] <= FOLDER:
            yield f"tests/layout.py: {folder} has {sizes[folder]} files of C: it needs no place in LARGER"


def headerless(sources):
    """Not of rows, which a table declares, nor of verbs, which the command's own table does."""
    headers = {os.path.basename(p) for p in sources if p.endswith(".h")}
    without = [p for p in sources if p.endswith(".c") and p[:-1] + "h" not in sources
               and not ROWS.match(p)]
    unnamed = [p for p in without if not headers & set(re.findall(r"\w+\.h\b", sources[p].partition("\n")[0]))]
    if len(without) > HEADERLESS:
        yield f"{len(without)} files have no header of their name, {HEADERLESS} are the limit: {' '.join(without)}"
    if unnamed:
        yield f"the first line names no header that declares the file: {' '.join(unnamed)}"


def corpora():
    fuzz = os.path.join(SOURCE, "tests", "fuzz")
    archives = {name[len("fuzz_"):-len(".c")] + ".tar" for name in os.listdir(fuzz) if re.fullmatch(r"fuzz_\w+\.c", name)}
    there = set(os.listdir(os.path.join(fuzz, "corpus")))
    for name in sorted(archives - there):
        yield f"tests/fuzz/corpus/{name}: missing: each target has a corpus"
    for name in sorted(there - archives):
        yield f"tests/fuzz/corpus/{name}: no archive of a target (tests/fuzz/run.sh BUILD --add puts a file into one)"


def main():
    sources = {}
    for path in sorted(files()):
        with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
            sources[path] = f.read()
    faults = [fault for path, text in sources.items() for fault in faults_of(path, text)]
    product = {p: t for p, t in sources.items() if not p.startswith("tests" + os.sep)}
    faults += [*unused_functions(sources), *folders(product), *headerless(product), *corpora()]
    if not sources:
        faults.append(f"{SOURCE}: no sources")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
