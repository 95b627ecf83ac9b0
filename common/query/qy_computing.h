/* qy_computing.h - what a device computes from its reading before it answers a query: a map, and its
 * parameters.
 *
 * The value is map(payload, reading), or NONE if the reading is not valid for the map, or there is no
 * payload.  A plan's entry fixes everything except the bytes of the payload. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pr_limits.h"

#define QY_MAP_PROGRAM "program" /* the map that is a program of the client's host */

/* Unused bytes are zero, so that two of these can be compared. */
struct qy_computing {
	/* name of the map, [a-z0-9._-]; "": nothing is computed, the value is the reading's */
	char map[33];
	/* the map's own parameters (common/compute/co_parameters.h) */
	uint8_t parameters[PR_COMPUTING_MAX];
	uint32_t parameters_len;
	uint8_t program[PR_HASH_LEN];        /* for QY_MAP_PROGRAM: SHA-256 of the program */
	char field[PR_COMPUTING_FIELDS][65]; /* fields of a reading that the map reads */
	uint32_t fields;
};

/* Is anything computed?  If so, the query's own fields name the output, and nothing reads them. */
bool qy_computes(const struct qy_computing *c);
/* Do both have the same map with the same parameters of the same fields? */
bool qy_computing_equal(const struct qy_computing *a, const struct qy_computing *b);
