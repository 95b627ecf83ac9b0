/* cl_pseudonym_set.c - keeps a set of pseudonyms by their first bytes. */
#include "cl_pseudonym_set.h"

#include <stdlib.h>

#include "cm_buf.h"

#define SLOTS_FIRST 1024u

void cl_pseudonym_set_fini(struct cl_pseudonym_set *set)
{
	free(set->slot);
	*set = (struct cl_pseudonym_set){ 0 };
}

static uint64_t *find(uint64_t *slot, size_t slots, uint64_t name)
{
	size_t at = name & (slots - 1);

	while (slot[at] != 0 && slot[at] != name)
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

/* Grow the table so that at least a quarter of its slots is free. */
static enum cm_rc grow(struct cl_pseudonym_set *set, struct cm_err *err)
{
	size_t slots = set->slots == 0 ? SLOTS_FIRST : 2 * set->slots;
	uint64_t *slot;

	if (set->n < set->slots / 4 * 3)
		return CM_OK;
	slot = calloc(slots, sizeof *slot);
	if (!slot)
		return cm_fail(err, CM_EINTERNAL, "out of memory for %zu devices", slots);
	for (size_t i = 0; i < set->slots; i++)
		if (set->slot[i] != 0)
			*find(slot, slots, set->slot[i]) = set->slot[i];
	free(set->slot);
	set->slot = slot;
	set->slots = slots;
	return CM_OK;
}

enum cm_rc cl_pseudonym_set_add(
	struct cl_pseudonym_set *set, const uint8_t *pseudonym, bool *maybe, struct cm_err *err)
{
	uint64_t name = cm_get_le64(pseudonym), *at;
	enum cm_rc rc = grow(set, err);

	if (rc != CM_OK)
		return rc;
	name += name == 0;
	at = find(set->slot, set->slots, name);
	*maybe = *at == name;
	set->n += !*maybe;
	*at = name;
	return CM_OK;
}
