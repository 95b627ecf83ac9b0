/* an_open.c - opens sealed messages, and decides which count, on several threads. */
#include "an_open.h"

#include <stdlib.h>
#include <string.h>

#include "an_share.h"
#include "cm_crew.h"
#include "cm_fault.h"
#include "rd_manifest.h"
#include "rd_sort.h"

#define CHUNK  128u  /* number of messages that a thread takes at a time, and opens together */
#define HASHED 512u  /* number of messages that a thread hashes at a time */
#define ASIDE  1024u /* number of messages set aside that are opened at a time */

struct worker {
	struct cr_hpke_opener *opener;
	struct an_tally tally;
	uint8_t *plain; /* room for CHUNK records */
};

/* The part of one share in the present bucket, or in the messages set aside. */
struct part {
	struct an_share *share;
	/* its messages in the bucket: index of the first in `message`, and their number */
	size_t first, n;
	/* its hashes in the bucket: index of the first in `sorted`, and their number */
	size_t hash, hashes;
	size_t now;             /* number of the share's messages that count now */
	uint8_t *aside;         /* room for some of the share's messages that were set aside */
	struct rd_range leaves; /* the share's part of the tree */
	uint64_t begin;
};

struct an_open {
	const struct rd_descriptor *d;
	uint8_t aad[RD_AAD_LEN];
	size_t sealed_len;
	struct cm_crew *crew;
	struct worker *worker; /* one per thread */
	unsigned threads, workers;
	struct part *part; /* one per share */
	unsigned shares, parts;
	struct an_tally total;
	uint64_t hashed, expected;
	uint8_t root[PR_HASH_LEN]; /* known once hashed == expected */

	/* The fields below are about the present bucket. */
	const uint8_t *sealed;
	size_t n, room;
	uint8_t (*hash)[PR_HASH_LEN], (*sorted)[PR_HASH_LEN];
	uint8_t *hash_of, *message_of; /* the share to which each hash and each message belongs */
	const uint8_t **message;       /* the messages ordered by share; afterwards those to be opened */
	size_t messages, message_room;
	size_t each; /* number of set-aside messages that a share gives at a time */
};

