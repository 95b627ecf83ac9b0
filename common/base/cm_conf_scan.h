/* cm_conf_scan.h - what is wrong with a configuration text that libconfig would not say.
 *
 * libconfig 1.5 wraps integers it cannot hold, ends the process when an included file is a folder, and has no
 * limit on nesting.  This pass runs first and lets nothing of that through. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cm_rc.h"

#define CM_CONF_FILE_MAX    (1u << 20) /* bytes of one file */
#define CM_CONF_INCLUDES    64u        /* included files in all */
#define CM_CONF_DEPTH_MAX   8u         /* includes within includes */
#define CM_CONF_NESTING_MAX 16u        /* groups and lists within each other */
#define CM_CONF_FAULTS_MAX  100u       /* lines said */

/* Where faults go: one line each to out (may be NULL), the first also to err. */
struct cm_conf_faults {
	FILE *out;
	struct cm_err *err;
	size_t n;
};
/* "file:line: text", or "file: text" for line 0. */
void cm_conf_fault(struct cm_conf_faults *f, const char *file, unsigned line, const char *fmt, ...)
	CM_PRINTF(4, 5);

/* Scan text and every file it includes (paths taken from `dir`; NULL: no include is allowed).  True if
 * libconfig may read it. */
bool cm_conf_scan(const char *text, const char *name, const char *dir, struct cm_conf_faults *f);
