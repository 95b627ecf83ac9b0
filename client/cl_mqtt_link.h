/* cl_mqtt_link.h - the connection to the MQTT broker on the loop (libmosquitto, driven from outside): dialled
 * again when it is lost, subscribed again when it is back.  Knows uv.
 *
 * Between two tries 0.25 s to 0.5 s pass at first and 15 s to 30 s in the end, at random; again as at first
 * once a connection stood for 10 s.  Password and certificates are read anew for each.  A broker that does
 * not answer within 15 s is given up. */
#pragma once

#include <uv.h>

#include "cl_mqtt_conf.h"

struct cl_mqtt_link;
struct cl_mqtt_link_conf {
	uv_loop_t *loop;
	const struct cl_mqtt_conf *conf; /* checked; borrowed */
	void *user;
	/* Borrowed for the call. */
	void (*on_message)(void *user, const struct cl_mqtt_message *m);
	/* Every subscription stands. */
	void (*on_up)(void *user);
	/* Once for every time the broker is lost, or not reached for the first time; why: without any topic.
	 */
	void (*on_down)(void *user, const struct cm_err *why);
};
/* Starts dialling.  CM_EINTERNAL: out of memory, no entropy. */
CM_CHECK enum cm_rc cl_mqtt_link_new(
	const struct cl_mqtt_link_conf *conf, struct cl_mqtt_link **out, struct cm_err *err);
/* Calls nobody any more, and frees itself when its handles have closed and a name is no longer looked up. */
void cl_mqtt_link_close(struct cl_mqtt_link *l);
bool cl_mqtt_link_up(const struct cl_mqtt_link *l);
/* Connections that stood so far. */
uint64_t cl_mqtt_link_connections(const struct cl_mqtt_link *l);
