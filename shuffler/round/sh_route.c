/* sh_route.c - prepares a round by the tags of its messages, before the shuffler adds its own messages and
 * seals. */
#include "sh_route.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"
#include "sh_round.h"

void sh_route_fini(struct sh_route *t)
{
	if (t->count)
		cr_wipe(t->count, t->tags * sizeof *t->count);
	if (t->ahead)
		cr_wipe(t->ahead, t->tags * sizeof *t->ahead);
	free(t->count);
	free(t->ahead);
	*t = (struct sh_route){ 0 };
}

bool sh_route_enough(const struct sh_round *r)
{
	return !CM_CHECKED("shuffler.min_reports") ||
	       (r->intake.participants >= r->d.min_reports && r->route.lacking == 0);
}

bool sh_route_next(const struct sh_round *r)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	const struct sh_route *t = &r->route;

	if (r->state != SH_COLLECTING || r->cancelled || !sh_route_enough(r))
		return false;
	if (p->shuffler.noise_mean > 0)
		return !r->noise;
	if (p->shuffler.tag_messages == 0 && p->shuffler.tag_least[0] == 0)
		return false;
	if (!t->count)
		return true;
	return p->shuffler.tag_messages > 0 && t->capped < r->vault.buckets &&
	       (t->over || r->d.randomizer.row->routes_by_value);
}

/* ---- Counting ---- */

static enum cm_rc count_bucket(struct sh_round *r, uint32_t bucket, struct cm_buf *stored, struct cm_err *err)
{
	struct sh_route *t = &r->route;

	stored->len = 0;
	enum cm_rc rc = sh_vault_read(&r->vault, bucket, stored, err);
	if (rc != CM_OK)
		return rc;
	for (size_t at = 0; at < stored->len; at += r->vault.message_len) {
		uint32_t tag = cm_get_le16(stored->data + at);
		if (tag >= r->d.randomizer.shuffler.tags) {
			r->vault.foreign = true;
			return cm_fail(err, CM_EDATA, "a stored message has no tag of the round's");
		}
		t->count[tag]++;
		t->ahead[tag] += bucket >= t->capped;
	}
	return CM_OK;
}

/* Set what follows from the counts. */
static enum cm_rc judge(struct sh_round *r, struct cm_err *err)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	struct sh_route *t = &r->route;

	for (uint32_t tag = p->shuffler.tags; tag-- > 0;) {
		if (CM_CHECKED("shuffler.least") && p->shuffler.tag_least[0] > 0 &&
			t->count[tag] < (uint64_t)p->shuffler.tag_least[tag] * r->d.messages_per_client)
			t->lacking = tag + 1;
		if (p->shuffler.tag_messages == 0)
			continue;
		if (t->count[tag] - t->ahead[tag] > p->shuffler.tag_messages)
			return cm_fail(
				err, CM_EDATA, "more messages of a tag were kept than the round releases");
		t->over |= t->count[tag] > p->shuffler.tag_messages;
	}
	return CM_OK;
}

static enum cm_rc count(struct sh_round *r, struct cm_buf *stored, struct cm_err *err)
{
	struct sh_route *t = &r->route;
	enum cm_rc rc = CM_OK;

	t->tags = r->d.randomizer.shuffler.tags;
	t->count = calloc(t->tags, sizeof *t->count);
	t->ahead = calloc(t->tags, sizeof *t->ahead);
	if (!t->count || !t->ahead)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (uint32_t bucket = 0; rc == CM_OK && bucket < r->vault.buckets; bucket++)
		rc = count_bucket(r, bucket, stored, err);
	return rc == CM_OK ? judge(r, err) : rc;
}

/* ---- Capping ---- */

/* Does this message stay?  Of the messages of its tag that are still to come, as many stay as there is room
 * for. */
static bool stays(struct sh_route *t, uint32_t tag, uint64_t most, const struct cr_rng *rng)
{
	uint64_t room = most - (t->count[tag] - t->ahead[tag]);
	bool stay = cr_rng_below(rng, t->ahead[tag]) < room;

	t->ahead[tag]--;
	t->count[tag] -= !stay;
	return stay;
}

