/* cm_conf_value.h - one libconfig setting into one field of a struct. */
#pragma once

#include <libconfig.h>

#include "cm_conf.h"

/* Read `s` into *field as row->type says (not GROUP or LIST).  NULL when read, else what is wrong, to be
 * followed by the key's name; "" means out of memory.  A default is not held to the row's range. */
const char *cm_conf_value_read(const config_setting_t *s, const struct cm_conf_row *row, const char *dir,
	bool is_default, void *field);
/* Free what cm_conf_value_read made; leaves zeroes. */
void cm_conf_value_free(const struct cm_conf_row *row, void *field);

/* "1 to 4096" or "1s to 10d", as a row's min and max are said to people. */
#define CM_CONF_RANGE_TEXT 64
const char *cm_conf_range_text(const struct cm_conf_row *row, char out[CM_CONF_RANGE_TEXT]);
