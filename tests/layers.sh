#!/bin/sh
# layers.sh SOURCE BUILD - prove the arrows of doc/architecture.md: by #include lines, and by what objects import.
set -eu

src=$1
build=$2
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

# headers_of FOLDER...: names of the headers those folders own.
headers_of() {
	for folder in "$@"; do
		find "$src/$folder" -name '*.h' -exec basename {} \;
	done
}

# may_not_include FOLDER HEADER...: no file of FOLDER includes one of these headers.
may_not_include() {
	folder=$1
	shift
	for header in "$@"; do
		grep -rnE "^#include \"(.*/)?$header\"" "$src/$folder" --include='*.[ch]' \
			| sed "s|^$src/||; s|\$|   (forbidden: $folder -> $header)|" >>"$bad" || true
	done
}

base=common/base crypto=common/crypto net=common/net link=common/link
protocols=common/protocols round=common/round plan=common/plan
may_not_include accountant $(headers_of $base $crypto $net $link $protocols $round $plan proto client shuffler analyzer)
for lower in core analyses spec method; do
	may_not_include accountant/$lower $(headers_of accountant/command accountant/library)
	[ $lower = method ] || may_not_include accountant/$lower $(headers_of accountant/method)
done
may_not_include accountant/core $(headers_of accountant/analyses accountant/spec)
may_not_include accountant/analyses $(headers_of accountant/spec)
may_not_include accountant/spec $(headers_of accountant/analyses)
may_not_include $base $(headers_of $crypto $net $link $protocols $round $plan proto accountant)
may_not_include $crypto $(headers_of $net $link $protocols $round $plan proto accountant)
may_not_include $net $(headers_of $link $protocols $round $plan proto accountant)
may_not_include proto $(headers_of $crypto $net $link $protocols $round $plan accountant)
may_not_include $protocols $(headers_of $net $link $round $plan)
may_not_include $round $(headers_of $net $link)
may_not_include $plan $(headers_of $net $link)
for folder in $base $crypto $net $link $protocols $round $plan proto; do
	may_not_include $folder $(headers_of client shuffler analyzer)
done
may_not_include client $(headers_of shuffler analyzer)
may_not_include shuffler $(headers_of client analyzer)
may_not_include analyzer $(headers_of client shuffler)

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
for archive in libaccountant.a libacct_analyses.a libacct_spec.a libacct_method.a; do
	may_not_import $archive "$io|$clock|$random"
done
may_not_import libpr_proto.a "$io|$clock|$random"
may_not_import libpt_protocols.a "$io|$clock|$random"
may_not_import librd_round.a "$io|$clock|$random"
may_not_import libcm_base.a "uv_|SSL_|EVP_|sqlite3_|MHD_|$random"
may_not_import libcm_crypto.a 'uv_|SSL_|sqlite3_|MHD_'
for core in sh_round sh_intake sh_permute sh_policy sh_tags sh_witness an_round an_state an_status an_tally an_budget cl_upload cl_encode cl_policy cl_mqtt_message cl_mqtt_held cl_mqtt_input; do
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
		nm "$program" | grep -q 'cm_rng_point' && echo "$program: contains cm_rng_point (seeded randomness)" >>"$bad"
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
