/* cf_conf.h - reads configuration files (libconfig syntax) and checks them against a table of options.
 *
 * `@include "FILE"` takes FILE from the folder of the main file.  Integers above 2147483647 are written with
 * the suffix L.  Every fault is found, and printed as "file:line: text", before the call returns; unknown
 * keys, duplicates, wrong types, numbers out of range and missing required keys are faults. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cm_rc.h"

enum cf_type {
	CF_STRING,   /* char *, malloc'd into *(char **)field */
	CF_PATH,     /* a string; relative to the file's own folder; for "credential:NAME" see below */
	CF_INT,      /* int64_t, min..max */
	CF_DOUBLE,   /* double, min..max, finite; an integer literal is accepted */
	CF_BOOL,     /* bool */
	CF_DURATION, /* int64_t milliseconds from "250ms" "90s" "15m" "24h" "7d" */
	CF_STRINGS,  /* struct cf_strings: a list of strings */
	CF_SOME,     /* struct cf_strings: a string, or a list of strings */
	CF_TABLE,    /* struct cf_table: a list of lists of strings, none of them empty */
	CF_DOUBLES,  /* struct cf_doubles: a list of finite numbers */
	CF_GROUP,    /* { ... }: rows in `sub`, the same struct */
	CF_LIST,     /* ( {...}, {...} ): one struct of `size` bytes each, rows in `sub`; struct cf_list */
	/* { NAME = {...}; NAME = {...} }: as LIST; each struct begins with its NAME, a malloc'd char * */
	CF_NAMED,
	CF_EXTENDED, /* as DOUBLE, or the string "inf" for INFINITY, which may exceed max */
	CF_WORD,     /* struct cf_word: a string, or a finite number */
	CF_WORDS,    /* struct cf_words: a list of strings and finite numbers */
	CF_CHAR,     /* char: a string of one ASCII character, which may be a tab */
	CF_RANGE,    /* double[2] from [lo, hi]: two finite numbers, lo < hi, both within min..max when min
			     < max */
	/* bool: the group is there.  Which keys it has depends on one of them, so cf_group_read reads it. */
	CF_LATER,
	CF_GONE, /* a key that was removed: a fault, with the text of `help`; it has no field and is not in
		    the sample */
};

struct cf_word {
	char *text; /* malloc'd; NULL: a number */
	double number;
};
struct cf_words {
	struct cf_word *item;
	size_t n;
};
struct cf_strings {
	char **item;
	size_t n;
};
struct cf_table {
	struct cf_strings *item;
	size_t n;
};
struct cf_doubles {
	double *item;
	size_t n;
};
struct cf_list {
	void *item; /* n structs, each `size` bytes, zeroed before it is filled */
	int *line;  /* the line each starts at */
	size_t n;
};

struct cf_row {
	const char *key;
	enum cf_type type;
	size_t offset; /* of the field in the target struct (GROUP: 0, which is the same struct) */
	bool required;
	/* range of an INT, DOUBLE or DURATION; for lists, the range of their length if max > 0 */
	double min, max;
	/* Default as written in the file (the quotes of a string may be left out); NULL: zero. */
	const char *fallback;
	const char *help; /* one line, shown in the sample */
	const struct cf_row *sub;
	size_t size; /* LIST, NAMED: bytes per item */
};

/* A table is written by position, and ends with CF_END:
 *
 *	CF_REQUIRED("state_dir", CF_PATH, offsetof(struct conf, state_dir), "where it keeps its state"),
 *	CF_DEFAULT("threads", CF_INT(0, 256), offsetof(struct conf, threads), "0", "to open reports"),
 *	CF_OPTIONAL("rounds", CF_LIST(1, 64, round_rows, struct round), offsetof(struct conf, rounds), NULL),
 *	CF_END,
 *
 * A type that has bounds takes the least and the greatest value. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type brings its bounds as further members. */
#define CF_REQUIRED(key_, type_, at_, help_)                                                     \
	{                                                                                        \
		.key = (key_), .type = type_, .offset = (at_), .required = true, .help = (help_) \
	}
#define CF_DEFAULT(key_, type_, at_, fallback_, help_)                                                  \
	{                                                                                               \
		.key = (key_), .type = type_, .offset = (at_), .fallback = (fallback_), .help = (help_) \
	}
#define CF_OPTIONAL(key_, type_, at_, help_)                                   \
	{                                                                      \
		.key = (key_), .type = type_, .offset = (at_), .help = (help_) \
	}
/* NOLINTEND(bugprone-macro-parentheses) */
#define CF_REMOVED(key_, help_)                                 \
	{                                                       \
		.key = (key_), .type = CF_GONE, .help = (help_) \
	}
#define CF_END              \
	{                   \
		.key = NULL \
	}

