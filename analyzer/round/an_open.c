/* an_open.c - opens sealed messages on several threads. */
#include "an_open.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_once.h"
#include "rd_tree.h"

#define THREADS_MAX 256u
#define CHUNK       64u   /* messages a thread takes at a time, and opens together */
#define ASIDE       1024u /* messages set aside that are opened at a time */
#define TREE_SHARE  8u    /* one in so many bytes of the memory sorts the hashes */

struct worker {
	struct an_open *open;
	struct cr_hpke_opener *opener;
	struct an_tally tally;
	uint8_t *plain; /* CHUNK records */
	pthread_t thread;
	bool started;
	enum cm_rc rc;
	struct cm_err err;
};

struct an_open {
	const struct rd_descriptor *d;
	uint8_t aad[RD_AAD_LEN];
	size_t sealed_len;
	struct worker *worker;
	unsigned workers;
	struct an_once *once;
	struct an_tally total;
	const uint8_t **message; /* those to be opened next */
	size_t messages, room;
	atomic_size_t next;
	struct rd_sort *sort; /* hashes of all messages so far */
	uint64_t hashed, expected;
	uint8_t (*hash)[PR_HASH_LEN]; /* of the bucket at hand */
	size_t hash_room;
	uint8_t root[PR_HASH_LEN]; /* once hashed == expected */
};

