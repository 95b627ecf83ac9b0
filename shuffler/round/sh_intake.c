/* sh_intake.c - takes the submissions of one round: each device at most once, and receipts only for what is
 * durable. */
#include "sh_intake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"
#include "rd_receipt.h"

#define BUSY_RETRY_MS 250u
#define AHEAD         16u /* tags of so many submissions are computed before these are judged */

enum cm_rc sh_intake_init(struct sh_intake *in, const struct sh_vault *vault, const struct rd_descriptor *d,
	struct sh_limits limits, struct cm_err *err)
{
	*in = (struct sh_intake){
		.vault = vault,
		.messages_each = d->messages_per_client,
		.message_len = rd_message_len(d),
		.message_tags = d->randomizer.shuffler.tags,
		.classes = d->randomizer.shuffler.tag_least[0] > 0,
		.target = d->target,
		.opens_ms = d->opens_ms,
		.deadline_ms = d->deadline_ms,
		.limits = limits,
	};
	sh_batch_init(&in->gathering, in->message_len, limits.max_bytes);
	return sh_tags_init(&in->tags, in->target, err);
}

enum cm_rc sh_intake_load(struct sh_intake *in, struct sh_vault *vault, struct cm_err *err)
{
	enum cm_rc rc = sh_vault_tags(vault, &in->tags, &in->counts, err);

	in->participants = in->tags.n;
	return rc;
}

void sh_intake_fini(struct sh_intake *in)
{
	sh_batch_fini(&in->gathering);
	sh_tags_fini(&in->tags);
	sh_counts_fini(&in->counts);
	*in = (struct sh_intake){ 0 };
}

/* Lengths must be exact: the number of submissions follows from them. */
static enum cm_rc check_lengths(
	const struct sh_intake *in, const struct sh_submit *s, size_t *n, struct sh_refusal *no)
{
	size_t each = in->messages_each * in->message_len;

	*n = s->pseudonyms_len / PR_PSEUDONYM_LEN;
	if (*n == 0 || *n > PR_SUBMISSIONS_MAX || *n * PR_PSEUDONYM_LEN != s->pseudonyms_len)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"pseudonyms: %zu bytes are not 1..%u times %u", s->pseudonyms_len, PR_SUBMISSIONS_MAX,
			PR_PSEUDONYM_LEN);
	if (s->salts_len != *n * PR_HASH_LEN)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"salts: %zu bytes for %zu submissions", s->salts_len, *n);
	if (*n * each != s->sealed_len)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"sealed: %zu bytes for %zu submissions of %u messages of %zu bytes", s->sealed_len,
			*n, in->messages_each, in->message_len);
	return CM_OK;
}

/* Refuse more devices than the certificate names.  No honest client sends that, and it must not cost a
 * hash. */
static enum cm_rc check_devices(const struct sh_submit *s, size_t n, struct sh_refusal *no)
{
	if (CM_CHECKED("shuffler.devices_first") && n > s->peer->devices)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"pseudonyms: %zu devices, the certificate speaks for %u", n,
			(unsigned)s->peer->devices);
	return CM_OK;
}

/* Refuse the whole Submit if a tag is not of this round, or one device has tags of two classes. */
static enum cm_rc check_tags(const struct sh_intake *in, const struct sh_submit *s, struct sh_refusal *no)
{
	size_t each = in->messages_each * in->message_len;

	for (size_t at = 0; in->message_tags > 0 && at < s->sealed_len; at += in->message_len) {
		uint32_t tag = cm_get_le16(s->sealed + at);
		if (CM_CHECKED("shuffler.message_tags") && tag >= in->message_tags)
			return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
				"sealed: tag %u, the round has %u", tag, in->message_tags);
		if (CM_CHECKED("shuffler.one_class") && in->classes &&
			tag != cm_get_le16(s->sealed + at / each * each))
			return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
				"sealed: a device's messages are of two classes");
	}
	return CM_OK;
}

/* One submission, borrowed, and its device's tag. */
struct one {
	const uint8_t *pseudonym, *sealed;
	size_t len;
	uint8_t tag[SH_TAG_LEN];
};

static void add_digest(const struct sh_intake *in, const struct one *o, struct sh_tag *tag)
{
	sh_vault_digest(in->vault, o->pseudonym, o->sealed, o->len, tag->digest);
}

/* Add the submission to the gathering batch if it is new and allowed.  `room`: may the certificate have
 * another device in the round?  The sealed bytes are hashed only if the outcome depends on them. */
