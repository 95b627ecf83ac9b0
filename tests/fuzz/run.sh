#!/bin/sh
# run.sh BUILD SECONDS [NAME...] - every fuzz target from its corpus and its words (NAME.dict), that long each.
# run.sh BUILD --executions N [NAME...] - the long form: five minutes of each target in turn, one at a time, until each
#   has had N executions.  What was run and found is kept in BUILD/fuzz, so that it may be stopped at any time and
#   goes on when started again; counts are of finished turns.  Leaks are not looked for: the quick form does.
# run.sh BUILD --merge [NAME...] - what the long form found and tests/fuzz/corpus has not reached, into the corpus.
# run.sh BUILD --add NAME FILE... - inputs, say a crash's, into a target's corpus, which is tests/fuzz/corpus/NAME.tar.
# BUILD is build/fuzz, or for many executions build/fuzz-fast: several times faster, without ASan.
# A crash ends the run and leaves its input in BUILD/crashes.
set -eu

usage() {
	sed -n '2,/^set/{/^#/s/^# //p}' "$0" >&2
	exit 64
}

# longest NAME: bytes beyond which an input has nothing new to say; 0: as the corpus has it.
longest() {
	case $1 in
	sh_payload) echo 120 ;;
	sh_round) echo 24 ;;
	sh_plans) echo 80 ;;
	sh_spread) echo 400 ;;
	cd_upload) echo 128 ;;
	sh_intake) echo 321 ;;
	*) echo 0 ;;
	esac
}

# unpack NAME: the archive's files and no others, even after a run that was stopped.
unpack() {
	rm -rf "$build/corpus/$1"
	mkdir -p "$build/corpus/$1"
	tar -C "$build/corpus/$1" --no-same-owner -xf "$corpus/$1.tar"
}

# pack NAME: what lies in BUILD/corpus/NAME into the archive.  The same files make the same bytes, without compression, so that
# git stores a changed archive as its difference.
pack() {
	(cd "$build/corpus/$1" && LC_ALL=C ls -A) | tar -C "$build/corpus/$1" --format=ustar --blocking-factor=1 --mtime=@0 \
		--owner=root:0 --group=root:0 --mode=644 --verbatim-files-from --files-from=- -cf "$build/corpus/$1.tar"
	mv "$build/corpus/$1.tar" "$corpus/$1.tar"
}

# fuzz NAME WORK OPTION...: one run of a target; inputs of worth go to WORK.
fuzz() {
	name=$1
	work=$2
	shift 2
	unpack "$name"
	set -- "$@" "$work" "$build/corpus/$name"
	[ ! -f "$corpus/../$name.dict" ] || set -- "-dict=$corpus/../$name.dict" "$@"
	"$build/tests/fuzz_$name" -max_len="$(longest "$name")" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="$build/crashes/$name-" "$@" >"$build/fuzz-$name.log" 2>&1 || {
		tail -n 40 "$build/fuzz-$name.log" >&2
		echo "fuzz: $name failed" >&2
		return 1
	}
}

executed() {
	sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$1.log"
}

one() {
	found=$(mktemp -d)
	status=0
	fuzz "$1" "$found" -max_total_time="$2" || status=$?
	rm -rf "$found"
	[ "$status" -eq 0 ] || return "$status"
	printf '    %-14s %s runs\n' "$1" "$(executed "$1")"
}

# had NAME: how many executions it has had in the long form.
had() {
	cat "$build/fuzz/$1.count" 2>/dev/null || echo 0
}

# Writes the count whole or not at all.  A turn begins with all that was found, which is long to run anew.
turn() {
	before=$(had "$1")
	mkdir -p "$build/fuzz/$1"
	fuzz "$1" "$build/fuzz/$1" -detect_leaks=0 -timeout=60 -max_total_time=300 -runs=$((executions - before)) || exit 1
	echo $((before + $(executed "$1"))) >"$build/fuzz/$1.new"
	mv "$build/fuzz/$1.new" "$build/fuzz/$1.count"
}

long() {
	left=yes
	while [ "$left" ]; do
		left=
		for name in "$@"; do
			[ "$(had "$name")" -lt "$executions" ] || continue
			left=yes
			turn "$name"
		done
	done
	for name in "$@"; do
		printf '    %-14s %s runs\n' "$name" "$(had "$name")"
	done
}

# Files that reach something anew, smallest first; at most 200 in all, and none that alone would be a tenth of them.
merge() {
	new=$(mktemp -d)
	mkdir -p "$build/fuzz/$1"
	unpack "$1"
	"$build/tests/fuzz_$1" -merge=1 -max_len="$(longest "$1")" -verbosity=0 "$new" "$build/corpus/$1" "$build/fuzz/$1" \
		>"$build/fuzz-$1.log" 2>&1 || {
		tail -n 40 "$build/fuzz-$1.log" >&2
		exit 1
	}
	# What the corpus has stays: it may be the input of a fault that was mended.
	room=$((200 - $(find "$build/corpus/$1" -type f | wc -l)))
	find "$new" -type f -size -30k -printf '%s %p\n' | sort -n | head -n "$((room > 0 ? room : 0))" |
		while read -r _ file; do
			[ -e "$build/corpus/$1/${file##*/}" ] || mv "$file" "$build/corpus/$1/"
		done
	rm -rf "$new"
	pack "$1"
	printf '    %-14s %s files\n' "$1" "$(find "$build/corpus/$1" -type f | wc -l)"
}

# add NAME FILE...
add() {
	name=$1
	if [ -e "$corpus/$name.tar" ]; then
		unpack "$name"
	else
		mkdir -p "$build/corpus/$name"
	fi
	shift
	for file; do
		[ ! -e "$build/corpus/$name/${file##*/}" ] || {
			echo "fuzz: the corpus of $name has another ${file##*/}: give this one its own name" >&2
			exit 1
		}
		cp "$file" "$build/corpus/$name/"
	done
	pack "$name"
}

[ $# -ge 2 ] || usage
build=$1
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
names=$(find "$build/tests" -maxdepth 1 -type f -name 'fuzz_*' | sed 's,.*/fuzz_,,' | sort)
[ -n "$names" ] || {
	echo "fuzz: no targets in $build/tests" >&2
	exit 1
}
mkdir -p "$build/crashes" "$build/fuzz"
case $2 in
--one) one "$4" "$3" ;;
--executions)
	[ $# -ge 3 ] || usage
	executions=$3
	shift 3
	[ $# -gt 0 ] || set -- $names
	long "$@"
	;;
--merge)
	shift 2
	[ $# -gt 0 ] || set -- $names
	for name in "$@"; do
		merge "$name"
	done
	;;
--add)
	[ $# -ge 4 ] || usage
	shift 2
	add "$@"
	;;
-*) usage ;;
*)
	seconds=$2
	shift 2
	[ $# -gt 0 ] || set -- $names
	printf '%s\n' "$@" | xargs -P 2 -I{} "$0" "$build" --one "$seconds" {}
	;;
esac
