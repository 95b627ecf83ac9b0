/* cmd_search.h - searches for the largest or smallest value that fits a budget, and edits one key of a
 * SPEC. */
#pragma once

#include "cmd.h"

/* Whole numbers least..most, and where the search starts.  largest: all values up to some number fit, and
 * that is wanted; otherwise all from some number on fit, and the smallest is wanted. */
struct cmd_range {
	uint64_t least, most, start;
	uint64_t stride; /* first step away from start; each step is twice the one before */
	bool largest;
};
enum cmd_fit { CMD_FITS, CMD_TOO_MUCH, CMD_NOT_A_ROUND, CMD_FAULT };
typedef enum cmd_fit cmd_fit_fn(void *user, uint64_t value);

enum cmd_edge {
	CMD_EDGE,       /* *best fits, and the next value does not (or is no valid round) */
	CMD_EDGE_LIMIT, /* everything up to the end of the range fits */
	CMD_EDGE_NONE,  /* nothing fits */
	CMD_EDGE_FAULT, /* a question had an error, or `start` makes no valid round */
};
/* Step ever further from start, then bisect.  *best fits even if fitting is not monotone. */
enum cmd_edge cmd_search(const struct cmd_range *range, cmd_fit_fn *fit, void *user, uint64_t *best);

/* Set key=value in a round's text, in place of its value or at the end.  Returns false if there is no
 * room. */
bool cmd_spec_set(const char *text, const char *key, const char *value, char *out, size_t room);
/* Does the text give this key? */
bool cmd_spec_has(const char *text, const char *key);
/* Find the key whose value is `?`.  Writes its name to `key`, of room bytes, and returns that; NULL: there
 * is none. */
const char *cmd_spec_open(const char *text, char *key, size_t room);
/* Are the values of this key whole numbers in every round that takes it? */
bool cmd_spec_whole(const char *const *text, size_t n, const char *key);
