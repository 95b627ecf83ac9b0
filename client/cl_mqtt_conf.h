/* cl_mqtt_conf.h - the group `mqtt` of the client's configuration, and what it names: password, certificates.
 */
#pragma once

#include <openssl/types.h>

#include "cl_mqtt_message.h"
#include "cm_conf.h"

#define CL_MQTT_TOPICS_MAX   64u
#define CL_MQTT_PASSWORD_MAX 1024u /* bytes */

/* All of it as in the file; without topics the client has no MQTT. */
struct cl_mqtt_conf {
	struct cm_conf_strings topics;
	char *device, *payload, *field;
	bool retained;
	int64_t max_age_ms, gather_ms, wait_ms;
	char *host;
	int64_t port, keepalive_ms, qos;
	char *protocol, *client_id;
	bool clean_session;
	char *username, *password_file, *ca, *cert, *key;
	bool plaintext_to_remote;
	int64_t payload_max, devices, readings, memory_mib;
	struct cl_mqtt_form form; /* of device, payload and field; by cl_mqtt_conf_check */
};
/* Rows of the group, for a struct cl_mqtt_conf. */
extern const struct cm_conf_row cl_mqtt_rows[];

/* Every fault beyond a key's own range goes to `faults` as path:line: text, and the first to *first unless it
 * holds one.  Reads the password and the certificates, to see that they can be read. */
void cl_mqtt_conf_check(struct cl_mqtt_conf *conf, const char *path, FILE *faults, struct cm_err *first);

/* The password without its line end into out, which the caller wipes.  CM_EPERM when others may read the
 * file; CM_ENOINPUT, CM_EDATA. */
CM_CHECK enum cm_rc cl_mqtt_password(
	const struct cl_mqtt_conf *conf, char out[CL_MQTT_PASSWORD_MAX + 1], struct cm_err *err);
/* TLS 1.2 or later towards conf->host, by name or address, under conf->ca; with our certificate if there is
 * one.  NULL in *out when the configuration says nothing of TLS.  Free with SSL_CTX_free.  *refused (which
 * may be NULL, and else outlives the context) is where a handshake says why the broker's certificate is no
 * good: an X509_V_ERR, X509_V_OK while it is not. */
CM_CHECK enum cm_rc cl_mqtt_tls(
	const struct cl_mqtt_conf *conf, int *refused, SSL_CTX **out, struct cm_err *err);
