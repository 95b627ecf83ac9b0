/* mq_session.c - sets protocol, limits, login and TLS of a libmosquitto connection. */
#include "mq_session.h"

#include <errno.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>
#include <string.h>

#include "cr_secret.h"

#define PACKET_EXTRA 2048u /* bytes of a packet in addition to its payload */

/* Set the largest packet that we accept.  libmosquitto takes this number only together with an attempt to
 * connect.  So this function makes an attempt that cannot succeed; the next, real one sends the number. */
static int set_properties(struct mosquitto *m, const struct mq_broker *conf)
{
	mosquitto_property *p = NULL;
	int rc = mosquitto_property_add_int32(
		&p, MQTT_PROP_MAXIMUM_PACKET_SIZE, (uint32_t)conf->payload_max + PACKET_EXTRA);

	if (rc == MOSQ_ERR_SUCCESS &&
		mosquitto_connect_bind_v5(m, conf->host, -1, 0, NULL, p) != MOSQ_ERR_INVAL)
		rc = MOSQ_ERR_UNKNOWN;
	mosquitto_property_free_all(&p);
	return rc;
}

static enum cm_rc set_login(struct mosquitto *m, const struct mq_broker *conf, struct cm_err *err)
{
	char password[MQ_PASSWORD_MAX + 1];
	enum cm_rc rc = CM_OK;

	if (!conf->username)
		return CM_OK;
	if (conf->password_file)
		rc = mq_password(conf, password, err);
	if (rc == CM_OK && mosquitto_username_pw_set(m, conf->username,
				   conf->password_file ? password : NULL) != MOSQ_ERR_SUCCESS)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	cr_wipe(password, sizeof password);
	return rc;
}

static enum cm_rc set_tls(struct mosquitto *m, const struct mq_broker *conf, int *refused, struct cm_err *err)
{
	SSL_CTX *ctx = NULL;
	enum cm_rc rc = mq_tls(conf, refused, &ctx, err);

	if (rc == CM_OK && ctx &&
		(mosquitto_int_option(m, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) != MOSQ_ERR_SUCCESS ||
			mosquitto_void_option(m, MOSQ_OPT_SSL_CTX, ctx) != MOSQ_ERR_SUCCESS))
		rc = cm_fail(err, CM_EINTERNAL, "libmosquitto refuses the TLS context");
	SSL_CTX_free(ctx);
	return rc;
}

static enum cm_rc set_up(struct mosquitto *m, const struct mq_broker *conf, int *refused, struct cm_err *err)
{
	bool v5 = strcmp(conf->protocol, "5") == 0;
	enum cm_rc rc;

	if (mosquitto_int_option(m, MOSQ_OPT_PROTOCOL_VERSION, v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311) !=
			MOSQ_ERR_SUCCESS ||
		(v5 && set_properties(m, conf) != MOSQ_ERR_SUCCESS))
		return cm_fail(err, CM_EINTERNAL, "libmosquitto refuses the options");
	rc = set_login(m, conf, err);
	return rc == CM_OK ? set_tls(m, conf, refused, err) : rc;
}

enum cm_rc mq_session_new(
	const struct mq_broker *conf, void *user, int *refused, struct mosquitto **out, struct cm_err *err)
{
	struct mosquitto *m = mosquitto_new(conf->client_id, true, user);
	enum cm_rc rc;

	if (!m)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = set_up(m, conf, refused, err);
	if (rc != CM_OK) {
		mosquitto_destroy(m);
		return rc;
	}
	*out = m;
	return CM_OK;
}

const char *mq_session_reason(int rc, int refused)
{
	/* A refused certificate of the broker shows as MOSQ_ERR_TLS, or in libmosquitto 2.0.21 as
	 * MOSQ_ERR_ERRNO with EPROTO. */
	if (refused != X509_V_OK)
		return X509_verify_cert_error_string(refused);
	if (rc == MOSQ_ERR_ERRNO)
		return errno != 0 ? strerror(errno) : "the connection failed";
	return rc == MOSQ_ERR_SUCCESS ? "closed by the broker" : mosquitto_strerror(rc);
}
