#!/bin/sh
# postgresql-load.sh [psql option...] - load the rounds that tombola_result (postgresql.sql) does not have yet, all or none.
# Run it from a timer, or as on_settled.command.  TOMBOLA_CONFIG names the analyzer's configuration.
set -eu

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
after=$(psql "$@" -XAtq -v ON_ERROR_STOP=1 -c 'SELECT coalesce(max(seq), 0) FROM tombola_result')
# Whole before any of it is loaded: max(seq) above counts a round as loaded.
tombola-analyzer results export --format csv --after "$after" >"$rows"
# An apostrophe at the begin of a text is one that the export puts before what a spreadsheet would run.
texts=
for column in population plan_name query unit fault label text; do
	texts="$texts${texts:+, }$column = regexp_replace($column, '^\x27', '')"
done
psql "$@" -Xq1 -v ON_ERROR_STOP=1 -c "\\copy tombola_result ($(head -n 1 "$rows")) FROM '$rows' (FORMAT csv, HEADER match)" \
	-c "UPDATE tombola_result SET $texts WHERE seq > $after"
