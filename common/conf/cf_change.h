/* cf_change.h - finds the keys by which two readings of a configuration file differ, and logs them when a
 * running daemon reads its file again. */
#pragma once

#include "cf_conf.h"
#include "cm_log.h"

/* Call fn for each key whose values differ, with both values as the file would have them, and return the
 * number of these keys.  A text that is absent and has no default is "absent", a number 0.  Of a group of
 * type CF_LATER only its presence is compared; of lists of groups of different length the lengths are the
 * values. */
typedef void cf_change_fn(void *user, const char *dotted, const char *was, const char *is);
size_t cf_changes(
	const struct cf_row *rows, const void *before, const void *after, cf_change_fn *fn, void *user);
/* Log a line for each changed key: `msg`, the file, the key and both values.  Returns their number. */
size_t cf_changes_log(const char *path, const struct cf_row *rows, const void *before, const void *after,
	enum cm_level level, const char *msg);
/* Read the file again, which was read into *in_force (a struct of `size` bytes), and log at warn each key
 * that has another value now: it waits for a restart.  A file with a fault is logged at error, with the place
 * of the first one.  Nothing else follows from either. */
void cf_changes_wait(const char *path, const struct cf_row *rows, const void *in_force, size_t size);
