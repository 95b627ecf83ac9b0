/* sh_round.c - one round of the shuffler: COLLECTING -> SEALED -> RELEASING -> ERASED, or VOID. */
#include "sh_round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "rd_receipt.h"
#include "sh_marks.h"
#include "sh_permute.h"

#define SEALING_THREADS 8u /* with more threads, some would wait for the one that merges */

uint32_t sh_round_buckets(const struct rd_descriptor *d)
{
	uint64_t released = rd_messages(d, d->target), accepted = d->target * d->messages_per_client;

	return sh_bucket_count(released > accepted ? released : accepted, rd_message_len(d));
}

uint64_t sh_most_of_one(double max_share, uint64_t target)
{
	uint64_t most = rd_share_of(max_share, target);

	if (!CM_CHECKED("shuffler.share"))
		return target;
	return most > 1 ? most : 1;
}

uint64_t sh_round_most_of_one(const struct sh_round *r)
{
	return sh_most_of_one(r->max_share, r->d.target);
}

static struct sh_limits intake_limits(const struct sh_round *r)
{
	return (struct sh_limits){ .max_bytes = r->env->max_bytes, .most_of_one = sh_round_most_of_one(r) };
}

/* Make this state durable in the round's row. */
static enum cm_rc put_state(const struct sh_round *r, enum sh_state state, struct cm_err *err)
{
	size_t signed_len = r->manifest.len ? CR_SIGN_LEN : 0;
	struct sh_row row = {
		.sequence = r->d.sequence,
		.state = state,
		.descriptor = { r->descriptor.data, r->descriptor.len },
		.signature = { r->signature, CR_SIGN_LEN },
		.manifest = { r->manifest.data, r->manifest.len },
		.manifest_signature = { r->manifest_signature, signed_len },
		.charge = { r->charge.data, r->charge.len },
	};

	memcpy(row.round_id, r->d.round_id, PR_ROUND_ID_LEN);
	return r->env->store->row_put(r->env->store->ctx, &row, err);
}

static struct sh_round *round_alloc(const struct sh_env *env)
{
	struct sh_round *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->env = env;
	r->max_share = env->max_share;
	r->spread.wanted = true;
	cm_buf_init(&r->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&r->manifest, PR_MANIFEST_MAX);
	cm_buf_init(&r->charge, PR_CHARGE_MAX);
	sh_segments_init(&r->segments);
	return r;
}

void sh_round_free(struct sh_round *r)
{
	if (!r)
		return;
	sh_intake_fini(&r->intake);
	sh_route_fini(&r->route);
	sh_noise_forget(r);
	sh_spread_fini(&r->spread);
	sh_vault_close(&r->vault);
	sh_mark_free(r->mark);
	rd_descriptor_fini(&r->d);
	cm_buf_fini(&r->descriptor);
	cm_buf_fini(&r->manifest);
	cm_buf_fini(&r->charge);
	sh_segments_fini(&r->segments);
	sh_left_out_fini(&r->left_out);
	free(r);
}

enum cm_rc sh_round_new(const struct sh_env *env, struct rd_descriptor *d, const uint8_t *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], const struct cr_rng *rng, struct sh_round **out,
	struct cm_err *err)
{
	struct sh_round *r = round_alloc(env);

	if (!r) {
		rd_descriptor_fini(d);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	r->d = *d;
	*d = (struct rd_descriptor){ 0 };
	r->state = SH_COLLECTING;
	memcpy(r->signature, signature, CR_SIGN_LEN);
	enum cm_rc rc = cm_buf_put(&r->descriptor, bytes, len);
	if (rc != CM_OK)
		(void)cm_fail(err, rc, "out of memory");
	/* Allocate memory first: a round that does not fit in memory must not be announced. */
	if (rc == CM_OK)
		rc = sh_intake_init(&r->intake, &r->vault, &r->d, intake_limits(r), err);
	if (rc == CM_OK)
		rc = sh_vault_create(&r->vault, env->store, env->key_dir, r->d.round_id,
			sh_round_buckets(&r->d), rd_message_len(&r->d), rng, err);
	if (rc == CM_OK)
		rc = sh_mark_begin(env->key_dir, r->d.round_id, 0, err);
	if (rc == CM_OK)
		rc = sh_mark_open(env->key_dir, r->d.round_id, &r->mark, err);
	if (rc == CM_OK)
		rc = put_state(r, SH_COLLECTING, err);
	if (rc != CM_OK) {
		sh_round_free(r);
		return rc;
	}
	*out = r;
	return CM_OK;
}

static enum cm_rc copy_row(struct sh_round *r, const struct sh_row *row, struct cm_err *err)
{
	size_t signed_len = row->manifest.len ? CR_SIGN_LEN : 0;

