#!/bin/sh
# demo.sh - set up everything and run a plan of rounds on real telemetry until the budget refuses one.
#   ./demo.sh [--keep|--end]: the dashboard stays until Ctrl-C, or not; it does on a terminal.
#   Everything it makes is in demo-run/; run it again to start afresh.
set -eu
cd "$(dirname "$0")"
run=${TOMBOLA_DEMO_DIR:-demo-run}
bin=build/release/bin

step() {
	printf '==> %s\n' "$1"
}

fail() {
	echo "demo.sh: $1" >&2
	exit 1
}

keep=no
[ ! -t 0 ] || [ ! -t 1 ] || keep=yes
case "${1:-}" in
'') ;;
--keep) keep=yes ;;
--end) keep=no ;;
*)
	echo 'usage: ./demo.sh [--keep|--end]' >&2
	exit 64
	;;
esac

./deploy/setup.sh build

step 'building (some minutes at first; build/demo.log shows progress)'
cmake --preset release >/dev/null
cmake --build --preset release --target tombola tombola-client tombola-shuffler tombola-analyzer tombola-accountant \
	>build/demo.log 2>&1 || {
	grep -E 'error|FAILED' build/demo.log >&2
	fail 'the build failed; all of it is in build/demo.log'
}

[ ! -e "$run" ] || [ -e "$run/.tombola-demo" ] || fail "$run is not the demo's; move it away"
rm -rf "$run"
umask 077
mkdir -m 700 "$run"
touch "$run/.tombola-demo"

if deploy/demo/fetch-data.sh shuttle build/shuttle.csv; then
	cp build/shuttle.csv "$run/readings.csv"
	cp deploy/demo/shuttle-plan.conf "$run/plan.conf"
	step 'data: Shuttle telemetry, 58,000 rows (sha256 ok)'
	devices='58,000 devices' holds='a row of real telemetry'
else
	cp deploy/demo/weather.csv "$run/readings.csv"
	cp deploy/demo/weather-plan.conf "$run/plan.conf"
	step 'data: offline, so the bundled weather readings, 1,461 rows'
	devices='1,461 devices' holds="a day's weather"
fi
cat <<END

What will happen: $devices, each with $holds, are asked six questions.  Nobody sees what a device holds: it
answers behind noise, and a shuffler mixes the answers before the analyzer opens them.  Each question costs a part of a privacy
budget of 1; the sixth would exceed it, and is refused.

END

port=${TOMBOLA_DEMO_PORT:-7443}
step "certificates: two CAs; client, shuffler and analyzer (90 days)"
"$bin/tombola" pki init "$run/pki" --hosts localhost,127.0.0.1 --devices 100000 >/dev/null
mkdir -m 700 "$run/client" "$run/shuffler" "$run/analyzer"
for f in client client-policy shuffler shuffler-policy analyzer; do
	sed "s/@PORT@/$port/; s/@HTTP1@/$((port + 1))/; s/@HTTP2@/$((port + 2))/; s/@HTTP3@/$((port + 3))/" \
		deploy/demo/$f.conf >"$run/$f.conf"
done

pids=
stop() {
	trap - EXIT INT TERM
	for pid in $pids; do
		kill "$pid" 2>/dev/null || true
	done
	wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

dashboard=http://127.0.0.1:$((port + 2))/
step "shuffler on 127.0.0.1:$port; client and analyzer dial it; logs in $run/"
step "dashboard: $dashboard"
"$bin/tombola-shuffler" --config "$run/shuffler.conf" run 2>"$run/shuffler.log" &
shuffler=$!
pids=$shuffler
tries=0
until "$bin/tombola-shuffler" --config "$run/shuffler.conf" check >/dev/null 2>&1; do
	kill -0 "$shuffler" 2>/dev/null || fail "the shuffler did not start (TOMBOLA_DEMO_DIR puts all files elsewhere): $(tail -n 1 "$run/shuffler.log")"
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail 'the shuffler is not ready after 10 s'
	sleep 0.1
done
"$bin/tombola-client" --config "$run/client.conf" run 2>"$run/client.log" &
pids="$pids $!"

echo
"$bin/tombola-analyzer" --config "$run/analyzer.conf" run --once 2>"$run/analyzer.log" ||
	fail "the analyzer ended early: $(tail -n 1 "$run/analyzer.log")"

echo
step 'what leaves a device: twenty of them, drawn again, since what was sent is shown to nobody'
/usr/bin/python3 deploy/demo/explain.py twenty "$run" "$bin"
echo
step 'the estimates beside the truth'
/usr/bin/python3 deploy/demo/compare.py "$run" "$bin/tombola-analyzer"
echo
step 'what epsilon means: odds'
/usr/bin/python3 deploy/demo/explain.py odds "$run" "$bin"
echo
"$bin/tombola-analyzer" --config "$run/analyzer.conf" ledger verify
echo
step 'the refusal: what nobody was asked'
"$bin/tombola-analyzer" --config "$run/analyzer.conf" budget explain && fail 'no round was refused' ||
	[ $? -eq 3 ] || fail 'budget explain failed'

[ $keep = yes ] || exit 0
"$bin/tombola-analyzer" --config "$run/analyzer.conf" run 2>>"$run/analyzer.log" &
pids="$pids $!"
trap 'exit 0' INT TERM
step "the dashboard stays at $dashboard; Ctrl-C ends it"
wait $! || fail "the analyzer ended: $(tail -n 1 "$run/analyzer.log")"
