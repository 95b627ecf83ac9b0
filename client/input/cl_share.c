/* cl_share.c - counts the rows and bytes of each device in a hash table (open addressing). */
#include "cl_share.h"

#include <stdint.h>
#include <stdlib.h>

#include "cm_fault.h"
#include "cr_rand.h"

struct taken {
	uint64_t name; /* hash of the name; 0 if the slot is free */
	uint32_t rows, bytes;
};

struct cl_share {
	struct taken *at;
	/* slots: the length of the table, a power of two; bytes: the limit for one device */
	size_t n, slots, bytes;
	uint64_t key;
	bool counts;
};

enum cm_rc cl_share_new(size_t bytes, struct cl_share **out, struct cm_err *err)
{
	struct cl_share *s = calloc(1, sizeof *s);
	struct cr_rng rng;

	*out = s;
	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->bytes = bytes;
	s->counts = CM_CHECKED("client.share");
	s->slots = 1024;
	s->at = calloc(s->slots, sizeof *s->at);
	if (!s->at)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (cr_rng_system(&rng, err) != CM_OK)
		return err->code;
	s->key = cr_rng_u64(&rng);
	return CM_OK;
}

void cl_share_free(struct cl_share *s)
{
	if (s)
		free(s->at);
	free(s);
}

static uint64_t hash(uint64_t key, const uint8_t *name, size_t len)
{
	uint64_t h = key ^ len;

	for (size_t i = 0; i < len; i++) {
		h = (h ^ name[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	h *= 0xbf58476d1ce4e5b9;
	h ^= h >> 32;
	return h | (h == 0);
}

static struct taken *find(const struct cl_share *s, uint64_t name)
{
	size_t at = (size_t)name & (s->slots - 1);

	while (s->at[at].name != 0 && s->at[at].name != name)
		at = (at + 1) & (s->slots - 1);
	return &s->at[at];
}

static bool grow(struct cl_share *s)
{
	struct cl_share more = { .slots = 2 * s->slots };

	more.at = calloc(more.slots, sizeof *more.at);
	if (!more.at)
		return false;
	for (size_t i = 0; i < s->slots; i++)
		if (s->at[i].name != 0)
			*find(&more, s->at[i].name) = s->at[i];
	free(s->at);
	s->at = more.at;
	s->slots = more.slots;
	return true;
}

enum cm_rc cl_share_take(
	struct cl_share *s, const void *name, size_t len, size_t n, bool *out, struct cm_err *err)
{
	uint64_t h = hash(s->key, name, len);
	struct taken *t = find(s, h);

	if (t->name == 0 && 2 * ++s->n > s->slots) {
		if (!grow(s))
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		t = find(s, h);
	}
	t->name = h;
	*out = !s->counts || (t->rows < CL_SHARE_ROWS && n <= s->bytes - t->bytes);
	/* Once a row of a device is left out, all its later rows are. */
	t->rows = !s->counts ? 0 : *out ? t->rows + 1 : CL_SHARE_ROWS;
	t->bytes += *out && s->counts ? (uint32_t)n : 0;
	return CM_OK;
}
