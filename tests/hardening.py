#!/usr/bin/python3
"""hardening.py BUILD - what the installed programs and the library of a release build are compiled and linked with:
position independent, relocations read-only and bound at start, no executable stack, canaries, checked library calls,
probed stacks, landing pads, little memory of each thread.  Read from the ELF files by readelf and objdump, not from the flags."""
import os
import platform
import re
import subprocess
import sys

PROGRAMS = ["tombola", "tombola-accountant", "tombola-analyzer", "tombola-client", "tombola-shuffler"]
LIBRARY = "libtombola-accountant.so.0"
PAGE = 4096
THREAD_LOCAL_MAX = 65536  # of the stack of every thread, which may be a megabyte
# Start-up code of the C library and the compiler, in every program, not ours.
NOT_OURS = {"_start", "_init", "_fini", "__pthread_atfork"}


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C")).stdout


def segments(path):
    """Type of each program header -> its flags."""
    return {m[1]: m[2].replace(" ", "")
            for m in re.finditer(r"^ +([A-Z_]+) +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([RWE ]{3})", run("readelf", "-lW", path), re.M)}


def thread_local(path):
    """Bytes of memory that every thread has for itself, beside its stack or in it."""
    return sum(int(m[1], 16) for m in re.finditer(r"^ +TLS +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x(\w+)", run("readelf", "-lW", path), re.M))


def linked(path, program):
    """What the dynamic loader is asked for."""
    header, dynamic, segment = run("readelf", "-hW", path), run("readelf", "-dW", path), segments(path)
    if not re.search(r"Type: +DYN", header):
        yield "is not position independent"
    if program and not re.search(r"FLAGS_1.*\bPIE\b", dynamic):
        yield "is no position independent executable"
    if "GNU_RELRO" not in segment:
        yield "has no read-only relocations"
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(BIND_NOW\)|FLAGS_1.*\bNOW\b", dynamic):
        yield "binds late"
    if "E" in segment.get("GNU_STACK", "E"):
        yield "has an executable stack"
    if thread_local(path) > THREAD_LOCAL_MAX:
        yield f"has {thread_local(path)} bytes of thread-local memory, more than {THREAD_LOCAL_MAX}"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "looks for libraries where it was built"
    if "(TEXTREL)" in dynamic:
        yield "writes to its code at start"


def called(path):
    """What the compiler calls by itself."""
    symbols = re.findall(r" UND (\w+)", run("readelf", "--dyn-syms", "-W", path))
    if "__stack_chk_fail" not in symbols:
        yield "has no canaries"
    if not any(name.endswith("_chk") for name in symbols):
        yield "calls no checked function (_FORTIFY_SOURCE)"


def functions(path):
    """Name and instructions of each function of ours."""
    name, body = None, []
    for line in run("objdump", "-d", "--no-show-raw-insn", "-w", "-j", ".text", path).splitlines():
        start = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        if start:
            if name:
                yield name, body
            name, body = start[1], []
        elif "\t" in line:
            body.append(line.split("\t", 1)[1].strip())
    if name:
        yield name, body


def unprobed(body):
    """Does it move the stack by a page or more without touching it?"""
    for i, text in enumerate(body):
        moved = re.match(r"sub +\$0x([0-9a-f]+),%rsp$", text)
        if not moved:
            continue
        size = int(moved[1], 16)
        if size >= 1 << 63:  # adds
            continue
        if size > PAGE or (size == PAGE and not any("(%rsp)" in after for after in body[i + 1:i + 3])):
            return True
    return False


def compiled(path):
    """What its instructions show, on x86-64."""
    names = run("readelf", "-sW", path)
    entered = {m[1] for m in re.finditer(r"FUNC +GLOBAL +\w+ +\d+ (\w+)", names)} - NOT_OURS
    seen = 0
    for name, body in functions(path):
        if unprobed(body):
            yield f"{name} moves the stack by more than a page without a probe"
        if name in entered:
            seen += 1
            if not body[0].startswith("endbr64"):
                yield f"{name} has no landing pad"
    if seen == 0:
        yield "shows no function: is it stripped?"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tests/hardening.py BUILD")
    paths = [os.path.join(sys.argv[1], "bin", name) for name in PROGRAMS]
    paths.append(os.path.join(sys.argv[1], "libexec", "tombola", "tombola-shuffler-postgresql"))
    paths.append(os.path.join(sys.argv[1], "lib", LIBRARY))
    absent = [path for path in paths if not os.path.exists(path)]
    if absent:
        sys.exit(f"hardening: not built: {' '.join(absent)}")
    faults = []
    x86 = platform.machine() == "x86_64"
    for path in paths:
        found = [*linked(path, "/lib/" not in path), *called(path), *(compiled(path) if x86 else ())]
        faults += [f"{path}: {fault}" for fault in found]
    if faults:
        sys.exit("\n".join(faults[:40]))
    print(f"hardening: {len(paths)} files as they should be"
          + ("" if x86 else "; stack probes and landing pads are looked for on x86-64 only"))


main()
