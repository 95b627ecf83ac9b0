/* cl_batch.c - holds one value per listed device, a uniformly drawn reading or NONE, with the devices in
 * random order. */
#include "cl_batch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_secret.h"

#define FREE_SLOT UINT32_MAX

struct cl_batch {
	struct cl_entry *entry;
	uint32_t *readings; /* number of readings of entry i; TAKEN if its report is stored already */
	uint32_t n, cap, taken;
	uint32_t *slot; /* hash table (open addressing) over pseudonyms, which are uniform; size a power of
			 * two */
	uint32_t slots;
	uint64_t limit, sequence;
	struct cl_batch_counts counts;
	/* The numbers of values that have several, in blocks that never move, because entries point into
	 * them. */
	uint32_t **block;
	size_t blocks, room; /* number of blocks, and allocated length of the list of blocks */
	/* numbers per value; values per block; values that the last block holds */
	uint32_t width, per_block, used;
	bool complete;
};

#define BLOCK_NUMBERS 65536u

struct cl_batch *cl_batch_new(uint64_t limit, uint32_t width, uint64_t sequence)
{
	struct cl_batch *b = calloc(1, sizeof *b);

	if (b) {
		b->limit = limit == 0 || limit > CL_BATCH_MAX ? CL_BATCH_MAX : limit;
		b->width = width;
		b->sequence = sequence;
		b->per_block = width == 0 || width > BLOCK_NUMBERS ? 1 : BLOCK_NUMBERS / width;
	}
	return b;
}

void cl_batch_free(struct cl_batch *b)
{
	if (!b)
		return;
	if (b->entry)
		cr_wipe(b->entry, b->cap * sizeof *b->entry);
	for (size_t i = 0; i < b->blocks; i++) {
		cr_wipe(b->block[i], (size_t)b->per_block * b->width * sizeof **b->block);
		free(b->block[i]);
	}
	free(b->block);
	free(b->entry);
	free(b->readings);
	free(b->slot);
	free(b);
}

/* Allocate the numbers of one more value. */
static enum cm_rc new_numbers(struct cl_batch *b, uint32_t **out, struct cm_err *err)
{
	size_t numbers = (size_t)b->per_block * b->width;

