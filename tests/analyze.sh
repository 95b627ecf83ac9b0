#!/bin/sh
# analyze.sh BUILD [FILE...] - gcc's analyzer (-fanalyzer) over every C file that is no test, or these.  BUILD: a
# release directory configured with gcc (its compile_commands.json is read, and its generated headers must have been
# built).  Fails on any finding that is not listed below, and on a listed one that is not found.
# About four times as long as a build, so not in test.sh.
set -eu

build=$(cd "${1:?usage: tests/analyze.sh BUILD [FILE...]}" && pwd)
shift
cd "$(dirname "$0")/.."
if [ ! -r "$build/compile_commands.json" ]; then
	echo "tests/analyze.sh: $build: no compile_commands.json" >&2
	exit 66
fi
[ $# -gt 0 ] || set -- accountant proto common client shuffler analyzer deploy
/usr/bin/python3 - "$build/compile_commands.json" "$@" <<'PY'
import concurrent.futures, json, os, shlex, subprocess, sys

# What gcc 12 says wrongly, file and warning, each with the reason.  What it says rightly is mended, not listed.
OWNED = "it is in the caller's structure, which frees it; the analyzer loses sight of it there"
WRONG = {
    ("accountant/command/cmd_curve.c", "null-dereference"): "rounds that could be read are one at least",
    ("common/conf/cf_value.c", "malloc-leak"): OWNED,
    ("common/protocols/paper/pt_gspa_pooled.c", "use-of-uninitialized-value"):
        "both loops run over the same slots: nothing between them writes how many there are",
    ("common/protocols/paper/pt_gspa_pooled.c", "possible-null-dereference"):
        "without that memory the result is no longer CM_OK, which the loop asks for",
    ("common/round/rd_query.c", "malloc-leak"): OWNED,
    ("common/plan/pl_choose.c", "use-of-uninitialized-value"): "options are stored whole, their guess 0 at first",
    ("shuffler/core/sh_core_task.c", "null-dereference"): "a task has the round that sh_core_task_next found, on the same loop",
    ("client/input/cl_batch.c", "malloc-leak"): OWNED,
    ("client/mqtt/cl_mqtt_held.c", "malloc-leak"): OWNED,
    ("client/input/cl_ndjson.c", "null-argument"): "a number always has a text",
}

commands, asked = sys.argv[1], [os.path.abspath(path) for path in sys.argv[2:]]


def analyze(entry):
    argv = shlex.split(entry["command"])
    argv[argv.index("-o") + 1] = "/dev/null"
    # Macros then say what a function of another file returns.
    argv += ["-D__clang_analyzer__", "-fanalyzer", "-fno-diagnostics-show-caret", "-fdiagnostics-path-format=none", "-Wno-error"]
    run = subprocess.run(argv, cwd=entry["directory"], capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if "[-Wanalyzer-" in line or ": error: " in line]
    return run.returncode, said


entries = [e for e in json.load(open(commands))
           if any(e["file"] == path or e["file"].startswith(path + os.sep) for path in asked)]
findings = failed = 0
met = set()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for entry, (code, said) in zip(entries, pool.map(analyze, entries)):
        path = os.path.relpath(entry["file"])
        failed += code != 0
        for line in said:
            known = {(name, warning) for name, warning in WRONG if path == name and f"[-Wanalyzer-{warning}]" in line}
            met |= known
            if not known:
                findings += 1
                print(line.replace(os.getcwd() + os.sep, ""), flush=True)
for name, warning in sorted(set(WRONG) - met):
    if any(os.path.relpath(e["file"]) == name for e in entries):
        findings += 1
        print(f"{name}: no longer said: -Wanalyzer-{warning}")
if not entries or failed or findings:
    sys.exit(f"analyze: {len(entries)} files, {failed} did not compile, {findings} findings")
print(f"analyze: {len(entries)} files, no findings that count")
PY
