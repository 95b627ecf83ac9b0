#!/bin/sh
# layers.sh SOURCE BUILD - prove the arrows of doc/architecture.md: by #include lines, and by what objects import.
set -eu

src=$1
build=$2
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

# Which folder uses which: tests/layers.txt.
"$src/tests/layers.py" "$src" "$build" 2>>"$bad" || true

# none_includes WHAT HEADERS FILE...: none of the files includes one of the headers (names, one a line).
none_includes() {
	what=$1
	headers=$(echo "$2" | sed 's/\./\\./g' | paste -sd'|')
	shift 2
	grep -HnE "^#include \"($headers)\"" "$@" | sed "s|^$src/||; s|\$|   (forbidden: $what)|" >>"$bad" || true
}

# headers_of FOLDER...: names of the headers those folders own.
headers_of() {
	for folder in "$@"; do
		find "$src/$folder" -name '*.h' -exec basename {} \;
	done
}

# The half of the rows that a device needs does not know the half of plan, accountant and analyzer.
protocols=common/protocols
none_includes 'device half -> analysis half' \
	"$(find "$src/$protocols" -name '*_analysis.h' -exec basename {} \;; headers_of common/estimate accountant
	printf 'pt_protocol.h\npt_loss.h\npt_liars.h\n')" \
	$(find "$src/$protocols" -name '*.[ch]' ! -name '*_analysis.[ch]' ! -name 'pt_protocol.[ch]' ! -name 'pt_loss.[ch]' ! -name 'pt_liars.[ch]')

# may_not_import ARCHIVE REGEX: no object of the library has an undefined symbol that matches.
may_not_import() {
	archive=$(find "$build" -name "$1" | head -n 1)
	[ -n "$archive" ] || {
		echo "layers.sh: $1 is not built" >&2
		exit 1
	}
	nm -A --undefined-only "$archive" | grep -E " U ($2)" \
		| sed "s|^$build/||; s|\$|   (forbidden: a core with I/O, a clock or its own randomness)|" >>"$bad" || true
}

io='uv_|SSL_|socket$|connect$|recv|send$|open$|open64$|fopen|read$|write$|sqlite3_|MHD_'
clock='time$|clock_gettime|gettimeofday'
random='getrandom|RAND_|rand$|random$'
memory='malloc$|calloc$|realloc$|reallocarray$|aligned_alloc$|posix_memalign$|free$|strn?dup$'
stdio='.*printf(_chk)?$|puts$|fputs$|fwrite$|std(in|out|err)$'
for archive in libaccountant.a libacct_families.a libacct_analyses.a libacct_literature.a libacct_spec.a libacct_method.a; do
	may_not_import $archive "$io|$clock|$random"
done
may_not_import libpr_proto.a "$io|$clock|$random"
# What a device needs stands without estimators, accountant and the tables of plans.
may_not_import libpt_device.a 'acct_|fftw_|sqlite3_|uv_|es_|pt_(row|find|derive|loss|answer)_?[a-z_]*$'
for archive in libqy_query.a libpt_device.a libes_estimate.a libpt_protocols.a; do
	may_not_import $archive "$io|$clock|$random"
done
may_not_import librd_round.a "$io|$clock|$random"
# The dialogue of a device works in its caller's memory, and says nothing by itself: firmware has neither heap nor files.
may_not_import libcd_dialogue.a "$io|$clock|$random|$memory|$stdio|pthread_|uv_|db_|cl_"
# A client decides what it takes of a plan without its database.
may_not_import libcl_policy.a 'uv_|SSL_|sqlite3_|MHD_|db_'
may_not_import libcm_base.a "uv_|SSL_|EVP_|sqlite3_|MHD_|$random"
may_not_import libcf_conf.a "uv_|SSL_|EVP_|sqlite3_|MHD_|$random"
may_not_import libcr_crypto.a 'uv_|SSL_|sqlite3_|MHD_'
# What a party decides knows no loop and no connection; its storage is in one folder.
for archive in libcl_input.a libsh_round.a libsh_core.a libsh_conf.a libsh_store.a libcl_ledger.a libpl_plan.a libcl_conf.a \
	liban_conf.a liban_ledger.a liban_round.a liban_report.a; do
	may_not_import $archive 'uv_|SSL_write|SSL_read|MHD_|connect$|socket$'
done
for archive in libcl_input.a libcl_mqtt.a libcl_conf.a libsh_round.a libsh_core.a libsh_serve.a libsh_conf.a; do
	may_not_import $archive 'sqlite3_'
done
for core in sh_round sh_segments sh_live sh_heads sh_judge sh_intake sh_overdue sh_permute sh_policy sh_tags sh_witness an_once an_round an_state an_status an_tally an_budget cl_encode cl_policy cl_mqtt_form cl_mqtt_fields cl_mqtt_mapped cl_mqtt_message cl_mqtt_held cl_mqtt_input; do
	object=$(find "$build" -name "$core.c.o" | head -n 1)
	[ -n "$object" ] || {
		echo "layers.sh: no object $core.c.o: was a core renamed? adjust this list" >&2
		exit 1
	}
	nm -A --undefined-only "$object" | grep -E " U ($io|$clock|$random)" | sed "s|^$build/||" >>"$bad" || true
done

# Removable checks and seeded randomness exist in no ordinary build.
if ! grep -q 'TOMBOLA_MUTANTS:BOOL=ON' "$build/CMakeCache.txt"; then
	for program in "$build"/bin/*; do
		nm "$program" | grep -q 'cm_checked' && echo "$program: contains cm_checked (removable checks)" >>"$bad"
		nm "$program" | grep -q 'cr_rng_point' && echo "$program: contains cr_rng_point (seeded randomness)" >>"$bad"
		grep -q 'TOMBOLA_TEST_SEED' "$program" && echo "$program: reads TOMBOLA_TEST_SEED" >>"$bad"
	done
	refused=0
	"$build/bin/tombola" demo --seed 1 >/dev/null 2>&1 || refused=$?
	[ $refused -eq 64 ] || echo "tombola demo --seed: exit code $refused, not 64, in an ordinary build" >>"$bad"
fi

if [ -s "$bad" ]; then
	cat "$bad" >&2
	exit 1
fi
