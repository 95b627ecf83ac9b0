#!/bin/sh
# compose_up.sh [SOURCE] - start docker-compose.yml under the Docker engine at hand, in three combinations of its profiles,
# and prove what tests/compose.sh can only read: who reaches whom, that health and metrics come, that the plan runs.
# Not part of test.sh: it needs an engine (DOCKER_HOST) and debian:12-slim, takes minutes, and uses ports 9464 and 9090.
set -eu
cd "${1:-$(dirname "$0")/..}"
COMPOSE_PROJECT_NAME=tombola-test
export COMPOSE_PROJECT_NAME

fail() {
	echo "compose_up.sh: $*" >&2
	exit 1
}

end() {
	COMPOSE_PROFILES=demo,mqtt,metrics,postgresql docker-compose down --volumes >/dev/null 2>&1 || true
}
trap end EXIT
trap 'exit 130' INT TERM

# until_true SECONDS WHAT COMMAND...
until_true() {
	left=$1 what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "not in time: $what"
		sleep 1
	done
}

inside() {
	docker-compose exec -T "$@" </dev/null
}

reaches() {
	inside "$1" timeout 3 bash -c "exec 3<>/dev/tcp/$2/$3" >/dev/null 2>&1
}

may_not() {
	! reaches "$@" || fail "$1 reaches $2:$3"
}

addresses() {
	docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}' "$(docker-compose ps -q "$1")"
}

healthy() {
	for service in "$@"; do
		[ "$(docker inspect -f '{{.State.Health.Status}}' "$(docker-compose ps -q "$service")")" = healthy ] || return 1
	done
}

metric() {
	wget -qO- 'http://127.0.0.1:9090/api/v1/query?query=sum(up)' | grep -q '"3"'
}

apart() {
	client=$1
	reaches "$client" shuffler 7443 || fail "$client does not reach the shuffler"
	inside "$client" getent hosts analyzer >/dev/null && fail "$client can resolve the analyzer"
	for at in $(addresses analyzer); do
		may_not "$client" "$at" 9464
	done
	may_not analyzer shuffler 9465
	may_not analyzer 10.64.203.18 9465
	may_not "$client" shuffler 9465
	may_not shuffler analyzer 9464
	for at in $(addresses "$client"); do
		may_not analyzer "$at" 9466
		may_not shuffler "$at" 9466
	done
	for party in "$client" shuffler analyzer; do
		may_not "$party" 1.1.1.1 443
		inside "$party" sh -c ': >/usr/x' 2>/dev/null && fail "$party can write to its root"
		seen=$(inside "$party" sh -c 'find /pki -name "*.key" | cut -d / -f 3 | sort -u | xargs')
		[ "$seen" = "${party%-mqtt}" ] || fail "$party sees keys of: $seen"
	done
	dashboard=$(wget -qO- http://127.0.0.1:9464/api/v1/status) || fail 'no dashboard on 127.0.0.1:9464'
	echo "$dashboard" | grep -q tombola.status/1 || fail "the dashboard says $dashboard"
	ss -Hltn | grep -E ':(9464|9090)[[:space:]]' | grep -qv ' 127\.0\.0\.1:' && fail 'something is published beyond 127.0.0.1'
	return 0
}

through() {
	inside "${1:-analyzer}" tombola-analyzer --config /usr/share/tombola/demo/analyzer.conf round list --json >"$list"
	[ "$(grep -o '"stage": *"[a-z]*"' "$list" | grep -cE 'settled|refused')" -eq 6 ]
}
list=$(mktemp)

COMPOSE_PROFILES=demo,mqtt,metrics,postgresql docker-compose build >/dev/null 2>&1 || fail 'the images cannot be built'

export COMPOSE_PROFILES=demo,metrics
docker-compose up -d >/dev/null 2>&1 || fail 'up fails'
until_true 60 'all healthy (demo, metrics)' healthy shuffler analyzer client prometheus
apart client
for at in $(addresses prometheus); do
	may_not client "$at" 9090
	may_not shuffler "$at" 9090
done
until_true 60 'Prometheus has all three' metric
until_true 180 'the plan (demo)' through
docker-compose down --volumes >/dev/null 2>&1
echo 'compose_up.sh: demo and metrics: passed'

export COMPOSE_PROFILES=mqtt
docker-compose up -d >/dev/null 2>&1 || fail 'up fails with mqtt'
until_true 60 'all healthy (mqtt)' healthy shuffler analyzer client-mqtt mosquitto
[ -z "$(docker-compose ps -q client 2>/dev/null)" ] || fail 'the client of the file runs beside that of the broker'
apart client-mqtt
may_not shuffler mosquitto 1883
until_true 240 'the plan (mqtt)' through
docker-compose down --volumes >/dev/null 2>&1
echo 'compose_up.sh: mqtt: passed'

settled() {
	inside analyzer-postgresql tombola-analyzer --config /usr/share/tombola/demo/analyzer.conf round list --json >"$list"
	[ "$(grep -o '"stage": *"settled"' "$list" | wc -l)" -ge "$1" ]
}

# With a failover in the middle.  Without an engine: tests/scenario/test_compose.py.
export COMPOSE_PROFILES=postgresql
docker-compose up -d >/dev/null 2>&1 || fail 'up fails with postgresql'
until_true 120 'all healthy (postgresql)' healthy database standby head intake1 intake2 analyzer-postgresql client1 client2
may_not client1 database 5432
may_not client1 head 7443
may_not analyzer-postgresql database 5432
until_true 180 'a round (postgresql)' settled 1
docker-compose rm -s -f database >/dev/null 2>&1
docker volume rm "${COMPOSE_PROJECT_NAME}_database-state" >/dev/null
inside standby pg_ctl promote -D /var/lib/database/data >/dev/null || fail 'the standby cannot be promoted'
docker-compose run -d --no-deps --use-aliases database /usr/share/tombola/database.sh follow standby database >/dev/null 2>&1
until_true 240 'the plan (postgresql)' through analyzer-postgresql
echo 'compose_up.sh: postgresql: passed'
