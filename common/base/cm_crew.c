/* cm_crew.c - threads that wait for work, do it together, and wait again. */
#include "cm_crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct member {
	struct cm_crew *crew;
	unsigned number; /* number of the member, from 1 up; the caller of cm_crew_run is number 0 */
	pthread_t thread;
};

struct cm_crew {
	struct member *member;
	unsigned started;
	pthread_mutex_t lock;
	pthread_cond_t work, done; /* work: there is work, or the crew ends; done: no member is working */
	bool ends;
	unsigned long works; /* how often the crew was given work */
	unsigned busy;       /* how many members have not finished the present work */
	cm_crew_fn *fn;
	void *ctx;
	size_t pieces;
	atomic_size_t next;
	atomic_bool failed;
	struct cm_err err; /* the error of the piece that set `failed` */
};

unsigned cm_crew_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1u : n > (long)CM_CREW_MAX ? CM_CREW_MAX : (unsigned)n;
}

static void take_pieces(struct cm_crew *c, unsigned thread)
{
	struct cm_err err = { 0 };
	size_t piece;

	while (!atomic_load(&c->failed) && (piece = atomic_fetch_add(&c->next, 1)) < c->pieces)
		if (c->fn(c->ctx, thread, piece, &err) != CM_OK && !atomic_exchange(&c->failed, true))
			c->err = err;
}

static void *attend(void *arg)
{
	const struct member *m = arg;
	struct cm_crew *c = m->crew;
	unsigned long seen = 0;

	(void)pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->ends && c->works == seen)
			(void)pthread_cond_wait(&c->work, &c->lock);
		if (c->ends)
			break;
		seen = c->works;
		(void)pthread_mutex_unlock(&c->lock);
		take_pieces(c, m->number);
		(void)pthread_mutex_lock(&c->lock);
		if (--c->busy == 0)
			(void)pthread_cond_signal(&c->done);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

enum cm_rc cm_crew_new(unsigned threads, struct cm_crew **out, struct cm_err *err)
{
	struct cm_crew *c = calloc(1, sizeof *c);

	if (!c || threads < 1 || threads > CM_CREW_MAX || !(c->member = calloc(threads, sizeof *c->member))) {
		free(c);
		return cm_fail(err, CM_EINTERNAL, "no crew of %u threads", threads);
	}
	/* with these attributes glibc's functions cannot fail */
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->work, NULL);
	(void)pthread_cond_init(&c->done, NULL);
	while (c->started < threads - 1) {
		struct member *m = &c->member[c->started];

		*m = (struct member){ .crew = c, .number = c->started + 1 };
		if (pthread_create(&m->thread, NULL, attend, m) != 0)
			break;
		c->started++;
	}
	*out = c;
	return CM_OK;
}

void cm_crew_free(struct cm_crew *c)
{
	if (!c)
		return;
	(void)pthread_mutex_lock(&c->lock);
	c->ends = true;
	(void)pthread_cond_broadcast(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->started; i++)
		(void)pthread_join(c->member[i].thread, NULL);
	(void)pthread_cond_destroy(&c->done);
	(void)pthread_cond_destroy(&c->work);
	(void)pthread_mutex_destroy(&c->lock);
	free(c->member);
	free(c);
}

enum cm_rc cm_crew_run(struct cm_crew *c, cm_crew_fn *fn, void *ctx, size_t pieces, struct cm_err *err)
{
	(void)pthread_mutex_lock(&c->lock);
	c->fn = fn;
	c->ctx = ctx;
	c->pieces = pieces;
	atomic_store(&c->next, 0);
	atomic_store(&c->failed, false);
	/* for one piece no other thread is woken */
	if (pieces > 1) {
		c->busy = c->started;
		c->works++;
		(void)pthread_cond_broadcast(&c->work);
	}
	(void)pthread_mutex_unlock(&c->lock);
	take_pieces(c, 0);
	(void)pthread_mutex_lock(&c->lock);
	while (c->busy > 0)
		(void)pthread_cond_wait(&c->done, &c->lock);
	(void)pthread_mutex_unlock(&c->lock);
	if (!atomic_load(&c->failed))
		return CM_OK;
	*err = c->err;
	return err->code;
}
