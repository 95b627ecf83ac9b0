#!/bin/sh
# setup.sh build|test|run|learn [--names] - install what is missing on Debian 12 or 13: for building and running, for the tests
# as well, for running programs that were built elsewhere, or for learn.sh.  --names: print the names and install nothing.
set -eu

build='cmake ninja-build gcc libc6-dev pkg-config libuv1-dev libssl-dev libprotobuf-c-dev protobuf-c-compiler
	protobuf-compiler libfftw3-dev libconfig-dev libjansson-dev libmicrohttpd-dev libsqlite3-dev libcsv-dev
	libmosquitto-dev libseccomp-dev libpq-dev libcmocka-dev python3 ca-certificates'
test='iproute2 debootstrap python3-pip python3-setuptools python3-wheel python3-protobuf python3-cryptography python3-pytest python3-pytest-xdist python3-yaml python3-kubernetes openssl clang
	cppcheck binutils procps sqlite3 mosquitto python3-paho-mqtt
	mandoc lintian systemd rpm dpkg-dev file chromium docker-compose kcat valgrind python3-numpy gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user'
run='libprotobuf-c1 libfftw3-double3 libjansson4 libmosquitto1 libseccomp2 libsqlite3-0 libcsv3 libpq5'
learn='python3-numpy libopenblas0-pthread dataset-fashion-mnist'

# What has another name in each release.  One version of clang-format is the rule of the tree, and only 12 has it.
release=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release 2>/dev/null || true)
case "$release" in
12)
	test="$test libclang-rt-14-dev clang-format-14 clang-tidy-14 postgresql-15"
	run="$run libconfig9 libmicrohttpd12 libssl3 libuv1"
	;;
*)
	test="$test libclang-rt-dev clang-tidy promtool postgresql-17"
	run="$run libconfig11 libmicrohttpd12t64 libssl3t64 libuv1t64"
	;;
esac

case "${1:-}" in
build) want=$build ;;
test) want="$build $test" ;;
run) want=$run ;;
learn) want="$build $learn" ;;
*)
	echo "usage: setup.sh build|test|run|learn [--names]" >&2
	exit 64
	;;
esac
if [ "${2:-}" = --names ]; then
	printf '%s\n' $want
	exit 0
fi

command -v dpkg-query >/dev/null || {
	echo "setup.sh: this needs Debian's packages; install by hand: $(echo $want)" >&2
	exit 69
}
missing=
for package in $want; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# promtool: Debian 12 has it in the package of the Prometheus service, which is not to be installed and started here.
tool=
[ "$1" != test ] || [ "$release" != 12 ] || command -v promtool >/dev/null || tool=promtool
[ -n "$missing$tool" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
[ -z "$as_root" ] || command -v sudo >/dev/null || {
	echo "setup.sh: not root and no sudo; install as root: apt-get install$missing${tool:+ prometheus}" >&2
	exit 77
}
echo "==> installing $(echo $missing $tool | wc -w) Debian packages and what they need"
log=$(mktemp)
unpacked=$(mktemp -d)
trap 'rm -rf "$log" "$unpacked"' EXIT

# A configuration file that the machine's owner changed stays as it is: dpkg would ask, and there is nobody to answer.
install_packages() {
	[ -z "$missing" ] || $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold $missing
}

install_tool() {
	[ -n "$tool" ] || return 0
	(cd "$unpacked" && apt-get download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool) \
		&& $as_root install -m 755 "$unpacked/usr/bin/promtool" /usr/local/bin/promtool
}

if ! { $as_root apt-get update && install_packages && install_tool; } >"$log" 2>&1; then
	tail -n 15 "$log" >&2
	echo "setup.sh: apt-get failed; are Debian's mirrors reachable?" >&2
	exit 69
fi
