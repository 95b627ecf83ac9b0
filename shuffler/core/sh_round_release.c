/* sh_round_release.c - a round after its seal: released bucket by bucket, some read ahead, and erased. */
#include <assert.h>

#include "sh_round_private.h"

/* ---- Buckets in memory ---- */

void sh_segments_init(struct sh_round *r)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		cm_buf_init(&r->segment[i].bytes, SIZE_MAX / 4);
		r->segment[i].bytes.secret = 1;
	}
}

void sh_segments_fini(struct sh_round *r)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		cm_buf_fini(&r->segment[i].bytes);
		r->segment[i].filled = false;
	}
}

static struct sh_segment *segment_of(struct sh_round *r, uint32_t bucket)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++)
		if (r->segment[i].filled && r->segment[i].bucket == bucket)
			return &r->segment[i];
	return NULL;
}

static bool is_near(const struct sh_round *r, uint32_t bucket)
{
	return bucket >= r->pulled && bucket - r->pulled < SH_SEGMENTS;
}

/* One that holds none of the buckets near the one that is pulled: there are as many of these as segments. */
static struct sh_segment *segment_to_fill(struct sh_round *r)
{
	struct sh_segment *s = r->segment;

	while (s->filled && is_near(r, s->bucket))
		s++;
	assert(s < r->segment + SH_SEGMENTS);
	return s;
}

/* What was pulled, or is not near any more, is wiped and given back before another bucket comes. */
static void drop_far(struct sh_round *r)
{
	for (size_t i = 0; i < SH_SEGMENTS; i++) {
		struct sh_segment *s = &r->segment[i];
		if (s->filled && !is_near(r, s->bucket)) {
			cm_buf_fini(&s->bytes);
			s->filled = false;
		}
	}
}

struct sh_segment *sh_round_wanted(struct sh_round *r)
{
	size_t ahead = 0;

	if (r->state != SH_RELEASING || !r->is_pulled || r->damage.code != CM_OK)
		return NULL;
	drop_far(r);
	for (uint32_t b = r->pulled; b < r->vault.buckets && is_near(r, b); b++) {
		const struct sh_segment *there = segment_of(r, b);
		if (there && b > r->pulled)
			ahead += there->bytes.len;
		if (there)
			continue;
		if (b > r->pulled + 1 && ahead >= r->env->ahead_bytes)
			return NULL;
		struct sh_segment *s = segment_to_fill(r);
		s->bucket = b;
		return s;
	}
	return NULL;
}

enum cm_rc sh_round_read(struct sh_round *r, struct sh_segment *s, struct cm_err *err)
{
	enum cm_rc rc = sh_vault_release(&r->vault, s->bucket, &s->bytes, err);

	if (rc == CM_OK)
		sh_route_strip(r, &s->bytes);
	return rc;
}

/* ---- Release ---- */

enum cm_rc sh_round_release(struct sh_round *r, const uint8_t *charge, size_t len, struct cm_err *err)
{
	assert(r->state == SH_SEALED);
	r->charge.len = 0;
	enum cm_rc rc = cm_buf_put(&r->charge, charge, len);
	if (rc != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = sh_round_put(r, SH_RELEASING, err);
	if (rc == CM_OK)
		r->state = SH_RELEASING;
	return rc;
}

enum cm_rc sh_round_pull(struct sh_round *r, uint32_t bucket, uint64_t offset, size_t max,
	struct cr_span *out, struct sh_refusal *no)
{
	size_t len = rd_sealed_len(&r->d);

	if (r->state != SH_RELEASING)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"nothing is released before the charge");
	if (bucket >= r->vault.buckets)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "bucket %u of %u", bucket,
			r->vault.buckets);
	r->is_pulled = true;
	r->pulled = bucket;
	const struct sh_segment *s = segment_of(r, bucket);
	if (!s)
		return CM_EMORE;
	if (offset > s->bytes.len / len)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"bucket %u has %zu messages, offset %llu", bucket, s->bytes.len / len,
			(unsigned long long)offset);
	size_t start = (size_t)offset * len, left = s->bytes.len - start, most = max / len * len;
	*out = (struct cr_span){ s->bytes.data ? s->bytes.data + start : NULL, left < most ? left : most };
	return CM_OK;
}

/* ---- The end ---- */

enum cm_rc sh_round_over(struct sh_round *r, enum sh_state final, struct cm_err *err)
{
	enum cm_rc rc = sh_round_put(r, final, err);

	if (rc != CM_OK)
		return rc;
	uint64_t participants = r->intake.participants;
	sh_intake_fini(&r->intake);
	sh_route_fini(&r->route);
	sh_noise_forget(r);
	sh_spread_fini(&r->spread);
	r->intake.participants = participants; /* the manifest states it; it outlives the tags */
	rc = sh_vault_destroy_key(r->env->key_dir, r->d.round_id, err);
	if (rc == CM_OK)
		r->state = final;
	return rc;
}

void sh_round_forget(struct sh_round *r)
{
	sh_segments_fini(r);
	sh_vault_forget(&r->vault);
}

enum cm_rc sh_round_erase(struct sh_round *r, struct cm_err *err)
{
	return sh_vault_erase(&r->vault, err);
}
