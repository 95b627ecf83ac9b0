/* cl_json.h - the members of a JSON object and the items of an array, as the bytes that stand there.  No I/O.
 *
 * Nothing is decoded that nobody asks for: a number that no double holds, an escaped NUL, a key that stands
 * twice or any depth in a member that is not wanted costs no reading.  Of such a value only its strings and
 * brackets are followed, to where it ends.  A wanted value is judged by RFC 8259, and a number's text is its
 * own.  Time goes with the bytes, and memory is what the caller gives. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

struct cl_json {
	const uint8_t *at, *begin, *end;
	uint8_t close; /* '}' or ']' */
	bool first;
};

struct cl_json_part {
	const uint8_t *key, *key_end; /* with its quotes; NULL in an array */
	const uint8_t *value, *end;   /* without white space around it */
};

/* Begin to read a text that is one object (open is '{') or one array ('['), apart from white space.  false:
 * the text is neither. */
CM_CHECK bool cl_json_open(struct cl_json *j, const uint8_t *text, const uint8_t *end, uint8_t open);
/* CM_OK: *out is the next member or item.  CM_ENOINPUT: that was all, and nothing follows.  CM_EDATA: from
 * j->at on the text is not JSON. */
CM_CHECK enum cm_rc cl_json_next(struct cl_json *j, struct cl_json_part *out);

bool cl_json_is_number(const uint8_t *value, const uint8_t *end);
/* Append a value's text: the contents of a string, a number as it is written, true or false.  CM_EDATA: the
 * value is of another kind, or malformed; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_json_text(const uint8_t *value, const uint8_t *end, struct cm_buf *out);
/* Append a device's name, which must be a string without NUL or an integer; errors as above. */
CM_CHECK enum cm_rc cl_json_name(const uint8_t *value, const uint8_t *end, struct cm_buf *out);
/* The name in a member's key, without its quotes.  Escapes are decoded into room, which is overwritten; a key
 * that cannot be decoded counts as the empty name.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_json_key(
	const struct cl_json_part *part, struct cm_buf *room, const uint8_t **text, size_t *n);

#define CL_JSON_SHORTEST 40u
/* The shortest decimal that reads back as the number, without an exponent: 1e6 is 1000000, 2.0 is 2, and
 * 1.1000000000000001 is 1.1.  false: an integer, which is its own text, or a number below 10^-6 or of more
 * than 20 digits before the point. */
bool cl_json_shortest(const char *number, char out[CL_JSON_SHORTEST]);
