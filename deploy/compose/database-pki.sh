#!/bin/sh
# database-pki.sh [PKI] - make once the certificates by which the database and its users know each other, each host's into its own
# volume.  They are of a CA of their own, which no party of a round believes; its key is not kept.
set -eu
pki=${1:-/pki}
[ ! -e "$pki/standby/ca.crt" ] || exit 0
umask 077
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
ec="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90"
openssl req -x509 $ec -keyout "$made/ca.key" -out "$made/ca.crt" -subj "/CN=database CA" 2>"$made/log"

# issue HOST FILE NAME USE: HOST's FILE.crt and FILE.key, for that name.
issue() {
	openssl req -x509 -CA "$made/ca.crt" -CAkey "$made/ca.key" $ec -keyout "$pki/$1/$2.key" -out "$pki/$1/$2.crt" -subj "/CN=$3" \
		-addext "subjectAltName = DNS:$3" -addext "extendedKeyUsage = $4" -addext "basicConstraints = CA:FALSE" 2>"$made/log" || {
		cat "$made/log" >&2
		exit 1
	}
}

# A user's name is the role of the database that its certificate opens.
issue head client tombola-shuffler clientAuth
issue intake1 client tombola-intake-1 clientAuth
issue intake2 client tombola-intake-2 clientAuth
# By turns each of the servers follows the other.
for host in database standby; do
	issue $host server $host serverAuth
	issue $host client replicator clientAuth
done
for host in head intake1 intake2 database standby; do
	cp "$made/ca.crt" "$pki/$host/"
done
