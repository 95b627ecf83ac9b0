/* sh_quota.c - limits what one certificate may use of the shuffler. */
#include "sh_quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

#define CHAINS 256u /* hash chains, chosen by the first byte of the key's hash, which is uniform */

struct sh_holder {
	struct sh_holder *next;
	uint8_t key_hash[32];
	unsigned connections;
	int64_t milli;    /* thousandths of frames in the bucket */
	int64_t as_of_ms; /* the time for which `milli` is correct */
	size_t waiting;
};

struct sh_quota {
	struct sh_quota_conf conf;
	struct sh_holder *chain[CHAINS];
};

struct sh_quota *sh_quota_new(const struct sh_quota_conf *conf)
{
	struct sh_quota *q = calloc(1, sizeof *q);

	if (q)
		q->conf = *conf;
	return q;
}

void sh_quota_free(struct sh_quota *q)
{
	struct sh_holder *next;

	if (!q)
		return;
	for (size_t i = 0; i < CHAINS; i++)
		for (struct sh_holder *h = q->chain[i]; h; h = next) {
			next = h->next;
			assert(h->connections == 0);
			free(h);
		}
	free(q);
}

static int64_t full(const struct sh_quota *q)
{
	return (int64_t)q->conf.frames_per_second * 1000 * SH_QUOTA_BURST_S;
}

/* n frames per second are n thousandths of a frame per millisecond. */
static void fill(const struct sh_quota *q, struct sh_holder *h, int64_t now_ms)
{
	int64_t ms = now_ms - h->as_of_ms, rate = q->conf.frames_per_second, most = full(q);

	if (ms <= 0)
		return;
	h->as_of_ms = now_ms;
	h->milli = ms >= (most - h->milli) / rate ? most : h->milli + ms * rate;
}

/* Free holders without connections whose bucket is full, since a new holder would be the same. */
static void sweep(struct sh_quota *q, uint8_t chain, int64_t now_ms)
{
	for (struct sh_holder **at = &q->chain[chain], *h; (h = *at);) {
		if (h->connections == 0)
			fill(q, h, now_ms);
		if (h->connections == 0 && h->milli == full(q)) {
			*at = h->next;
			free(h);
		} else {
			at = &h->next;
		}
	}
}

struct sh_holder *sh_quota_join(struct sh_quota *q, const uint8_t key_hash[32], int64_t now_ms)
{
	struct sh_holder **first = &q->chain[key_hash[0]], *h;

	sweep(q, key_hash[0], now_ms);
	for (h = *first; h && memcmp(h->key_hash, key_hash, sizeof h->key_hash) != 0;)
		h = h->next;
	if (!h) {
		h = calloc(1, sizeof *h);
		if (!h)
			return NULL;
		memcpy(h->key_hash, key_hash, sizeof h->key_hash);
		h->milli = full(q);
		h->as_of_ms = now_ms;
		h->next = *first;
		*first = h;
	}
	h->connections++;
	return h;
}

void sh_quota_leave(struct sh_quota *q, struct sh_holder *h, int64_t now_ms)
{
	assert(h->connections > 0);
	h->connections--;
	sweep(q, h->key_hash[0], now_ms);
}

void sh_quota_take(struct sh_quota *q, struct sh_holder *h, uint32_t frames, int64_t now_ms)
{
	fill(q, h, now_ms);
	/* The debt is limited to one burst, so that frames read at once do not block the certificate for
	 * long. */
	h->milli -= (int64_t)frames * 1000;
	if (h->milli < -full(q))
		h->milli = -full(q);
}

void sh_quota_hold(struct sh_holder *h, size_t bytes)
{
	h->waiting += bytes;
}

void sh_quota_free_bytes(struct sh_holder *h, size_t bytes)
{
	assert(h->waiting >= bytes);
	h->waiting -= bytes;
}

int64_t sh_quota_wait_ms(struct sh_quota *q, struct sh_holder *h, int64_t now_ms)
{
	int64_t rate = q->conf.frames_per_second;

	fill(q, h, now_ms);
	if (CM_CHECKED("shuffler.rate") && h->milli < 0)
		return (-h->milli + rate - 1) / rate;
	return CM_CHECKED("shuffler.waiting") && h->waiting >= q->conf.waiting_bytes ? -1 : 0;
}

bool sh_quota_is_junk(unsigned refused_in_a_row)
{
	return CM_CHECKED("shuffler.junk") && refused_in_a_row >= SH_QUOTA_JUNK;
}
