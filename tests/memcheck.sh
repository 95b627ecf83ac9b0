#!/bin/sh
# memcheck.sh BUILD [TEST...] - valgrind's memcheck over the unit tests of the cores, or these: what AddressSanitizer
# cannot see is memory used before it is written.  BUILD: a directory without sanitizers in which the tests were built.
# Fails on any finding.  About ten minutes, so not in test.sh.
set -eu

build=${1:?usage: tests/memcheck.sh BUILD [TEST...]}
shift
command -v valgrind >/dev/null || {
	echo "tests/memcheck.sh: valgrind is not installed: apt-get install valgrind" >&2
	exit 69
}
[ $# -gt 0 ] || set -- test_buf test_conf test_conf_files test_text test_table test_hash test_aead test_hpke test_sign test_frame \
	test_msg test_msg_wire test_msg_memory test_record test_manifest test_charge test_descriptor test_descriptor_bytes test_descriptor_use test_loss_text test_rd_query test_rd_tags test_query \
	test_sh_intake test_sh_round test_sh_announce test_sh_release test_sh_tags test_sh_policy test_cl_readings \
	test_cd_upload test_cl_policy test_cl_device test_cl_mqtt test_cl_mqtt_form test_cl_mqtt_held test_an_plan test_an_ledger test_an_round test_an_batch test_an_lost test_an_extend
failed=
for name in "$@"; do
	[ -x "$build/tests/$name" ] || {
		echo "tests/memcheck.sh: $build/tests/$name is not built" >&2
		exit 66
	}
	if valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,possible \
		--errors-for-leak-kinds=definite,possible "$build/tests/$name" >"$build/$name.memcheck" 2>&1; then
		echo "    $name"
	else
		failed="$failed $name"
		tail -n 40 "$build/$name.memcheck" >&2
	fi
done
[ -z "$failed" ] || {
	echo "memcheck:$failed" >&2
	exit 1
}
echo 'memcheck: no findings'