static Tombola__V1__Outcome judge(struct sh_intake *in, const struct one *o, bool late, bool room)
{
	struct sh_tag tag = { .digest = { 0 } };

	memcpy(tag.tag, o->tag, sizeof tag.tag);
	bool seen = sh_tags_find(&in->tags, &tag) != SH_SEEN_NEVER;
	if (seen) {
		add_digest(in, o, &tag);
		if (sh_tags_find(&in->tags, &tag) == SH_SEEN_SAME)
			return TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;
		if (CM_CHECKED("shuffler.tags"))
			return TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT;
	}
	if (late || sh_intake_full(in))
		return TOMBOLA__V1__OUTCOME__OUTCOME_CLOSED;
	if (CM_CHECKED("shuffler.tags") && !room)
		return TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT;
	if (!seen) {
		add_digest(in, o, &tag);
		sh_tags_add(&in->tags, &tag);
	}
	in->participants++;
	sh_batch_add(&in->gathering, &tag, o->sealed, o->len);
	return TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;
}

/* The number of devices that the certificate may have in the round. */
static uint64_t most_devices(const struct sh_intake *in, const struct cr_identity *peer)
{
	return peer->devices < in->limits.most_of_one ? peer->devices : in->limits.most_of_one;
}

/* had is the number of devices that the certificate already has in the round.  Tags are computed a few
 * ahead of the judging, so that the table's memory has been fetched when it is read. */
static void judge_all(struct sh_intake *in, const struct sh_submit *s, size_t n, bool late, uint64_t had,
	uint8_t outcomes[PR_SUBMISSIONS_MAX])
{
	size_t each = in->messages_each * in->message_len, before = sh_batch_submissions(&in->gathering);
	uint64_t most = most_devices(in, s->peer);
	struct one ahead[AHEAD];

	for (size_t i = 0; i < n; i += AHEAD) {
		size_t some = n - i < AHEAD ? n - i : AHEAD;
		for (size_t j = 0; j < some; j++) {
			struct one *o = &ahead[j];
			*o = (struct one){ s->pseudonyms + (i + j) * PR_PSEUDONYM_LEN,
				s->sealed + (i + j) * each, each, { 0 } };
			sh_vault_tag(in->vault, s->peer->key_hash, o->pseudonym, o->tag);
			sh_tags_expect(&in->tags, o->tag);
		}
		for (size_t j = 0; j < some; j++) {
			uint64_t added = sh_batch_submissions(&in->gathering) - before;
			outcomes[i + j] = (uint8_t)judge(in, &ahead[j], late, had + added < most);
		}
	}
	cr_wipe(ahead, sizeof ahead);
}

enum cm_rc sh_intake_submit(struct sh_intake *in, const struct sh_submit *s, int64_t now_ms,
	uint8_t outcomes[PR_SUBMISSIONS_MAX], size_t *n, struct sh_refusal *no, struct cm_err *err)
{
	size_t before = sh_batch_submissions(&in->gathering);
	struct sh_count added = { .n = 0 };

	enum cm_rc rc = check_lengths(in, s, n, no);
	if (rc == CM_OK)
		rc = check_devices(s, *n, no);
	if (rc == CM_OK)
		rc = check_tags(in, s, no);
	if (rc != CM_OK)
		return rc;
	if (now_ms < in->opens_ms)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY,
			in->opens_ms - now_ms < PR_WAIT_MAX_MS ? (uint32_t)(in->opens_ms - now_ms)
							       : PR_WAIT_MAX_MS,
			"the round opens in %lld ms", (long long)(in->opens_ms - now_ms));
	if (sh_intake_bytes(in) >= in->limits.max_bytes ||
		sh_batch_reserve(&in->gathering, *n, in->messages_each, err) != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, BUSY_RETRY_MS,
			"too much is waiting to be stored");
	sh_vault_certificate(in->vault, s->peer->key_hash, added.tag);
	struct sh_count *certificate = sh_counts_at(&in->counts, added.tag);
	if (!certificate)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	bool late = in->closed || now_ms >= in->deadline_ms;
	judge_all(in, s, *n, late, certificate->n, outcomes);
	added.n = (uint32_t)(sh_batch_submissions(&in->gathering) - before);
	if (added.n > 0 && certificate->n == 0) {
		struct sh_stand stand = { .mac = { 0 } };
		memcpy(stand.key_hash, s->peer->key_hash, sizeof stand.key_hash);
		if (s->mac)
			memcpy(stand.mac, s->mac, sizeof stand.mac);
		if (s->gateway)
			memcpy(stand.gateway, s->gateway, sizeof stand.gateway);
		sh_batch_stand(&in->gathering, &stand);
	}
	certificate->n += added.n;
	if (added.n > 0)
		sh_batch_count(&in->gathering, &added);
	if (added.n > 0 && before == 0)
		in->gathering_since_ms = now_ms;
	return CM_OK;
}

