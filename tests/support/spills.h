/* spills.h - rd_sort's storage in memory, which may fail at one of its calls.  From any threads. */
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rd_sort.h"

/* Spills that fail and count together; the call number fails_at of all is refused, 0: none. */
struct spill_calls {
	unsigned puts, gets, fails_at;
	bool shared; /* by several sorts: their pages come in no order */
	pthread_mutex_t lock;
};

struct spill_fake {
	struct rd_spill spill; /* what is handed out */
	struct spill_calls *calls;
	uint8_t *bytes;
	bool *there;
	uint64_t pages;   /* how many were put */
	size_t room, len; /* pages; bytes of each */
};

static inline bool spill_fails(struct spill_fake *f, unsigned *kind)
{
	(*kind)++;
	return f->calls->puts + f->calls->gets == f->calls->fails_at;
}

static inline void spill_room(struct spill_fake *f, uint64_t page)
{
	size_t room = f->room;

	if (page < room)
		return;
	f->room = 2 * (size_t)page + 16;
	f->bytes = realloc(f->bytes, f->room * f->len);
	f->there = realloc(f->there, f->room * sizeof *f->there);
	assert_true(f->bytes && f->there);
	memset(f->there + room, 0, (f->room - room) * sizeof *f->there);
}

static inline enum cm_rc spill_put(
	void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err)
{
	struct spill_fake *f = ctx;
	enum cm_rc rc = CM_OK;

	(void)pthread_mutex_lock(&f->calls->lock);
	if (spill_fails(f, &f->calls->puts)) {
		rc = cm_fail(err, CM_EIO, "a spill failed");
	} else {
		assert_true((f->calls->shared || page == f->pages) && (f->pages == 0 || len == f->len));
		f->len = len;
		spill_room(f, page);
		assert_false(f->there[page]);
		f->there[page] = true;
		f->pages++;
		memcpy(f->bytes + page * len, bytes, len);
	}
	(void)pthread_mutex_unlock(&f->calls->lock);
	return rc;
}

static inline enum cm_rc spill_get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err)
{
	struct spill_fake *f = ctx;
	enum cm_rc rc = CM_OK;

	(void)pthread_mutex_lock(&f->calls->lock);
	assert_true(page < f->room && f->there[page] && len == f->len);
	if (spill_fails(f, &f->calls->gets))
		rc = cm_fail(err, CM_EIO, "a spill failed");
	else
		memcpy(bytes, f->bytes + page * len, len);
	(void)pthread_mutex_unlock(&f->calls->lock);
	return rc;
}

static inline void spill_init(struct spill_fake *f, struct spill_calls *calls)
{
	*f = (struct spill_fake){ .spill = { f, spill_put, spill_get }, .calls = calls };
}

static inline void spill_fini(struct spill_fake *f)
{
	free(f->bytes);
	free(f->there);
}
