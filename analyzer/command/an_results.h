/* an_results.h - declares the verbs that deliver results to other programs. */
#pragma once

#include "cm_cli.h"

enum { AN_EXPORT_FOLLOW = 0, AN_EXPORT_FORMAT, AN_EXPORT_AFTER, AN_EXPORT_CURSOR };
enum cm_rc an_results_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

/* Options of the verbs that deliver.  The cursor is required, so that a restart does not deliver everything
 * again. */
enum { AN_DELIVER_CURSOR = 0, AN_DELIVER_ONCE };
enum cm_rc an_results_hook(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

enum {
	AN_MQTT_BROKER = AN_DELIVER_ONCE + 1,
	AN_MQTT_USER,
	AN_MQTT_PASSWORD,
	AN_MQTT_CA,
	AN_MQTT_CERT,
	AN_MQTT_KEY,
	AN_MQTT_PLAINTEXT,
	AN_MQTT_PROTOCOL,
	AN_MQTT_PREFIX,
	AN_MQTT_DISCOVERY,
	AN_MQTT_SENSORS
};
enum cm_rc an_results_mqtt(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
