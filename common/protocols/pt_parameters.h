/* pt_parameters.h - encodes a row's own parameters, and names them.
 *
 * A row lists which members of struct pt_randomizer it uses.  Their bytes follow in that order: numbers,
 * little endian, and at the end a list of items with the same fields, if the row has one.  So parameters
 * have exactly one encoding, which has no room for parameters of other rows. */
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
	uint16_t at;      /* offset of the member, within struct pt_randomizer or within an item */
	uint8_t type;     /* how it is stored: an enum pt_field_type */
};

struct pt_layout {
	const struct pt_field *field;
	size_t fields;
	/* Fields of an item of the list; NULL: there is no list. */
	const struct pt_field *item;
	size_t item_fields;
	/* of the list: offset of the number of items (a uint32_t), offset of the first item, bytes of an
	 * item */
	size_t count, first, size;
	uint32_t most; /* most items */
};

#define PT_PARAMETERS_MAX 600u /* most bytes of a row's parameters */

/* Write the parameters' bytes, and return their number. */
size_t pt_parameters_write(const struct pt_randomizer *p, uint8_t out[PT_PARAMETERS_MAX]);
/* Read the parameters of p->row.  Sets members that the row does not use to 0, and leaves p->shuffler as it
 * is.  The row's check() judges the values.  CM_EPROTO: the number of bytes is not that of the row. */
CM_CHECK enum cm_rc pt_parameters_read(
	const uint8_t *bytes, size_t len, struct pt_randomizer *p, struct cm_err *err);

/* Receives one parameter.  item is the number of its item in the list, from 0; PT_FIELD_ALONE: it is not in
 * a list. */
#define PT_FIELD_ALONE UINT32_MAX
typedef void pt_field_fn(
	void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value);
/* Call fn for each parameter, in the order of the bytes. */
void pt_parameters_each(const struct pt_randomizer *p, pt_field_fn *fn, void *user);
/* The parameter with this name that is in no list; 0: the row has none. */
uint64_t pt_parameter(const struct pt_randomizer *p, const char *name);
/* Write all parameters that fit for people to read, such as "bins 5, keep 0.881". */
void pt_parameters_text(const struct pt_randomizer *p, char *out, size_t size);
