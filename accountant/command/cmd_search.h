/* cmd_search.h - the edge between values that fit a budget and values that do not; and SPECs with one key
 * changed. */
#pragma once

#include "cmd.h"

/* Whole numbers least..most; fitting ends somewhere as they grow (largest) or as they shrink. */
struct cmd_range {
	uint64_t least, most, start;
	uint64_t stride; /* of the first step away from start; doubled from step to step */
	bool largest;
};
enum cmd_fit { CMD_FITS, CMD_TOO_MUCH, CMD_NOT_A_ROUND, CMD_FAULT };
typedef enum cmd_fit cmd_fit_fn(void *user, uint64_t value);

enum cmd_edge {
	CMD_EDGE,       /* *best fits, its neighbour beyond does not (or is no round) */
	CMD_EDGE_LIMIT, /* everything up to the end of the range fits */
	CMD_EDGE_NONE,  /* nothing fits */
	CMD_EDGE_FAULT, /* a question failed, or start is no round */
};
/* Gallop from start, then halve.  Where fitting is not monotone, *best fits all the same. */
enum cmd_edge cmd_search(const struct cmd_range *range, cmd_fit_fn *fit, void *user, uint64_t *best);

/* The round's text with key=value in place of what it says of key, or appended.  false: no room. */
bool cmd_spec_set(const char *text, const char *key, const char *value, char *out, size_t room);
/* Does the text give this key? */
bool cmd_spec_has(const char *text, const char *key);
/* The key whose value is `?`, or NULL; in `key`, room bytes. */
const char *cmd_spec_open(const char *text, char *key, size_t room);
/* Are the values of this key whole numbers, for every round that may have it? */
bool cmd_spec_whole(const char *const *text, size_t n, const char *key);
