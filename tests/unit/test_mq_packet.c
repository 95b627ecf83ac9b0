/* test_mq_packet.c - a subscriber's packets, byte by byte as MQTT 5 and 3.1.1 write them, and the broker's
 * out of a stream that is cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mq_packet.h"

static struct cm_err err;
static struct cm_buf out;

static void expect(const char *hex, enum cm_rc rc)
{
	char got[512];

	assert_int_equal(rc, CM_OK);
	assert_in_range(out.len, 1, 255);
	cm_hex(out.data, out.len, got);
	assert_string_equal(got, hex);
	cm_buf_fini(&out);
}

static void what_a_subscriber_sends(void **state)
{
	struct mq_connect c = { .v5 = true, .keepalive_s = 60 };

	(void)state;
	cm_buf_init(&out, 1000);
	/* Clean start; Receive Maximum 65535, so that the broker's own limit of 20 does not hold. */
	expect("101000044d51545405"
	       "02"
	       "003c"
	       "03"
	       "21ffff"
	       "0000",
		mq_put_connect(&out, &c));
	c = (struct mq_connect){ .keepalive_s = 5, .client_id = "ab", .username = "u", .password = "pw" };
	expect("101500044d51545404"
	       "c2"
	       "0005"
	       "00026162"
	       "000175"
	       "00027077",
		mq_put_connect(&out, &c));
	expect("8209000100"
	       "0003612f2b"
	       "21",
		mq_put_subscribe(&out, true, 1, "a/+", true));
	expect("8209000200"
	       "0003612f2b"
	       "01",
		mq_put_subscribe(&out, true, 2, "a/+", false));
	expect("82080003"
	       "0003612f2b"
	       "01",
		mq_put_subscribe(&out, false, 3, "a/+", true));
	expect("40021234", mq_put_puback(&out, 0x1234));
	expect("c000", mq_put_pingreq(&out));
	expect("e000", mq_put_disconnect(&out));
}

/* ---- the broker's ---- */

static char said[400];

static bool on_packet(void *user, const struct mq_got *got)
{
	char one[100];

	(void)user;
	if (got->kind != MQ_PUBLISH)
		(void)snprintf(one, sizeof one, "[%d reason %d id %d keep %d]", got->kind, got->reason,
			got->id, got->keepalive_s);
	else if (got->payload)
		(void)snprintf(one, sizeof one, "[%.10s=%.*s id %d%s]", got->topic, (int)got->len,
			(const char *)got->payload, got->id, got->retained ? " retained" : "");
	else
		(void)snprintf(one, sizeof one, "[%.10s too long %zu id %d]", got->topic, got->len, got->id);
	(void)strncat(said, one, sizeof said - strlen(said) - 1);
	return !strstr(one, "stop");
}

static enum cm_rc feed(bool v5, const char *bytes, size_t n, size_t step)
{
	enum cm_rc rc = CM_OK;
	struct mq_reader r;

	said[0] = '\0';
	mq_reader_init(&r, v5, 8);
	for (size_t at = 0; rc == CM_OK && at < n; at += step)
		rc = mq_reader_feed(&r, (const uint8_t *)bytes + at, n - at < step ? n - at : step, on_packet,
			NULL, &err);
	mq_reader_fini(&r);
	return rc;
}

/* The packets are the same however the stream is cut. */
#define READS(v5, bytes, text)                                                     \
	for (size_t step = 1; step <= sizeof(bytes); step++) {                     \
		assert_int_equal(feed(v5, bytes, sizeof(bytes) - 1, step), CM_OK); \
		assert_string_equal(said, text);                                   \
	}
#define REFUSES(v5, bytes) assert_int_equal(feed(v5, bytes, sizeof(bytes) - 1, 1), CM_EPROTO)

