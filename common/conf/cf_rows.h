/* cf_rows.h - reads the settings of a group that libconfig has parsed into a struct, by a table of options.
 * Private to common/conf. */
#pragma once

#include <libconfig.h>

#include "cf_conf.h"
#include "cf_scan.h"

#define CF_DOTTED_MAX 160
#define CF_QUOTED_MAX (CF_DOTTED_MAX + 16)

/* State of reading one file. */
struct cf_walk {
	const char *name, *dir;
	char included[512]; /* path of an included file, for cf_included_path */
	struct cf_faults faults;
	bool no_memory;
};

/* Read all rows of a group; group NULL: the group is absent, so its defaults apply.  `prefix` is the group's
 * dotted key, "" for the file.  Faults go to w->faults; w->no_memory is set when memory ran out. */
void cf_rows_read(struct cf_walk *w, const config_setting_t *group, const struct cf_row *rows, char *target,
	const char *prefix, bool is_default);
/* Parse a text; false on a fault.  libconfig does not report that memory ran out, but errno does: then
 * w->no_memory is set. */
bool cf_text_read(config_t *into, const char *text, struct cf_walk *w);
/* The path of the file in which libconfig found a fault.  `file` is what libconfig calls it: NULL for the
 * main file, and for an included one the name that it opened, which before version 1.7 is the name in the
 * @include. */
const char *cf_included_path(struct cf_walk *w, const char *file);
/* Line of a setting; 0 for NULL. */
unsigned cf_line_of(const config_setting_t *s);
/* A dotted key in quotes, for messages: 'budget.delta'; for an item of a list 'epsilon0' in 'rounds.[1]'. */
const char *cf_quoted(const char *dotted, char out[CF_QUOTED_MAX]);
