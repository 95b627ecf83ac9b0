/* cf_scan.h - finds faults in a configuration text that libconfig does not report.
 *
 * libconfig 1.5 wraps integers that it cannot hold, ends the process when an included file is a folder, and
 * does not limit nesting.  This scan runs before libconfig and refuses all of these. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cm_rc.h"

#define CF_FILE_MAX    (1u << 20) /* most bytes of one file */
#define CF_INCLUDES    64u        /* most included files in all */
#define CF_DEPTH_MAX   8u         /* most levels of includes within includes */
#define CF_NESTING_MAX 16u        /* most levels of groups and lists within each other */
#define CF_BOM         "\xEF\xBB\xBF"
#define CF_FAULTS_MAX  100u /* most lines of faults that are printed */

/* Receives faults: one line for each to out (may be NULL), the first one also to err. */
struct cf_faults {
	FILE *out;
	struct cm_err *err;
	size_t n;
};
/* "file:line: text", or "file: text" for line 0. */
void cf_fault(struct cf_faults *f, const char *file, unsigned line, const char *fmt, ...) CM_PRINTF(4, 5);

/* Scan text and every file that it includes (paths relative to `dir`; NULL: no include is allowed).  True if
 * libconfig may read the text. */
bool cf_scan(const char *text, const char *name, const char *dir, struct cf_faults *f);

/* Write the last key that begins on lines 1 to `line` of a text that was scanned, as a dotted key that
 * counts the items of lists from 1 ("rounds.[2].epsilon0").  Writes "" if no key begins there. */
void cf_scan_key(const char *text, unsigned line, char *dotted, size_t size);
