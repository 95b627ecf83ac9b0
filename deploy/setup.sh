#!/bin/sh
# setup.sh build|test - install what is missing on Debian 12: for building and running, or for the tests as well.
set -eu

build='cmake ninja-build gcc libc6-dev pkg-config libuv1-dev libssl-dev libprotobuf-c-dev protobuf-c-compiler
	protobuf-compiler libfftw3-dev libconfig-dev libjansson-dev libmicrohttpd-dev libsqlite3-dev libcsv-dev
	libmosquitto-dev libseccomp-dev libcmocka-dev python3 ca-certificates'
test='python3-protobuf python3-cryptography python3-pytest python3-pytest-xdist python3-yaml openssl clang libclang-rt-14-dev
	clang-format-14 clang-tidy-14 cppcheck binutils procps sqlite3 mosquitto python3-paho-mqtt
	mandoc lintian systemd rpm dpkg-dev file chromium docker-compose'

case "${1:-}" in
build) want=$build ;;
test) want="$build $test" ;;
*)
	echo "usage: setup.sh build|test" >&2
	exit 64
	;;
esac

command -v dpkg-query >/dev/null || {
	echo "setup.sh: this needs Debian's packages; install by hand: $(echo $want)" >&2
	exit 69
}
missing=
for package in $want; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# promtool: Debian ships it in the package of the Prometheus service, which is not to be installed and started here.
tool=
[ "$1" = build ] || command -v promtool >/dev/null || tool=promtool
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

install_packages() {
	[ -z "$missing" ] || $as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends $missing
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
