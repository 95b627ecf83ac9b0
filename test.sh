#!/bin/sh
# test.sh [all] - install what is missing, build, and pass the tests: unit tests under AddressSanitizer and UBSan, scenarios with
# optimised programs.  With all, as every landing must: scenarios under those sanitizers, too; ThreadSanitizer, millions of draws,
# scenarios of many devices, the shuffler's other store, fuzzing and packages, which take as long again.  A test that failed and
# passed when it was run once more, alone, is named at the end with what it said first; with all, it is a failure.
#   TOMBOLA_FUZZ_SECONDS (default 1): seconds per fuzz target, whose corpus is run whole in any case
set -eu
case $#,${1:-} in
0,) all=false ;;
1,all) all=true ;;
*)
	echo 'usage: ./test.sh [all]' >&2
	exit 64
	;;
esac
# The build whose programs the scenarios run, and the optimised one: both have removable checks where they are the same.
if $all; then
	scenarios=asan optimised=release how=ASan+UBSan
else
	scenarios=mutant optimised=mutant how=optimised
fi
cd "$(dirname "$0")"
started=$(date +%s)
# What Python compiles is kept, and not beside its sources: each process of the scenarios reads all of them.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$PWD/build/pycache"
# Memory that was freed is kept from use while 16 MiB of it follow; with the usual 256, fresh pages are a tenth of all work.
asan=quarantine_size_mb=16
export ASAN_OPTIONS=$asan
mkdir -p build
rm -f build/twice.*
side=.front

# Begins a step, and says what was used before it: seconds, and core seconds of these steps (or of those beside, of theirs).
step() {
	times >"build/times$side"
	awk -v seconds=$(($(date +%s) - started)) -v what="$1" '
		{ for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); cores += 60 * t[1] + t[2] } }
		END { printf "==> [%3d s, %4.0f core s] %s\n", seconds, cores, what }' "build/times$side"
}

# build PRESET [OPTION...]
build() {
	log=build/$1.log
	cmake --preset "$1" >/dev/null
	cmake --build --preset "$@" >"$log" 2>&1 || {
		grep -E 'error|warning|FAILED' "$log" >&2
		exit 1
	}
}

# units PRESET ARGUMENT...: what fails beside others is run once more, alone.  If it fails again, the gate ends there; if not, what
# it said at first is kept for the end.
units() {
	preset=$1
	shift
	ctest --test-dir "build/$preset" --output-on-failure --progress -j "$((3 * $(nproc)))" --timeout 1800 "$@" || {
		# ctest's log has each test from "Testing:" to "time elapsed:".
		awk '/^[0-9]+\/[0-9]+ Testing: / { text = ""; passed = 0 }
			/^Test (Passed|Skipped)\./ { passed = 1 }
			{ text = text $0 "\n" }
			/^"[^"]*" time elapsed: / && !passed { printf "%s", text }' \
			"build/$preset/Testing/Temporary/LastTest.log" >"build/first$side"
		echo '    once more, alone'
		ctest --test-dir "build/$preset" --output-on-failure --rerun-failed --timeout 1800
		twice "unit tests ($preset)"
	}
}

# scenarios PRESET ARGUMENT...: $crowd at once for each processor, since they wait for most of their time; what fails is run once
# more, alone, as units are.  LeakSanitizer needs the right to trace, which the daemons drop for all but root.
crowd=6
scenarios() {
	preset=$1
	shift
	workers=$((crowd * $(nproc)))
	[ "$workers" -le 24 ] || workers=24
	leaks=1
	[ "$(id -u)" -eq 0 ] || leaks=0
	export TOMBOLA_BUILD="$PWD/build/$preset" ASAN_OPTIONS="$asan:detect_leaks=$leaks"
	set -- -q -o cache_dir="$PWD/build/$preset/pytest" "$@"
	rm -f "build/failed$side"
	{ /usr/bin/python3 -m pytest -n "$workers" "$@" || touch "build/failed$side"; } | tee "build/pytest$side.log"
	if [ -e "build/failed$side" ]; then
		sed -n '/^=* \(ERRORS\|FAILURES\) =*$/,$p' "build/pytest$side.log" >"build/first$side"
		echo '    once more, alone'
		/usr/bin/python3 -m pytest --last-failed --last-failed-no-failures none "$@"
		twice "scenarios ($preset)"
	fi
	unset TOMBOLA_BUILD
	export ASAN_OPTIONS=$asan
}

# twice WHAT: what build/first has failed at first and passed alone.
twice() {
	{
		echo "---- $1: failed beside others, and passed alone:"
		cat "build/first$side"
	} >>"build/twice$side"
}

# ended WHAT: the last line.  A test that failed once has a race, or needs a quiet machine: either is to be mended.
ended() {
	if cat build/twice.* 2>/dev/null; then
		if $all; then
			echo "test.sh: tests failed, and passed when they were run once more: see above" >&2
			exit 1
		fi
	fi
	step "$1"
}

# beside FUNCTION: begins it in the background, behind what goes on in front; its output is in build/FUNCTION.log.  Some steps
# use one processor, and scenarios leave some of each.
others=
beside() {
	(
		renice -n 10 -p "$(exec sh -c 'echo "$PPID"')" >/dev/null
		side=.$1
		"$1"
		step "end of $1"
	) >"build/$1.log" 2>&1 &
	others="$others $1:$!"
}