static void what_a_broker_sends(void **state)
{
	(void)state;
	READS(false,
		"\x20\x02\0\0"
		"\x90\x03\0\x01\x80"
		"\xd0\0",
		"[0 reason 0 id 0 keep 0][1 reason 128 id 1 keep 0][3 reason 0 id 0 keep 0]");
	/* Receive Maximum, an assigned identifier and Server Keep Alive; a reason's text. */
	READS(true,
		"\x20\x0f\0\x87\x0c\x21\0\x14\x12\0\x03"
		"abc\x13\0\x1e"
		"\x90\x08\0\x02\x04\x1f\0\x01x\x01"
		"\xe0\x01\x8e",
		"[0 reason 135 id 0 keep 30][1 reason 1 id 2 keep 0][4 reason 142 id 0 keep 0]");
	READS(false,
		"\x30\x06\0\x03"
		"a/bv"
		"\x33\x08\0\x03"
		"a/b\0\x07v"
		"\x30\x03\0\x01t",
		"[a/b=v id 0][a/b=v id 7 retained][t= id 0]");
	/* Properties belong to the device, and end nothing: a user property, and one that does not exist. */
	READS(true,
		"\x32\x0f\0\x01t\0\x05\x07\x26\0\x01k\0\x01w"
		"12"
		"\x32\x09\0\x01t\0\x06\x02\x7f\xff"
		"3",
		"[t=12 id 5][t=3 id 6]");
}

static void a_payload_that_is_too_long_is_passed_over(void **state)
{
	size_t n = 300000;
	char *bytes = calloc(1, n + 30), text[100];
	const size_t steps[] = { 1000, 65536, 400000 };

	(void)state;
	assert_non_null(bytes);
	READS(false,
		"\x30\x0c\0\x01t123456789"
		"\x32\x06\0\x01t\0\x09w",
		"[t too long 9 id 0][t=w id 9]");
	/* A packet longer than the connection holds of one: its topic is read, it is acknowledged, and the
	 * next packet is read. */
	memcpy(bytes, "\x32\xe0\xa7\x12\0\x01t\0\x08", 9); /* 300,000 bytes */
	memcpy(bytes + 4 + n, "\x30\x04\0\x01tx", 6);
	(void)snprintf(text, sizeof text, "[t too long %zu id 8][t=x id 0]", n - 5);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(feed(false, bytes, 4 + n + 6, steps[i]), CM_OK);
		assert_string_equal(said, text);
	}
	free(bytes);
}

static void what_is_not_mqtt_is_refused(void **state)
{
	(void)state;
	REFUSES(false, "\xff\xff\xff\xff\xff\xff"); /* no such packet, and a length of more than four bytes */
	REFUSES(false, "\x20\xff\xff\xff\x7f");     /* only a message is long */
	REFUSES(false, "\x20\x01\0");               /* cut short */
	REFUSES(false, "\x30\x02\0\0");             /* no topic */
	REFUSES(false, "\x30\x04\0\x09hu");         /* a topic longer than its packet */
	REFUSES(false, "\x30\x05\0\x03"
		       "a\0b");                  /* a NUL in a topic */
	REFUSES(false, "\x32\x05\0\x01t\0\0");   /* nothing to acknowledge */
	REFUSES(false, "\x34\x05\0\x01t\0\x01"); /* QoS 2, which we do not ask for */
	REFUSES(true, "\x30\x05\0\x01t\x09x");   /* properties longer than their packet */
	REFUSES(false, "\xe0\0");                /* 3.1.1 has no such packet */
	REFUSES(false, "\x40\x02\0\x01");        /* an answer to a packet that we did not send */
	/* The bytes that follow are left alone when the owner says so. */
	assert_int_equal(feed(false,
				 "\x30\x07\0\x04stop1"
				 "\xff",
				 10, 10),
		CM_OK);
	assert_string_equal(said, "[stop=1 id 0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_subscriber_sends),
		cmocka_unit_test(what_a_broker_sends),
		cmocka_unit_test(a_payload_that_is_too_long_is_passed_over),
		cmocka_unit_test(what_is_not_mqtt_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
