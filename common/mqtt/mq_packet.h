/* mq_packet.h - writes and reads the packets of MQTT 5 and 3.1.1 that a subscriber sends and gets, as
 * bytes.  No I/O, no clock.
 *
 * A broker keeps what it has not sent to us yet in a queue of limited length, and drops everything beyond,
 * whichever device sent it.  So a subscriber must take messages faster than any one device can publish
 * them, and let the broker send as many as it likes before they are acknowledged.  A message never ends
 * the connection, whatever its length and properties, since it comes from one device and the connection
 * serves all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_buf.h"

#define MQ_RECEIVE_MAX 65535u /* messages that MQTT 5 lets a broker send before we acknowledge one */
#define MQ_OUT_MAX     (1u << 20)

/* Strings are borrowed; NULL: not given. */
struct mq_connect {
	bool v5;
	const char *client_id, *username, *password;
	uint16_t keepalive_s;
};

/* Each of these functions appends one packet to `out`.  CM_EDATA when it has no room, CM_EINTERNAL out of
 * memory. */

/* Begin a session that ends with the connection, so the broker sends nothing that it kept from before. */
CM_CHECK enum cm_rc mq_put_connect(struct cm_buf *out, const struct mq_connect *c);
/* Subscribe with QoS 1.  no_retained: the broker must not send what it retains (only MQTT 5). */
CM_CHECK enum cm_rc mq_put_subscribe(
	struct cm_buf *out, bool v5, uint16_t id, const char *filter, bool no_retained);
CM_CHECK enum cm_rc mq_put_puback(struct cm_buf *out, uint16_t id);
CM_CHECK enum cm_rc mq_put_pingreq(struct cm_buf *out);
CM_CHECK enum cm_rc mq_put_disconnect(struct cm_buf *out);

enum mq_kind { MQ_CONNACK, MQ_SUBACK, MQ_PUBLISH, MQ_PINGRESP, MQ_DISCONNECT };

/* One packet of the broker.  Borrowed members are valid until the callback returns. */
struct mq_got {
	enum mq_kind kind;
	uint8_t reason; /* in CONNACK, SUBACK and DISCONNECT, as MQTT encodes it */
	/* CONNACK: the keepalive that the broker wants instead of ours; 0: it accepts ours */
	uint16_t keepalive_s;
	/* PUBLISH: */
	uint16_t id; /* id to acknowledge; 0 with QoS 0 */
	bool retained;
	const char *topic; /* never empty */
	const uint8_t *payload;
	size_t len; /* a payload longer than payload_max is not kept, and `payload` is then NULL */
};

struct mq_reader {
	bool v5;
	size_t payload_max;
	struct cm_buf in; /* bytes of a packet that is not complete; wiped */
	uint64_t skip;    /* bytes still to come of a payload that is too long */
};

void mq_reader_init(struct mq_reader *r, bool v5, size_t payload_max);
void mq_reader_fini(struct mq_reader *r);
/* Take the broker's next bytes, and call on_packet for each packet that is complete, and for each PUBLISH
 * that has begun and has a payload that is too long.  If on_packet returns false, the rest is ignored.
 * Holds at most payload_max and some 200 KiB.  CM_EPROTO: these bytes are not MQTT; CM_EINTERNAL: out of
 * memory. */
CM_CHECK enum cm_rc mq_reader_feed(struct mq_reader *r, const uint8_t *bytes, size_t n,
	bool (*on_packet)(void *user, const struct mq_got *got), void *user, struct cm_err *err);
