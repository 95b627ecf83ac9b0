#!/bin/sh
# postgresql.sh start FOLDER | stop FOLDER | run FOLDER COMMAND... - a PostgreSQL server of the tests' own, behind a Unix socket.
#
# FOLDER gets one line, the libpq string of its administrator (FOLDER/server); `run` gives it to COMMAND in TOMBOLA_TEST_DATABASE.
# Every setting that the shuffler demands is on: speed comes from memory (/dev/shm), where there is one.
set -eu
verb=$1 folder=$2
shift 2

# The server refuses to run as root.
as_user() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
	else
		"$@"
	fi
}

stop() {
	[ -s "$folder/where" ] || return 0
	where=$(cat "$folder/where")
	(cd / && as_user "$(cat "$folder/bin")/pg_ctl" -D "$where/data" -m immediate -s stop) >/dev/null 2>&1 || true
	rm -rf "$where" "$folder/where" "$folder/server"
}

case $verb in
start)
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
	[ -n "$bin" ] || {
		echo 'postgresql.sh: no PostgreSQL server: deploy/setup.sh test' >&2
		exit 1
	}
	mkdir -p "$folder"
	stop
	base=/tmp
	[ ! -w /dev/shm ] || base=/dev/shm
	where=$(mktemp -d "$base/tombola-pg-XXXXXX")
	echo "$where" >"$folder/where"
	echo "$bin" >"$folder/bin"
	[ "$(id -u)" -ne 0 ] || chown postgres:postgres "$where"
	cd "$where"
	as_user "$bin/initdb" -D "$where/data" -U postgres -A trust -N -E UTF8 --locale=C.UTF-8 >"$where/initdb.log" 2>&1 ||
		{ cat "$where/initdb.log" >&2; exit 1; }
	as_user "$bin/pg_ctl" -D "$where/data" -l "$where/data/log" -w -s start \
		-o "-k $where -c listen_addresses= -c max_connections=400 -c shared_buffers=32MB -c max_wal_size=256MB" >/dev/null
	cd - >/dev/null
	echo "host=$where user=postgres dbname=postgres" >"$folder/server"
	;;
stop) stop ;;
run)
	TOMBOLA_TEST_DATABASE=$(cat "$folder/server") exec "$@"
	;;
*)
	sed -n '2,5s/^# //p' "$0" >&2
	exit 64
	;;
esac
