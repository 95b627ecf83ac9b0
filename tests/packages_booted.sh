# packages_booted.sh - of packages_installed.sh, which reads it: the units under a systemd that is process 1 there.
step "boot, and a round in the sandboxes"
rm -rf "$root/var/lib/tombola-client" "$root/var/lib/tombola-shuffler" "$root/var/lib/tombola-analyzer"
in_root systemd-tmpfiles --create tombola-client.conf tombola-shuffler.conf tombola-analyzer.conf
mkdir -p "$root/etc/systemd/system/tombola-analyzer.service.d" "$root/etc/systemd/system/tombola-shuffler.socket.d"
sed 's|^# .*||' "$here/deploy/systemd/signing-key.conf" >"$root/etc/systemd/system/tombola-analyzer.service.d/key.conf"
printf '[Service]\nWatchdogSec=2s\nRestartSec=100ms\n' >"$root/etc/systemd/system/tombola-analyzer.service.d/fast.conf"
printf '[Socket]\nListenStream=\nListenStream=127.0.0.1:47443\n' \
	>"$root/etc/systemd/system/tombola-shuffler.socket.d/port.conf"
# Only root reads the analyzer's signing key; systemd passes it.
chown 0:0 "$root/etc/tombola/pki/analyzer-sign.key"
sed -i 's|^signing_key = .*|signing_key = "credential:signing-key"|' "$root/etc/tombola/analyzer.conf"

systemd-nspawn -q --register=no --keep-unit -D "$root" -b systemd.unit=multi-user.target >"$work/console" 2>&1 </dev/null &
container=$!
running=$container
init=
tries=0
# system COMMAND...: inside.
system() {
	nsenter -t "$init" -m -u -i -n -p -C env -i PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 SYSTEMD_PAGER= "$@"
}
until [ -n "$init" ] && system systemctl is-system-running 2>/dev/null | grep -Eq 'running|degraded'; do
	init=$(ps -o pid= --ppid "$container" | tr -d ' ' | head -n 1)
	tries=$((tries + 1))
	[ $tries -lt 300 ] || fail "no boot: $(tail -n 5 "$work/console")"
	sleep 0.2
done

journal() {
	system journalctl -q -o cat -u "tombola-$1.service" | tail -n "${2:-5}"
}
# until_unit UNIT PROPERTY PATTERN: wait for systemctl show to say it.
until_unit() {
	tries=0
	until system systemctl show -p "$2" --value "tombola-$1" | grep -q "$3"; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || fail "tombola-$1: $2 is $(system systemctl show -p "$2" --value "tombola-$1"), not $3
$(journal "${1%.*}" 15)"
		sleep 0.1
	done
}

system systemctl start tombola-shuffler.socket tombola-client.service tombola-analyzer.service ||
	fail "start: $(journal client 5) $(journal analyzer 5)"
until_unit analyzer.service StatusText 'the plan is through; epsilon'
until_unit client.service StatusText 'spent after round 1'
until_unit shuffler.service StatusText 'of epsilon 50 spent'
for party in client shuffler analyzer; do
	[ "$(system systemctl is-active tombola-$party.service)" = active ] || fail "$party: $(journal $party)"
	[ "$(system systemctl show -p NRestarts --value tombola-$party.service)" = 0 ] || fail "$party was restarted"
	[ "$(system systemctl show -p User --value tombola-$party.service)" = tombola-$party ] || fail "$party: user"
	level=$(system systemd-analyze security --no-pager tombola-$party.service | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
	awk -v l="$level" 'BEGIN { exit !(l > 0 && l <= 1.5) }' || fail "$party: exposure $level"
done
journal shuffler 99 | grep -q '"listen":"passed socket"' || fail "the shuffler did not take systemd's socket: $(journal shuffler 9)"

step "reload, watchdog, a fault of the configuration"
for party in client shuffler analyzer; do
	system systemctl reload tombola-$party.service || fail "$party: reload: $(journal $party 9)"
	until_unit $party.service ActiveState '^active$'
	tries=0
	until journal $party 99 | grep -q 'certificates reloaded'; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || fail "$party: not reloaded: $(journal $party 9)"
		sleep 0.1
	done
done
# A loop that does not turn is ended and started again; the ledger is what it was.
main=$(system systemctl show -p MainPID --value tombola-analyzer.service)
system sh -c "kill -STOP $main"
until_unit analyzer.service NRestarts '^1$'
until_unit analyzer.service StatusText 'the plan is through'
# A fault that a restart does not mend: no loop, and the reload is refused while the daemon runs on.
echo 'nonsense = 1;' >>"$root/etc/tombola/client.conf"
! system systemctl reload tombola-client.service 2>/dev/null || fail "a faulty configuration was reloaded"
[ "$(system systemctl is-active tombola-client.service)" = active ] || fail "a refused reload ended the client"
! system systemctl restart tombola-client.service 2>/dev/null || fail "started with a faulty configuration"
journal client 99 | grep -q "client.conf:[0-9]*: unknown key 'nonsense'" || fail "the journal does not say where the fault is"
system systemctl stop tombola-client.service
sed -i '/^nonsense/d' "$root/etc/tombola/client.conf"
system systemctl reset-failed tombola-client.service 2>/dev/null || true # forgotten already, if stopped
# Peers that dial while the shuffler is away wait in systemd's socket.
system systemctl stop tombola-shuffler.service 2>/dev/null
system systemctl start tombola-client.service
until_unit client.service StatusText '^connected'
system systemctl stop tombola-shuffler.socket tombola-shuffler.service tombola-client.service tombola-analyzer.service
for party in client shuffler analyzer; do
	[ "$(system systemctl show -p Result --value tombola-$party.service)" = success ] || fail "$party: its end: $(journal $party)"
done
system systemctl poweroff >/dev/null 2>&1 || true
wait "$container" || true
running=
sed -i 's|^signing_key = .*|signing_key = "/etc/tombola/pki/analyzer-sign.key"|' "$root/etc/tombola/analyzer.conf"
chown "$(inside id -u tombola-analyzer)" "$root/etc/tombola/pki/analyzer-sign.key"
(as analyzer tombola-analyzer ledger verify) >"$work/head" || fail "the ledger: $(cat "$work/head")"
