/* cl_json.h - splits a JSON object into its members and an array into its items, without decoding them.  No
 * I/O.
 *
 * Only values that the caller asks for are decoded.  So a member that nobody asks for never makes a reading
 * invalid, even if it holds a number that no double can hold, an escaped NUL, the same key twice or deep
 * nesting.  The parser only follows its strings and brackets to find its end.  A value that the caller asks
 * for must follow RFC 8259, and a number keeps the text with which it is written.  The time is proportional
 * to the bytes, and the caller provides the memory. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

struct cl_json {
	const uint8_t *at, *begin, *end;
	uint8_t close; /* the bracket that ends it, '}' or ']' */
	bool first;
};

struct cl_json_part {
	const uint8_t *key, *key_end; /* the key with its quotes; NULL in an array */
	const uint8_t *value, *end;   /* the value without white space around it */
};

/* Begin to read a text that is one object (open is '{') or one array ('['), apart from white space.  false:
 * the text is neither. */
CM_CHECK bool cl_json_open(struct cl_json *j, const uint8_t *text, const uint8_t *end, uint8_t open);
/* CM_OK: *out is the next member or item.  CM_ENOINPUT: there are no more, and nothing follows the closing
 * bracket.  CM_EDATA: the text is not JSON from j->at on. */
CM_CHECK enum cm_rc cl_json_next(struct cl_json *j, struct cl_json_part *out);

bool cl_json_is_number(const uint8_t *value, const uint8_t *end);
/* Append a value's text: the contents of a string, a number as it is written, true or false.  CM_EDATA: the
 * value is malformed or of another kind; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_json_text(const uint8_t *value, const uint8_t *end, struct cm_buf *out);
/* Append a device's name, which must be a string without NUL, or an integer.  Errors are those of
 * cl_json_text. */
CM_CHECK enum cm_rc cl_json_name(const uint8_t *value, const uint8_t *end, struct cm_buf *out);
/* The name in a member's key, without its quotes.  Escapes are decoded into room, which is overwritten; a key
 * that cannot be decoded counts as the empty name.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_json_key(
	const struct cl_json_part *part, struct cm_buf *room, const uint8_t **text, size_t *n);

#define CL_JSON_SHORTEST 40u
/* Write the shortest decimal that reads back as the number, without an exponent: 1e6 becomes 1000000, 2.0
 * becomes 2, and 1.1000000000000001 becomes 1.1.  false: nothing was written, because the number is an
 * integer, whose own text is used, or is below 10^-6, or has more than 20 digits before the point. */
bool cl_json_shortest(const char *number, char out[CL_JSON_SHORTEST]);