/* Put the messages of the next bucket that stay into batch, which is empty. */
static enum cm_rc choose(struct sh_round *r, const struct cr_rng *rng, struct cm_buf *stored,
	struct sh_batch *batch, struct cm_err *err)
{
	size_t len = r->vault.message_len;

	stored->len = batch->sealed.len = 0;
	enum cm_rc rc = sh_vault_read(&r->vault, r->route.capped, stored, err);
	if (rc == CM_OK)
		rc = sh_batch_reserve(batch, 1, stored->len / len, err);
	for (size_t at = 0; rc == CM_OK && at < stored->len; at += len) {
		if (!stays(&r->route, cm_get_le16(stored->data + at), r->d.randomizer.shuffler.tag_messages,
			    rng))
			continue;
		memcpy(batch->sealed.data + batch->sealed.len, stored->data + at, len);
		batch->sealed.len += len;
	}
	return rc;
}

static enum cm_rc cap(struct sh_round *r, const struct cr_rng *rng, struct cm_buf *stored,
	struct sh_batch *batch, struct cm_err *err)
{
	bool always = r->d.randomizer.row->routes_by_value, loses = false, last = false;
	struct sh_count done = { .n = 0 };
	uint32_t bucket = 0;
	enum cm_rc rc = CM_OK;

	sh_vault_capped(&r->vault, done.tag);
	while (rc == CM_OK && !loses && !last) {
		bucket = r->route.capped;
		rc = choose(r, rng, stored, batch, err);
		loses = always || batch->sealed.len < stored->len;
		done.n++;
		last = ++r->route.capped == r->vault.buckets;
	}
	if (rc != CM_OK)
		return rc;
	sh_batch_count(batch, &done);
	if (loses)
		return sh_vault_replace(&r->vault, bucket, batch, rng, err);
	batch->sealed.len = 0;
	return sh_vault_commit(&r->vault, batch, rng, err);
}

enum cm_rc sh_route_step(struct sh_round *r, const struct cr_rng *rng, struct cm_err *err)
{
	struct cm_buf stored;
	struct sh_batch batch;
	enum cm_rc rc;

	if (r->d.randomizer.shuffler.noise_mean > 0)
		return sh_noise_draw(r, err);
	cm_buf_init(&stored, SIZE_MAX / 4);
	stored.secret = 1;
	sh_batch_init(&batch, r->vault.message_len, SIZE_MAX / 4);
	rc = r->route.count ? cap(r, rng, &stored, &batch, err) : count(r, &stored, err);
	sh_batch_fini(&batch);
	cm_buf_fini(&stored);
	return rc;
}

/* ---- Filling up ---- */

uint64_t sh_route_missing(const struct sh_round *r)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	uint64_t missing = 0;

	if (r->d.randomizer.row->routes_by_value)
		return p->shuffler.tags * p->shuffler.tag_messages - r->dummies;
	for (uint32_t tag = 0; tag < p->shuffler.tags; tag++)
		if (r->route.count[tag] < p->shuffler.tag_messages)
			missing += p->shuffler.tag_messages - r->route.count[tag];
	return missing;
}

bool sh_route_take(struct sh_round *r, uint64_t made, uint32_t *tag)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	struct sh_route *t = &r->route;

	if (r->d.randomizer.row->routes_by_value) {
		*tag = (uint32_t)(made / p->shuffler.tag_messages);
	} else {
		while (t->count[t->full] >= p->shuffler.tag_messages)
			t->full++;
		*tag = t->full;
	}
	if (t->count[*tag] >= p->shuffler.tag_messages)
		return false;
	t->count[*tag]++;
	return true;
}

void sh_route_strip(const struct sh_round *r, struct cm_buf *messages)
{
	size_t from = r->vault.message_len, to = rd_sealed_len(&r->d), n = messages->len / from;

	if (from == to)
		return;
	for (size_t i = 0; i < n; i++)
		memmove(messages->data + i * to, messages->data + i * from + (from - to), to);
	messages->len = n * to;
}