	if (row->signature.len != CR_SIGN_LEN || row->manifest_signature.len != signed_len)
		return cm_fail(err, CM_EDATA, "state.db: a round's signature is damaged");
	r->state = row->state;
	memcpy(r->signature, row->signature.data, CR_SIGN_LEN);
	if (signed_len)
		memcpy(r->manifest_signature, row->manifest_signature.data, CR_SIGN_LEN);
	if (cm_buf_put(&r->descriptor, row->descriptor.data, row->descriptor.len) != CM_OK ||
		cm_buf_put(&r->manifest, row->manifest.data, row->manifest.len) != CM_OK ||
		cm_buf_put(&r->charge, row->charge.data, row->charge.len) != CM_OK)
		return cm_fail(err, CM_EDATA, "state.db: a round's row is too long");
	return rd_descriptor_decode(row->descriptor.data, row->descriptor.len, &r->d, err);
}

static enum cm_rc load_count(
	struct sh_round *r, const uint8_t tag[SH_TAG_LEN], uint64_t most, uint32_t *out, struct cm_err *err)
{
	const struct sh_count *count = sh_counts_at(&r->intake.counts, tag);

	if (!count)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (count->n > most)
		return cm_fail(err, CM_EDATA, "more of our own doing is stored than the round prescribes");
	*out = count->n;
	return CM_OK;
}

/* Count the finished steps towards the seal.  The last one may be durable although this process did not see
 * it end. */
static enum cm_rc load_steps(struct sh_round *r, struct cm_err *err)
{
	const struct pt_randomizer *p = &r->d.randomizer;
	uint8_t tag[SH_TAG_LEN];
	uint32_t dummies = 0;

	if (!pt_rests_on_shuffler(p) || r->damage.code != CM_OK)
		return CM_OK;
	sh_vault_dummies(&r->vault, tag);
	enum cm_rc rc = load_count(r, tag, pt_shuffler_most(p), &dummies, err);
	sh_vault_capped(&r->vault, tag);
	if (rc == CM_OK)
		rc = load_count(r, tag, r->vault.buckets, &r->route.capped, err);
	r->dummies = dummies;
	return rc;
}

/* Intakes of an earlier process may still commit.  If this process takes the reports now, none of theirs
 * may follow the tags that we load: a device could be stored twice. */
static enum cm_rc end_epochs(struct sh_round *r, struct cm_err *err)
{
	const struct sh_store *store = r->env->store;
	struct sh_epoch epoch;

	return store->data_epoch && !r->env->intakes ? store->data_epoch(r->vault.data, false, &epoch, err)
						     : CM_OK;
}

/* Refuse the round's stored data if more devices have had a receipt than the store knows. */
static enum cm_rc check_mark(struct sh_round *r, struct cm_err *err)
{
	uint64_t had = r->intake.participants, marked;

