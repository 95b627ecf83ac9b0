/* pt_number.h - the rows that send one symbol of a bounded number, and no dummies.
 *
 * bins is the number of levels, 0..b.  keep and, in rows that have one, size define the law completely, so
 * every party has the same law to the last bit. */
#pragma once

#include "pt_single.h"

#define PT_NUMBER_DEVICE \
	.kinds = QY_MEAN | QY_SUM, .messages = pt_single_messages, .record_len = pt_number_record_len

#define PT_LAPLACE_LEVELS_MAX   64u
#define PT_STAIRCASE_LEVELS_MAX 1024u

extern const struct pt_layout pt_number_layout;

/* Check a peer's parameters as pt_device.check does: at most this number of levels, and a size of 1..b or,
 * in rows without one, 0. */
CM_CHECK enum cm_rc pt_number_check(const struct qy_query *q, const struct pt_randomizer *p,
	uint32_t levels_max, bool sized, struct cm_err *err);
/* The part of this check that holds for a plan's parameters, too.  If it fails, returns `code`. */
CM_CHECK enum cm_rc pt_number_range(
	const struct pt_randomizer *p, uint32_t levels_max, bool sized, enum cm_rc code, struct cm_err *err);
uint32_t pt_number_record_len(const struct pt_randomizer *p);
