/* an_publish.h - publishes one settled round to an MQTT broker. */
#pragma once

#include "an_sensors.h"
#include "mq_broker.h"

struct an_publish {
	struct mq_broker broker;
	struct an_topics topics;
};

/* Connect (each address of the host in turn), publish the descriptions and then the state with QoS 1,
 * retained, wait until the broker has acknowledged all, and disconnect.  Rounds settle rarely, so no
 * connection is kept.  The call blocks for at most 15 s without progress for each address.  CM_EUNAVAIL:
 * the broker cannot be reached, or went away.  CM_EPERM: the broker refuses us or a message. */
CM_CHECK enum cm_rc an_publish(
	const struct an_publish *p, const struct an_event *e, const char *text, struct cm_err *err);