	r->stored = had;
	enum cm_rc rc = sh_mark_read(r->env->key_dir, r->d.round_id, &r->is_marked, &marked, err);
	if (rc != CM_OK || r->damage.code != CM_OK || !(CM_CHECKED("shuffler.stored") && had < marked))
		return rc;
	return cm_fail(err, CM_EDATA,
		"reports of %llu devices were acknowledged, and the store has %llu of them: it is an older copy, or "
		"its database lost commits",
		(unsigned long long)marked, (unsigned long long)had);
}

bool sh_round_is_damaged(const struct sh_round *r, enum cm_rc rc)
{
	return CM_CHECKED("shuffler.damage") && rc == CM_EDATA && r->env->intakes && r->vault.foreign;
}

void sh_round_cannot_go_on(uint64_t sequence, struct cm_err *err)
{
	(void)cm_context(err,
		"round %llu cannot go on; restore what it lacks, or `tombola-shuffler round give-up %llu`",
		(unsigned long long)sequence, (unsigned long long)sequence);
}

enum cm_rc sh_round_restore(
	const struct sh_env *env, const struct sh_row *row, struct sh_round **out, struct cm_err *err)
{
	struct sh_round *r = round_alloc(env);

	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = copy_row(r, row, err);
	if (rc == CM_OK && row->state == SH_COLLECTING)
		rc = sh_mark_check_open(env->key_dir, row->round_id, err);
	if (rc == CM_OK)
		rc = sh_vault_open(&r->vault, env->store, env->key_dir, row->round_id,
			sh_round_buckets(&r->d), rd_message_len(&r->d), err);
	if (rc == CM_OK && row->state == SH_COLLECTING)
		rc = end_epochs(r, err);
	if (rc == CM_OK)
		rc = sh_intake_init(&r->intake, &r->vault, &r->d, intake_limits(r), err);
	if (rc == CM_OK)
		rc = sh_intake_load(&r->intake, &r->vault, err);
	if (row->state == SH_COLLECTING && sh_round_is_damaged(r, rc)) {
		r->damage = *err;
		rc = CM_OK;
	}
	if (rc == CM_OK)
		rc = check_mark(r, err);
	if (rc == CM_OK)
		rc = load_steps(r, err);
	if (rc != CM_OK) {
		sh_round_free(r);
		return rc;
	}
	/* One more message would make the counts wrong. */
	r->intake.closed =
		r->state != SH_COLLECTING || r->dummies > 0 || r->route.capped > 0 || r->damage.code != CM_OK;
	*out = r;
	return CM_OK;
}

void sh_round_left_out(
	struct sh_round *r, const struct cr_identity *who, uint64_t over_limit, uint64_t closed)
{
	uint8_t tag[SH_TAG_LEN];
	const struct sh_leaver leaver = { tag, who->name, who->devices };

	sh_vault_certificate(&r->vault, who->key_hash, tag);
	sh_left_out_sent(&r->left_out, &leaver,
		who->devices > sh_round_most_of_one(r) ? TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_MAX_SHARE
						       : TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_CERTIFICATE,
		over_limit);
	sh_left_out_sent(&r->left_out, &leaver,
		sh_intake_full(&r->intake) ? TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_FULL
					   : TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_LATE,
		closed);
}

/* ---- Commits ---- */

enum cm_rc sh_round_commit(
	struct sh_round *r, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err)
{
	enum cm_rc rc = sh_intake_store(&r->vault, &r->d, batch, rng, err);

	if (rc != CM_OK)
		return rc;
	r->stored += sh_batch_submissions(batch);
	return sh_mark_raise(r->mark, r->stored, err);
}

/* ---- Sealing ---- */

bool sh_round_due(const struct sh_round *r, int64_t now_ms)
{
	return r->state == SH_COLLECTING &&
	       (r->cancelled || r->intake.closed || sh_intake_full(&r->intake) || now_ms >= r->d.deadline_ms);
}

/* The number of messages that are stored when the round can be sealed. */
static uint64_t messages(const struct sh_round *r)
{
	return r->d.randomizer.shuffler.tag_messages > 0
		       ? rd_messages(&r->d, r->intake.participants)
		       : r->intake.participants * r->d.messages_per_client + r->dummies;
}

/* The buckets that one reading of the store brought (sh_vault.h). */
struct group {
	uint32_t first, n;
	struct cm_buf *plain;
	uint32_t room;
};
/* One group is read while the one before it is hashed. */
struct sealing {
	struct sh_round *round;
	struct sh_leaves_maker *leaves;
	struct rd_bucket *bucket;
	struct group *to_read, *to_hash;
	struct cm_buf hashes;
};

static struct cm_buf *group_room(struct group *g)
{
	if (g->n == g->room) {
		uint32_t room = g->room > 0 ? 2 * g->room : 1;
		struct cm_buf *grown = realloc(g->plain, room * sizeof *grown);
		if (!grown)
			return NULL;
		g->plain = grown;
		for (; g->room < room; g->room++) {
			cm_buf_init(&grown[g->room], SIZE_MAX / 4);
			grown[g->room].secret = 1;
		}
	}
	g->plain[g->n].len = 0;
	return &g->plain[g->n];
}

static enum cm_rc read_group(const struct sealing *s, struct cm_err *err)
{
	struct sh_vault *v = &s->round->vault;
	struct group *g = s->to_read;
	enum cm_rc rc = CM_OK;

