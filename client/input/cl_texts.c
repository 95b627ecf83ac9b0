/* cl_texts.c - finds texts in a hash table (open addressing). */
#include "cl_texts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cl_texts {
	const char *const *text;
	size_t n, slots; /* slots: the length of the table, a power of two */
	uint32_t slot[]; /* number of a text, from 1; 0 if the slot is free */
};

/* The hash FNV-1a; it needs no key because the texts are public. */
static uint64_t hash(const uint8_t *bytes, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

static size_t place(const struct cl_texts *t, const void *bytes, size_t n)
{
	size_t at = hash(bytes, n) & (t->slots - 1);

	while (t->slot[at] != 0) {
		const char *text = t->text[t->slot[at] - 1];

		if (strlen(text) == n && memcmp(text, bytes, n) == 0)
			break;
		at = (at + 1) & (t->slots - 1);
	}
	return at;
}

enum cm_rc cl_texts_new(const char *const *text, size_t n, struct cl_texts **out, struct cm_err *err)
{
	size_t slots = 4;

	while (slots < 2 * n)
		slots *= 2;
	*out = calloc(1, sizeof **out + slots * sizeof *(*out)->slot);
	if (!*out)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(*out)->text = text;
	(*out)->n = n;
	(*out)->slots = slots;
	for (size_t i = 0; i < n; i++)
		(*out)->slot[place(*out, text[i], strlen(text[i]))] = (uint32_t)i + 1;
	return CM_OK;
}

void cl_texts_free(struct cl_texts *t)
{
	free(t);
}

size_t cl_texts_n(const struct cl_texts *t)
{
	return t->n;
}

size_t cl_texts_find(const struct cl_texts *t, const void *bytes, size_t n)
{
	uint32_t found = t->slot[place(t, bytes, n)];

	return found > 0 ? found - 1 : t->n;
}
