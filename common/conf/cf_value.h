/* cf_value.h - reads one libconfig setting into one field of a struct. */
#pragma once

#include <libconfig.h>

#include "cf_conf.h"

/* Read `s` into *field as row->type says (not GROUP or LIST).  Returns NULL when read, else the fault, to
 * which the caller appends the key's name; "" means out of memory.  A default value is not checked against
 * the row's range. */
const char *cf_value_read(
	const config_setting_t *s, const struct cf_row *row, const char *dir, bool is_default, void *field);
/* Free what cf_value_read made; leaves zeroes. */
void cf_value_free(const struct cf_row *row, void *field);

/* Writes a row's min and max for people: "1 to 4096" or "1s to 10d". */
#define CF_RANGE_TEXT 64
const char *cf_range_text(const struct cf_row *row, char out[CF_RANGE_TEXT]);
/* Write a duration in the largest unit that gives a whole number, as the file would, with quotes: "90s". */
void cf_duration_put(FILE *out, int64_t ms);
