/* cl_mqtt_conf.h - the group `mqtt` of the client's configuration, and the password and certificates that it
 * names. */
#pragma once

#include <openssl/types.h>

#include "cf_conf.h"
#include "cl_mqtt_message.h"

#define CL_MQTT_TOPICS_MAX   64u
#define CL_MQTT_PASSWORD_MAX 1024u /* bytes */

/* The keys as in the file.  Without topics the client does not use MQTT. */
struct cl_mqtt_conf {
	struct cf_strings topics;
	char *device, *payload, *field;
	bool retained;
	int64_t max_age_ms, gather_ms;
	char *devices;
	char *host;
	int64_t port, keepalive_ms, qos;
	char *protocol, *client_id;
	bool clean_session;
	char *username, *password_file, *ca, *cert, *key;
	bool plaintext_to_remote;
	int64_t payload_max, readings, device_kib;
	struct cl_mqtt_form form; /* parsed from device, payload and field by cl_mqtt_conf_check */
};
/* Rows of the group, for a struct cl_mqtt_conf. */
extern const struct cf_row cl_mqtt_rows[];

/* Check what depends on several keys or on files: that the password and the certificates can be read.  Every
 * fault is printed to `faults` as path:line: text; the first is put into *first unless that holds one. */
void cl_mqtt_conf_check(struct cl_mqtt_conf *conf, const char *path, FILE *faults, struct cm_err *first);

/* Read the password without its line end; the caller wipes `out`.  CM_EPERM: other users may read the file.
 * CM_ENOINPUT, CM_EDATA. */
CM_CHECK enum cm_rc cl_mqtt_password(
	const struct cl_mqtt_conf *conf, char out[CL_MQTT_PASSWORD_MAX + 1], struct cm_err *err);
/* Create a TLS context (1.2 or later) that verifies conf->host, by name or address, under conf->ca, with our
 * certificate if one is configured.  *out is NULL if the configuration does not ask for TLS.  Free with
 * SSL_CTX_free.  *refused (may be NULL; must outlive the context) receives the X509_V_ERR for which a
 * handshake refused the broker's certificate, X509_V_OK until then. */
CM_CHECK enum cm_rc cl_mqtt_tls(
	const struct cl_mqtt_conf *conf, int *refused, SSL_CTX **out, struct cm_err *err);
