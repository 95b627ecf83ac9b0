/* cl_mqtt_link.h - keeps a connection to the MQTT broker on the loop: when it is lost it dials again and
 * subscribes again.  Uses libuv.
 *
 * All devices share the connection, the broker's queue for it, and the number of messages that the broker
 * may send before they are acknowledged.  The messages of one device must not make another's get lost.  So
 * the session begins anew with each connection, because a broker may have kept only a part of the messages
 * for an old session, without saying so; messages are read as fast as they come and judged later; and no
 * message is too long or too odd for the connection (mq_packet.h).
 *
 * The pause between two tries is random: 0.25 s to 0.5 s at first, growing to 15 s to 30 s; a connection
 * that lasted 10 s resets it.  Password and certificates are read again for each try.  Each try looks up
 * the host and dials its addresses in turn, within 15 s for all of them; the broker then has 15 s to accept
 * every subscription. */
#pragma once

#include <uv.h>

#include "cl_mqtt_conf.h"

struct cl_mqtt_link;
struct cl_mqtt_link_conf {
	uv_loop_t *loop;
	const struct cl_mqtt_conf *conf; /* checked by cl_mqtt_conf_check; borrowed */
	void *user;
	/* Called for each message, which is borrowed for the call. */
	void (*on_message)(void *user, const struct cl_mqtt_message *m);
	/* Called when the broker has accepted every subscription. */
	void (*on_up)(void *user);
	/* Called once whenever the broker is lost, and once if the first try fails.  `why` contains no
	 * topic. */
	void (*on_down)(void *user, const struct cm_err *why);
};
/* Start dialling.  CM_EINTERNAL: out of memory, or no entropy. */
CM_CHECK enum cm_rc cl_mqtt_link_new(
	const struct cl_mqtt_link_conf *conf, struct cl_mqtt_link **out, struct cm_err *err);
/* Stop: no callback is called any more.  The link frees itself after its handles have closed and a pending
 * name lookup has ended. */
void cl_mqtt_link_close(struct cl_mqtt_link *l);
/* Have on_message called for every message that has reached this host. */
void cl_mqtt_link_settle(struct cl_mqtt_link *l);
/* Password or certificates have changed on disk.  If they cannot be used, the result says why (as mq_check
 * does), and a connection stays until it ends.  If they can, a link that waits for its next try tries at
 * once. */
CM_CHECK enum cm_rc cl_mqtt_link_files(struct cl_mqtt_link *l, struct cm_err *err);
bool cl_mqtt_link_up(const struct cl_mqtt_link *l);
/* Number of successful connections so far. */
uint64_t cl_mqtt_link_connections(const struct cl_mqtt_link *l);
