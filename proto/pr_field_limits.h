/* pr_field_limits.h - the limits of each field of tombola.proto: which lengths its values may have, how many
 * there may be, and whether it must be present. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "pr_limits.h"

/* The limits of one field. */
struct pr_limit {
	const ProtobufCMessageDescriptor *type;
	const char *field;
	size_t min, max, unit; /* bytes of one value that is not empty: min..max, and a multiple of unit */
	unsigned count;        /* for a repeated field, how many values it may have */
	int required;          /* the field must be present and not empty */
};
/* The limits of the fields of one type, which stand together in the table: *n of them, at most 64. */
const struct pr_limit *pr_limits_of(const ProtobufCMessageDescriptor *type, size_t *n);
/* The limits of one field, among the n of its type; NULL if it has none of its own: it is text of up to
 * PR_TEXT_MAX bytes, a number or a message. */
const struct pr_limit *pr_limit_of(
	const struct pr_limit *row, size_t n, const ProtobufCFieldDescriptor *field);