	for (uint32_t at = g->first; rc == CM_OK && at < v->buckets; at++) {
		if (at > g->first && !sh_vault_has_read(v, at))
			break;
		struct cm_buf *plain = group_room(g);
		if (!plain)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		rc = sh_vault_read(v, at, plain, err);
		if (rc == CM_OK)
			sh_route_strip(s->round, plain);
		g->n++;
	}
	return rc;
}

static enum cm_rc hash_bucket(
	struct sealing *s, const struct cm_buf *plain, struct rd_bucket *out, struct cm_err *err)
{
	size_t len = rd_sealed_len(&s->round->d);

	out->messages = (uint32_t)(plain->len / len);
	s->hashes.len = 0;
	uint8_t(*at)[PR_HASH_LEN] =
		(uint8_t(*)[PR_HASH_LEN])cm_buf_room(&s->hashes, out->messages * PR_HASH_LEN + 1);
	if (!at)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rd_bucket_hashes(plain->data, out->messages, len, at);
	rd_bucket_sum((const uint8_t(*)[PR_HASH_LEN])at, out->messages, out->root);
	return sh_leaves_add(s->leaves, (const uint8_t(*)[PR_HASH_LEN])at, out->messages, err);
}

static enum cm_rc seal_some(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	struct sealing *s = ctx;
	const struct group *g = s->to_hash;
	enum cm_rc rc = CM_OK;

	(void)thread;
	if (piece == 0)
		return read_group(s, err);
	for (uint32_t i = 0; rc == CM_OK && i < g->n; i++)
		rc = hash_bucket(s, &g->plain[i], &s->bucket[g->first + i], err);
	return rc;
}

static enum cm_rc all_roots(struct sh_round *r, struct sh_leaves_maker *leaves, struct cm_crew *crew,
	struct rd_bucket *b, struct cm_err *err)
{
	struct group group[2] = { 0 };
	struct sealing s = { r, leaves, b, &group[0], &group[1], { 0 } };
	enum cm_rc rc = CM_OK;

	cm_buf_init(&s.hashes, SIZE_MAX / 4);
	for (bool more = true; rc == CM_OK && more;) {
		rc = cm_crew_run(crew, seal_some, &s, 2, err);
		struct group *hashed = s.to_hash;
		s.to_hash = s.to_read;
		s.to_read = hashed;
		*hashed = (struct group){ s.to_hash->first + s.to_hash->n, 0, hashed->plain, hashed->room };
		more = s.to_hash->n > 0;
	}
	cm_buf_fini(&s.hashes);
	for (size_t i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < group[i].room; k++)
			cm_buf_fini(&group[i].plain[k]);
		free(group[i].plain);
	}
	return rc;
}

enum cm_rc sh_round_roots(struct sh_round *r, struct rd_bucket **buckets, struct cm_err *err)
{
	struct rd_bucket *b = calloc(r->vault.buckets, sizeof *b);
	unsigned cores = cm_crew_cores();
	struct sh_leaves_maker *leaves = NULL;
	struct cm_crew *crew = NULL;

	if (!b)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc =
		sh_leaves_begin(&r->env->leaves, r->d.round_id, messages(r), r->seal_ms, &leaves, err);
	if (rc == CM_OK)
		rc = cm_crew_new(cores < SEALING_THREADS ? cores : SEALING_THREADS, &crew, err);
	if (rc == CM_OK)
		rc = all_roots(r, leaves, crew, b, err);
	if (rc == CM_OK)
		rc = sh_leaves_end(leaves, crew, r->tree, err);
	cm_crew_free(crew);
	sh_leaves_maker_free(leaves);
	if (rc != CM_OK) {
		free(b);
		return rc;
	}
	*buckets = b;
	return CM_OK;
}

static enum cm_rc make_manifest(struct sh_round *r, struct rd_bucket *buckets, struct cm_err *err)
{
	bool is_void = !buckets;
	struct rd_manifest m = {
		/* In a round that the analyzer cancelled no report counts. */
		.participants = r->cancelled ? 0 : r->intake.participants,
		.messages = is_void ? 0 : messages(r),
		/* With tags, the number of dummies would reveal how many messages each tag lacked, so the
		 * manifest states none. */
		.dummies = is_void || r->d.randomizer.shuffler.tag_messages > 0 ? 0 : r->dummies,
		.is_void = is_void,
		.given_up = is_void && r->cancelled,
		.lacking = is_void && !r->cancelled && r->intake.participants >= r->d.min_reports
				   ? r->route.lacking
				   : 0,
		.left_out = r->left_out.sum,
		.bucket = buckets,
		.buckets = is_void ? 0 : r->vault.buckets,
	};

