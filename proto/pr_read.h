/* pr_read.h - reads bytes into the struct that protoc-c makes of a message type, within the limits of
 * pr_limits.h and pr_field_limits.h. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "cm_rc.h"
#include "pr_arena.h"
#include "pr_limits.h"

/* Read len bytes as a message of this type in one pass.  *out and all that it points to are the arena's, and
 * nothing points into `bytes`.  After a failure the arena holds what was read so far.
 *
 * CM_EINTERNAL: out of memory.  CM_EPROTO, naming the field, for
 *   - a malformed tag, varint or length; a group; field number 0; a known field with another wire type;
 *   - a varint outside its field's type, a bool above 1;
 *   - a field that is not repeated given twice, or two members of one oneof: readers could see different
 *     messages in the same bytes;
 *   - text that is not UTF-8 (RFC 3629) or holds a NUL; text, bytes or a repetition over its limit;
 *   - bytes of fixed length with another length (empty is allowed where doc/wire.md does not require them);
 *   - more than PR_FIELDS_MAX fields, or messages nested deeper than PR_NESTING_MAX.
 * Unknown fields are skipped without looking inside, and count towards PR_FIELDS_MAX. */
CM_CHECK enum cm_rc pr_read(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	struct pr_arena *arena, ProtobufCMessage **out, struct cm_err *err);