#define CF_BOUNDED(type_, min_, max_) type_, .min = (min_), .max = (max_)
#define CF_INT(min_, max_)            CF_BOUNDED(CF_INT, min_, max_)
#define CF_DOUBLE(min_, max_)         CF_BOUNDED(CF_DOUBLE, min_, max_)
#define CF_DURATION(min_, max_)       CF_BOUNDED(CF_DURATION, min_, max_)
#define CF_STRINGS(min_, max_)        CF_BOUNDED(CF_STRINGS, min_, max_)
#define CF_SOME(min_, max_)           CF_BOUNDED(CF_SOME, min_, max_)
#define CF_TABLE(min_, max_)          CF_BOUNDED(CF_TABLE, min_, max_)
#define CF_DOUBLES(min_, max_)        CF_BOUNDED(CF_DOUBLES, min_, max_)
#define CF_EXTENDED(min_, max_)       CF_BOUNDED(CF_EXTENDED, min_, max_)
#define CF_WORDS(min_, max_)          CF_BOUNDED(CF_WORDS, min_, max_)
#define CF_RANGE(min_, max_)          CF_BOUNDED(CF_RANGE, min_, max_)
#define CF_GROUP(rows_)               CF_GROUP, .sub = (rows_)
#define CF_LIST(min_, max_, rows_, item_) \
	CF_BOUNDED(CF_LIST, min_, max_), .sub = (rows_), .size = sizeof(item_)
#define CF_NAMED(min_, max_, rows_, item_) \
	CF_BOUNDED(CF_NAMED, min_, max_), .sub = (rows_), .size = sizeof(item_)

/* A path "credential:NAME" is the file NAME in $CREDENTIALS_DIRECTORY, where a service manager puts files
 * that only this process may read (systemd's LoadCredential=).  Without the variable the path is taken as
 * written. */

/* A configuration file that was read: its name, and the line of each key. */
struct cf_file;

/* Read `path` into *target, which the caller has zeroed.  On a fault: CM_ECONFIG, one line for each fault to
 * `faults`, the first one also to err (err->said is then true).  CM_ENOINPUT when there is no such file; its
 * line names config-sample.  The default is applied where a key is absent.  Free *target with cf_free
 * whatever the result.  `file`, unless NULL, receives the file for faults that are found later, on a fault
 * too (NULL only without memory); free it with cf_file_free. */
CM_CHECK enum cm_rc cf_load(const char *path, const struct cf_row *rows, void *target, struct cf_file **file,
	FILE *faults, struct cm_err *err);
/* The same for text in memory, which may not @include; `name` stands for the file. */
CM_CHECK enum cm_rc cf_parse(const char *text, const char *name, const struct cf_row *rows, void *target,
	struct cf_file **file, FILE *faults, struct cm_err *err);
/* Read the group at the dotted key ("rounds.[2].compute", counted from 0) of a file that was loaded, of type
 * CF_LATER; else as cf_parse. */
CM_CHECK enum cm_rc cf_group_read(const struct cf_file *file, const char *dotted, const struct cf_row *rows,
	void *target, FILE *faults, struct cm_err *err);
void cf_free(const struct cf_row *rows, void *target);
/* The commented sample of a table: every key, its default and its help. */
void cf_sample(const struct cf_row *rows, FILE *out);
/* Line of a dotted key ("rounds.[2].epsilon0") in the file, 0 if absent. */
int cf_line(const struct cf_file *file, const char *dotted);
/* Write where a sentence that names keys of this table has them, such as "policy.conf:7": the file without
 * its folder, and the line of the longest key that the text has as a word.  There is no line if that key
 * has its default.  Writes "" if the text names no key of the table, or file is NULL. */
void cf_place(
	const struct cf_file *file, const struct cf_row *rows, const char *text, char *out, size_t size);
/* Report a fault found after loading: print "path:line: why", with the key's line, to `faults` (may be NULL);
 * copy it to `first` unless that holds one already (its code is CM_OK before).  Without a file (there was no
 * memory for it) the place is left out. */
void cf_fault_at(const struct cf_file *file, const char *dotted, const struct cm_err *why, FILE *faults,
	struct cm_err *first);
/* Where a check after loading reports its findings, and the function that reports one: it puts the key's
 * line before the fault.  `user` is a struct cf_findings. */
struct cf_findings {
	const struct cf_file *file;
	FILE *faults;
	struct cm_err *first;
};
void cf_finding_of(void *user, const char *dotted, const struct cm_err *why);
/* Report with CM_ENOINPUT that the file which this key names does not exist.  Returns whether it is so. */
bool cf_absent_at(
	const struct cf_file *file, const char *dotted, const char *path, FILE *faults, struct cm_err *first);
/* Report a fault whose message already names its place, in the same way. */
void cf_finding(const struct cm_err *why, FILE *faults, struct cm_err *first);
void cf_file_free(struct cf_file *file);
/* The result of a check after loading.  A file that a configuration names and that does not exist is a fault
 * of the configuration, so the code becomes CM_ECONFIG, unless it is CM_EPERM or CM_EINTERNAL (no memory).
 * CM_OK stays CM_OK. */
CM_CHECK enum cm_rc cf_blamed(struct cm_err *first);
