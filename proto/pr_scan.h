/* pr_scan.h - checks that bytes are a message of one type within the limits of pr_limits.h.  Allocates
 * nothing. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "cm_rc.h"
#include "pr_limits.h"

struct pr_scan {
	unsigned fields; /* number of fields seen, at any depth, unknown ones included */
	size_t memory;   /* an upper bound on the memory that protobuf-c will take from a pr_arena */
};

/* Walk len bytes as protobuf-c will.  CM_EPROTO, naming the field, for
 *   - a malformed tag, varint or length; a group; field number 0; a known field with another wire type;
 *   - a varint outside its field's type, a bool above 1;
 *   - a field that is not repeated given twice, or two members of one oneof (protobuf-c would merge them);
 *   - text that is not UTF-8 (RFC 3629) or holds a NUL; text, bytes or a repetition over its limit;
 *   - bytes of fixed length with another length (empty is allowed where doc/wire.md does not require them);
 *   - more than PR_FIELDS_MAX fields, or messages nested deeper than PR_NESTING_MAX.
 * Unknown fields are skipped without looking inside, but counted.  Cost: one pass. */
CM_CHECK enum cm_rc pr_scan(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	struct pr_scan *out, struct cm_err *err);