	if (b->blocks == 0 || b->used == b->per_block) {
		uint32_t **list = cm_grow(b->block, b->blocks, &b->room, sizeof *list), *block;

		if (list)
			b->block = list;
		block = list ? malloc(numbers * sizeof *block) : NULL;
		if (!block)
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

/* Double the entries, with at least four slots for three entries.  Copies instead of calling realloc, so that
 * the old memory is wiped. */
static enum cm_rc grow(struct cl_batch *b, struct cm_err *err)
{
	uint32_t cap = b->cap == 0 ? 1024 : b->cap * 2;
	uint32_t slots = cap * 2;
	struct cl_entry *entry = malloc(cap * sizeof *entry);
	uint32_t *readings = malloc(cap * sizeof *readings), *slot = malloc(slots * sizeof *slot);

	if (!entry || !readings || !slot) {
		free(entry);
		free(readings);
		free(slot);
		return cm_fail(err, CM_EINTERNAL, "out of memory for %u devices", cap);
	}
	if (b->n > 0) {
		memcpy(entry, b->entry, b->n * sizeof *entry);
		memcpy(readings, b->readings, b->n * sizeof *readings);
		cr_wipe(b->entry, b->cap * sizeof *b->entry);
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

/* Find the count of this device's readings, adding the device if it is new.  *readings is NULL beyond the
 * limit. */
static enum cm_rc find_or_add(struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	uint32_t **readings, struct cm_err *err)
{
	uint32_t *slot;
	enum cm_rc rc;

	assert(!b->complete);
	if (b->n == b->cap) {
		rc = grow(b, err);
		if (rc != CM_OK)
			return rc;
	}
	slot = find(b, pseudonym);
	*readings = NULL;
	if (*slot == FREE_SLOT || !CM_CHECKED("client.batch.once")) {
		if (b->n >= b->limit)
			return b->limit < CL_BATCH_MAX
				       ? CM_OK
				       : cm_fail(err, CM_EDATA, "more than %u devices", CL_BATCH_MAX);
		*slot = b->n;
		memcpy(b->entry[b->n].pseudonym, pseudonym, PR_PSEUDONYM_LEN);
		b->entry[b->n].place = b->n;
		b->entry[b->n].value = (struct qy_value){ 0 };
		b->readings[b->n] = 0;
		b->n++;
	}
	*readings = &b->readings[*slot];
	return CM_OK;
}

#define TAKEN UINT32_MAX

enum cm_rc cl_batch_taken(struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err)
{
	uint32_t *readings;
	enum cm_rc rc = find_or_add(b, pseudonym, &readings, err);

	if (rc == CM_OK && readings) {
		b->taken += *readings != TAKEN;
		*readings = TAKEN;
	}
	return rc;
}

/* Allocate room for values when devices are listed.  If it were allocated when readings arrive, these would
 * decide whether memory suffices, and so whether this client takes part. */
static enum cm_rc check_numbers(const struct cl_batch *b, struct cm_err *err)
{
	size_t block = (size_t)b->per_block * b->width, devices = b->n - b->taken;

	if (b->width == 0 || devices <= CL_BATCH_NUMBERS_MAX / block * b->per_block)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "more than %zu devices with values of %lu numbers each", devices - 1,
		(unsigned long)b->width);
}

enum cm_rc cl_batch_list(struct cl_batch *b, const uint8_t pseudonym[PR_PSEUDONYM_LEN], struct cm_err *err)
{
	uint32_t *unused;
	enum cm_rc rc = find_or_add(b, pseudonym, &unused, err);

	return rc == CM_OK ? check_numbers(b, err) : rc;
}

static enum cm_rc set_value(
	struct cl_batch *b, struct cl_entry *entry, const struct qy_value *value, struct cm_err *err)
{
	/* the numbers are memory of this batch, so they may be written */
	uint32_t *at = (uint32_t *)(uintptr_t)entry->value.at;
	enum cm_rc rc = b->width > 0 && !at ? new_numbers(b, &at, err) : CM_OK;

	if (rc != CM_OK)
		return rc;
	if (b->width > 0)
		memcpy(at, value->at, b->width * sizeof *at);
	entry->value = (struct qy_value){ .x = value->x, .at = at };
	return CM_OK;
}

enum cm_rc cl_batch_add(struct cl_batch *b, const struct cr_rng *rng,
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], const struct qy_value *value, struct cm_err *err)
{
	uint32_t at = b->slots > 0 ? *find(b, pseudonym) : FREE_SLOT;
	uint32_t *readings;

	assert(!b->complete);
	if (at == FREE_SLOT && !CM_CHECKED("client.unlisted") && b->n < b->limit) {
		enum cm_rc rc = cl_batch_list(b, pseudonym, err);

		if (rc != CM_OK)
			return rc;
		at = b->n - 1;
	}
	if (at == FREE_SLOT) {
		b->counts.unlisted++;
		return CM_OK;
	}
	readings = &b->readings[at];
	if (*readings == TAKEN)
		return CM_OK;
	if (*readings > 0)
		b->counts.duplicates++;
	/* The counter has reached its maximum; the error in the probabilities is negligible. */
	if (*readings == TAKEN - 1)
		return CM_OK;
	/* Name the draw by device, so that a test can fix each device's random numbers separately. */
	cr_rng_point("reading", b->sequence, (uint64_t)at << 32 | *readings);
	/* Reservoir sampling: the k-th reading replaces the held one with probability 1/k, so each of k is
	 * held with probability 1/k. */
	if (cr_rng_below(rng, ++*readings) == 0)
		return set_value(b, &b->entry[at], value, err);
	return CM_OK;
}

static enum cm_rc fill_in(
	struct cl_batch *b, const struct qy_query *q, const struct cr_rng *rng, struct cm_err *err)
{
	uint32_t *numbers = b->width > 0 ? calloc(b->width, sizeof *numbers) : NULL;
	enum cm_rc rc =
		b->width > 0 && !numbers ? cm_fail(err, CM_EINTERNAL, "out of memory for values") : CM_OK;

	for (uint32_t i = 0; rc == CM_OK && i < b->n; i++) {
		struct qy_value none;

		if (b->readings[i] > 0)
			continue;
		b->counts.none++;
		if (!CM_CHECKED("client.none")) {
			b->readings[i] = TAKEN;
			continue;
		}
		if (q) {
			cr_rng_point("none", b->sequence, i);
			qy_value_none(q, rng, numbers, &none);
		} else {
			none = (struct qy_value){ .at = numbers };
		}
		rc = set_value(b, &b->entry[i], &none, err);
		/* Without a query the value is undefined, but takes as much memory as any other. */
		if (!q)
			b->entry[i].value.at = NULL;
	}
	free(numbers);
	return rc;
}

enum cm_rc cl_batch_complete(
	struct cl_batch *b, const struct qy_query *q, const struct cr_rng *rng, struct cm_err *err)
{
	enum cm_rc rc = fill_in(b, q, rng, err);
	uint32_t kept = 0;

	assert(!b->complete);
	if (rc != CM_OK)
		return rc;
	b->complete = true;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->readings[i] != TAKEN)
			b->entry[kept++] = b->entry[i];
	b->n = kept;
	cr_rng_point("order", b->sequence, 0);
	for (uint32_t i = b->n; i > 1; i--) {
		uint32_t j = (uint32_t)cr_rng_below(rng, i);
		struct cl_entry other = b->entry[j];

		b->entry[j] = b->entry[i - 1];
		b->entry[i - 1] = other;
	}
	return CM_OK;
}

uint32_t *cl_batch_numbers(struct cl_batch *b, size_t i)
{
	assert(b->complete && i < b->n);
	return (uint32_t *)(uintptr_t)b->entry[i].value.at; /* the numbers are memory of this batch */
}

void cl_batch_drop(struct cl_batch *b, size_t i)
{
	uint32_t *at = cl_batch_numbers(b, i);

	if (at)
		cr_wipe(at, b->width * sizeof *at);
	b->entry[i].value.at = NULL;
}

void cl_batch_set_class(struct cl_batch *b, uint32_t level)
{
	for (uint32_t i = 0; i < b->n; i++)
		b->entry[i].value.level = level;
}

const struct cl_entry *cl_batch_entries(const struct cl_batch *b, size_t *n)
{
	assert(b->complete);
	*n = b->n;
	return b->entry;
}

void cl_batch_counts(const struct cl_batch *b, struct cl_batch_counts *out)
{
	*out = b->counts;
}
