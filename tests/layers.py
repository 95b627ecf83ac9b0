#!/usr/bin/env python3
"""layers.py SOURCE [BUILD] - hold the tree against tests/layers.txt, which says which folder uses which.

By #include lines: every arrow stands in layers.txt and every arrow there is one of the tree; a folder names only folders
above its own line, so there are no circles; and of some folders (FACES) others include one header alone.  With BUILD also by
calls: where an archive imports a symbol that another folder's archive defines, there is a way of arrows from the one to the
other; and no object files call each other in a circle.  --graph prints the arrows of the tree."""
import collections
import pathlib
import re
import subprocess
import sys

TREES = ("accountant", "proto", "common", "client", "shuffler", "analyzer", "deploy/tool")
GENERATED = {"tombola.pb-c.h": "proto"}
TABLE = "tests/layers.txt"
# A table names its rows, which stand in folders that use the table's.
TABLES = ("pt_protocol.c.o", "pt_device.c.o")
PARTIES = ("client", "shuffler", "analyzer")
# What other folders see of a machine of the accountant's core; a family of laws also computes with places.
FACES = {"accountant/core/listing": ("acct_exact.h",), "accountant/core/inversion": ("acct_invert.h",),
         "accountant/core/bounds": ("acct_bounds.h", "acct_places.h"), "accountant/core/composition": ("acct_composition.h",)}


def arrows_of(source):
    """Folder -> folder -> the include lines between them; and the folders that hold C files."""
    files = [f for tree in TREES for f in sorted((source / tree).rglob("*.[ch]"))]
    folder_of = {f: f.parent.relative_to(source).as_posix() for f in files}
    owner = dict(GENERATED)
    for f in files:
        if f.suffix == ".h" and owner.setdefault(f.name, folder_of[f]) != folder_of[f]:
            sys.exit(f"layers.py: two headers are called {f.name}")
    arrows = collections.defaultdict(lambda: collections.defaultdict(list))
    for f in files:
        for number, line in enumerate(f.read_text().splitlines(), 1):
            named = re.match(r'#\s*include "([^"]+)"', line)
            if not named:
                continue
            target = owner.get(pathlib.PurePath(named[1]).name)
            if target is None:
                sys.exit(f"{f.relative_to(source)}:{number}: {named[1]} is no header of the tree")
            if target != folder_of[f]:
                arrows[folder_of[f]][target].append(f"{f.relative_to(source)}:{number}: {line}")
    return arrows, set(folder_of.values())


def table_of(path):
    """Folder -> the folders it may use, in the order of the lines."""
    table = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        folder, _, uses = line.partition(":")
        for used in uses.split():
            if used not in table:
                sys.exit(f"{TABLE}:{number}: {used} does not stand above {folder}")
            if not allowed(folder, used):
                sys.exit(f"{TABLE}:{number}: {folder} may never use {used}")
        table[folder] = uses.split()
    return table


def allowed(folder, used):
    """What no line of the table may say: a party's folder is used by its own party alone, the accountant uses itself, and its
    command common/base."""
    top, of = folder.split("/")[0], used.split("/")[0]
    if top == "accountant" and (folder, used) != ("accountant/command", "common/base"):
        return top == of
    return top == of or of not in PARTIES


def below(table, folder):
    """What a folder reaches by arrows, itself too."""
    reached = {folder}
    for used in table.get(folder, ()):
        reached |= below(table, used)
    return reached


def symbols_of(build, folders, members):
    """Symbol -> the object that defines it; object -> the symbols that it imports.  Of the objects `members`, in archives below
    the folders' places in the build."""
    defines, imports = {}, collections.defaultdict(set)
    archives = [a for a in build.rglob("*.a") if a.parent.relative_to(build).as_posix() in folders]
    symbols = subprocess.run(["nm", "-A", "--extern-only", *archives], capture_output=True, text=True, check=True).stdout
    for line in symbols.splitlines():
        place, _, symbol = line.rpartition(":")
        member, fields = place.rpartition(":")[2], symbol.split()
        if member not in members:
            continue  # generated
        if fields[0] == "U":
            imports[member].add(fields[1])
        elif len(fields) == 3:
            defines[fields[2]] = member
    return defines, imports


def called(defines, imports, folder_of):
    """(folder, other folder, symbol) where an object of the one imports what an object of the other defines."""
    return {(folder_of[m], folder_of[defines[s]], s) for m, names in imports.items() if m not in TABLES
            for s in names if s in defines}


def way_round(calls, first):
    """A shortest way of calls from an object in a circle back to it."""
    before, queue = {}, [first]
    for at in queue:
        for to in sorted(calls[at]):
            if to == first:
                path = [first, at]
                while path[-1] != first:
                    path.append(before[path[-1]])
                return path[::-1]
            if to not in before:
                before[to] = at
                queue.append(to)
    raise ValueError(f"{first} is in no circle")


def circles(calls):
    """Sets of objects each of which reaches the others by calls, the largest first."""
    reached = {}
    for first in calls:
        reached[first], todo = set(), [first]
        while todo:
            new = calls[todo.pop()] - reached[first]
            reached[first] |= new
            todo += new
    found = {frozenset(o for o in reached[first] if first in reached[o]) for first in calls if first in reached[first]}
    return sorted(found, key=lambda c: (-len(c), sorted(c)))


def faults_of_circles(defines, imports):
    """Circles, with one way round and its symbols."""
    calls, symbol = collections.defaultdict(set), {}
    for member in {*imports, *defines.values()}:
        calls[member] = {defines[s] for s in imports.get(member, ()) if defines.get(s, member) != member}
        symbol.update(((member, defines[s]), s) for s in sorted(imports.get(member, ())) if s in defines)
    for circle in circles(calls):
        path = min((way_round(calls, member) for member in sorted(circle)), key=len)
        steps = [f"{a[:-4]} calls {symbol[a, b]} of {b[:-4]}" for a, b in zip(path, path[1:])]
        yield f"a circle of calls: {' '.join(m[:-4] for m in sorted(circle))}: {', '.join(steps)}"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--graph"]
    source = pathlib.Path(arguments[0])
    arrows, folders = arrows_of(source)
    if "--graph" in sys.argv:
        for folder in sorted(folders):
            print(f"{folder}: {' '.join(sorted(arrows[folder]))}".rstrip())
        return
    table = table_of(source / TABLE)
    bad = [f"{TABLE}: no line for {f}" for f in sorted(folders - set(table))]
    bad += [f"{TABLE}: {f} holds no C file" for f in table if f not in folders]
    for folder in sorted(folders):
        for target, lines in sorted(arrows[folder].items()):
            if target not in table.get(folder, ()):
                bad += [f"{line}   (forbidden: {folder} -> {target})" for line in lines]
            bad += [f"{line}   (private to {target})" for line in lines
                    if target in FACES and not line.split('"')[1] in FACES[target]]
        bad += [f"{TABLE}: {folder} includes nothing of {t}" for t in table.get(folder, ()) if t not in arrows[folder]]
    if len(arguments) > 1:
        folder_of = {f.name + ".o": f.parent.relative_to(source).as_posix()
                     for tree in TREES for f in (source / tree).rglob("*.c")}
        defines, imports = symbols_of(pathlib.Path(arguments[1]), folders, folder_of)
        calls = called(defines, imports, folder_of)
        if not calls:
            bad.append(f"{arguments[1]}: no archive of a folder calls another's")
        bad += [f"{folder} calls {symbol} of {other}" for folder, other, symbol in sorted(calls)
                if other not in below(table, folder)]
        bad += faults_of_circles(defines, imports)
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
