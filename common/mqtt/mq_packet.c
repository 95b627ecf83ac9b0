/* mq_packet.c - writes a subscriber's packets, and reads the broker's out of a stream of bytes. */
#include "mq_packet.h"

#include <string.h>

#include "cr_secret.h"

/* The first byte of a packet: its type and flags. */
enum {
	CONNECT = 0x10,
	CONNACK = 0x20,
	PUBLISH = 0x30,
	PUBACK = 0x40,
	SUBSCRIBE = 0x82,
	SUBACK = 0x90,
	PINGREQ = 0xc0,
	PINGRESP = 0xd0,
	DISCONNECT = 0xe0
};

#define TEXT_MAX 65535u /* most bytes of a text */
/* Most bytes of a packet without its payload: the topic, the properties, and room to spare. */
#define BESIDE_MAX (2u * TEXT_MAX + 1024u)

/* ---- writing ---- */

static void put_byte(struct cm_buf *b, uint8_t v, enum cm_rc *rc)
{
	if (*rc == CM_OK)
		*rc = cm_buf_put(b, &v, 1);
}

static void put_short(struct cm_buf *b, uint16_t v, enum cm_rc *rc)
{
	put_byte(b, (uint8_t)(v >> 8), rc);
	put_byte(b, (uint8_t)v, rc);
}

static void put_text(struct cm_buf *b, const char *text, enum cm_rc *rc)
{
	size_t n = text ? strlen(text) : 0;

	if (*rc == CM_OK && n > TEXT_MAX)
		*rc = CM_EDATA;
	put_short(b, (uint16_t)n, rc);
	if (*rc == CM_OK && n > 0)
		*rc = cm_buf_put(b, text, n);
}

/* Append a packet with this body if rc is CM_OK, and free the body in any case. */
static enum cm_rc put_packet(struct cm_buf *out, uint8_t first, struct cm_buf *body, enum cm_rc rc)
{
	struct cm_buf packet;
	size_t left = body->len;

	cm_buf_init(&packet, MQ_OUT_MAX);
	packet.secret = 1;
	put_byte(&packet, first, &rc);
	do {
		put_byte(&packet, (uint8_t)(left % 128 | (left >= 128 ? 128 : 0)), &rc);
		left /= 128;
	} while (left > 0);
	if (rc == CM_OK && body->len > 0)
		rc = cm_buf_put(&packet, body->data, body->len);
	if (rc == CM_OK)
		rc = cm_buf_put(out, packet.data, packet.len);
	cm_buf_fini(&packet);
	cm_buf_fini(body);
	return rc;
}

static struct cm_buf body_of(uint32_t max)
{
	struct cm_buf body;

	cm_buf_init(&body, max);
	body.secret = 1;
	return body;
}

enum cm_rc mq_put_connect(struct cm_buf *out, const struct mq_connect *c)
{
	const bool user = c->username != NULL, word = user && c->password;
	struct cm_buf body = body_of(4 * TEXT_MAX);
	enum cm_rc rc = CM_OK;

	put_text(&body, "MQTT", &rc);
	put_byte(&body, c->v5 ? 5 : 4, &rc);
	/* bit 2: clean start */
	put_byte(&body, (uint8_t)(0x02 | (user ? 0x80 : 0) | (word ? 0x40 : 0)), &rc);
	put_short(&body, c->keepalive_s, &rc);
	if (c->v5) {
		/* The property Receive Maximum.  If it is left out, mosquitto takes its own limit, 20. */
		put_byte(&body, 3, &rc);
		put_byte(&body, 0x21, &rc);
		put_short(&body, MQ_RECEIVE_MAX, &rc);
	}
	put_text(&body, c->client_id, &rc);
	if (user)
		put_text(&body, c->username, &rc);
	if (word)
		put_text(&body, c->password, &rc);
	return put_packet(out, CONNECT, &body, rc);
}

enum cm_rc mq_put_subscribe(struct cm_buf *out, bool v5, uint16_t id, const char *filter, bool no_retained)
{
	struct cm_buf body = body_of(2 * TEXT_MAX);
	enum cm_rc rc = CM_OK;

	put_short(&body, id, &rc);
	if (v5)
		put_byte(&body, 0, &rc); /* no properties */
	put_text(&body, filter, &rc);
	put_byte(&body, v5 && no_retained ? 0x21 : 0x01, &rc);
	return put_packet(out, SUBSCRIBE, &body, rc);
}

