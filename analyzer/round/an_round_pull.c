/* an_round_pull.c - fetches a released batch bucket by bucket: while one arrives, the one before it is
 * compared with its root in the manifest, and opened. */
#include <stdio.h>

#include "an_round_private.h"

void an_spoil(struct an_round *r, uint32_t bucket, const char *what)
{
	(void)snprintf(r->spoiled, sizeof r->spoiled,
		"round %u: bucket %u is not the one in the shuffler's manifest: %s; the batch is not used, "
		"the charge stays",
		r->conf.round->plan->number, bucket, what);
}

/* Swap the buffers: the full one goes to the opening threads, the empty one receives the next bucket. */
static void hand_over(struct an_round *r)
{
	struct cm_buf full = r->arriving;

	r->arriving = r->opening;
	r->arriving.len = 0;
	r->opening = full;
	r->opening_bucket = r->bucket;
	r->busy = r->want_open = true;
}

enum cm_rc an_next_bucket(struct an_round *r, struct cm_err *err)
{
	size_t len = rd_sealed_len(&r->conf.round->descriptor);

	r->step = AN_AT_LOCAL;
	while (r->spoiled[0] == '\0' && r->bucket < r->manifest.buckets) {
		size_t want = r->manifest.bucket[r->bucket].messages * len;

		if (r->arriving.len < want) {
			if (!cm_buf_room(&r->arriving, want - r->arriving.len))
				return cm_fail(err, CM_EINTERNAL, "out of memory");
			return an_ask(r, AN_AT_SEGMENT, err);
		}
		r->bucket_whole = true;
		if (want > 0 && r->busy)
			return CM_OK;
		if (want > 0)
			hand_over(r);
		r->bucket++;
		r->bucket_whole = false;
	}
	if (!r->busy) {
		r->all_opened = true;
		r->want_publish = true;
	}
	return CM_OK;
}

enum cm_rc an_take_segment(struct an_round *r, const Tombola__V1__Segment *s, struct cm_err *err)
{
	size_t len = rd_sealed_len(&r->conf.round->descriptor);
	size_t want = r->manifest.bucket[r->bucket].messages * len;

	if (s->bucket != r->bucket || s->offset != r->arriving.len / len)
		return cm_fail(err, CM_EPROTO, "round %u: bucket %u: another part came than was asked for",
			r->conf.round->plan->number, r->bucket);
	if (s->sealed.len == 0)
		an_spoil(r, r->bucket, "it has fewer messages");
	else if (s->sealed.len % len != 0 || s->sealed.len > want - r->arriving.len)
		an_spoil(r, r->bucket, "it has more messages, or a part of one");
	else if (cm_buf_put(&r->arriving, s->sealed.data, s->sealed.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return an_next_bucket(r, err);
}
