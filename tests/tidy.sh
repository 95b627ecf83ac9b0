#!/bin/sh
# tidy.sh BUILD - clang-tidy over every C file that is no test.  BUILD: a directory configured with clang (its
# compile_commands.json is read, and its generated headers must have been built).  Fails on any finding.
set -eu

build=$(cd "${1:?usage: tests/tidy.sh BUILD}" && pwd)
tidy=${CLANG_TIDY:-clang-tidy-14}
cd "$(dirname "$0")/.."
if [ ! -r "$build/compile_commands.json" ]; then
	echo "tests/tidy.sh: $build: no compile_commands.json" >&2
	exit 66
fi
# Only stdout holds findings; stderr counts what was suppressed in system headers.
find accountant proto common client shuffler analyzer deploy -name '*.c' -print0 |
	xargs -0 -P 2 -n 1 sh -c '"$0" --quiet -p "$1" "$2" 2>/dev/null || { echo "tidy: $2"; exit 1; }' "$tidy" "$build"
echo "tidy: no findings"
