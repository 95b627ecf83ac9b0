#!/bin/sh
# packages_testing.sh BUILD - make the package tombola-testing of BUILD, a test build, and use it as a stranger would: from
# where it unpacks, with its example.  Nothing is installed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: packages_testing.sh BUILD}" && pwd)
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

fail() {
	echo "packages_testing.sh: $*" >&2
	exit 1
}
grep -qx 'TOMBOLA_MUTANTS:BOOL=ON' "$build/CMakeCache.txt" || fail "$build is no test build (cmake --preset testing)"

"$here/deploy/package.sh" "$build" "$work/made" DEB
deb=$work/made/tombola-testing_${version}_$(dpkg --print-architecture).deb
[ "$(ls "$work/made")" = "$(basename "$deb")" ] || fail "made other packages than tombola-testing: $(ls "$work/made")"
if command -v lintian >/dev/null; then
	# A sanitized build has what no package should: a library that must come first.
	lintian --allow-root --fail-on error,warning "$deb" >"$work/said" || { cat "$work/said" >&2; fail "lintian has objections"; }
fi
dpkg-deb -f "$deb" Depends | grep -q libssl3 || fail "it depends on no libssl3"
dpkg-deb -f "$deb" Depends | grep -q python3 || fail "it depends on no python3"
dpkg-deb -x "$deb" "$work/root"
[ ! -e "$work/root/usr/bin/tombola" ] || fail "the programs of a test build are where others are looked for"
for file in usr/bin/tombola-faults usr/share/man/man1/tombola-faults.1.gz usr/share/doc/tombola-testing/testing-kit.md \
	usr/share/doc/tombola-testing/examples/github-actions.yml; do
	[ -f "$work/root/$file" ] || fail "it lacks $file"
done

# As it would be found when it is installed: the entry point, not -p; the programs and the proxy of the package alone.
mkdir "$work/mine"
cp "$work/root/usr/share/doc/tombola-testing/examples/test_pipeline.py" "$work/mine"
ln -s "$work/root/usr/lib/tombola-testing" "$work/kit"
cd "$work/mine"
env -u TOMBOLA_BUILD PYTHONPATH="$work/root/usr/lib/python3/dist-packages" PATH="$work/root/usr/bin:/usr/bin:/bin" \
	/usr/bin/python3 -m pytest -q -p no:cacheprovider --tombola-build "$work/kit" . >"$work/said" 2>&1 || {
	cat "$work/said" >&2
	fail "the example fails"
}
grep -q '^5 passed' "$work/said" || fail "not all of the example ran: $(tail -n 1 "$work/said")"

if command -v rpmbuild >/dev/null; then
	"$here/deploy/package.sh" "$build" "$work/rpms" RPM
	rpm -qpl "$work"/rpms/tombola-testing-*.rpm >"$work/list"
	for file in /usr/lib/tombola-testing/bin/tombola-client /usr/bin/tombola-faults /usr/lib/python3/dist-packages/tombola_testing.py; do
		grep -qxF "$file" "$work/list" || fail "the RPM lacks $file"
	done
else
	echo "packages_testing.sh: no rpmbuild here (apt-get install rpm): no RPM was made"
fi
echo "packages_testing.sh: the package is as it should be, and its example passes"
