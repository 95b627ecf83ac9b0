/* cl_reported.c - keeps a set of pseudonyms by their first bytes. */
#include "cl_reported.h"

#include <stdlib.h>

#include "cm_buf.h"

#define SLOTS_FIRST 1024u

void cl_reported_fini(struct cl_reported *reported)
{
	free(reported->slot);
	*reported = (struct cl_reported){ 0 };
}

static uint64_t *find(uint64_t *slot, size_t slots, uint64_t name)
{
	size_t at = name & (slots - 1);

	while (slot[at] != 0 && slot[at] != name)
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

/* Grow the table so that at least a quarter of its slots is free. */
static enum cm_rc grow(struct cl_reported *reported, struct cm_err *err)
{
	size_t slots = reported->slots == 0 ? SLOTS_FIRST : 2 * reported->slots;
	uint64_t *slot;

	if (reported->n < reported->slots / 4 * 3)
		return CM_OK;
	slot = calloc(slots, sizeof *slot);
	if (!slot)
		return cm_fail(err, CM_EINTERNAL, "out of memory for %zu devices", slots);
	for (size_t i = 0; i < reported->slots; i++)
		if (reported->slot[i] != 0)
			*find(slot, slots, reported->slot[i]) = reported->slot[i];
	free(reported->slot);
	reported->slot = slot;
	reported->slots = slots;
	return CM_OK;
}

enum cm_rc cl_reported_add(
	struct cl_reported *reported, const uint8_t *pseudonym, bool *maybe, struct cm_err *err)
{
	uint64_t name = cm_get_le64(pseudonym), *at;
	enum cm_rc rc = grow(reported, err);

	if (rc != CM_OK)
		return rc;
	name += name == 0;
	at = find(reported->slot, reported->slots, name);
	*maybe = *at == name;
	reported->n += !*maybe;
	*at = name;
	return CM_OK;
}
