/* qy_computing.h - what a device computes of its reading before it answers a query: a map, and its
 * parameters.
 *
 * The value is map(payload, reading), or NONE where the reading is not as the map wants it, or the payload is
 * not there.  Everything but the bytes of the payload is fixed by the entry of a plan. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pr_limits.h"

#define QY_MAP_PROGRAM "program" /* the map that is a program of the client's host */

/* All bytes that are not used are zero, so that two of them can be compared. */
struct qy_computing {
	char map[33];                         /* [a-z0-9._-]; "": nothing, the value is the reading's */
	uint8_t parameters[PR_COMPUTING_MAX]; /* the map's own (common/compute/co_parameters.h) */
	uint32_t parameters_len;
	uint8_t program[PR_HASH_LEN];        /* QY_MAP_PROGRAM: its SHA-256 */
	char field[PR_COMPUTING_FIELDS][65]; /* of a reading, that the map reads */
	uint32_t fields;
};

/* Is anything computed?  Then the query's own fields name the output, and nothing reads them. */
bool qy_computes(const struct qy_computing *c);
/* The same map with the same parameters of the same fields. */
bool qy_computing_equal(const struct qy_computing *a, const struct qy_computing *b);
