/* mq_session.h - creates a struct mosquitto from the configuration, ready to dial. */
#pragma once

#include <mosquitto.h>

#include "mq_broker.h"

/* Set protocol, limits, login and TLS; the caller sets the callbacks, which receive user.  Password and
 * certificates are read now. *refused as for mq_tls.  Free with mosquitto_destroy. */
CM_CHECK enum cm_rc mq_session_new(
	const struct mq_broker *conf, void *user, int *refused, struct mosquitto **out, struct cm_err *err);
/* The text for a result of libmosquitto; refused as above, errno as libmosquitto left it. */
const char *mq_session_reason(int rc, int refused);
