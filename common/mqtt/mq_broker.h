/* mq_broker.h - the configuration of an MQTT broker: address, login and TLS. */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define MQ_PASSWORD_MAX 1024u /* most bytes of a password */

/* Strings belong to whoever filled in the struct; NULL: not set. */
struct mq_broker {
	char *host;
	int64_t port, keepalive_ms;
	char *protocol, *client_id;                       /* protocol: "5" or "3.1.1" */
	char *username, *password_file, *ca, *cert, *key; /* if there is no ca, TLS is not used */
	int64_t payload_max;                              /* most bytes of a message that we accept */
};

/* Read the password without its line end; the caller wipes `out`.  CM_EPERM: other users may read the file.
 * CM_ENOINPUT, CM_EDATA. */
CM_CHECK enum cm_rc mq_password(
	const struct mq_broker *conf, char out[MQ_PASSWORD_MAX + 1], struct cm_err *err);
/* Create a TLS context (1.2 or later) that verifies conf->host, by name or address, under conf->ca, with our
 * certificate if one is configured.  *out is NULL if the configuration does not ask for TLS.  Free with
 * SSL_CTX_free.  *refused (may be NULL; must outlive the context) receives the X509_V_ERR for which a
 * handshake refused the broker's certificate, X509_V_OK until then. */
CM_CHECK enum cm_rc mq_tls(const struct mq_broker *conf, int *refused, SSL_CTX **out, struct cm_err *err);
/* Whether the host is this machine: then the connection needs no TLS. */
bool mq_is_loopback(const char *host);
/* Can password and certificates be read now? Returns the faults of the two functions above. */
CM_CHECK enum cm_rc mq_check(const struct mq_broker *conf, struct cm_err *err);
