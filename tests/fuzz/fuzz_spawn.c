/* fuzz_spawn.c - frames between a client and its spawner of programs, in any bytes: no crash and nothing read
 * beyond the end; a frame is the same however its bytes arrive, and written again it reads as it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cl_spawn_frame.h"
#include "must.h"

static bool same(const struct cl_spawn_frame *a, const struct cl_spawn_frame *b)
{
	return a->kind == b->kind && a->job == b->job && a->serial == b->serial && a->lane == b->lane &&
	       a->program == b->program && a->features == b->features && a->classes == b->classes &&
	       a->dimension == b->dimension && a->budget_ns == b->budget_ns &&
	       a->processor_ns == b->processor_ns && a->keep == b->keep && a->len == b->len &&
	       (a->len == 0 || memcmp(a->bytes, b->bytes, a->len) == 0);
}

/* The frame's bytes lie in what it took. */
static void lies_inside(const struct cm_buf *in, size_t at, const struct cl_spawn_frame *f, size_t taken)
{
	must(taken >= 5 && taken <= in->len - at && taken <= 4 + (size_t)CL_SPAWN_MAX);
	must(f->bytes >= in->data + at + 5 && f->bytes + f->len == in->data + at + taken);
	must(f->len == 0 || (f->kind != CL_SPAWN_END && f->kind != CL_SPAWN_READY));
}

static void reads_as_written(const struct cl_spawn_frame *f, size_t taken)
{
	struct cl_spawn_frame again;
	struct cm_buf out;
	struct cm_err err;
	size_t n;

	cm_buf_init(&out, 4 + (size_t)CL_SPAWN_MAX);
	must(cl_spawn_put(&out, f) == CM_OK && out.len == taken);
	must(cl_spawn_take(&out, 0, &again, &n, &err) == CM_OK && n == taken && same(f, &again));
	cm_buf_fini(&out);
}

/* Copy exactly so many bytes into memory of their own, so that reading one more is found. */
static enum cm_rc take_of(const uint8_t *data, size_t n)
{
	struct cl_spawn_frame f;
	struct cm_buf part;
	struct cm_err err;
	size_t taken = SIZE_MAX;

	cm_buf_init(&part, n + 1);
	part.data = malloc(n > 0 ? n : 1);
	must(part.data != NULL);
	part.cap = part.len = n;
	if (n > 0)
		memcpy(part.data, data, n);
	enum cm_rc rc = cl_spawn_take(&part, 0, &f, &taken, &err);
	must(rc == CM_OK || taken == SIZE_MAX);
	cm_buf_fini(&part);
	return rc;
}

/* A frame is not whole before its last byte, and bytes that are no frame are known by their first five. */
static void comes_in_parts(const uint8_t *data, size_t left, size_t n, enum cm_rc whole)
{
	size_t part = left > 0 ? data[left - 1] % (n + 1) : 0;

	for (size_t i = 0; i < 5 && i < n; i++)
		must(take_of(data, i) == CM_EMORE);
	if (part >= 5)
		must(take_of(data, part) == (whole == CM_OK && part < n ? CM_EMORE : whole));
	if (n > 5)
		must(take_of(data, n - 1) == (whole == CM_OK ? CM_EMORE : whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cl_spawn_frame f;
	struct cm_buf in;
	struct cm_err err;
	size_t at = 0, taken;
	enum cm_rc rc;

	cm_buf_init(&in, size + 1);
	must(size == 0 || cm_buf_put(&in, data, size) == CM_OK);
	while ((rc = cl_spawn_take(&in, at, &f, &taken, &err)) == CM_OK) {
		lies_inside(&in, at, &f, taken);
		reads_as_written(&f, taken);
		comes_in_parts(data + at, size - at, taken, CM_OK);
		at += taken;
	}
	must(rc == CM_EMORE || rc == CM_EDATA);
	comes_in_parts(data + at, size - at, size - at, rc);
	cm_buf_fini(&in);
	return 0;
}