static enum cm_rc worker_init(struct worker *w, struct an_open *o, const struct cr_key *secret,
	const uint8_t info[RD_INFO_LEN], struct cm_err *err)
{
	enum cm_rc rc = cr_hpke_opener_new(o->d->suite, secret, info, RD_INFO_LEN, &w->opener, err);

	if (rc == CM_OK && !(w->plain = malloc(CHUNK * (size_t)o->d->record_len)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	return rc == CM_OK ? an_tally_init(&w->tally, pt_tallies(&o->d->randomizer), err) : rc;
}

static enum cm_rc make_parts(struct an_open *o, const struct an_open_conf *conf, struct cm_err *err)
{
	const struct an_share_conf share = { .sealed_len = o->sealed_len,
		.messages = conf->messages,
		.bytes = conf->bytes,
		.spill = conf->spill,
		.shares = o->shares };
	uint8_t info[RD_INFO_LEN];
	enum cm_rc rc = an_tally_init(&o->total, pt_tallies(&o->d->randomizer), err);

	if (rc == CM_OK)
		rc = cm_crew_new(o->threads, &o->crew, err);
	if (rc == CM_OK) {
		o->worker = calloc(o->threads, sizeof *o->worker);
		o->part = calloc(o->shares, sizeof *o->part);
		rc = o->worker && o->part ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	rd_hpke_info(o->d, info);
	while (rc == CM_OK && o->workers < o->threads)
		rc = worker_init(&o->worker[o->workers++], o, conf->secret, info, err);
	for (; rc == CM_OK && o->parts < o->shares; o->parts++)
		rc = an_share_new(&share, o->parts, &o->part[o->parts].share, err);
	return rc;
}

enum cm_rc an_open_new(const struct an_open_conf *conf, struct an_open **out, struct cm_err *err)
{
	struct an_open *o = calloc(1, sizeof *o);

	if (!o || conf->threads < 1 || conf->threads > CM_CREW_MAX) {
		free(o);
		return cm_fail(err, CM_EINTERNAL, "cannot open on %u threads", conf->threads);
	}
	o->d = conf->d;
	o->threads = conf->threads;
	o->shares = o->threads < AN_SHARES_MAX ? o->threads : AN_SHARES_MAX;
	o->expected = conf->messages;
	o->sealed_len = rd_sealed_len(o->d);
	o->each = ASIDE / o->shares;
	rd_hpke_aad(o->d, o->aad);
	if (make_parts(o, conf, err) != CM_OK) {
		an_open_free(o);
		return err->code;
	}
	*out = o;
	return CM_OK;
}

void an_open_free(struct an_open *o)
{
	if (!o)
		return;
	cm_crew_free(o->crew);
	for (unsigned i = 0; i < o->workers; i++) {
		cr_hpke_opener_free(o->worker[i].opener);
		an_tally_fini(&o->worker[i].tally);
		free(o->worker[i].plain);
	}
	for (unsigned i = 0; i < o->parts; i++) {
		an_share_free(o->part[i].share);
		free(o->part[i].aside);
	}
	free(o->worker);
	free(o->part);
	an_tally_fini(&o->total);
	free(o->hash);
	free(o->sorted);
	free(o->hash_of);
	free(o->message_of);
	free(o->message);
	free(o);
}

/* ---- Pieces of work ---- */

/* Hashes all messages as they arrived, duplicates included, because the tree contains them all. */
static enum cm_rc hash_some(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	struct an_open *o = ctx;
	size_t end = (piece + 1) * HASHED < o->n ? (piece + 1) * HASHED : o->n;

	(void)thread;
	(void)err;
	for (size_t i = piece * HASHED; i < end; i++) {
		const uint8_t *message = o->sealed + i * o->sealed_len;

		cr_sha256(message, o->sealed_len, o->hash[i]);
		o->hash_of[i] = an_share_of(o->hash[i], o->parts);
		o->message_of[i] = an_share_of(message, o->parts);
	}
	return CM_OK;
}

/* Sort the hashes of a share.  As the shares divide the hashes by their beginnings, all hashes are then in
 * order. */
static enum cm_rc sort_some(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	struct an_open *o = ctx;
	const struct part *p = &o->part[piece];
	uint8_t(*at)[PR_HASH_LEN] = o->sorted + p->hash;

	(void)thread;
	(void)err;
	for (size_t i = 0; i < o->n; i++)
		if (o->hash_of[i] == piece)
			memcpy(*at++, o->hash[i], PR_HASH_LEN);
	rd_sort_hashes(o->sorted + p->hash, p->hashes);
	return CM_OK;
}

/* Give a share its messages or, in the second half of the pieces, its hashes. */
static enum cm_rc share_some(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	struct an_open *o = ctx;
	struct part *p = &o->part[piece % o->parts];
	const uint8_t **at = o->message + p->first;

	(void)thread;
	if (piece >= o->parts)
		return an_share_hashes(
			p->share, (const uint8_t(*)[PR_HASH_LEN])o->sorted + p->hash, p->hashes, err);
	for (size_t i = 0; i < o->n; i++)
		if (o->message_of[i] == piece)
			*at++ = o->sealed + i * o->sealed_len;
	return an_share_bucket(p->share, o->message + p->first, p->n, &p->now, err);
}

static enum cm_rc open_some(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	const struct an_open *o = ctx;
	struct worker *w = &o->worker[thread];
	size_t at = piece * CHUNK, n = o->messages - at < CHUNK ? o->messages - at : CHUNK;
	struct cm_err why = { 0 };
	bool good[CHUNK];
	enum cm_rc rc = CM_OK;

	if (cr_hpke_open_many(w->opener, o->aad, RD_AAD_LEN, o->message + at, n, o->sealed_len, w->plain,
		    good, &why) != CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "opening: %s", why.msg);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		if (good[i])
			rc = an_tally_record(
				&w->tally, &o->d->randomizer, w->plain + i * o->d->record_len, err);
		else
			w->tally.bad++;
	}
	cr_wipe(w->plain, n * o->d->record_len);
	return rc;
}

static enum cm_rc end_share(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	const struct an_open *o = ctx;

	(void)thread;
	return an_share_done(o->part[piece].share, err);
}

static enum cm_rc make_leaves(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	const struct an_open *o = ctx;
	struct part *p = &o->part[piece];

	(void)thread;
	return an_share_leaves(p->share, p->begin, &p->leaves, err);
}

static enum cm_rc take_aside(void *ctx, unsigned thread, size_t piece, struct cm_err *err)
{
	const struct an_open *o = ctx;
	struct part *p = &o->part[piece];

	(void)thread;
	if (!p->aside && !(p->aside = malloc(o->each * o->sealed_len)))
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return an_share_aside(p->share, p->aside, o->each, &p->now, err);
}

/* ---- In their order ---- */

static size_t pieces(size_t n, size_t each)
{
	return (n + each - 1) / each;
}

static enum cm_rc message_room(struct an_open *o, size_t n, struct cm_err *err)
{
	if (n <= o->message_room)
		return CM_OK;
	void *grown = realloc(o->message, n * sizeof *o->message);

	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	o->message = grown;
	o->message_room = n;
	return CM_OK;
}

static enum cm_rc bucket_room(struct an_open *o, size_t n, struct cm_err *err)
{
	if (n > o->room) {
		free(o->hash);
		free(o->sorted);
		free(o->hash_of);
		free(o->message_of);
		o->hash = malloc(n * sizeof *o->hash);
		o->sorted = malloc(n * sizeof *o->sorted);
		o->hash_of = malloc(n);
		o->message_of = malloc(n);
		o->room = n;
	}
	if (!o->hash || !o->sorted || !o->hash_of || !o->message_of)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return message_room(o, n, err);
}

/* Compute where each share's messages and hashes will be. */
static void count_parts(struct an_open *o)
{
	size_t first = 0, hash = 0;

	for (unsigned i = 0; i < o->parts; i++)
		o->part[i].n = o->part[i].hashes = 0;
	for (size_t i = 0; i < o->n; i++) {
		o->part[o->message_of[i]].n++;
		o->part[o->hash_of[i]].hashes++;
	}
	for (unsigned i = 0; i < o->parts; i++) {
		o->part[i].first = first;
		o->part[i].hash = hash;
		first += o->part[i].n;
		hash += o->part[i].hashes;
	}
}

/* Open and count the messages to which o->message points. */
static enum cm_rc open_all(struct an_open *o, struct cm_err *err)
{
	return cm_crew_run(o->crew, open_some, o, pieces(o->messages, CHUNK), err);
}

static enum cm_rc make_root(struct an_open *o, struct cm_err *err)
{
	struct rd_tree tree;
	uint64_t begin = 0;

	for (unsigned i = 0; i < o->parts; i++) {
		o->part[i].begin = begin;
		begin += an_share_hashed(o->part[i].share);
	}
	if (cm_crew_run(o->crew, make_leaves, o, o->parts, err) != CM_OK)
		return err->code;
	rd_tree_init(&tree);
	for (unsigned i = 0; i < o->parts; i++)
		rd_tree_append(&tree, &o->part[i].leaves);
	rd_tree_root(&tree, o->root);
	return CM_OK;
}

/* Open those messages that were set aside and count. */
static enum cm_rc open_aside(struct an_open *o, struct cm_err *err)
{
	enum cm_rc rc = message_room(o, o->each * o->parts, err);

	do {
		o->messages = 0;
		if (rc == CM_OK)
			rc = cm_crew_run(o->crew, take_aside, o, o->parts, err);
		for (unsigned i = 0; rc == CM_OK && i < o->parts; i++)
			for (size_t k = 0; k < o->part[i].now; k++)
				o->message[o->messages++] = o->part[i].aside + k * o->sealed_len;
		if (rc == CM_OK)
			rc = open_all(o, err);
	} while (rc == CM_OK && o->messages > 0);
	return rc;
}

/* Add up the counts of all threads.  Done only once, since there may be many counts, and all threads except
 * one wait. */
static void add_tallies(struct an_open *o)
{
	for (unsigned i = 0; i < o->workers; i++)
		an_tally_add(&o->total, &o->worker[i].tally);
	for (unsigned i = 0; i < o->parts; i++)
		o->total.duplicates += an_share_duplicates(o->part[i].share);
}

static enum cm_rc end_batch(struct an_open *o, struct cm_err *err)
{
	enum cm_rc rc = cm_crew_run(o->crew, end_share, o, o->parts, err);

	if (rc == CM_OK)
		rc = make_root(o, err);
	if (rc == CM_OK)
		rc = open_aside(o, err);
	if (rc == CM_OK)
		add_tallies(o);
	return rc;
}

const uint8_t *an_open_root(const struct an_open *o)
{
	return o->hashed == o->expected ? o->root : NULL;
}

/* Sort the hashes of the present bucket, and find how the shares divide them. */
static enum cm_rc hash_all(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	o->sealed = sealed;
	o->n = n;
	enum cm_rc rc = bucket_room(o, n, err);
	if (rc == CM_OK)
		rc = cm_crew_run(o->crew, hash_some, o, pieces(n, HASHED), err);
	if (rc != CM_OK)
		return rc;
	count_parts(o);
	return cm_crew_run(o->crew, sort_some, o, o->parts, err);
}

static enum cm_rc open_hashed(struct an_open *o, struct cm_err *err)
{
	o->hashed += o->n;
	enum cm_rc rc = cm_crew_run(o->crew, share_some, o, 2 * (size_t)o->parts, err);
	if (rc != CM_OK)
		return rc;
	o->messages = 0;
	for (unsigned i = 0; i < o->parts; i++) {
		memmove(o->message + o->messages, o->message + o->part[i].first,
			o->part[i].now * sizeof *o->message);
		o->messages += o->part[i].now;
	}
	rc = open_all(o, err);
	return rc == CM_OK && o->hashed == o->expected ? end_batch(o, err) : rc;
}

enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n, const uint8_t root[PR_HASH_LEN],
	bool *right, struct cm_err *err)
{
	uint8_t sum[PR_HASH_LEN];

	*right = true;
	if (n == 0)
		return CM_OK;
	enum cm_rc rc = hash_all(o, sealed, n, err);
	if (rc != CM_OK)
		return rc;
	rd_bucket_sum((const uint8_t(*)[PR_HASH_LEN])o->sorted, n, sum);
	*right = !CM_CHECKED("analyzer.manifest.root") || memcmp(sum, root, PR_HASH_LEN) == 0;
	return *right ? open_hashed(o, err) : CM_OK;
}

const struct an_tally *an_open_tally(const struct an_open *o)
{
	return &o->total;
}
