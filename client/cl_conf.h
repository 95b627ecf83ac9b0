/* cl_conf.h - the client's configuration, and what it names: keys, certificates, policy. */
#pragma once

#include <stdio.h>

#include "cl_mqtt_conf.h"
#include "cl_policy.h"
#include "cl_readings.h"
#include "cm_tls.h"

struct cl_conf {
	char *shuffler, *state_dir, *population;
	char *cert, *key, *services_ca, *crl;
	char *analyzer_key, *shuffler_key, *policy;
	char *input, *format, *device_field;
	struct cl_mqtt_conf mqtt; /* readings by MQTT, if it has topics */
	int64_t connections, frame_devices, spread_ms;
	char *http;
	bool http_anywhere;
};
extern const struct cm_conf_row cl_conf_rows[];

/* A configuration with everything it names loaded. */
struct cl_setup {
	struct cl_conf conf;
	struct cl_policy policy;
	struct cm_verifier *analyzer, *shuffler;
	enum cl_format format; /* of conf.input */
};
/* Every fault of both files goes to `faults` as file:line: text (the first also to err).  Free with
 * cl_setup_fini in both cases. */
CM_CHECK enum cm_rc cl_setup_load(const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err);
void cl_setup_fini(struct cl_setup *s);
/* A TLS context from the files as they are now. */
CM_CHECK enum cm_rc cl_setup_tls(const struct cl_setup *s, struct cm_tls_ctx **out, struct cm_err *err);
