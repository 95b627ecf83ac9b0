#!/bin/sh
# x25519_secret.sh EMULATED REAL - that no branch and no address of X25519, in eight or four lanes, from a table or by an
# installed lib25519, depends on a scalar or point.
#
# EMULATED: test_x25519_secret with the emulated lanes; valgrind's memcheck follows what depends on the secrets through the
# same statements that are compiled for AVX-512, which valgrind does not know.  REAL: the program with those; their machine
# code may move nothing from a vector or a mask to where a branch or an address is computed.
set -eu

emulated=${1:?usage: tests/x25519_secret.sh EMULATED REAL}
real=${2:?usage: tests/x25519_secret.sh EMULATED REAL}
for tool in valgrind objdump; do
	command -v "$tool" >/dev/null || {
		echo "tests/x25519_secret.sh: $tool is not installed: deploy/setup.sh test" >&2
		exit 69
	}
done
out=$(mktemp)
trap 'rm -f "$out"' EXIT

follow() {
	valgrind --quiet --error-exitcode=9 "$1" >"$out" 2>&1 || {
		[ $? -ne 77 ] || return 0
		cat "$out" >&2
		echo 'x25519_secret: something depends on a secret' >&2
		exit 1
	}
	# A branch on a product must be noticed, or the line above says nothing.
	if valgrind --quiet --error-exitcode=9 "$1" leak >"$out" 2>&1 || ! grep -q 'depends on uninitialised' "$out"; then
		echo 'x25519_secret: valgrind does not notice a branch on a secret' >&2
		exit 1
	fi
}
follow "$emulated"
# Under valgrind it has no eight lanes; four, and tables, where the processor has AVX2, which valgrind knows.
follow "$real"

# It also looks at the stack that the lanes leave; 77: no such processor, and nothing to look at.
"$real" >"$out" 2>&1 || [ $? -eq 77 ] || {
	cat "$out" >&2
	exit 1
}

[ "$(uname -m)" = x86_64 ] || exit 0
# What the public function calls, as compiled: a name may have got a suffix, and one that was inlined is in its caller.
objdump -d --no-show-raw-insn "$real" | awk '
	/^[0-9a-f]+ </ { ours = $2 ~ /^<(multiply|multiply_points|multiply_scalars|square_times|times|power_250_0|avoid_zero|divide)[.>]/ ||
		$2 ~ /^<(climb|climb_all|choose_entry|begin_with_entry|add_entry|add_all)[.>]/ }
	ours' >"$out"
grep -c 'vpmadd52[lh]uq.*zmm' "$out" | awk '$1 < 400 { exit 1 }' || {
	echo "x25519_secret: $real has no lanes" >&2
	exit 1
}
grep -c 'vpmuludq.*ymm' "$out" | awk '$1 < 170 { exit 1 }' || {
	echo "x25519_secret: $real has no four lanes" >&2
	exit 1
}
if grep -E 'vpextr|vpgather|vpscatter|vgather|vscatter|kortest|ktest|vptest |vmovmsk|vpmovmsk|[[:space:]]i?div' "$out" >&2 ||
	grep -E '(vmov[dq]|kmov[bwdq]) +%(xmm|k)[0-9]+,%[er]' "$out" >&2; then
	echo 'x25519_secret: the lanes move a vector to where branches and addresses are computed' >&2
	exit 1
fi
