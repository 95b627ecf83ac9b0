/* cl_names.c - a set of pseudonyms by their first bytes. */
#include "cl_names.h"

#include <stdlib.h>

#include "cm_buf.h"

#define SLOTS_FIRST 1024u

void cl_names_fini(struct cl_names *names)
{
	free(names->slot);
	*names = (struct cl_names){ 0 };
}

static uint64_t *find(uint64_t *slot, size_t slots, uint64_t name)
{
	size_t at = name & (slots - 1);

	while (slot[at] != 0 && slot[at] != name)
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

/* At least a quarter of the slots is free. */
static enum cm_rc grow(struct cl_names *names, struct cm_err *err)
{
	size_t slots = names->slots == 0 ? SLOTS_FIRST : 2 * names->slots;
	uint64_t *slot;

	if (names->n < names->slots / 4 * 3)
		return CM_OK;
	slot = calloc(slots, sizeof *slot);
	if (!slot)
		return cm_fail(err, CM_EINTERNAL, "out of memory for %zu devices", slots);
	for (size_t i = 0; i < names->slots; i++)
		if (names->slot[i] != 0)
			*find(slot, slots, names->slot[i]) = names->slot[i];
	free(names->slot);
	names->slot = slot;
	names->slots = slots;
	return CM_OK;
}

enum cm_rc cl_names_add(struct cl_names *names, const uint8_t *pseudonym, bool *maybe, struct cm_err *err)
{
	uint64_t name = cm_get_le64(pseudonym), *at;
	enum cm_rc rc = grow(names, err);

	if (rc != CM_OK)
		return rc;
	name += name == 0;
	at = find(names->slot, names->slots, name);
	*maybe = *at == name;
	names->n += !*maybe;
	*at = name;
	return CM_OK;
}
