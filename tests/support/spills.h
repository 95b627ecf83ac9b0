/* spills.h - rd_sort's storage in memory, which may fail at one of its calls. */
#pragma once

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
};

struct spill_fake {
	struct rd_spill spill; /* what is handed out */
	struct spill_calls *calls;
	uint8_t *bytes;
	uint64_t pages;
	size_t room, len; /* len: of a page; one for all pages */
};

static inline enum cm_rc spill_call(struct spill_fake *f, unsigned *kind, struct cm_err *err)
{
	(*kind)++;
	if (f->calls->puts + f->calls->gets == f->calls->fails_at)
		return cm_fail(err, CM_EIO, "a spill failed");
	return CM_OK;
}

static inline enum cm_rc spill_put(
	void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err)
{
	struct spill_fake *f = ctx;

	assert_true(page == f->pages && (page == 0 || len == f->len));
	if (spill_call(f, &f->calls->puts, err) != CM_OK)
		return err->code;
	f->len = len;
	f->bytes = cm_grow(f->bytes, f->pages++, &f->room, len);
	assert_non_null(f->bytes);
	memcpy(f->bytes + page * len, bytes, len);
	return CM_OK;
}

static inline enum cm_rc spill_get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err)
{
	struct spill_fake *f = ctx;

	assert_true(page < f->pages && len == f->len);
	if (spill_call(f, &f->calls->gets, err) != CM_OK)
		return err->code;
	memcpy(bytes, f->bytes + page * len, len);
	return CM_OK;
}

static inline void spill_init(struct spill_fake *f, struct spill_calls *calls)
{
	*f = (struct spill_fake){ .spill = { f, spill_put, spill_get }, .calls = calls };
}

static inline void spill_fini(struct spill_fake *f)
{
	free(f->bytes);
}
