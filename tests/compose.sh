#!/bin/sh
# compose.sh SOURCE BUILD - prove what docker-compose.yml and the image promise, without an engine to run them.
set -eu

src=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As written, anchors resolved; and as the oldest supported docker-compose understands it.
/usr/bin/python3 "$src/tests/compose.py" "$src" "$build" <"$src/docker-compose.yml"
COMPOSE_PROFILES=demo,mqtt,metrics,learn,postgresql docker-compose -f "$src/docker-compose.yml" config >"$work/config.yml"
/usr/bin/python3 "$src/tests/compose.py" "$src" "$build" <"$work/config.yml"
# The files of a deployment: one a host, judged by the schema of docker-compose, and for Kubernetes, by that of its Python client.
for host in "$src"/deploy/hosts/*.yml; do
	docker-compose -f "$host" config >/dev/null
done
/usr/bin/python3 "$src/tests/deployments.py" "$src"
# The examples that build and use it on somebody else's machines.
/usr/bin/python3 "$src/tests/ci.py" "$src"
