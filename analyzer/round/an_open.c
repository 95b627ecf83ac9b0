/* an_open.c - opens sealed messages on several threads. */
#include "an_open.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "rd_sort.h"
#include "rd_tree.h"

#define THREADS_MAX 256u
#define CHUNK       64u /* messages a thread takes at a time, and opens together */

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
	struct an_seen seen;
	struct an_tally total;
	const uint8_t **message; /* of the bucket at hand, duplicates removed */
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

enum cm_rc an_open_new(const struct rd_descriptor *d, const struct cr_key *secret, unsigned threads,
	uint64_t messages, const struct cr_rng *rng, struct an_open **out, struct cm_err *err)
{
	struct an_open *o = calloc(1, sizeof *o);
	uint8_t info[RD_INFO_LEN];
	enum cm_rc rc;

	if (!o || threads < 1 || threads > THREADS_MAX) {
		free(o);
		return cm_fail(err, CM_EINTERNAL, "cannot open on %u threads", threads);
	}
	o->d = d;
	o->expected = messages;
	o->sealed_len = rd_sealed_len(d);
	rd_hpke_aad(d, o->aad);
	rd_hpke_info(d, info);
	an_seen_init(&o->seen, rng);
	rc = an_tally_init(&o->total, pt_tallies(&d->randomizer), err);
	if (rc == CM_OK && !(o->sort = rd_sort_new(PR_HASH_LEN, RD_SORT_RUN, NULL)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK) {
		o->worker = calloc(threads, sizeof *o->worker);
		rc = o->worker ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	while (rc == CM_OK && o->workers < threads)
		rc = worker_init(&o->worker[o->workers++], o, secret, info, err);
	if (rc != CM_OK) {
		an_open_free(o);
		return rc;
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
	an_seen_fini(&o->seen);
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

/* Point o->message at the bucket's messages in byte order, without those whose key was seen. */
static enum cm_rc gather(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	size_t kept = 0;

	if (n > o->room) {
		const uint8_t **grown = realloc(o->message, n * sizeof *grown);

		if (!grown)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		o->message = grown;
		o->room = n;
	}
	for (size_t i = 0; i < n; i++)
		o->message[i] = sealed + i * o->sealed_len;
	compare_len = o->sealed_len;
	qsort(o->message, n, sizeof *o->message, compare);
	for (size_t i = 0; i < n; i++) {
		bool again = false;

		if (an_seen_add(&o->seen, o->message[i], &again, err) != CM_OK)
			return err->code;
		if (CM_CHECKED("analyzer.duplicates") && again)
			o->total.duplicates++;
		else
			o->message[kept++] = o->message[i];
	}
	o->messages = kept;
	return CM_OK;
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
	return rc == CM_EMORE ? CM_OK : rc;
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
	enum cm_rc rc = rd_sort_add(o->sort, (const uint8_t(*)[PR_HASH_LEN])o->hash, n, err);
	o->hashed += n;
	return rc == CM_OK && o->hashed == o->expected ? make_root(o, err) : rc;
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
	if (rc != CM_OK)
		return rc;
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

const struct an_tally *an_open_tally(const struct an_open *o)
{
	return &o->total;
}
