# The servers of the profile `postgresql`, and what makes their certificates.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-15 openssl \
	&& rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15 /etc/postgresql/15 \
	&& groupadd -g 10001 tombola && useradd -u 10001 -g tombola -M -d /nonexistent -s /usr/sbin/nologin tombola \
	&& for d in /var/lib/database /pki/database /pki/standby /pki/head /pki/intake1 /pki/intake2; do \
		install -d -o tombola -g tombola -m 0700 $d; done
COPY deploy/compose/postgresql.conf deploy/compose/pg_hba.conf deploy/compose/pg_ident.conf /etc/tombola/
COPY deploy/compose/database.sh deploy/compose/database-pki.sh /usr/share/tombola/
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
USER 10001:10001