enum sh_wait sh_intake_waits(const struct sh_intake *in)
{
	/* A repetition of an accepted report may depend on either commit.  Waiting for the later one is
	 * always right, and keeps the answers to one peer in order. */
	if (sh_batch_submissions(&in->gathering) > 0)
		return SH_WAIT_GATHERING;
	return in->flying_bytes > 0 ? SH_WAIT_FLYING : SH_WAIT_NOT;
}

size_t sh_intake_bytes(const struct sh_intake *in)
{
	return sh_batch_bytes(&in->gathering) + in->flying_bytes;
}

bool sh_intake_full(const struct sh_intake *in)
{
	return in->participants >= in->target;
}

void sh_intake_take(struct sh_intake *in, struct sh_batch *out)
{
	assert(in->flying_bytes == 0 && sh_batch_submissions(&in->gathering) > 0);
	in->flying_bytes = sh_batch_bytes(&in->gathering);
	*out = in->gathering;
	sh_batch_init(&in->gathering, in->message_len, in->limits.max_bytes);
}

void sh_intake_committed(struct sh_intake *in)
{
	in->flying_bytes = 0;
}

static int by_name(const void *a, const void *b)
{
	return memcmp(
		((const struct sh_standing *)a)->name, ((const struct sh_standing *)b)->name, PR_HASH_LEN);
}

/* Write the standings of a certificate and of its gateway; returns how many. */
static size_t standings_of(const struct sh_stand *stand, uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], struct sh_standing out[2])
{
	static const uint8_t none[PR_HASH_LEN];

	out[0] = (struct sh_standing){ .sequence = sequence };
	memcpy(out[0].descriptor_hash, descriptor_hash, PR_HASH_LEN);
	memcpy(out[0].mac, stand->mac, PR_MAC_LEN);
	out[1] = out[0];
	sh_standing_name(stand->key_hash, out[0].name);
	sh_standing_gateway_name(stand->gateway, out[1].name);
	return memcmp(stand->gateway, none, sizeof none) == 0 ? 1 : 2;
}

enum cm_rc sh_intake_stand(const struct sh_store *store, uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], const struct sh_stand *stand, size_t n,
	struct cm_err *err)
{
	if (!CM_CHECKED("shuffler.standing") || n == 0)
		return CM_OK;
	struct sh_standing *all = calloc(2 * n, sizeof *all);
	size_t made = 0, distinct = 1;
	if (!all)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < n; i++)
		made += standings_of(&stand[i], sequence, descriptor_hash, &all[made]);
	/* Sort them, to hide the order in which they came.  Clients of two certificates may name one
	 * gateway. */
	qsort(all, made, sizeof *all, by_name);
	for (size_t i = 1; i < made; i++)
		if (by_name(&all[distinct - 1], &all[i]) != 0)
			all[distinct++] = all[i];
	enum cm_rc rc = store->standings_put(store->ctx, all, distinct, err);
	free(all);
	return rc;
}

enum cm_rc sh_intake_store(struct sh_vault *vault, const struct rd_descriptor *d, struct sh_batch *batch,
	const struct cr_rng *rng, struct cm_err *err)
{
	const struct sh_store *store = vault->store;
	enum cm_rc rc = CM_OK;

	if (store->standings_put)
		rc = sh_intake_stand(store, d->sequence, d->hash, (const void *)batch->stands.data,
			batch->stands.len / sizeof(struct sh_stand), err);
	return rc == CM_OK ? sh_vault_commit(vault, batch, rng, err) : rc;
}

void sh_intake_root(const struct rd_descriptor *d, const struct sh_submit *s, const uint8_t *outcomes,
	size_t n, uint8_t root[PR_HASH_LEN])
{
	const struct rd_receipt_shape shape = rd_receipt_shape(d);
	struct rd_receipt_device device;
	uint8_t leaf[PR_HASH_LEN];
	struct rd_tree tree;

	rd_tree_init(&tree);
	for (size_t i = 0; i < n; i++) {
		rd_receipt_device(&shape, s->pseudonyms + i * PR_PSEUDONYM_LEN, s->salts + i * RD_SALT_LEN,
			s->sealed + i * (s->sealed_len / n), &device);
		rd_receipt_leaf(&device, outcomes[i], leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
}
