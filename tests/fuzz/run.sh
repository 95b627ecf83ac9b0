#!/bin/sh
# run.sh BUILD SECONDS - every fuzz target from its corpus and its words (NAME.dict); a crash ends the run and leaves its input in BUILD/crashes.
set -eu

build=$1
seconds=$2
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
mkdir -p "$build/crashes"

one() {
	target=$1
	name=$(basename "$target" | sed 's/^fuzz_//')
	work=$(mktemp -d)
	seeds=
	words=
	[ ! -d "$corpus/$name" ] || seeds=$corpus/$name
	[ ! -f "$corpus/../$name.dict" ] || words=-dict=$corpus/../$name.dict
	if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="$build/crashes/$name-" $words "$work" $seeds >"$build/fuzz-$name.log" 2>&1; then
		tail -n 40 "$build/fuzz-$name.log" >&2
		echo "fuzz: $name failed" >&2
		rm -rf "$work"
		return 1
	fi
	printf '    %-14s %s runs\n' "$name" \
		"$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$name.log")"
	rm -rf "$work"
}

if [ "${3:-}" ]; then
	one "$3"
	exit
fi
targets=$(find "$build/tests" -maxdepth 1 -type f -name 'fuzz_*' | sort)
[ -n "$targets" ] || {
	echo "fuzz: no targets in $build/tests" >&2
	exit 1
}
echo "$targets" | xargs -P 2 -I{} "$0" "$build" "$seconds" {}
