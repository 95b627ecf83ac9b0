/* mq_packet.h - the packets of MQTT 5 and 3.1.1 that a subscriber sends and gets, as bytes.  No I/O, no
 * clock.
 *
 * A broker keeps what it has not sent to us yet in a queue with a bound, and drops what comes beyond: whose
 * messages those are does not matter to it.  So a subscriber must take messages faster than any one device
 * can publish them, and let the broker send as many as it likes before they are acknowledged.  No length and
 * no property of a message ends the connection: they are one device's, and the connection is everybody's. */
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

/* Each of these appends one packet to `out`.  CM_EDATA when it has no room, CM_EINTERNAL out of memory. */

/* A session that begins now and ends with the connection, so that the broker sends nothing that it kept from
 * before. */
CM_CHECK enum cm_rc mq_put_connect(struct cm_buf *out, const struct mq_connect *c);
/* A subscription of QoS 1.  no_retained: that the broker shall not send what it retains (MQTT 5 alone). */
CM_CHECK enum cm_rc mq_put_subscribe(
	struct cm_buf *out, bool v5, uint16_t id, const char *filter, bool no_retained);
CM_CHECK enum cm_rc mq_put_puback(struct cm_buf *out, uint16_t id);
CM_CHECK enum cm_rc mq_put_pingreq(struct cm_buf *out);
CM_CHECK enum cm_rc mq_put_disconnect(struct cm_buf *out);

enum mq_kind { MQ_CONNACK, MQ_SUBACK, MQ_PUBLISH, MQ_PINGRESP, MQ_DISCONNECT };

/* One packet of the broker's.  What is borrowed is valid until the callback returns. */
struct mq_got {
	enum mq_kind kind;
	uint8_t reason;       /* of CONNACK, SUBACK and DISCONNECT, as MQTT encodes it */
	uint16_t keepalive_s; /* CONNACK: what the broker wants in place of ours; 0: ours */
	/* PUBLISH: */
	uint16_t id; /* to acknowledge; 0 with QoS 0 */
	bool retained;
	const char *topic; /* no empty text */
	const uint8_t *payload;
	size_t len; /* a payload longer than payload_max is not kept: then `payload` is NULL */
};

struct mq_reader {
	bool v5;
	size_t payload_max;
	struct cm_buf in; /* the packet that has begun; wiped */
	uint64_t skip;    /* bytes still to come of a payload that is too long */
};

void mq_reader_init(struct mq_reader *r, bool v5, size_t payload_max);
void mq_reader_fini(struct mq_reader *r);
/* Take the broker's next bytes, and call on_packet for each packet that has ended, or that has begun and is a
 * PUBLISH whose payload is too long.  on_packet returns false to have the rest ignored.  At most payload_max
 * and some 200 KiB are held.  CM_EPROTO: these bytes are not MQTT; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc mq_reader_feed(struct mq_reader *r, const uint8_t *bytes, size_t n,
	bool (*on_packet)(void *user, const struct mq_got *got), void *user, struct cm_err *err);
