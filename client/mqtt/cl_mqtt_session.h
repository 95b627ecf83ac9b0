/* cl_mqtt_session.h - creates a struct mosquitto from the configuration, ready to dial. */
#pragma once

#include <mosquitto.h>

#include "cl_mqtt_conf.h"

/* Set protocol, limits, login and TLS; the caller sets the callbacks, which receive user.  Password and
 * certificates are read now.  *refused as for cl_mqtt_tls.  Free with mosquitto_destroy. */
CM_CHECK enum cm_rc cl_mqtt_session_new(const struct cl_mqtt_conf *conf, void *user, int *refused,
	struct mosquitto **out, struct cm_err *err);
/* Text for a result of libmosquitto; refused as above, errno as libmosquitto left it. */
const char *cl_mqtt_session_reason(int rc, int refused);
