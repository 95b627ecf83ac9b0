#!/bin/sh
# packages.sh BUILD [installed] - make the packages of BUILD and look at them; with `installed`, also install them into a
# fresh Debian 12, run a round with them, upgrade, remove and purge them there (needs root, debootstrap and a mirror;
# where systemd-nspawn is, the daemons also run under the real systemd, in their sandboxes).
#   TOMBOLA_MIRROR (default http://deb.debian.org/debian)
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
how=${2:-}
case "$how" in
'' | installed) ;;
*)
	echo "usage: packages.sh BUILD [installed]" >&2
	exit 64
	;;
esac
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)

fail() {
	echo "packages.sh: $*" >&2
	exit 1
}
running=
end() {
	for pid in $running; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# ---- the packages themselves ----

"$here/deploy/package.sh" "$build" "$work/debs" DEB
cd "$work/debs"
ls >"$work/made"
arch=$(dpkg --print-architecture)
cat >"$work/wanted" <<W
libtombola-accountant-dev_${version}_$arch.deb
libtombola-accountant0_${version}_$arch.deb
python3-tombola-accountant_${version}_all.deb
tombola-analyzer_${version}_$arch.deb
tombola-client_${version}_$arch.deb
tombola-common_${version}_all.deb
tombola-shuffler-postgresql_${version}_$arch.deb
tombola-shuffler_${version}_$arch.deb
tombola_${version}_$arch.deb
W
LC_ALL=C sort "$work/made" >"$work/sorted"
LC_ALL=C sort "$work/wanted" | diff - "$work/sorted" || fail "other packages than wanted"

if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning ./*.deb || fail "lintian has objections"
else
	echo "packages.sh: no lintian here (apt-get install lintian): not asked"
fi

# has DEB PATH...: the package holds these files.
has() {
	deb=$1
	shift
	dpkg-deb -c "${deb}"_*.deb | awk '{ print $6 }' >"$work/contents"
	for path in "$@"; do
		grep -qxF "./$path" "$work/contents" || fail "$deb lacks $path"
	done
}
for party in client shuffler analyzer; do
	has tombola-$party usr/bin/tombola-$party usr/lib/systemd/system/tombola-$party.service \
		usr/lib/systemd/system/tombola-$party@.service \
		usr/lib/sysusers.d/tombola-$party.conf usr/lib/tmpfiles.d/tombola-$party.conf \
		usr/share/man/man8/tombola-$party.8.gz usr/share/bash-completion/completions/tombola-$party \
		etc/tombola/$party.conf etc/default/tombola-$party
	dpkg-deb --fsys-tarfile tombola-${party}_*.deb | tar -tf - | sed -n 's|^\./etc/|/etc/|p' | grep -v '/$' |
		LC_ALL=C sort >"$work/etc"
	dpkg-deb -I tombola-${party}_*.deb conffiles | LC_ALL=C sort | diff - "$work/etc" ||
		fail "tombola-$party: a file in /etc that is no conffile, or the reverse"
	# A package names every library its program needs.
	dpkg-deb -f tombola-${party}_*.deb Depends | grep -q 'libssl3' || fail "tombola-$party depends on no libssl3"
	mkdir -p "$work/x"
	dpkg-deb -x tombola-${party}_*.deb "$work/x"
	! grep -rq "$here\|@[A-Z]*@" "$work/x/usr/lib/systemd" "$work/x/etc" || fail "tombola-$party: a path of the build"
	readelf -S "$work/x/usr/bin/tombola-$party" | grep -q '\.symtab' && fail "tombola-$party is not stripped"
done
has tombola-shuffler usr/lib/systemd/system/tombola-shuffler.socket etc/tombola/shuffler-policy.conf
has tombola-shuffler-postgresql usr/libexec/tombola/tombola-shuffler-postgresql
dpkg-deb -f tombola-shuffler-postgresql_*.deb Depends | grep -q libpq5 || fail "tombola-shuffler-postgresql depends on no libpq5"
dpkg-deb -f tombola-shuffler_*.deb Depends | grep -q libpq && fail "tombola-shuffler depends on libpq"
has tombola-client etc/tombola/client-policy.conf
has tombola-analyzer etc/tombola/plan.conf usr/lib/systemd/system/tombola-results@.service
has tombola usr/bin/tombola usr/bin/tombola-accountant usr/share/man/man1/tombola.1.gz usr/share/man/man1/tombola-pki.1.gz \
	usr/share/man/man1/tombola-accountant.1.gz
has tombola-common usr/share/man/man5/tombola.conf.5.gz usr/share/man/man5/tombola.plan.5.gz \
	usr/share/man/man7/tombola-tls.7.gz usr/share/doc/tombola-common/metrics.md \
	usr/share/doc/tombola-common/examples/alerts.yml usr/share/doc/tombola-common/examples/prometheus.yml
has python3-tombola-accountant usr/lib/python3/dist-packages/tombola_accountant/__init__.py \
	usr/lib/python3/dist-packages/tombola_accountant/literature/__main__.py
has libtombola-accountant-dev usr/include/tombola/acct.h
dpkg-deb -I libtombola-accountant0_*.deb shlibs | grep -qx "libtombola-accountant 0 libtombola-accountant0 (>= $version)" ||
	fail "libtombola-accountant0 says no shlibs"

if command -v rpmbuild >/dev/null; then
	"$here/deploy/package.sh" "$build" "$work/rpms" RPM
	for party in client shuffler analyzer; do
		rpm=$(echo "$work/rpms/tombola-$party"-[0-9]*.rpm)
		rpm -qpl "$rpm" | grep -qx "/usr/bin/tombola-$party" || fail "$rpm has no program"
		rpm -qpc "$rpm" | grep -qx "/etc/tombola/$party.conf" || fail "$rpm: its configuration is no %config"
		[ "$(rpm -qp --qf '%{LICENSE}' "$rpm")" = Apache-2.0 ] || fail "$rpm: licence"
	done
	rpm -qpl "$work/rpms"/tombola-shuffler-postgresql-*.rpm | grep -qx /usr/libexec/tombola/tombola-shuffler-postgresql ||
		fail "the RPM of the other store has no program"
	rpm -qpl "$work/rpms"/libtombola-accountant0-*.rpm | grep -q '^/usr/lib64/libtombola-accountant.so.0$' ||
		fail "the library's RPM has it elsewhere than /usr/lib64"
else
	echo "packages.sh: no rpmbuild here (apt-get install rpm): no RPM was made"
fi
echo "packages.sh: $(wc -l <"$work/wanted") Debian packages and the RPMs are as they should be"
[ -n "$how" ] || exit 0

# ---- installed ----

. "$here/tests/packages_installed.sh"
