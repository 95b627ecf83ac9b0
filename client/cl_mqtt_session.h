/* cl_mqtt_session.h - a struct mosquitto as the configuration wants it, ready to dial. */
#pragma once

#include <mosquitto.h>

#include "cl_mqtt_conf.h"

/* Protocol, limits, login and TLS are set, the callbacks are not; user is handed to them.  *refused as for
 * cl_mqtt_tls.  Password and certificates are read now.  Free with mosquitto_destroy. */
CM_CHECK enum cm_rc cl_mqtt_session_new(const struct cl_mqtt_conf *conf, void *user, int *refused,
	struct mosquitto **out, struct cm_err *err);