# What was begun beside has ended well, or the gate is red.
joined() {
	for other in $others; do
		others=${others# "$other"}
		status=0
		wait "${other#*:}" || status=$?
		sed 's/^/    /' "build/${other%:*}.log"
		if [ "$status" -ne 0 ]; then
			echo "test.sh: ${other%:*} failed" >&2
			exit 1
		fi
	done
}

stop() {
	for other in $others; do
		kill "${other#*:}" 2>/dev/null || true
	done
}
trap stop EXIT
trap 'exit 130' INT TERM

# ---- what runs beside ----

looks() {
	TOMBOLA_BUILD=$PWD/build/$scenarios /usr/bin/python3 -m pytest -q --collect-only -p no:cacheprovider tests/scenario >build/collected.log ||
		{ cat build/collected.log; return 1; }
	step 'layers, symbols, hardening, compose'
	tests/layers.sh . build/$optimised
	tests/hardening.py build/$optimised
	tests/compose.sh . build/$optimised
	step 'the accountant installed: C, C++, Python'
	tests/accountant_install.sh build/$optimised
	TOMBOLA_BUILD=$PWD/build/$optimised /usr/bin/python3 -m pytest -q tests/python
}

longs() {
	step 'millions of draws and long computations (optimised)'
	units release -L long
}

clangs() {
	step 'the warnings of clang and of clang-tidy'
	# Headers that are generated are all that these need to be built.
	build fuzz --target pr_proto
	tests/tidy.sh build/fuzz
	if $all; then
		step 'build: clang; TSan'
		build fuzz
		build tsan
	fi
}

threads() {
	step 'threads (TSan): unit tests, then a plan and readings by MQTT through the daemons'
	units tsan -L threads
	scenarios tsan --maxprocesses=2 tests/scenario/test_rounds.py::test_a_plan_of_all_protocols_and_its_estimates \
		tests/scenario/test_mqtt.py::test_a_round_of_published_readings_and_its_estimates
}

fuzzes() {
	step 'fuzzing every parser (clang, ASan+UBSan)'
	tests/fuzz/run.sh build/fuzz "${TOMBOLA_FUZZ_SECONDS:-1}"
	step 'the package tombola-testing'
	tests/packages_testing.sh build/asan
}

# ---- the steps ----

step 'packages'
./deploy/setup.sh test
release=$(. /etc/os-release && echo "$PRETTY_NAME")
echo "    $release, $(gcc --version | head -n 1), $(openssl version | cut -d ' ' -f 1-2), $(/usr/bin/python3 --version)"

step 'real data: telemetry and handwritten digits, out of Debian packages'
deploy/demo/fetch-data.sh shuttle build/shuttle.csv
deploy/demo/fetch-data.sh digits build/digits.csv

step 'layout and static checks'
# Another version would format otherwise: one is the rule, and a release without it does not check.
if command -v clang-format-14 >/dev/null; then
	find accountant proto common client shuffler analyzer deploy tests -name '*.[ch]' -print0 |
		xargs -0 -P 2 -n 100 clang-format-14 --dry-run -Werror
else
	echo '    no clang-format-14 in this release: the format is checked on Debian 12'
fi
cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --suppressions-list=tests/cppcheck.txt \
	--enable=warning,performance,portability -j 2 accountant proto common client shuffler analyzer deploy/tool
tests/docs.py
tests/layout.py

step 'build: gcc, optimised; gcc with AddressSanitizer, UBSan and removable checks'
targets='package_contents scenario'
! $all || targets="$targets long"
build $optimised --target $targets
build asan

# One of these waits for two minutes: what is beside goes on until the scenarios have passed.
step 'unit tests (ASan+UBSan)'
beside looks
! $all || beside longs
units asan -LE long

step "scenarios: the real daemons over real sockets ($how)"
# These run unit tests, which one build alone has.
programs=test_without_the_check_the_unit_test_fails
beside clangs
if $all; then
	scenarios asan -m 'not heavy and not quiet' tests/scenario
else
	scenarios mutant -m 'not heavy' -k "not $programs" tests/scenario
	scenarios asan -k "$programs" tests/scenario/test_mutants.py
fi
joined
if ! $all; then
	ended "passed on $release, but for what ./test.sh all adds"
	exit 0
fi

# A sanitizer makes all slower: behind eleven others a time for reading would be over before anything was read.
step 'scenarios that depend on time (ASan+UBSan, optimised), few at once'
crowd=1
scenarios asan -m 'quiet and not heavy' tests/scenario
scenarios release -m 'quiet and heavy' tests/scenario
crowd=6

step 'scenarios of many devices or long computations (optimised)'
beside threads
scenarios release -m 'heavy and not quiet' tests/scenario

step "the shuffler's other store (optimised)"
# Without those that remove a check or give draws, which this build does not let them.
removes='shows_in_nothing or refuses_it_when or without_any_of or does_not_accept_it or policy_has_no_room or other_dummies'
removes="$removes or adds_none or does_not_trust"
TOMBOLA_STORE=postgresql scenarios release -k "not ($removes)" tests/scenario/test_rounds.py tests/scenario/test_kills.py \
	tests/scenario/test_blanket.py tests/scenario/test_tags.py tests/scenario/test_classes.py tests/scenario/test_adaptive.py \
	tests/scenario/test_payload.py
TOMBOLA_STORE=intakes scenarios release -k "not whatever_kills" tests/scenario/test_tags.py tests/scenario/test_places.py \
	tests/scenario/test_rounds.py::test_a_plan_of_all_protocols_and_its_estimates
TOMBOLA_STORE=databases scenarios release -k "not whatever_kills" tests/scenario/test_tags.py
joined

# Packages are made where their programs were built, which is configured anew for that: after the last test of that build.
step 'Debian packages and RPMs'
beside fuzzes
tests/packages.sh build/release

step "the client's packages, built again elsewhere"
tests/reproducible.sh build/release client
joined

ended "passed on $release, all"
