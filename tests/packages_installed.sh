# packages_installed.sh - the second half of packages.sh, which reads it: a fresh Debian, and the packages in it.
[ "$(id -u)" -eq 0 ] || fail "installing needs root"
command -v debootstrap >/dev/null || fail "no debootstrap here (apt-get install debootstrap)"
mirror=${TOMBOLA_MIRROR:-http://deb.debian.org/debian}
root=$work/root

step() {
	echo "==> $1"
}

step "a fresh Debian 12"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 || {
	tail -n 5 "$work/log" >&2
	fail "debootstrap failed; is $mirror reachable?"
}
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
mkdir -p "$root/debs" "$root/newer"
cp "$work"/debs/*.deb "$root/debs"

# inside COMMAND...: in the fresh system, in place of this (sub)shell; /proc is there as long as it runs.
inside() {
	exec unshare -m sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$root" env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}
# in_root COMMAND...: the same, its output to the log.
in_root() {
	(inside "$@") >>"$work/log" 2>&1
}
# apt ARGUMENT...
apt() {
	in_root apt-get -y --no-install-recommends -o Dpkg::Options::=--force-confold -o Acquire::Retries=3 "$@" || {
		tail -n 20 "$work/log" >&2
		fail "apt-get $* failed"
	}
}

step "install"
in_root apt-get update || fail "apt-get update failed"
apt install $(cd "$root" && ls -d /debs/*.deb debs/*.deb 2>/dev/null | sed 's|^/*|/|' | sort -u)
for program in tombola tombola-accountant tombola-client tombola-shuffler tombola-analyzer; do
	[ "$(inside $program --version)" = "$program $version" ] || fail "$program --version"
done
(inside tombola-accountant epsilon --delta 1e-6 --round rr:eps0=1,n=10000) | grep -q '^epsilon at most' ||
	fail "tombola-accountant does not answer"
(inside bash -c '. /usr/share/bash-completion/completions/tombola-analyzer && complete -p tombola-analyzer') |
	grep -q _tombola_analyzer || fail "bash completes no tombola-analyzer"
(inside python3 -c 'from tombola_accountant import PLDAccountant, ShuffledDpEvent as E
print(PLDAccountant().compose(E("generic", eps0=2, n=10000), count=8).get_epsilon(target_delta=1e-6))') |
	grep -q '^0\.3472' || fail "the Python module does not answer"
for party in client shuffler analyzer; do
	[ "$(stat -c '%a %U' "$root/var/lib/tombola-$party" | sed 's/ .*//')" = 700 ] || fail "$party: state folder"
	grep -q "^tombola-$party:.*:/var/lib/tombola-$party:/usr/sbin/nologin$" "$root/etc/passwd" || fail "no user tombola-$party"
	# The sample as it is lacks only the keys.
	code=0
	(inside tombola-$party check-config) >"$work/said" 2>&1 || code=$?
	[ $code -eq 78 ] || fail "tombola-$party check-config ended with $code: $(cat "$work/said")"
	! grep -v 'pki/' "$work/said" | grep -q . || fail "the sample has more faults: $(cat "$work/said")"
done

step "keys, and a plan of one round"
in_root tombola pki init /root/pki --hosts localhost --devices 40
for party in client shuffler analyzer; do
	for file in "$root/root/pki/$party"/*; do
		case "$file" in
		*.key) install -o "$(inside id -u tombola-$party)" -m 600 "$file" "$root/etc/tombola/pki/" ;;
		*) install -m 644 "$file" "$root/etc/tombola/pki/" ;;
		esac
	done
done
sed -i 's/shuffler\.example\.org/localhost/' "$root/etc/tombola/client.conf" "$root/etc/tombola/analyzer.conf"
sed -i '/^budget = /d' "$root/etc/tombola/analyzer.conf" # of this small plan, which is dear
sed -i 's/^max_epsilon = .*/max_epsilon = 50.0;/; s/^max_epsilon0 = .*/max_epsilon0 = 8.0;/; s/^min_batch = .*/min_batch = 20;/; s/^max_share = .*/max_share = 1.0;/' \
	"$root/etc/tombola/client-policy.conf" "$root/etc/tombola/shuffler-policy.conf"
cat >"$root/etc/tombola/plan.conf" <<'P'
name = "packages";
population = "pumps";
budget = { epsilon = 20.0; delta = 1e-6; };
rounds = ( { query = "state"; type = "histogram"; protocol = "grr"; field = "state"; epsilon0 = 4.0;
	values = [ "idle", "running" ]; min_reports = 40; target = 40; window = "10m"; } );
P
mkdir -p "$root/var/lib/tombola-readings"
{ echo state; for i in 1 2 3 4 5 6 7 8 9 10; do printf 'idle\nrunning\nidle\nidle\n'; done; } \
	>"$root/var/lib/tombola-readings/readings.csv"

# as PARTY COMMAND...: its user, without any privilege, in place of this (sub)shell.
as() {
	user=tombola-$1
	shift
	inside setpriv --reuid $user --regid $user --clear-groups --no-new-privs --bounding-set=-all "$@"
}
for party in client shuffler analyzer; do
	(as $party tombola-$party check-config) >"$work/said" 2>&1 || fail "$party: $(cat "$work/said")"
done

# The hosts' own ports may be taken: not these, all in one network.
for party in client shuffler analyzer; do
	sed -i 's/:7443/:47443/; s/127\.0\.0\.1:946\([456]\)/127.0.0.1:4946\1/' "$root/etc/tombola/$party.conf"
done

step "a round, by hand, as the packages' users"
as shuffler tombola-shuffler run >"$work/shuffler.log" 2>&1 &
shuffler=$!
as client tombola-client run >"$work/client.log" 2>&1 &
client=$!
running="$shuffler $client"
# The shuffler may not listen yet.
for _ in $(seq 30); do
	(as analyzer tombola-analyzer plan sign --yes) >"$work/sign.log" 2>&1 && break
	sleep 1
done
grep -q '^signed: ' "$work/sign.log" || fail "plan sign: $(tail -n 3 "$work/sign.log")"
(as analyzer timeout 60 tombola-analyzer run --once) >"$work/analyzer.log" 2>&1 ||
	fail "the analyzer: $(tail -n 3 "$work/analyzer.log") $(tail -n 2 "$work/shuffler.log") $(tail -n 2 "$work/client.log")"
kill $shuffler $client
wait $shuffler || fail "the shuffler ended with $?: $(tail -n 1 "$work/shuffler.log")"
wait $client || fail "the client ended with $?: $(tail -n 1 "$work/client.log")"
running=
(as analyzer tombola-analyzer estimate state) | grep -q idle || fail "no estimate"
(as analyzer tombola-analyzer ledger verify) >"$work/head" || fail "the ledger: $(cat "$work/head")"

if command -v systemd-nspawn >/dev/null && [ -d /sys/fs/cgroup ]; then
	. "$here/tests/packages_booted.sh"
else
	echo "packages.sh: no systemd-nspawn here (apt-get install systemd-container): the units were not run"
fi

step "upgrade: what was edited stays, what was not is new, the ledger is the same"
for deb in "$work"/debs/*.deb; do
	rm -rf "$work/newer"
	dpkg-deb -R "$deb" "$work/newer"
	sed -i "s/^Version: .*/Version: $version+1/; s/(= $version)/(= $version+1)/g" "$work/newer/DEBIAN/control"
	for conf in "$work/newer"/etc/tombola/* "$work/newer"/etc/default/*; do
		[ ! -f "$conf" ] || echo '# newer' >>"$conf"
	done
	dpkg-deb --root-owner-group -b "$work/newer" "$root/newer/$(basename "$deb")" >/dev/null
done
apt install $(cd "$root" && ls newer/*.deb | sed 's|^|/|')
(inside dpkg-query -W -f '${Package} ${Version}\n' 'tombola*' 'libtombola*' 'python3-tombola*') |
	grep -v " $version+1\$" && fail "not upgraded"
for file in client.conf client-policy.conf shuffler.conf shuffler-policy.conf analyzer.conf plan.conf; do
	grep -q '^# newer' "$root/etc/tombola/$file" && fail "$file was edited, and was overwritten"
	grep -q '^# newer' "$root/etc/tombola/$file.dpkg-dist" || fail "$file: the new one is not beside it"
done
grep -q '^# newer' "$root/etc/default/tombola-client" || fail "a file that was not edited was not upgraded"
(as analyzer tombola-analyzer ledger verify) | cmp -s - "$work/head" || fail "the ledger has changed"

step "remove: the state stays, and it is said; purge: it goes, and it is said"
: >"$work/log"
apt remove tombola-client tombola-shuffler tombola-analyzer
for party in client shuffler analyzer; do
	[ ! -e "$root/usr/bin/tombola-$party" ] || fail "$party was not removed"
	[ -n "$(ls "$root/var/lib/tombola-$party")" ] || fail "$party: remove lost its state"
	grep -q "^tombola-$party: /var/lib/tombola-$party stays" "$work/log" || fail "$party: remove does not say what stays"
	[ -f "$root/etc/tombola/$party.conf" ] || fail "$party: remove took the configuration"
done
: >"$work/log"
apt purge tombola-client tombola-shuffler tombola-analyzer
for party in client shuffler analyzer; do
	[ ! -e "$root/var/lib/tombola-$party" ] || fail "$party: purge left the state"
	grep -q "^tombola-$party: purge removes /var/lib/tombola-$party" "$work/log" || fail "$party: purge does not say so"
	[ ! -e "$root/etc/tombola/$party.conf" ] || fail "$party: purge left the configuration"
done
[ -d "$root/etc/tombola/pki" ] || fail "purge took keys that are not the packages'"
echo "packages.sh: installed, ran, upgraded, removed and purged in a fresh Debian 12"