enum cm_rc mq_put_puback(struct cm_buf *out, uint16_t id)
{
	const uint8_t packet[] = { PUBACK, 2, (uint8_t)(id >> 8), (uint8_t)id };

	return cm_buf_put(out, packet, sizeof packet);
}

enum cm_rc mq_put_pingreq(struct cm_buf *out)
{
	return cm_buf_put(out, (const uint8_t[]){ PINGREQ, 0 }, 2);
}

enum cm_rc mq_put_disconnect(struct cm_buf *out)
{
	return cm_buf_put(out, (const uint8_t[]){ DISCONNECT, 0 }, 2);
}

/* ---- reading ---- */

/* The unread part of a packet. */
struct rest {
	uint8_t *at;
	size_t n;
	bool bad; /* a function wanted more bytes than were left */
};

static uint8_t *take(struct rest *r, size_t n)
{
	uint8_t *at = r->at;

	if (r->bad || n > r->n) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	r->n -= n;
	return at;
}

static uint8_t take_byte(struct rest *r)
{
	const uint8_t *at = take(r, 1);

	return at ? *at : 0;
}

static uint16_t take_short(struct rest *r)
{
	const uint8_t *at = take(r, 2);

	return (uint16_t)(at ? at[0] << 8 | at[1] : 0);
}

/* Read a length of up to four bytes, 7 bits each. */
static uint32_t take_length(struct rest *r)
{
	uint32_t v = 0;
	uint8_t b = 128;

	for (unsigned i = 0; i < 4 && (b & 128) != 0; i++) {
		b = take_byte(r);
		v |= (uint32_t)(b & 127) << 7 * i;
	}
	r->bad |= (b & 128) != 0;
	return v;
}

/* Take the properties of a packet, as an unread part of their own. */
static struct rest take_properties(struct rest *r)
{
	uint32_t n = take_length(r);
	uint8_t *at = take(r, n);

	return (struct rest){ at, at ? n : 0, at == NULL };
}

/* Find Server Keep Alive among the properties of a CONNACK; 0 if it is absent. */
static uint16_t keepalive_of(struct rest p)
{
	while (p.n > 0 && !p.bad) {
		switch (take_byte(&p)) {
		case 0x13:
			return take_short(&p);
		case 0x24: /* one byte: Maximum QoS, Retain, Wildcard, Identifiers, Shared */
		case 0x25:
		case 0x28:
		case 0x29:
		case 0x2a:
			(void)take(&p, 1);
			break;
		case 0x21: /* two bytes: Receive Maximum, Topic Alias Maximum */
		case 0x22:
			(void)take(&p, 2);
			break;
		case 0x11: /* four bytes: Session Expiry, Maximum Packet Size */
		case 0x27:
			(void)take(&p, 4);
			break;
		case 0x26: /* User Property: two texts */
			(void)take(&p, take_short(&p));
			(void)take(&p, take_short(&p));
			break;
		default: /* a text: Assigned Client Identifier and others */
			(void)take(&p, take_short(&p));
		}
	}
	return 0;
}

/* Take the topic.  It is moved one byte back, over the second byte of its length, which makes room for a
 * NUL at its end.  NULL: the bytes are not a valid topic. */
static const char *take_topic(struct rest *r)
{
	uint16_t n = take_short(r);
	uint8_t *at = take(r, n);

	if (!at || n == 0 || memchr(at, '\0', n))
		return NULL;
	memmove(at - 1, at, n);
	at[n - 1] = '\0';
	return (const char *)at - 1;
}

/* Read a PUBLISH of which `whole` bytes follow its head.  r may have only some of them: then the payload is
 * too long, and the properties count as part of it. */
static bool read_publish(
	const struct mq_reader *reader, uint8_t first, struct rest r, size_t whole, struct mq_got *got)
{
	unsigned qos = (unsigned)first >> 1 & 3;
	size_t have = r.n;
	bool cut = whole > have;

	*got = (struct mq_got){ .kind = MQ_PUBLISH, .retained = (first & 1) != 0, .topic = take_topic(&r) };
	if (qos > 0)
		got->id = take_short(&r);
	if (reader->v5 && !cut)
		(void)take_properties(&r);
	got->len = whole - (have - r.n);
	got->payload = cut || got->len > reader->payload_max ? NULL : r.at;
	/* We subscribe with QoS 1, so nothing has a higher QoS. */
	return got->topic && !r.bad && qos < 2 && (qos == 0) == (got->id == 0);
}

