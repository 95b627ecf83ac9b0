/* pt_parameters.h - names and bytes of a row's own parameters.
 *
 * A row lists the members of its struct that it has, in the order of its bytes: numbers, little endian, one
 * after the other, and at the end a list of alike items, if it has one.  So parameters have exactly one
 * encoding, and cannot say what the row does not have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_rc.h"

struct pt_randomizer;

enum pt_field_type {
	PT_FIELD_U32,    /* uint32_t, 4 bytes */
	PT_FIELD_U64,    /* uint64_t, 8 bytes */
	PT_FIELD_CHANCE, /* uint64_t, a chance times 2^64, 8 bytes */
	PT_FIELD_BOOL,   /* bool, one byte: 0 or 1 */
};

struct pt_field {
	const char *name; /* as in proto/tombola.proto and in exports */
	uint16_t at;      /* offset within struct pt_randomizer, or within an item */
	uint8_t type;     /* enum pt_field_type */
};

struct pt_layout {
	const struct pt_field *field;
	size_t fields;
	/* The list; NULL: none. */
	const struct pt_field *item;
	size_t item_fields;
	size_t count, first,
		size;  /* offsets of the number of items, a uint32_t, and of the first; bytes of one */
	uint32_t most; /* items */
};

#define PT_PARAMETERS_MAX 600u /* bytes of any row's */

/* To bytes; returns how many. */
size_t pt_parameters_write(const struct pt_randomizer *p, uint8_t out[PT_PARAMETERS_MAX]);
/* From bytes, for p->row: every member that the row does not have is 0 afterwards, the shuffler's part is not
 * touched.  Values are for the row's check().  CM_EPROTO unless there are exactly the row's bytes. */
CM_CHECK enum cm_rc pt_parameters_read(
	const uint8_t *bytes, size_t len, struct pt_randomizer *p, struct cm_err *err);

/* Of one parameter: item is its number in the list, from 0, or PT_FIELD_ALONE. */
#define PT_FIELD_ALONE UINT32_MAX
typedef void pt_field_fn(
	void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value);
/* In the order of the bytes. */
void pt_parameters_each(const struct pt_randomizer *p, pt_field_fn *fn, void *user);
/* The parameter of this name that stands alone; 0 if the row has none. */
uint64_t pt_parameter(const struct pt_randomizer *p, const char *name);
/* "bins 5, keep 0.881": all of them for people, as far as they fit. */
void pt_parameters_text(const struct pt_randomizer *p, char *out, size_t size);
