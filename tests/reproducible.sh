#!/bin/sh
# reproducible.sh BUILD [PARTY] - the packages of BUILD and those of the same tree in another folder, built by another user with
# another umask, time zone and locale at another time, are the same bytes: whoever has the tree can check what is published.
# With client, shuffler or analyzer: that party's package alone.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: reproducible.sh BUILD [PARTY]}" && pwd)
party=${2:-}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM

fail() {
	echo "reproducible.sh: $*" >&2
	exit 1
}

kinds=DEB
! command -v rpmbuild >/dev/null || kinds='DEB RPM'
mkdir "$work/another" "$work/one"
(cd "$here" && tar --exclude=./build --exclude=./.git --exclude=./demo-run -cf - .) | tar -xmf - -C "$work/another"
as=
if [ "$(id -u)" -eq 0 ]; then
	chown -R 65534:65534 "$work/another"
	chmod 755 "$work"
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
for kind in $kinds; do
	"$here/deploy/package.sh" "$build" "$work/one" "$kind" $party
done
# Compiled anew: a cache would hand out what the first folder made.
$as env CCACHE_DISABLE=1 HOME="$work/another" TZ=Pacific/Chatham LC_ALL=C.UTF-8 sh -c '
	umask 077
	cd "$1"
	cmake --preset release >/dev/null
	for kind in $2; do
		deploy/package.sh build/release two "$kind" $3
	done' sh "$work/another" "$kinds" "$party" || fail "the second build failed"

(cd "$work/one" && sha256sum ./*.deb ./*.rpm 2>/dev/null) >"$work/one.sums" || true
(cd "$work/another/two" && sha256sum ./*.deb ./*.rpm 2>/dev/null) >"$work/two.sums" || true
[ -s "$work/one.sums" ] || fail "no packages were made"
diff "$work/one.sums" "$work/two.sums" >&2 || fail "these packages differ from build to build"
echo "reproducible.sh: $(wc -l <"$work/one.sums") packages are the same from two folders ($kinds)"
