/* cl_mqtt_conf.h - the group `mqtt` of the client's configuration. */
#pragma once

#include "cf_conf.h"
#include "cl_mqtt_message.h"
#include "mq_broker.h"

#define CL_MQTT_TOPICS_MAX 64u

/* The keys as in the file.  Without topics the client does not use MQTT. */
struct cl_mqtt_conf {
	struct cf_strings topics;
	char *device, *payload, *field;
	bool retained;
	int64_t max_age_ms, gather_ms;
	char *devices;
	struct mq_broker broker;
	int64_t qos;
	bool clean_session; /* has no effect: see cl_mqtt_conf_notes */
	bool plaintext_to_remote;
	int64_t readings, device_kib;
	struct cl_mqtt_form form; /* parsed from device, payload and field by cl_mqtt_conf_check */
};
/* Rows of the group, for a struct cl_mqtt_conf. */
extern const struct cf_row cl_mqtt_rows[];

/* Check what depends on several keys or on files: that the password and the certificates can be read.  Every
 * fault is printed to `faults` as path:line: text; the first is put into *first unless that holds one. */
void cl_mqtt_conf_check(
	struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first);
/* Print a line for each setting that has no effect, or that lets one device's messages displace those of
 * others at a broker with default settings. */
void cl_mqtt_conf_notes(const struct cl_mqtt_conf *conf, FILE *out);
