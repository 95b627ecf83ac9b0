/* fuzz_mq_packet.c - what a broker sends: version and step (a byte each), then the stream.  No crash; cut
 * anywhere it says the same. */
#include <stdlib.h>
#include <string.h>

#include "mq_packet.h"

struct seen {
	uint64_t sum;
	size_t n;
};

static bool on_packet(void *user, const struct mq_got *got)
{
	struct seen *s = user;

	s->n++;
	s->sum = s->sum * 31 + (uint64_t)got->kind + got->reason + got->id + got->len;
	if (got->kind == MQ_PUBLISH)
		s->sum +=
			strlen(got->topic) + (got->payload && got->len > 0 ? got->payload[got->len - 1] : 0);
	return true;
}

static enum cm_rc feed(bool v5, const uint8_t *data, size_t size, size_t step, struct seen *s)
{
	enum cm_rc rc = CM_OK;
	struct mq_reader r;
	struct cm_err err;

	mq_reader_init(&r, v5, 64);
	for (size_t at = 0; rc == CM_OK && at < size; at += step)
		rc = mq_reader_feed(&r, data + at, size - at < step ? size - at : step, on_packet, s, &err);
	mq_reader_fini(&r);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { 0, 0 }, cut = { 0, 0 };

	if (size < 3)
		return 0;
	if (feed(data[0] & 1, data + 2, size - 2, size, &whole) !=
			feed(data[0] & 1, data + 2, size - 2, data[1] + 1U, &cut) ||
		whole.n != cut.n || whole.sum != cut.sum)
		abort();
	return 0;
}
