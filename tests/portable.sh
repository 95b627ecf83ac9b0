#!/bin/sh
# portable.sh SOURCE - that what firmware needs of the rows builds for a processor of 32 bits, whose long double has 53 bits and
# whose compiler has no integer of 128, and that it makes there the messages and guarantees that it makes here.  The dialogue of a
# device compiles there, each function with at most 2 KB of stack.
set -eu

src=${1:?usage: tests/portable.sh SOURCE}
for tool in arm-linux-gnueabihf-gcc qemu-arm protoc-c; do
	command -v "$tool" >/dev/null || {
		echo "portable.sh: $tool is not installed: deploy/setup.sh test" >&2
		exit 77
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The device half of the rows, what is asked, and what both stand on; no library but libm.
sources="$(find "$src/common/protocols" -name '*.c' ! -name '*_analysis.c' ! -name 'pt_protocol.c' ! -name 'pt_liars.c' ! -name 'pt_loss.c' ! -name 'pt_request.c')
$(find "$src/common/query" -name '*.c')
$src/common/base/cm_buf.c $src/common/base/cm_fault.c $src/common/base/cm_rc.c $src/common/base/cm_text.c
$src/common/crypto/cr_draw.c $src/tests/programs/portable_rows.c"
includes=
for folder in common/base common/crypto common/query common/protocols common/protocols/shared common/protocols/rows \
	common/protocols/compat common/protocols/paper proto tests/support; do
	includes="$includes -I$src/$folder"
done

build() {
	compiler=$1
	shift
	# shellcheck disable=SC2086
	$compiler -std=c17 -O1 -ffp-contract=off -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE $includes "$@" \
		$sources -lm
}
build arm-linux-gnueabihf-gcc -static -o "$work/arm"
build cc -o "$work/here"
qemu-arm "$work/arm" >"$work/arm.txt"
"$work/here" >"$work/here.txt"
cmp "$work/arm.txt" "$work/here.txt" || {
	diff "$work/arm.txt" "$work/here.txt" | head -n 20 >&2
	echo 'portable.sh: another processor makes other messages or guarantees' >&2
	exit 1
}

# Generated code comes from here, and its header with it: no other of this machine's headers may be seen.
mkdir -p "$work/gen/protobuf-c"
protoc-c --proto_path="$src/proto" --c_out="$work/gen" "$src/proto/tombola.proto"
cp "$(pkg-config --variable=includedir libprotobuf-c)/protobuf-c/protobuf-c.h" "$work/gen/protobuf-c/"
for folder in common/round accountant/core accountant/core/base accountant/analyses accountant/spec client/dialogue; do
	includes="$includes -I$src/$folder"
done
for source in "$src"/client/dialogue/*.c; do
	# shellcheck disable=SC2086
	arm-linux-gnueabihf-gcc -std=c17 -Os -ffp-contract=off -Wall -Wextra -Wconversion -Werror -Wframe-larger-than=2048 \
		-D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE $includes "-I$work/gen" -c "$source" -o "$work/dialogue.o"
done
