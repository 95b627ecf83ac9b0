/* cm_conf.h - configuration files (libconfig syntax) checked against a table of options.
 *
 * `@include "FILE"` takes FILE from the folder of the main file.  Integers above 2147483647 are written with
 * the suffix L.  Every fault is found and said as "file:line: text" before the call returns; unknown keys,
 * duplicates, wrong types, numbers out of range and missing required keys are faults. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cm_rc.h"

enum cm_conf_type {
	CM_CONF_STRING,   /* char *, malloc'd into *(char **)field */
	CM_CONF_PATH,     /* the same; relative to the file's own folder; "credential:NAME": see below */
	CM_CONF_INT,      /* int64_t, min..max */
	CM_CONF_DOUBLE,   /* double, min..max, finite; an integer literal is accepted */
	CM_CONF_BOOL,     /* bool */
	CM_CONF_DURATION, /* int64_t milliseconds from "250ms" "90s" "15m" "24h" "7d" */
	CM_CONF_STRINGS,  /* struct cm_conf_strings: a list of strings */
	CM_CONF_TABLE,    /* struct cm_conf_table: a list of lists of strings, none of them empty */
	CM_CONF_DOUBLES,  /* struct cm_conf_doubles: a list of finite numbers */
	CM_CONF_GROUP,    /* { ... }: rows in `sub`, the same struct */
	CM_CONF_LIST, /* ( {...}, {...} ): one struct of `size` bytes each, rows in `sub`; struct cm_conf_list
		       */
	CM_CONF_EXTENDED, /* as DOUBLE, or the string "inf" for INFINITY (which passes max) */
	CM_CONF_RANGE, /* double[2] from [lo, hi]: two finite numbers, lo < hi, both within min..max when min
			  < max */
};

struct cm_conf_strings {
	char **item;
	size_t n;
};
struct cm_conf_table {
	struct cm_conf_strings *item;
	size_t n;
};
struct cm_conf_doubles {
	double *item;
	size_t n;
};
struct cm_conf_list {
	void *item; /* n structs, each `size` bytes, zeroed before it is filled */
	int *line;  /* the line each starts at */
	size_t n;
};

struct cm_conf_row {
	const char *key;
	enum cm_conf_type type;
	size_t offset; /* of the field in the target struct (GROUP: 0, same struct) */
	bool required;
	double min, max; /* INT, DOUBLE, DURATION; also the length of a list when max > 0 */
	/* Default as in the file (the quotes of a string may be left out); NULL: zero. */
	const char *fallback;
	const char *help; /* one line, shown in the sample */
	const struct cm_conf_row *sub;
	size_t size; /* LIST: bytes per item */
};
/* Tables end with a row whose key is NULL.
 *
 * A path "credential:NAME" is the file NAME in $CREDENTIALS_DIRECTORY, where a service manager puts what the
 * process may read and nobody else (systemd's LoadCredential=); without the variable
 * it stays as it is written. */

/* Read `path` into *target (zeroed by the caller).  Faults go to `faults`, one line each, and the first one
 * also to err (err->said then); CM_ECONFIG then, CM_ENOINPUT when there is no such file (the line names
 * config-sample).  A fallback is applied where a key is absent.  Free with cm_conf_free in both cases. */
CM_CHECK enum cm_rc cm_conf_load(
	const char *path, const struct cm_conf_row *rows, void *target, FILE *faults, struct cm_err *err);
/* The same for text in memory, which may not @include; `name` stands for the file. */
CM_CHECK enum cm_rc cm_conf_parse(const char *text, const char *name, const struct cm_conf_row *rows,
	void *target, FILE *faults, struct cm_err *err);
void cm_conf_free(const struct cm_conf_row *rows, void *target);
/* The commented sample of a table: every key, its default and its help. */
void cm_conf_sample(const struct cm_conf_row *rows, FILE *out);
/* Line of a dotted key ("rounds.[2].epsilon0") in the file last loaded on this thread, 0 if absent: for
 * faults found after loading. */
int cm_conf_line(const char *dotted);
/* Say such a fault: "path:line: why" with the key's line, to `faults` (may be NULL) and to first, unless
 * first holds one already (its code is CM_OK before). */
void cm_conf_fault_at(
	const char *path, const char *dotted, const struct cm_err *why, FILE *faults, struct cm_err *first);
/* The first of such faults: what a configuration names and is not there is the configuration's fault, so its
 * code becomes CM_ECONFIG, unless it is CM_EPERM or CM_EINTERNAL (no memory).  Returns the code; CM_OK stays.
 */
CM_CHECK enum cm_rc cm_conf_blamed(struct cm_err *first);
