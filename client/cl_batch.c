/* cl_batch.c - one uniformly drawn reading per device, devices in random order. */
#include "cl_batch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cm_secret.h"

#define FREE_SLOT UINT32_MAX

struct cl_batch {
	struct cl_entry *entry;
	uint32_t *readings; /* of entry i; 0: taken */
	uint32_t n, cap;
	uint32_t *slot; /* open addressing over pseudonyms, which are uniform already; a power of two */
	uint32_t slots;
	uint64_t limit, duplicates, over_limit, taken_seen;
	/* Numbers of values that have several, in blocks that stay where they are: entries point into them.
	 */
	uint32_t **block;
	size_t blocks, room;             /* of them, and of the list */
	uint32_t width, per_block, used; /* numbers of a value; values of a block, and of the last one */
	bool shuffled;
};

#define BLOCK_NUMBERS 65536u

struct cl_batch *cl_batch_new(uint64_t limit, uint32_t width)
{
	struct cl_batch *b = calloc(1, sizeof *b);

	if (b != NULL) {
		b->limit = limit == 0 || limit > CL_BATCH_MAX ? CL_BATCH_MAX : limit;
		b->width = width;
		b->per_block = width == 0 || width > BLOCK_NUMBERS ? 1 : BLOCK_NUMBERS / width;
	}
	return b;
}

void cl_batch_free(struct cl_batch *b)
{
	if (b == NULL)
		return;
	if (b->entry != NULL)
		cm_wipe(b->entry, b->cap * sizeof *b->entry);
	for (size_t i = 0; i < b->blocks; i++) {
		cm_wipe(b->block[i], (size_t)b->per_block * b->width * sizeof **b->block);
		free(b->block[i]);
	}
	free(b->block);
	free(b->entry);
	free(b->readings);
	free(b->slot);
	free(b);
}

/* Room for one more value's numbers. */
static enum cm_rc new_numbers(struct cl_batch *b, uint32_t **out, struct cm_err *err)
{
	size_t numbers = (size_t)b->per_block * b->width;

	if (b->blocks == 0 || b->used == b->per_block) {
		uint32_t **list, *block;

		if ((b->blocks + 1) * numbers > CL_BATCH_NUMBERS_MAX)
			return cm_fail(err, CM_EDATA, "more than %u values of %lu numbers each",
				CL_BATCH_NUMBERS_MAX / b->width, (unsigned long)b->width);
		list = cm_grow(b->block, b->blocks, &b->room, sizeof *list);
		if (list != NULL)
			b->block = list;
		block = list != NULL ? malloc(numbers * sizeof *block) : NULL;
		if (block == NULL)
			return cm_fail(err, CM_EINTERNAL, "out of memory for values");
		b->block[b->blocks++] = block;
		b->used = 0;
	}
	*out = b->block[b->blocks - 1] + (size_t)b->used++ * b->width;
	return CM_OK;
}

static uint32_t *find(const struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	uint32_t at = cm_get_le32(pseudonym) & (b->slots - 1);

	while (b->slot[at] != FREE_SLOT &&
		memcmp(b->entry[b->slot[at]].pseudonym, pseudonym, PR_PSEUDONYM_LEN) != 0)
		at = (at + 1) & (b->slots - 1);
	return &b->slot[at];
}

/* Twice the entries, four slots to three entries at most; old memory is wiped, so no realloc. */
static enum cm_rc grow(struct cl_batch *b, struct cm_err *err)
{
	uint32_t cap = b->cap == 0 ? 1024 : b->cap * 2;
	uint32_t slots = cap * 2;
	struct cl_entry *entry = malloc(cap * sizeof *entry);
	uint32_t *readings = malloc(cap * sizeof *readings), *slot = malloc(slots * sizeof *slot);

	if (entry == NULL || readings == NULL || slot == NULL) {
		free(entry);
		free(readings);
		free(slot);
		return cm_fail(err, CM_EINTERNAL, "out of memory for %u devices", cap);
	}
	if (b->n > 0) {
		memcpy(entry, b->entry, b->n * sizeof *entry);
		memcpy(readings, b->readings, b->n * sizeof *readings);
		cm_wipe(b->entry, b->cap * sizeof *b->entry);
	}
	free(b->entry);
	free(b->readings);
	free(b->slot);
	b->entry = entry;
	b->readings = readings;
	b->slot = slot;
	b->cap = cap;
	b->slots = slots;
	memset(slot, 0xff, slots * sizeof *slot);
	for (uint32_t i = 0; i < b->n; i++)
		*find(b, entry[i].pseudonym) = i;
	return CM_OK;
}

