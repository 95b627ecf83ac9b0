#!/bin/sh
# fresh.sh RELEASE [COMMAND...] - run COMMAND (./test.sh) of the last commit as a newcomer would: in a clone, in a Debian RELEASE
# (12, 13) that has nothing but its base, with the hosts file that Debian's installer writes.  It uses this host's network and
# processes of its own, and leaves nothing.  As root; needs debootstrap, git and a mirror.
#   TOMBOLA_MIRROR (default http://deb.debian.org/debian)
set -eu
fail() {
	echo "fresh.sh: $*" >&2
	exit 1
}
case "${1:-}" in
12) name=bookworm ;;
13) name=trixie ;;
*)
	echo 'usage: fresh.sh 12|13 [COMMAND...]' >&2
	exit 64
	;;
esac
release=$1
shift
[ $# -gt 0 ] || set -- ./test.sh
[ "$(id -u)" -eq 0 ] || fail 'making a Debian needs root'
command -v debootstrap >/dev/null || fail 'no debootstrap here (apt-get install debootstrap)'
here=$(cd "$(dirname "$0")/.." && pwd)
mirror=${TOMBOLA_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM
root=$work/root

echo "==> a bare Debian $release"
debootstrap --variant=minbase --include=git,ca-certificates "$name" "$root" "$mirror" >"$work/log" 2>&1 || {
	tail -n 5 "$work/log" >&2
	fail "debootstrap failed; is $mirror reachable?"
}
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
echo fresh >"$root/etc/hostname"
cat >"$root/etc/hosts" <<H
127.0.0.1	localhost
127.0.1.1	fresh

::1     localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
H
# Services of packages are not to be started here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
git clone -q --bare "$here" "$root/root/tombola.git"

echo "==> $* in it"
# The root is changed by pivot_root, since a process in a chroot may make no user namespace, as the tests do.  What runs ends
# with the first process of its namespace.
status=0
unshare --mount --uts --pid --fork --kill-child sh -eu -c '
	root=$1
	shift
	hostname fresh
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mkdir "$root/host"
	cd "$root"
	pivot_root . host
	umount -l /host
	rmdir /host
	exec env -i CI="${CI:-}" HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -eu -c "
		git clone -q /root/tombola.git /root/tombola
		cd /root/tombola
		exec \"\$@\"" sh "$@"
' sh "$root" "$@" </dev/null || status=$?
echo "==> Debian $release: $* ended with $status"
exit $status