	memcpy(m.round_id, r->d.round_id, PR_ROUND_ID_LEN);
	memcpy(m.descriptor_hash, r->d.hash, PR_HASH_LEN);
	memcpy(m.tree, r->tree, PR_HASH_LEN);
	r->manifest.len = 0;
	enum cm_rc rc = rd_manifest_encode(&m, &r->manifest, err);
	if (rc == CM_OK)
		rc = cr_sign(r->env->signer, RD_PURPOSE_MANIFEST, r->manifest.data, r->manifest.len,
			r->manifest_signature, err);
	return rc;
}

enum cm_rc sh_round_seal(struct sh_round *r, struct rd_bucket *buckets, struct cm_err *err)
{
	enum cm_rc rc;

	assert(r->state == SH_COLLECTING && (buckets || !sh_route_enough(r) || r->cancelled));
	r->intake.closed = true;
	if (r->cancelled || !sh_route_enough(r)) {
		free(buckets);
		/* A round that was cancelled during sealing already has leaves. */
		rc = sh_leaves_erase(&r->env->leaves, r->d.round_id, err);
		if (rc == CM_OK)
			rc = make_manifest(r, NULL, err);
		return rc == CM_OK ? sh_round_over(r, SH_VOID, err) : rc;
	}
	rc = make_manifest(r, buckets, err);
	free(buckets);
	if (rc == CM_OK)
		rc = put_state(r, SH_SEALED, err);
	if (rc == CM_OK)
		rc = sh_mark_sealed(r->env->key_dir, r->d.round_id, err);
	if (rc == CM_OK)
		r->state = SH_SEALED;
	return rc;
}

enum cm_rc sh_round_sign(const struct sh_env *env, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t root[PR_HASH_LEN], uint64_t n, uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	uint8_t bytes[RD_RECEIPT_BYTES];

	rd_receipt_bytes(round_id, root, n, bytes);
	return cr_sign(env->signer, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, signature, err);
}

enum cm_rc sh_round_receipt(const struct sh_round *r, const struct sh_submit *s, const uint8_t *outcomes,
	size_t n, uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	uint8_t root[PR_HASH_LEN];

	sh_intake_root(&r->d, s, outcomes, n, root);
	return sh_round_sign(r->env, r->d.round_id, root, n, signature, err);
}

/* ---- Release ---- */

struct sh_segment *sh_round_wanted(struct sh_round *r)
{
	return r->state == SH_RELEASING && r->damage.code == CM_OK
		       ? sh_segments_wanted(&r->segments, r->vault.buckets, r->env->ahead_bytes)
		       : NULL;
}

enum cm_rc sh_round_read(struct sh_round *r, struct sh_segment *s, struct cm_err *err)
{
	enum cm_rc rc = sh_vault_release(&r->vault, s->bucket, &s->bytes, err);

	if (rc == CM_OK)
		sh_route_strip(r, &s->bytes);
	return rc;
}

enum cm_rc sh_round_release(struct sh_round *r, const uint8_t *charge, size_t len, struct cm_err *err)
{
	assert(r->state == SH_SEALED);
	r->charge.len = 0;
	enum cm_rc rc = cm_buf_put(&r->charge, charge, len);
	if (rc != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = put_state(r, SH_RELEASING, err);
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
	sh_segments_pull(&r->segments, bucket);
	const struct sh_segment *s = sh_segments_find(&r->segments, bucket);
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
	enum cm_rc rc = put_state(r, final, err);

	if (rc != CM_OK)
		return rc;
	uint64_t participants = r->intake.participants;
	sh_intake_fini(&r->intake);
	sh_route_fini(&r->route);
	sh_noise_forget(r);
	sh_spread_fini(&r->spread);
	/* the manifest states this number, which outlives the tags */
	r->intake.participants = participants;
	rc = sh_vault_destroy_key(r->env->key_dir, r->d.round_id, err);
	if (rc == CM_OK)
		r->state = final;
	return rc;
}

void sh_round_forget(struct sh_round *r)
{
	sh_segments_fini(&r->segments);
	sh_vault_forget(&r->vault);
}

enum cm_rc sh_round_erase(struct sh_round *r, struct cm_err *err)
{
	return sh_vault_erase(&r->vault, err);
}