/* The place of this device, made if it is new; NULL in *out beyond the limit. */
static enum cm_rc place(struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint32_t **readings,
	struct cl_entry **out, struct cm_err *err)
{
	uint32_t *slot;
	enum cm_rc rc;

	assert(!b->shuffled);
	if (b->n == b->cap) {
		rc = grow(b, err);
		if (rc != CM_OK)
			return rc;
	}
	slot = find(b, pseudonym);
	*out = NULL;
	if (*slot == FREE_SLOT || !CM_CHECKED("client.batch.once")) {
		if (b->n >= b->limit)
			return b->limit < CL_BATCH_MAX
				       ? CM_OK
				       : cm_fail(err, CM_EDATA, "more than %u devices", CL_BATCH_MAX);
		*slot = b->n;
		memcpy(b->entry[b->n].pseudonym, pseudonym, PR_PSEUDONYM_LEN);
		b->entry[b->n].value = (struct pt_value){ 0 };
		b->readings[b->n] = 0;
		b->n++;
		*readings = &b->readings[*slot];
		*out = &b->entry[*slot];
		return CM_OK;
	}
	*readings = &b->readings[*slot];
	*out = &b->entry[*slot];
	return CM_OK;
}

#define TAKEN UINT32_MAX

enum cm_rc cl_batch_taken(struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err)
{
	struct cl_entry *entry;
	uint32_t *readings;
	enum cm_rc rc = place(b, pseudonym, &readings, &entry, err);

	if (rc == CM_OK && entry != NULL)
		*readings = TAKEN;
	return rc;
}

static enum cm_rc set_value(
	struct cl_batch *b, struct cl_entry *entry, const struct pt_value *value, struct cm_err *err)
{
	uint32_t *at = (uint32_t *)(uintptr_t)entry->value.at; /* the batch's own */
	enum cm_rc rc = b->width > 0 && at == NULL ? new_numbers(b, &at, err) : CM_OK;

	if (rc != CM_OK)
		return rc;
	if (b->width > 0)
		memcpy(at, value->at, b->width * sizeof *at);
	entry->value = (struct pt_value){ .x = value->x, .at = at };
	return CM_OK;
}

enum cm_rc cl_batch_add(struct cl_batch *b, const struct cm_rng *rng,
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], const struct pt_value *value, struct cm_err *err)
{
	struct cl_entry *entry;
	uint32_t *readings;
	enum cm_rc rc = place(b, pseudonym, &readings, &entry, err);

	if (rc != CM_OK)
		return rc;
	if (entry == NULL) {
		b->over_limit++;
		return CM_OK;
	}
	if (*readings == TAKEN) {
		b->taken_seen++;
		return CM_OK;
	}
	if (*readings > 0)
		b->duplicates++;
	if (*readings == TAKEN - 1)
		return cm_fail(err, CM_EDATA, "one device has more than %u readings", TAKEN - 1);
	/* The k-th reading replaces the one held with chance 1/k: each of k is held with chance 1/k. */
	if (cm_rng_below(rng, ++*readings) == 0)
		return set_value(b, entry, value, err);
	return CM_OK;
}

void cl_batch_shuffle(struct cl_batch *b, const struct cm_rng *rng)
{
	uint32_t kept = 0;

	assert(!b->shuffled);
	b->shuffled = true;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->readings[i] != TAKEN)
			b->entry[kept++] = b->entry[i];
	b->n = kept;
	for (uint32_t i = b->n; i > 1; i--) {
		uint32_t j = (uint32_t)cm_rng_below(rng, i);
		struct cl_entry other = b->entry[j];

		b->entry[j] = b->entry[i - 1];
		b->entry[i - 1] = other;
	}
}

void cl_batch_set_class(struct cl_batch *b, uint32_t level)
{
	for (uint32_t i = 0; i < b->n; i++)
		b->entry[i].value.level = level;
}

const struct cl_entry *cl_batch_entries(const struct cl_batch *b, size_t *n)
{
	assert(b->shuffled);
	*n = b->n;
	return b->entry;
}

uint64_t cl_batch_duplicates(const struct cl_batch *b)
{
	return b->duplicates;
}

uint64_t cl_batch_over_limit(const struct cl_batch *b)
{
	return b->over_limit;
}

uint64_t cl_batch_taken_seen(const struct cl_batch *b)
{
	return b->taken_seen;
}
