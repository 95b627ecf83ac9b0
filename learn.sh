#!/bin/sh
# learn.sh - from a bare Debian to trained models: real daemons on this host, one device an image or a row.
#   ./learn.sh [--full] [TASK ...]   quick: Shuttle's naive Bayes and anomaly scores, and digits; --full: trees and Fashion-MNIST,
#   and the same at a local cap of 8; by name alone, since they take long: shuttle-forest-5, fashion-logistic-240, -256 and -441-240
#   ./learn.sh papers                 the learning experiments of the papers, simulated at their true epsilon
#   ./learn.sh flame [simple|double|topk|topk-10 ...]   FLAME's trainings at the paper's size through real daemons: minutes a round
#   Everything it makes is in learn-run/; a run that was interrupted goes on.  ./learn.sh --afresh removes it first.
set -eu
cd "$(dirname "$0")"
run=${TOMBOLA_LEARN_DIR:-learn-run}
bin=${TOMBOLA_LEARN_PROGRAMS:-build/release/bin}

step() {
	printf '==> %s\n' "$1" >&2
}

fail() {
	echo "learn.sh: $1" >&2
	exit "${2:-1}"
}

usage() {
	echo 'usage: ./learn.sh [--full] [--afresh] [TASK ... | papers | flame ...]' >&2
	exit 64
}

tasks=
afresh=no
quick='shuttle-bayes shuttle-anomaly shuttle-bayes-cap8 digits'
while [ $# -gt 0 ]; do
	case $1 in
	--full) quick="$quick shuttle-anomaly-cap8 shuttle-tree shuttle-tree-cap8 shuttle-forest fashion-moments fashion-moments-cap8
		fashion-means fashion-means-cap8 fashion-logistic fashion-logistic-cap8 fashion-logistic-441 fashion-pixels
		fashion-pixels-cap8" ;;
	--afresh) afresh=yes ;;
	-*) usage ;;
	*) tasks="$tasks $1" ;;
	esac
	shift
done

case $tasks in
' papers '*) usage ;;
esac

if [ -z "${TOMBOLA_LEARN_PROGRAMS:-}" ]; then
	./deploy/setup.sh learn
	step 'building'
	cmake --preset release >/dev/null
	cmake --build --preset release --target tombola tombola-client tombola-shuffler tombola-analyzer tombola-accountant >build/learn.log 2>&1 || {
		grep -E 'error|FAILED' build/learn.log >&2
		fail 'the build failed; all of it is in build/learn.log'
	}
fi

[ ! -e "$run" ] || [ -e "$run/.tombola-learn" ] || fail "$run is not learn.sh's; move it away"
[ $afresh = no ] || rm -rf "$run"
umask 077
mkdir -p "$run"
touch "$run/.tombola-learn"
for d in shuttle digits; do
	./deploy/demo/fetch-data.sh $d "$run/$d.csv" || fail "no data: $d comes from a Debian package, which needs a mirror" $?
done

verb=tasks
if [ "$tasks" = ' papers' ]; then
	verb=papers
	tasks= quick=
fi
case $tasks in
' flame'*)
	verb=flame
	tasks=${tasks# flame} quick=
	;;
esac
# One thread is enough for numpy, and the daemons need the others.
PYTHONPATH=deploy/learn OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 \
	exec /usr/bin/python3 -m tombola_learn $verb ${tasks:-$quick} --programs "$bin" --data "$run" --folder "$run"
