#!/bin/sh
# database.sh first NAME | follow OTHER NAME - serve the database as host NAME, from the folder /var/lib/database.  When there is
# none yet, `first` makes it, with the roles and nothing in it, and `follow` copies that of the host OTHER and stays its standby.
set -eu
umask 077
data=/var/lib/database/data
new=/var/lib/database/new

first() {
	initdb -D "$new" -U postgres -A peer -E UTF8 --locale=C.UTF-8 >/dev/null
	# Nobody else reaches it yet, and no standby is waited for.
	alone="-c listen_addresses= -c unix_socket_directories=$new -c synchronous_standby_names="
	pg_ctl -D "$new" -s -w -o "-c config_file=/etc/tombola/postgresql.conf $alone" start
	psql -h "$new" -U postgres -qX -v ON_ERROR_STOP=1 <<-'END'
		CREATE ROLE replicator LOGIN REPLICATION;
		CREATE ROLE "tombola-shuffler" LOGIN;
		CREATE ROLE "tombola-intake";
		CREATE ROLE "tombola-intake-1" LOGIN IN ROLE "tombola-intake";
		CREATE ROLE "tombola-intake-2" LOGIN IN ROLE "tombola-intake";
		GRANT "tombola-intake", "tombola-intake-1", "tombola-intake-2" TO "tombola-shuffler";
		CREATE DATABASE tombola OWNER "tombola-shuffler";
		REVOKE ALL ON DATABASE tombola, postgres, template1 FROM PUBLIC;
		GRANT CONNECT ON DATABASE tombola TO "tombola-intake";
		-- Both ask whether the standby is there.
		GRANT pg_read_all_stats TO "tombola-shuffler", "tombola-intake";
	END
	pg_ctl -D "$new" -s -w stop
}

follow() {
	pg_basebackup -D "$new" -R -X stream -c fast -d "host=$1 user=replicator sslmode=verify-full
		sslrootcert=/pki/database/ca.crt sslcert=/pki/database/client.crt sslkey=/pki/database/client.key"
}

if [ ! -d "$data" ]; then
	rm -rf "$new" # of a start that was cut off
	case "$1" in
	first) first ;;
	follow) follow "$2" ;;
	*) exit 64 ;;
	esac
	sync
	mv "$new" "$data"
fi
for name; do :; done # the last argument
exec postgres -D "$data" -c config_file=/etc/tombola/postgresql.conf -c cluster_name="$name"