unsigned an_open_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1u : n > (long)THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static enum cm_rc worker_init(struct worker *w, struct an_open *o, const struct cr_key *secret,
	const uint8_t info[RD_INFO_LEN], struct cm_err *err)
{
	enum cm_rc rc = cr_hpke_opener_new(o->d->suite, secret, info, RD_INFO_LEN, &w->opener, err);

	w->open = o;
	if (rc == CM_OK && !(w->plain = malloc(CHUNK * (size_t)o->d->record_len)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	return rc == CM_OK ? an_tally_init(&w->tally, pt_tallies(&o->d->randomizer), err) : rc;
}

static enum cm_rc make_parts(struct an_open *o, const struct an_open_conf *conf, struct cm_err *err)
{
	const struct an_once_conf once = { .sealed_len = o->sealed_len,
		.messages = conf->messages,
		.bytes = conf->bytes,
		.counted = &conf->spill[AN_SPILL_COUNTED],
		.aside = &conf->spill[AN_SPILL_ASIDE] };
	uint8_t info[RD_INFO_LEN];
	enum cm_rc rc = an_tally_init(&o->total, pt_tallies(&o->d->randomizer), err);

	if (rc == CM_OK)
		rc = an_once_new(&once, &o->once, err);
	if (rc == CM_OK) {
		o->sort = rd_sort_new(PR_HASH_LEN, conf->bytes / TREE_SHARE / PR_HASH_LEN + 1,
			&conf->spill[AN_SPILL_HASHES]);
		o->worker = calloc(conf->threads, sizeof *o->worker);
		rc = o->sort && o->worker ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	rd_hpke_info(o->d, info);
	while (rc == CM_OK && o->workers < conf->threads)
		rc = worker_init(&o->worker[o->workers++], o, conf->secret, info, err);
	return rc;
}

enum cm_rc an_open_new(const struct an_open_conf *conf, struct an_open **out, struct cm_err *err)
{
	struct an_open *o = calloc(1, sizeof *o);

	if (!o || conf->threads < 1 || conf->threads > THREADS_MAX) {
		free(o);
		return cm_fail(err, CM_EINTERNAL, "cannot open on %u threads", conf->threads);
	}
	o->d = conf->d;
	o->expected = conf->messages;
	o->sealed_len = rd_sealed_len(o->d);
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
	for (unsigned i = 0; o->worker && i < o->workers; i++) {
		cr_hpke_opener_free(o->worker[i].opener);
		an_tally_fini(&o->worker[i].tally);
		free(o->worker[i].plain);
	}
	free(o->worker);
	an_tally_fini(&o->total);
	an_once_free(o->once);
	free(o->message);
	rd_sort_free(o->sort);
	free(o->hash);
	free(o);
}

/* n messages, at most CHUNK. */
static enum cm_rc open_some(struct worker *w, const uint8_t *const *sealed, size_t n, struct cm_err *err)
{
	const struct an_open *o = w->open;
	struct cm_err why = { 0 };
	bool good[CHUNK];
	enum cm_rc rc = CM_OK;

	if (cr_hpke_open_many(
		    w->opener, o->aad, RD_AAD_LEN, sealed, n, o->sealed_len, w->plain, good, &why) != CM_OK)
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

static void *work(void *arg)
{
	struct worker *w = arg;
	struct an_open *o = w->open;
	size_t at;

	w->rc = CM_OK;
	while (w->rc == CM_OK && (at = atomic_fetch_add(&o->next, CHUNK)) < o->messages)
		w->rc = open_some(
			w, o->message + at, o->messages - at < CHUNK ? o->messages - at : CHUNK, &w->err);
	return NULL;
}

/* qsort has no context argument in C17; the length is the same for every message of a round. */
static _Thread_local size_t compare_len;

static int compare(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, compare_len);
}

/* Point o->message at n messages that stand one after the other. */
static enum cm_rc point(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	if (n > o->room) {
		const uint8_t **grown = realloc(o->message, n * sizeof *grown);

		if (!grown)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		o->message = grown;
		o->room = n;
	}
	for (size_t i = 0; i < n; i++)
		o->message[i] = sealed + i * o->sealed_len;
	o->messages = n;
	return CM_OK;
}

/* Point o->message at those of the bucket's messages that count now, in byte order. */
static enum cm_rc gather(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	if (point(o, sealed, n, err) != CM_OK)
		return err->code;
	compare_len = o->sealed_len;
	qsort(o->message, n, sizeof *o->message, compare);
	return an_once_bucket(o->once, o->message, n, &o->messages, err);
}

/* Open and count what o->message points at, on all threads. */
static enum cm_rc run(struct an_open *o, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	atomic_store(&o->next, 0);
	/* Thread 0 is the caller; one that cannot be started leaves its share to the others. */
	for (unsigned i = 1; i < o->workers; i++)
		o->worker[i].started = pthread_create(&o->worker[i].thread, NULL, work, &o->worker[i]) == 0;
	(void)work(&o->worker[0]);
	for (unsigned i = 0; i < o->workers; i++) {
		struct worker *w = &o->worker[i];

		if (w->started)
			(void)pthread_join(w->thread, NULL);
		w->started = false;
		if (w->rc != CM_OK && rc == CM_OK) {
			*err = w->err;
			rc = w->rc;
		}
		an_tally_add(&o->total, &w->tally);
		memset(w->tally.count, 0, w->tally.counts * sizeof *w->tally.count);
		w->tally.counted = w->tally.bad = 0;
	}
	return rc;
}

/* Hash all messages as they arrived, duplicates included, because the tree contains them all. */
static enum cm_rc hash_all(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	if (n > o->hash_room) {
		void *grown = realloc(o->hash, n * sizeof *o->hash);

		if (!grown)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		o->hash = grown;
		o->hash_room = n;
	}
	for (size_t i = 0; i < n; i++)
		cr_sha256(sealed + i * o->sealed_len, o->sealed_len, o->hash[i]);
	o->hashed += n;
	return rd_sort_add(o->sort, o->hash, n, err);
}

static enum cm_rc make_root(struct an_open *o, struct cm_err *err)
{
	const uint8_t *hash;
	uint8_t leaf[PR_HASH_LEN];
	struct rd_tree tree;
	enum cm_rc rc = rd_sort_done(o->sort, err);

	rd_tree_init(&tree);
	while (rc == CM_OK && (rc = rd_sort_next(o->sort, &hash, err)) == CM_OK) {
		rd_tree_leaf(hash, PR_HASH_LEN, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, o->root);
	/* Its memory is of use to what follows. */
	rd_sort_free(o->sort);
	o->sort = NULL;
	return rc == CM_EMORE ? CM_OK : rc;
}

/* Open those of the messages set aside that count. */
static enum cm_rc open_aside(struct an_open *o, struct cm_err *err)
{
	uint8_t *some = malloc(ASIDE * o->sealed_len);
	enum cm_rc rc = some ? an_once_done(o->once, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	while (rc == CM_OK) {
		enum cm_rc next = CM_OK;
		size_t n = 0;

		while (n < ASIDE && (next = an_once_next(o->once, some + n * o->sealed_len, err)) == CM_OK)
			n++;
		rc = next;
		if (n > 0 && (next == CM_OK || next == CM_EMORE) &&
			(point(o, some, n, err) != CM_OK || run(o, err) != CM_OK))
			rc = err->code;
	}
	free(some);
	o->total.duplicates = an_once_duplicates(o->once);
	return rc == CM_EMORE ? CM_OK : rc;
}

const uint8_t *an_open_root(const struct an_open *o)
{
	return o->hashed == o->expected ? o->root : NULL;
}

enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	enum cm_rc rc;

	if (n == 0)
		return CM_OK;
	rc = hash_all(o, sealed, n, err);
	if (rc == CM_OK)
		rc = gather(o, sealed, n, err);
	if (rc == CM_OK)
		rc = run(o, err);
	if (rc == CM_OK && o->hashed == o->expected)
		rc = make_root(o, err);
	if (rc == CM_OK && o->hashed == o->expected)
		rc = open_aside(o, err);
	return rc;
}

const struct an_tally *an_open_tally(const struct an_open *o)
{
	return &o->total;
}
