/* cl_mqtt_reader.h - reads messages by the sources of the configuration: which source reads a message,
 * whether it is a reading, and its source's map.  No I/O. */
#pragma once

#include "cl_mqtt_conf.h"

struct cl_mqtt_reader;
/* conf is borrowed; cl_mqtt_conf_check must have accepted it.  NULL: out of memory. */
struct cl_mqtt_reader *cl_mqtt_reader_new(const struct cl_mqtt_conf *conf);
/* Accepts NULL. */
void cl_mqtt_reader_free(struct cl_mqtt_reader *r);
/* Read m into *out, which cl_mqtt_reading_init has prepared.  Returns every fate but UNLISTED; unless it is
 * KEPT, *out is empty. */
CM_CHECK enum cl_mqtt_fate cl_mqtt_reader_read(
	const struct cl_mqtt_reader *r, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out);