static bool read_other(const struct mq_reader *reader, uint8_t first, struct rest r, struct mq_got *got)
{
	*got = (struct mq_got){ 0 };
	switch (first) {
	case CONNACK:
		got->kind = MQ_CONNACK;
		(void)take_byte(&r);
		got->reason = take_byte(&r);
		if (reader->v5 && r.n > 0)
			got->keepalive_s = keepalive_of(take_properties(&r));
		break;
	case SUBACK:
		got->kind = MQ_SUBACK;
		got->id = take_short(&r);
		if (reader->v5)
			(void)take_properties(&r);
		got->reason = take_byte(&r);
		break;
	case PINGRESP:
		got->kind = MQ_PINGRESP;
		break;
	case DISCONNECT:
		got->kind = MQ_DISCONNECT;
		got->reason = r.n > 0 ? take_byte(&r) : 0;
		return reader->v5;
	default:
		return false;
	}
	return !r.bad;
}

void mq_reader_init(struct mq_reader *r, bool v5, size_t payload_max)
{
	*r = (struct mq_reader){ .v5 = v5, .payload_max = payload_max };
	cm_buf_init(&r->in, payload_max + (size_t)2 * BESIDE_MAX);
	r->in.secret = 1;
}

void mq_reader_fini(struct mq_reader *r)
{
	cm_buf_fini(&r->in);
}

/* Read the packet at the beginning of `in`.  *used is the number of its bytes; 0 if it is not complete. */
static bool read_packet(struct mq_reader *r, uint8_t *in, size_t n, size_t *used, struct mq_got *got)
{
	struct rest head = { in, n < 5 ? n : 5, false };
	uint8_t first = take_byte(&head);
	uint32_t left = take_length(&head);
	size_t at = (size_t)(head.at - in), have = n - at;

	*used = 0;
	if (head.bad)
		return n < 5; /* a length may have four bytes */
	if (left > r->payload_max + BESIDE_MAX) {
		if ((first & 0xf0) != PUBLISH)
			return false;
		/* Wait until the topic has come, and the id with which we acknowledge the message. */
		if (have < TEXT_MAX + 4)
			return true;
		r->skip = left - have;
		*used = n;
		return read_publish(r, first, (struct rest){ in + at, have, false }, left, got);
	}
	if (have < left)
		return true;
	*used = at + left;
	return (first & 0xf0) == PUBLISH
		       ? read_publish(r, first, (struct rest){ in + at, left, false }, left, got)
		       : read_other(r, first, (struct rest){ in + at, left, false }, got);
}

/* Keep what follows the first `used` bytes, and wipe the place where they were. */
static void drop(struct cm_buf *in, size_t used)
{
	size_t was = in->len;

	cm_buf_drop(in, used);
	if (used > 0)
		cr_wipe(in->data + in->len, was - in->len);
}

static enum cm_rc read_all(struct mq_reader *r, bool (*on_packet)(void *user, const struct mq_got *got),
	void *user, bool *go_on, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t at = 0, used = 1;
	struct mq_got got;

	while (rc == CM_OK && *go_on && used > 0 && at < r->in.len) {
		if (!read_packet(r, r->in.data + at, r->in.len - at, &used, &got))
			rc = cm_fail(err, CM_EPROTO, "what the broker sends is not MQTT");
		else if (used > 0)
			*go_on = on_packet(user, &got);
		at += used;
	}
	drop(&r->in, rc == CM_OK ? at : r->in.len);
	return rc;
}

enum cm_rc mq_reader_feed(struct mq_reader *r, const uint8_t *bytes, size_t n,
	bool (*on_packet)(void *user, const struct mq_got *got), void *user, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	bool go_on = true;

	while (n > 0 && rc == CM_OK && go_on) {
		size_t skip = r->skip < n ? (size_t)r->skip : n, part = n - skip;

		r->skip -= skip;
		part = part < TEXT_MAX ? part : TEXT_MAX;
		bytes += skip;
		n -= skip;
		if (part > 0 && cm_buf_put(&r->in, bytes, part) != CM_OK)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		bytes += part;
		n -= part;
		rc = part > 0 ? read_all(r, on_packet, user, &go_on, err) : CM_OK;
	}
	return rc;
}
