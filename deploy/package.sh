#!/bin/sh
# package.sh BUILD OUT [DEB|RPM [PARTY]] - the packages of what is built in BUILD (everything but the tests), into OUT; with
#   client, shuffler or analyzer that party's package alone.
#   Of a test build (cmake --preset testing): the package tombola-testing, and no other.
#   Their paths are those of the prefix /usr; BUILD has its own back afterwards.  The same tree makes the same bytes, whoever
#   makes them and where (tests/reproducible.sh).
#   SOURCE_DATE_EPOCH (default: the newest entry of deploy/package/changelog): the time of every file in them
set -eu
usage='usage: package.sh BUILD OUT [DEB|RPM [PARTY]]'
build=${1:?$usage}
out=${2:?$usage}
kind=${3:-DEB}
party=${4:-}
case "$kind" in
DEB) tools='dpkg-shlibdeps file readelf' from='dpkg-dev file binutils' ;;
RPM) tools=rpmbuild from=rpm ;;
*)
	echo "package.sh: DEB or RPM, not '$kind'" >&2
	exit 64
	;;
esac
case "$party" in
'') contents=package_contents ;;
client | shuffler | analyzer) contents="compressed tombola-$party" ;;
*)
	echo "$usage" >&2
	exit 64
	;;
esac
for tool in $tools; do
	command -v "$tool" >/dev/null || {
		# Without them cpack would make packages that name no library they need.
		echo "package.sh: no $tool here: apt-get install $from" >&2
		exit 69
	}
done
[ -f "$build/CMakeCache.txt" ] || {
	echo "package.sh: $build is no build (cmake --preset release)" >&2
	exit 66
}
source=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:PATH=//p' "$build/CMakeCache.txt")

# Of a cross build (cmake/arm64.cmake) the libraries that its programs need are the other machine's.
other=$(sed -n 's/^CPACK_DEBIAN_PACKAGE_ARCHITECTURE:STRING=//p' "$build/CMakeCache.txt")
[ -z "$other" ] || export DEB_HOST_ARCH="$other"

back() {
	cmake -S "$source" -B "$build" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR="$libdir" >/dev/null
}
mkdir -p "$out"
out=$(cd "$out" && pwd)
: "${SOURCE_DATE_EPOCH:=$(date -d "$(sed -n 's/^ -- .*>  //p' "$source/deploy/package/changelog" | head -n 1)" +%s)}"
export SOURCE_DATE_EPOCH
trap back EXIT
trap 'exit 130' INT TERM
# Debian has a library folder an architecture; the others that use RPM, one a word size.
if [ "$kind" = RPM ]; then
	cmake -S "$source" -B "$build" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib64 >/dev/null
else
	cmake -S "$source" -B "$build" -DCMAKE_INSTALL_PREFIX=/usr -UCMAKE_INSTALL_LIBDIR >/dev/null
fi
cmake --build "$build" --target $contents >/dev/null
log=$(mktemp)
if ! (cd "$build" && umask 022 && TOMBOLA_PARTY="$party" cpack -G "$kind" -B "$out" >"$log" 2>&1); then
	cat "$log" >&2
	rm -f "$log"
	exit 1
fi
rm -f "$log"
rm -rf "$out/_CPack_Packages"
for made in "$out"/*.$(echo "$kind" | tr DEBRPM debrpm); do
	[ -f "$made" ] || {
		echo "package.sh: cpack made no package in $out" >&2
		exit 1
	}
done
