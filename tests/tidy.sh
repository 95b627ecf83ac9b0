#!/bin/sh
# tidy.sh BUILD [--paths] - clang-tidy over every C file; over tests, clang's warnings and little else.  With --paths also
# clang's static analyzer, which takes ten times as long as all the rest.  BUILD: a directory configured with clang (its
# compile_commands.json is read, and its generated headers must have been built).  Fails on any finding.
set -eu

usage='usage: tests/tidy.sh BUILD [--paths]'
build=$(cd "${1:?$usage}" && pwd)
case ${2:-} in
'') paths=',-clang-analyzer-*' ;;
--paths) paths= ;;
*)
	echo "$usage" >&2
	exit 64
	;;
esac
# Each version has checks of its own: the one that the tree is written to, or what this release has.
tidy=${CLANG_TIDY:-$(command -v clang-tidy-14 || command -v clang-tidy)} || {
	echo "tests/tidy.sh: no clang-tidy here (deploy/setup.sh test)" >&2
	exit 69
}
cd "$(dirname "$0")/.."
if [ ! -r "$build/compile_commands.json" ]; then
	echo "tests/tidy.sh: $build: no compile_commands.json" >&2
	exit 66
fi
# tidy CHECKS [OPTION...]: of the files on its input, beside those of .clang-tidy.  Only stdout holds findings; stderr counts what was
# suppressed in system headers.
tidy() {
	xargs -0 -P 2 -n 8 sh -c 'tidy=$1 build=$2
		shift 2
		"$tidy" --quiet -p "$build" "$@" 2>/dev/null || { echo "tidy: among $*"; exit 1; }' \
		- "$tidy" "$build" --checks="$@"
}
find accountant proto common client shuffler analyzer deploy -name '*.c' -print0 |
	tidy "portability-*$paths" --extra-arg=-Wreserved-identifier --extra-arg=-Wreserved-macro-identifier
find tests -name '*.c' -print0 | tidy '-*,clang-diagnostic-*,portability-*'
echo "tidy: no findings"
